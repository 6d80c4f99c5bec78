/* Tables, JSON lines, the model's table and the drawing. */
#include "bench.h"

#include "../common/machine.h"
#include "../common/plot.h"
#include "../common/table.h"

#include <stdlib.h>

void report_start(const struct bench *b)
{
    FILE *out = b->run.report;
    run_title(&b->run, "scaling: what more workers of one node bring");
    fprintf(
        out,
        "rows     %u floats each, %llu rows; all workers draw from all of them, 64 keys a call\n",
        b->length, (unsigned long long)b->rows);
    fprintf(
        out,
        "here     %u core%s, %u hyper-thread%s, %u socket%s, %u NUMA node%s\n"
        "floors   plain loops over one array, which race; the same with relaxed atomics, float by float\n"
        "gain     the work of all against that of one, in the same repetition; in brackets what the\n"
        "         model says: a line costs %.0f ns from another core, %.0f ns from another socket\n",
        b->here.cores, b->here.cores == 1 ? "" : "s", b->here.units, b->here.units == 1 ? "" : "s",
        b->here.sockets, b->here.sockets == 1 ? "" : "s", b->here.numa_nodes,
        b->here.numa_nodes == 1 ? "" : "s", b->model.near_ns, b->model.far_ns);
    run_end_title(&b->run, "so short that these figures say that it runs, not how fast");
}

/* ---- what was measured ---- */

static struct model_load load_of(const struct bench *b, unsigned skew, unsigned step,
                                 double alone_ns)
{
    return (struct model_load){.rows = b->rows,
                               .length = b->length,
                               .writes = steps[step].writes,
                               .has_latch = steps[step].is_locus,
                               .zipf_exponent = skew == KEYS_ZIPF ? KEYS_ZIPF_EXPONENT : 0,
                               .alone_ns = alone_ns};
}

static void add_json(const struct bench *b, const struct cell *c, double model, const char *name)
{
    if (!b->run.json) return;
    run_json(&b->run, name);
    results_spread(b->run.json, "ns", c->time);
    results_spread(b->run.json, "gain", c->gain);
    json_number(b->run.json, "gain_model", model);
    json_end(b->run.json);
}

/* A free thread may be anywhere: the model takes it for spread. */
static double gain_here(const struct bench *b, const struct model_load *l, unsigned place,
                        unsigned team)
{
    unsigned socket_of[TEAM_MAX];
    for (unsigned i = 0; i < b->teams[team]; i++)
        socket_of[i] = b->socket_of[place == FREE ? SPREAD : place][i % b->units];
    return model_gain(&b->model, l, b->teams[team], socket_of);
}

static void add_cell(struct table *t, const struct bench *b, unsigned shards, unsigned skew,
                     unsigned place, unsigned step, unsigned team)
{
    const struct cell *c = &b->cells[shards][skew][place][step][team];
    char name[96];
    if (!c->measured) {
        table_add(t, "%s", "-");
        table_add(t, "%s", "");
        return;
    }
    struct model_load l =
        load_of(b, skew, step, b->cells[shards][skew][place][step][0].time.median);
    double model = gain_here(b, &l, place, team);
    table_add(t, "%.1f", 1e3 / c->time.median);
    table_add(t, "%.2fx (%.2f)", c->gain.median, model);
    cell_name(name, sizeof name, b, shards, skew, place, step, team);
    add_json(b, c, model, name);
}

static void report_place(const struct bench *b, unsigned shards, unsigned skew, unsigned place)
{
    /* one column a step, and one for its gain */
    const char *names[1 + 2 * STEPS] = {"workers"};
    struct table t = table_new("rrlrlrlrlrlrl");
    bool any = false;
    for (unsigned step = 0; step < STEPS; step++) {
        names[1 + 2 * step] = steps[step].name;
        names[2 + 2 * step] = "gain";
    }
    table_header(&t, names);
    for (unsigned team = 0; team < b->team_count; team++) {
        bool some = false;
        for (unsigned step = 0; step < STEPS; step++)
            some |= b->cells[shards][skew][place][step][team].measured;
        if (!some) continue;
        any = true;
        table_add(&t, "%u", b->teams[team]);
        for (unsigned step = 0; step < STEPS; step++)
            add_cell(&t, b, shards, skew, place, step, team);
    }
    if (any)
        fprintf(b->run.report, "%s keys, %s, %u shard%s; million keys/s of all\n",
                key_choice_name((enum key_choice)skew), place_names[place], b->shards[shards],
                b->shards[shards] == 1 ? "" : "s");
    table_print(&t, b->run.report);
    if (any) fputc('\n', b->run.report);
}

void report_skew(const struct bench *b, unsigned shards, unsigned skew)
{
    for (unsigned place = 0; place < PLACES; place++) report_place(b, shards, skew, place);
}

/* ---- what it should show ---- */

struct model model_machine(const struct bench *b)
{
    struct model m = b->model;
    char *end;
    m.sockets = b->here.sockets ? b->here.sockets : 1;
    m.cores = (b->here.cores + m.sockets - 1) / m.sockets;
    if (!b->machine) return m;
    unsigned long sockets = strtoul(b->machine, &end, 10), cores = 0;
    if (*end == 'x') cores = strtoul(end + 1, &end, 10);
    if (*end != '\0' || sockets < 1 || cores < 1 || sockets > MODEL_WORKERS_MAX ||
        cores > MODEL_WORKERS_MAX)
        fail("--machine %s: must be sockets and cores of each, such as 2x8", b->machine);
    m.sockets = (unsigned)sockets;
    m.cores = (unsigned)cores;
    return m;
}

/* The time of one worker, from the first setting where it was measured. */
static double alone_ns(const struct bench *b, unsigned skew, unsigned step)
{
    for (unsigned shards = 0; shards < b->shard_count; shards++)
        for (unsigned place = 0; place < PLACES; place++)
            if (b->cells[shards][skew][place][step][0].measured)
                return b->cells[shards][skew][place][step][0].time.median;
    return 0;
}

static void add_model_row(struct table *t, const struct bench *b, const struct model *m,
                          unsigned workers)
{
    static const unsigned shown[] = {ARRAY_ADD, PUSH};
    table_add(t, "%u", workers);
    for (unsigned skew = 0; skew < SKEWS; skew++)
        for (unsigned i = 0; i < sizeof shown / sizeof *shown; i++)
            for (unsigned spread = 0; spread < 2; spread++) {
                unsigned socket_of[MODEL_WORKERS_MAX];
                struct model_load l = load_of(b, skew, shown[i], alone_ns(b, skew, shown[i]));
                model_place(m, spread, workers, socket_of);
                table_add_if(t, l.alone_ns > 0, "%.2fx",
                             l.alone_ns > 0 ? model_gain(m, &l, workers, socket_of) : 0);
            }
}

void report_model(const struct bench *b)
{
    const struct model m = model_machine(b);
    unsigned last = b->model_workers ? b->model_workers : m.sockets * m.cores;
    struct table t = table_new("rrrrrrrrr");
    static const char *const header[] = {"workers",      "uniform array-add", "(spread)",
                                         "uniform push", "(spread)",          "zipf array-add",
                                         "(spread)",     "zipf push",         "(spread)"};
    if (last > MODEL_WORKERS_MAX) last = MODEL_WORKERS_MAX;
    fprintf(
        b->run.report,
        "What the model says of %u socket%s of %u core%s, from one worker's times here (gain; packed and\n"
        "spread)\n",
        m.sockets, m.sockets == 1 ? "" : "s", m.cores, m.cores == 1 ? "" : "s");
    table_header(&t, header);
    for (unsigned workers = 1;; workers = workers * 2 < last ? workers * 2 : last) {
        add_model_row(&t, b, &m, workers);
        if (workers == last) break;
    }
    table_print(&t, b->run.report);
    fputc('\n', b->run.report);
}

/* ---- the drawing ---- */

void report_svg(const struct bench *b)
{
    static const unsigned series[] = {PUSH, ARRAY_ADD, ATOMIC_ADD, PULL};
    static struct plot_group groups[SKEWS * TEAMS];
    static char labels[TEAMS][16];
    char subtitle[256];
    size_t count = 0;
    for (unsigned skew = 0; skew < SKEWS; skew++)
        for (unsigned team = 0; team < b->team_count; team++) {
            struct plot_group *g = &groups[count++];
            snprintf(labels[team], sizeof labels[team], "%u", b->teams[team]);
            *g = (struct plot_group){.section = key_choice_name((enum key_choice)skew),
                                     .label = labels[team]};
            for (unsigned i = 0; i < 4; i++) {
                const struct cell *c = &b->cells[0][skew][PACKED][series[i]][team];
                if (!c->measured) {
                    fprintf(b->run.report,
                            "%s was not drawn: the picture needs all packed cells.\n",
                            b->run.options.svg);
                    return;
                }
                g->values[i] = c->gain.median;
            }
            struct model_load l = load_of(b, skew, PUSH, alone_ns(b, skew, PUSH));
            g->values[4] = gain_here(b, &l, PACKED, team);
        }
    snprintf(subtitle, sizeof subtitle,
             "rows of %u floats, 64 keys a call, packed, %s; higher is better", b->length,
             machine_processor());
    plot_svg(&(struct plot){.title = "Scaling: the work of N workers",
                            .subtitle = subtitle,
                            .axis = "times that of one",
                            .label_name = "workers",
                            .unit = "x",
                            .series = {"push", "racing array", "relaxed atomics", "pull",
                                       "model of push"},
                            .series_count = 5,
                            .groups = groups,
                            .group_count = count},
             1, b->run.options.svg, b->run.report);
}
