/* Tables and JSON lines, as results come. */
#include "bench.h"

#include "../common/table.h"

#include <inttypes.h>

static void report_method(const struct bench *b)
{
    FILE *out = b->run.report;
    fprintf(
        out,
        "floors   one packed array, %s instructions, without protection or prefetching; or with 1000 mutexes\n",
        floors_instructions());
    fprintf(
        out,
        "keys     uniform, or Zipf %.1f: hot keys are the low keys, neighbours, which is the hard case\n",
        KEYS_ZIPF_EXPONENT);
    fprintf(
        out,
        "method   median of %u repetitions, +- median distance from it; floor and locus take turns, and x is\n",
        b->run.repetitions);
    fprintf(
        out,
        "         the median ratio to the floor within a repetition; single calls: less %" PRIu64
        " ns for the clock\n",
        b->run.clock_cost);
}

void report_start(const struct bench *b)
{
    run_title(&b->run, "local access: what a worker pays for rows that its own node holds");
    if (!b->run.options.demo) report_method(b);
    run_end_title(&b->run,
                  "sizes that fit into caches: these figures say that it runs, not how fast");
}

static void describe(const struct bench *b, unsigned length, const char *operation,
                     const char *name)
{
    run_json(&b->run, name);
    json_text(b->run.json, "operation", operation);
    json_count(b->run.json, "length", lengths[length]);
    json_count(b->run.json, "rows", rows_of(b, lengths[length]));
    json_count(b->run.json, "repetitions", b->run.repetitions);
}

static void json_cell(const struct bench *b, unsigned length, enum key_choice choice, unsigned team,
                      enum step_id step)
{
    const struct cell *c = &b->cells[length][choice][team][step];
    const struct step *s = &steps[step];
    char name[96];
    cell_name(name, sizeof name, b, length, choice, team, step);
    describe(b, length, s->name, name);
    json_text(b->run.json, "keys", key_choice_name(choice));
    json_count(b->run.json, "keys_per_call", s->per_call);
    json_count(b->run.json, "threads", b->teams[team]);
    results_spread(b->run.json, "ns_per_key", c->time);
    json_number(b->run.json, "keys_per_second", 1e9 / c->time.median * b->teams[team]);
    if (s->floor != NO_FLOOR) {
        json_text(b->run.json, "floor", steps[s->floor].name);
        results_spread(b->run.json, "ratio", c->ratio);
    }
    json_number(b->run.json, "digest", c->digest);
    json_end(b->run.json);
}

static void add_cell(struct table *t, const struct cell *c, enum step_id step, unsigned threads)
{
    const struct step *s = &steps[step];
    table_add(t, "%s", s->name);
    table_add_if(t, s->per_call > 0, "%.0f", s->per_call);
    table_add(t, "%.1f", c->time.median);
    table_add(t, "+- %.1f", c->time.mad);
    table_add(t, "%.1f", c->time.min);
    table_add(t, "%.1f", c->time.max);
    table_add(t, "%.2f", 1e3 / c->time.median * threads);
    table_add_if(t, s->floor != NO_FLOOR, "%.2fx", c->ratio.median);
}

void report_setting(const struct bench *b, unsigned length, enum key_choice choice, unsigned team)
{
    char rows[32];
    unsigned threads = b->teams[team];
    rows_text(rows, sizeof rows, rows_of(b, lengths[length]));
    fprintf(b->run.report, "%" PRIu32 " float%s a row, %s, %s keys, %u thread%s\n", lengths[length],
            lengths[length] == 1 ? "" : "s", rows, key_choice_name(choice), threads,
            threads == 1 ? "" : "s");
    struct table t = table_new("lrrrrrrr");
    const char *const header[] = {"",    "keys a call", "ns a key", "",
                                  "min", "max",         "M keys/s", "x floor"};
    table_header(&t, header);
    for (unsigned s = 0; s < STEPS; s++) {
        const struct cell *c = &b->cells[length][choice][team][s];
        if (!c->measured) continue;
        if (s > 0 && steps[s].floor != steps[s - 1].floor) table_gap(&t);
        add_cell(&t, c, (enum step_id)s, threads);
        json_cell(b, length, choice, team, (enum step_id)s);
    }
    table_print(&t, b->run.report);
    fputc('\n', b->run.report);
}

static void json_tail(const struct bench *b, unsigned length, unsigned watch, enum store store)
{
    const struct tail *tail = &b->tails[length][watch][store];
    char name[96];
    tail_name(name, sizeof name, length, watch, store);
    describe(b, length, "latency", name);
    results_spread(b->run.json, "p50_ns", tail->p50);
    results_spread(b->run.json, "p99_ns", tail->p99);
    results_spread(b->run.json, "p999_ns", tail->p999);
    json_count(b->run.json, "longest_ns", tail->longest);
    results_spread(b->run.json, "pushes_per_pull", tail->pushes);
    json_end(b->run.json);
}

static void add_tail(struct table *t, const struct watch *w, enum store store,
                     const struct tail *tail)
{
    static const char *const keys[] = {"one row", "uniform", "zipf-1.1"};
    table_add(t, "%s", store == LOCUS ? "pull" : "mutex-read");
    table_add(t, "%s", keys[w->keys]);
    table_add(t, "%s",
              !w->writer           ? "none"
              : w->keys == ONE_ROW ? "on the same row"
                                   : "on zipf-1.1 keys");
    table_add(t, "%.0f", tail->p50.median);
    table_add(t, "%.0f", tail->p99.median);
    table_add(t, "%.0f", tail->p999.median);
    table_add(t, "+- %.0f", tail->p999.mad);
    table_add(t, "%.0f", (double)tail->longest / 1e3);
    table_add_if(t, w->writer, "%.2f", tail->pushes.median);
}

static bool some_tail_measured(const struct bench *b, unsigned length)
{
    for (unsigned watch = 0; watch < WATCHES; watch++) {
        if (b->tails[length][watch][LOCUS].measured || b->tails[length][watch][MUTEX].measured)
            return true;
    }
    return false;
}

void report_tails(const struct bench *b, unsigned length)
{
    if (!some_tail_measured(b, length)) return;
    fprintf(b->run.report,
            "%" PRIu32
            " float%s a row, single calls while another thread adds to rows, or none does\n",
            lengths[length], lengths[length] == 1 ? "" : "s");
    struct table t = table_new("lllrrrrrr");
    const char *const header[] = {"one key a call", "keys", "writer",     "p50 ns",       "p99 ns",
                                  "p99.9 ns",       "",     "longest us", "pushes a pull"};
    table_header(&t, header);
    for (unsigned watch = 0; watch < WATCHES; watch++) {
        for (unsigned store = 0; store < STORES; store++) {
            const struct tail *tail = &b->tails[length][watch][store];
            if (!tail->measured) continue;
            add_tail(&t, &watches[watch], (enum store)store, tail);
            json_tail(b, length, watch, (enum store)store);
        }
    }
    table_print(&t, b->run.report);
    fputc('\n', b->run.report);
}

void report_memory(const struct bench *b, unsigned length)
{
    if (!memory_selected(b, length)) return;
    char name[48];
    snprintf(name, sizeof name, "memory length=%" PRIu32, lengths[length]);
    describe(b, length, "memory", name);
    json_number(b->run.json, "bytes_beside_values_per_key", b->bytes_beside[length]);
    json_end(b->run.json);
}
