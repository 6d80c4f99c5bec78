/* Lines of JSON, as results come. */
#include "bench.h"

#include <inttypes.h>

static void describe(struct bench *b, unsigned length, const char *operation, const char *name)
{
    struct json *j = &b->run.json;
    run_cell(&b->run, name);
    json_text(j, "operation", operation);
    json_count(j, "length", lengths[length]);
    json_count(j, "rows", rows_of(b, lengths[length]));
}

static void report_cell(struct bench *b, unsigned length, enum key_choice choice, unsigned team,
                        enum step_id step)
{
    const struct cell *c = &b->cells[length][choice][team][step];
    const struct step *s = &steps[step];
    struct json *j = &b->run.json;
    char name[96];
    cell_name(name, sizeof name, b, length, choice, team, step);
    describe(b, length, s->name, name);
    json_text(j, "keys", key_choice_name(choice));
    json_count(j, "keys_per_call", s->per_call);
    json_count(j, "threads", b->teams[team]);
    run_values(&b->run, "ns_per_key", c->ns);
    if (s->floor != NO_FLOOR) {
        cell_name(name, sizeof name, b, length, choice, team, s->floor);
        json_text(j, "floor", name);
    }
    json_number(j, "digest", c->digest);
    json_end(j);
}

void report_setting(struct bench *b, unsigned length, enum key_choice choice, unsigned team)
{
    for (unsigned s = 0; s < STEPS; s++) {
        if (b->cells[length][choice][team][s].measured)
            report_cell(b, length, choice, team, (enum step_id)s);
    }
}

static void report_tail(struct bench *b, unsigned length, unsigned watch, enum store store)
{
    const struct tail *t = &b->tails[length][watch][store];
    char name[96];
    if (!t->measured) return;
    tail_name(name, sizeof name, length, watch, store);
    describe(b, length, "latency", name);
    times_json(&b->run, &t->times);
    run_values(&b->run, "pushes_per_pull", t->pushes);
    json_end(&b->run.json);
}

void report_tails(struct bench *b, unsigned length)
{
    for (unsigned watch = 0; watch < WATCHES; watch++)
        for (unsigned store = 0; store < STORES; store++)
            report_tail(b, length, watch, (enum store)store);
}

void report_memory(struct bench *b, unsigned length)
{
    char name[48];
    if (!memory_selected(b, length)) return;
    snprintf(name, sizeof name, "memory length=%" PRIu32, lengths[length]);
    describe(b, length, "memory", name);
    json_number(&b->run.json, "bytes_beside_values_per_key", b->bytes_beside[length]);
    json_end(&b->run.json);
}
