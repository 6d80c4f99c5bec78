/* Lines of JSON, as results come. */
#include "bench.h"

static void report_used(struct json *j, const char *node, const struct node_figures *used)
{
    const struct {
        const char *name;
        uint64_t value;
    } figures[] = {
        {"cpu_ns", used->cpu_ns},
        {"sleeps", used->switches_voluntary},
        {"switches", node_figures_switches(used)},
        {"messages_sent", used->stats.messages_sent},
        {"messages_received", used->stats.messages_received},
        {"bytes_sent", used->stats.bytes_sent},
        {"bytes_received", used->stats.bytes_received},
        {"relocated_in", used->stats.relocated_in},
        {"forwards", used->stats.forwards},
    };
    for (unsigned i = 0; i < sizeof figures / sizeof *figures; i++) {
        char name[48];
        snprintf(name, sizeof name, "%s_%s", node, figures[i].name);
        json_count(j, name, figures[i].value);
    }
}

static void report_cell(struct bench *b, struct setting at, unsigned step)
{
    const struct cell *c = &b->cells[step];
    const struct step *s = &steps[step];
    struct json *j = &b->run.json;
    char name[96];
    step_name(name, sizeof name, at, step);
    run_cell(&b->run, name);
    json_text(j, "step", s->name);
    json_count(j, "length", lengths[at.length]);
    json_count(j, "row_bytes", row_bytes(at.length));
    if (at.phase == ACCESS) json_count(j, "keys_per_call", batches[at.batch]);
    json_count(j, "calls", c->calls);
    if (s->kind != STREAM) times_json(&b->run, &c->times);
    if (s->kind == STREAM) run_values(&b->run, "bytes_per_second", c->per_s);
    if (!is_floor(s)) run_values(&b->run, "rows_per_second", c->per_s);
    if (s->is_busy) run_values(&b->run, "accesses_per_second", c->accesses_per_s);
    report_used(j, "node0", &c->here);
    report_used(j, "node1", &c->there);
    json_end(j);
}

void report_setting(struct bench *b, struct setting at)
{
    for (unsigned step = 0; step < STEPS; step++)
        if (b->cells[step].measured) report_cell(b, at, step);
}

/* ---- A cluster that has nothing to do ---- */

static void sleep_for(double seconds)
{
    struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&left, NULL);
}

/* Both workers sleep. The kernel's own background work is in no process; asking node 1 costs it one
 * wake-up. */
void idle_measure(struct bench *b)
{
    struct cell c = {0};
    if (!idle_selected(b)) return;
    sleep_for(0.05); /* whoever polls for a while after work is done with it */
    struct node_figures here = node_figures(b->node.locus), there = node_process_figures(b->other);
    sleep_for(b->run.options.quick ? 0.3 : 5);
    struct node_figures here_after = node_figures(b->node.locus),
                        there_after = node_process_figures(b->other);
    node_figures_add(&c.here, &here, &here_after);
    node_figures_add(&c.there, &there, &there_after);
    run_cell(&b->run, "idle");
    json_number(&b->run.json, "seconds", (double)(here_after.time_ns - here.time_ns) / 1e9);
    report_used(&b->run.json, "node0", &c.here);
    report_used(&b->run.json, "node1", &c.there);
    json_end(&b->run.json);
}
