#include "run.h"

#include "common/exact_steps.h"
#include "protocol/plan.h"
#include "invariants.h"
#include "journal.h"
#include "player.h"
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 5000000, TABLES_MAX = 3 };

static struct {
    struct script script;
    struct locus_table table[TABLES_MAX];
    struct locus_config config;
    locus *node[PLATFORM_NODES_MAX];
    locus *gone[PLATFORM_CHANGES]; /* where others have come since */
    unsigned gone_count;
    char replay[4096];
} run;

static struct dice dice_of(uint64_t seed, uint64_t what)
{
    struct dice d = {seed * UINT64_C(0xD6E8FEB86659FD93) + what};
    d.state = dice_throw(&d);
    return d;
}

const struct script *run_script(const struct run_options *o)
{
    struct dice d = dice_of(o->seed, 6);
    script_write(&run.script, o->script, o->nodes, o->technique, dice_of(o->seed, 1));
    static const enum locus_optimizer optimizers[] = {LOCUS_ADAGRAD,  LOCUS_ADAGRAD, LOCUS_ADAGRAD,
                                                      LOCUS_MOMENTUM, LOCUS_ADAM,    LOCUS_ADAMW};
    bool has_optimizers = dice_below(&d, 3) == 0;
    run.script.has_bf16 = dice_below(&d, 6) == 1;
    /* values of 16 bits would round what a momentum adds */
    unsigned i = dice_below(&d, run.script.has_bf16 ? 1 : sizeof optimizers / sizeof *optimizers);
    run.script.optimizer = has_optimizers ? optimizers[i] : LOCUS_NO_OPTIMIZER;
    return &run.script;
}

/* The steps that are played, as ranges. */
static void append_kept(const struct run_options *o, unsigned count, char *text, size_t bytes)
{
    size_t at = strlen(text);
    const char *before = " --keep ";
    for (unsigned i = 0; i < count && at + 32 < bytes; i++) {
        unsigned first = i;
        if (o->is_dropped[i]) continue;
        while (i + 1 < count && !o->is_dropped[i + 1]) i++;
        at += (size_t)snprintf(text + at, bytes - at, i > first ? "%s%u-%u" : "%s%u", before, first,
                               i);
        before = ",";
    }
}

const char *run_command(const struct run_options *o, char *text, size_t bytes)
{
    const struct script *s = run_script(o);
    snprintf(text, bytes,
             "protocol --seed %" PRIu64
             " --nodes %u --script %s --technique %s --schedule %" PRIu64,
             o->seed, o->nodes, o->script, technique_of(o->technique)->name, o->schedule);
    if (o->is_dropped) append_kept(o, s->count, text, bytes);
    return text;
}

/* Keys of up to three lengths; some of them are also set, as far as the script has sets. */
static unsigned draw_tables(struct dice *d, struct locus_table *table)
{
    const struct script *s = &run.script;
    unsigned tables = 0;
    locus_key key = 0;
    journal_begin(s->keys);
    for (unsigned left = s->keys; left > 0; tables++) {
        unsigned rows = tables + 1 == TABLES_MAX ? left : 1 + dice_below(d, left);
        uint32_t length = CONTENT_LENGTH_MIN +
                          dice_below(d, CONTENT_LENGTH_MAX - CONTENT_LENGTH_MIN + 1);
        table[tables] = (struct locus_table){.rows = rows, .length = length};
        table[tables].optimizer = s->optimizer;
        table[tables].rule = content_rule(s->optimizer);
        if (s->has_bf16) table[tables].element = LOCUS_BF16;
        for (unsigned i = 0; i < rows; i++, key++) {
            struct content_layout l = {length, (unsigned)key, s->optimizer, s->has_bf16};
            journal_key_init(l, s->has_sets && dice_below(d, 2));
        }
        left -= rows;
    }
    return tables;
}

static void open_node(unsigned rank)
{
    struct locus_config *c = &run.config;
    c->rank = (int)rank;
    int rc = locus_open(c, &run.node[rank]);
    for (unsigned t = 0; t < c->table_count && run.script.optimizer >= LOCUS_ADAM && !rc; t++)
        rc = locus_table_steps(run.node[rank], t, EXACT_STEPS_BEFORE);
    if (rc) report_fail(REPORT_NO_KEY, "node %u cannot open: %s", rank, locus_error());
}

static void open_nodes(struct dice *d)
{
    struct locus_config *c = &run.config;
    locus_config_init(c);
    c->table_count = draw_tables(d, run.table);
    c->tables = run.table;
    c->workers = run.script.workers;
    c->shards = run.script.shards;
    c->technique = run.script.technique;
    c->survives = run.script.survives;
    setenv("LOCUS_LAB", run.script.acts_immediately ? "immediate" : "", 1);
    c->size = (int)run.script.nodes;
    c->rendezvous = "simulated:1";
    run.gone_count = 0;
    for (unsigned rank = 0; rank < run.script.nodes; rank++) open_node(rank);
}

/* A node that was lost comes back: nobody else runs meanwhile. */
static locus *come_back(unsigned rank)
{
    run.gone[run.gone_count++] = run.node[rank];
    platform_begins_to_join(rank);
    fibers_alone(true);
    open_node(rank);
    fibers_alone(false);
    platform_joins(rank);
    return run.node[rank];
}

static void add_fibers(void)
{
    unsigned workers = run.script.nodes * run.script.workers;
    for (unsigned w = 0; w < workers && !report_has_failed(); w++)
        player_add_worker(run.node[w / run.script.workers], w);
    platform_add_reactors(workers);
}

static void check_end(enum fibers_end end)
{
    char waiting[2000] = ""; /* it stays so where no worker waits */
    locus_key key = player_waiting(waiting, sizeof waiting);
    if (end == FIBERS_ENDLESS) report_fail(key, "no end after %d steps%s", STEPS_MAX, waiting);
    if (end == FIBERS_STUCK)
        report_fail(key, "stuck: everybody waits, and nothing is under way%s", waiting);
}

static unsigned judge(void)
{
    unsigned undecided = 0;
    for (locus_key key = 0; key < run.script.keys && !report_has_failed(); key++) {
        enum journal_verdict verdict = journal_judge(key);
        undecided += verdict == JOURNAL_UNDECIDED;
        if (verdict == JOURNAL_BAD) report_fail(key, "what was done has no order");
    }
    return undecided;
}

static uint64_t count_replicas(void)
{
    uint64_t sum = 0;
    struct locus_stats s;
    for (unsigned n = 0; n < run.script.nodes; n++)
        if (locus_stats_read(run.node[n], &s) == 0) sum += s.replicas_created;
    return sum;
}

static void close_nodes(void)
{
    for (unsigned n = 0; n < run.script.nodes; n++) {
        bool is_lost = platform_is_broken() || platform_is_lost(n);
        int rc = locus_close(run.node[n]);
        if (rc != (is_lost ? -ECONNRESET : 0))
            report_fail(REPORT_NO_KEY, "closing node %u returned %d", n, rc);
    }
    for (unsigned i = 0; i < run.gone_count; i++) locus_close(run.gone[i]);
    platform_end();
}

static void prepare(const struct run_options *o)
{
    struct dice d = dice_of(o->seed, 2);
    struct platform_hooks hooks = invariants_hooks();
    run_script(o);
    report_begin(run_command(o, run.replay, sizeof run.replay), invariants_print, o->tracing);
    fibers_begin((enum fibers_policy)((o->seed + o->schedule) % FIBERS_POLICIES),
                 dice_of(o->seed, 3 + 8 * o->schedule).state);
    platform_begin(run.script.nodes, run.script.shards, &hooks,
                   dice_of(o->seed, 4 + 8 * o->schedule));
    player_begin(&run.script, o->is_dropped, dice_of(o->seed, 5 + 8 * o->schedule), come_back);
    open_nodes(&d);
    invariants_begin(&run.script);
    fibers_set_watch(invariants_watch);
    add_fibers();
}

struct run_result run_once(const struct run_options *o)
{
    struct run_result r = {0};
    struct player_counters before = player_counters();
    prepare(o);
    if (!report_has_failed()) check_end(fibers_run(STEPS_MAX));
    bool whole = !platform_is_broken();
    if (!report_has_failed() && whole) invariants_at_rest();
    if (!report_has_failed() && whole) r.undecided = judge();
    r.entries = platform_counters().entries;
    r.replicas = count_replicas();
    struct invariants_losses losses = invariants_losses();
    r.lost_nodes = losses.nodes;
    r.lost_meanwhile = platform_counters().lost_meanwhile;
    r.lost_rows = losses.rows;
    r.doubtful = losses.doubtful;
    r.left = losses.left;
    r.joined = losses.joined;
    r.fiber_steps = fibers_steps();
    if (!report_has_failed()) close_nodes(); /* after a failure its fibers may be anywhere */
    r.operations = player_counters().operations - before.operations;
    r.keys = player_counters().keys - before.keys;
    r.relocations = invariants_relocations();
    r.is_good = !report_has_failed();
    return r;
}
