#include "worker/call.h"

#include "base/error.h"
#include "base/figures.h"
#include "base/process.h"
#include "checkpoint/stages.h"
#include "cluster/environment.h"
#include "cluster/hub.h"
#include "cluster/message.h"
#include "observe/journal.h"
#include "observe/metrics.h"
#include "observe/trace.h"
#include "protocol/plan.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void locus_config_init_sized(struct locus_config *c, size_t size)
{
    const struct locus_config defaults = {.workers = 1};
    if (!c) return;
    memset(c, 0, size);
    memcpy(c, &defaults, size < sizeof defaults ? size : sizeof defaults);
}

/* Rank, size and rendezvous: as configured, or as the launcher says. */
static int find_membership(struct locus_config *c, struct environment *e)
{
    if (c->size != 0) return 0;
    if (c->rank != 0)
        return error_set(
            -EINVAL, "rank is %d and size is 0: set both, or leave both to the launcher", c->rank);
    int rc = environment_read(e);
    if (rc == 0 && !e->size && c->rendezvous) rc = environment_no_place("`rendezvous`");
    if (rc) return rc;
    c->size = e->size ? e->size : 1;
    c->rank = e->rank;
    if (!c->rendezvous) c->rendezvous = e->rendezvous;
    return 0;
}

static int check_membership(const struct locus_config *c)
{
    if (c->size < 0 || c->size > RENDEZVOUS_NODES_MAX)
        return error_set(-EINVAL, "size is %d: must be the number of nodes, at most %d, or 0",
                         c->size, RENDEZVOUS_NODES_MAX);
    if (c->rank < 0 || c->rank >= c->size)
        return error_set(-EINVAL, "rank is %d: must be at least 0 and below size, which is %d",
                         c->rank, c->size);
    if (c->size == 1 || (c->rendezvous && *c->rendezvous)) return 0;
    return error_set(
        -EINVAL,
        "a cluster of %d nodes needs a rendezvous: set `rendezvous` or LOCUS_RENDEZVOUS to "
        "the host:port on which rank 0 listens",
        c->size);
}

static int complete(struct locus_config *c, struct environment *e)
{
    int rc = config_complete(c);
    if (rc == 0) rc = keyspace_check(c->tables, c->table_count);
    if (rc == 0) rc = find_membership(c, e);
    return rc ? rc : check_membership(c);
}

static void close_workers(locus *n)
{
    for (unsigned i = 0; i < n->workers; i++)
        __atomic_store_n(&n->worker[i].bound, 0, __ATOMIC_RELAXED);
}

/* In a child that was forked: all that a call here could wait for is in the other process. */
static void on_fork(void *context)
{
    locus *n = context;
    close_workers(n);
    n->is_foreign = true;
}

/* A node was lost: every blocked call ends, and every later one finds no key in range, and then the
 * reason. */
static void on_loss(void *context)
{
    locus *n = context;
    close_workers(n);
    collective_fail(&n->collective, -ECONNRESET);
}

static int init_worker(locus *n, unsigned id)
{
    locus_worker *w = &n->worker[id];
    w->node = n;
    w->store = &n->store;
    /* whose short cut asks no value what it is */
    w->only = n->store.has_one_partition && !n->store.has_bf16 ? n->store.partition : NULL;
    w->id = (int)id;
    /* First, as fini_workers() takes it back whatever fails. Registered for the node's life: ck_epoch
     * keeps every record that it ever saw on its list. */
    reader_init(&w->reader, &n->store);
    w->copies = copies_of(&n->store, id, &w->reader);
    w->scratch = malloc(2 * (size_t)keyspace_longest(&n->store.keyspace) * sizeof *w->scratch);
    if (!w->scratch || samples_init(&w->samples, id))
        return error_set(-ENOMEM, "no memory for worker %u", id);
    if (!n->cluster) return 0;
    w->chunk = CALL_CHUNK;
    w->missed = malloc(w->chunk * sizeof *w->missed);
    if (!w->missed) return error_set(-ENOMEM, "no memory for worker %u", id);
    const struct operations_config c = {.worker = id,
                                        .reactor = cluster_reactors(n->cluster),
                                        .shards = cluster_shards(n->cluster),
                                        .yields = cluster_shares_cores(n->cluster),
                                        .moves = n->plan.technique->moves,
                                        .posted = n->posted[id]};
    return operations_init(&w->operations, &c);
}

static void fini_workers(locus *n)
{
    for (unsigned i = 0; i < n->workers; i++) {
        locus_worker *w = &n->worker[i];
        if (!w->node) continue;
        operations_fini(&w->operations);
        free(w->missed);
        free(w->scratch);
        samples_fini(&w->samples);
        reader_fini(&w->reader);
    }
}

static int init_workers(locus *n)
{
    int rc = 0;
    for (unsigned i = 0; i < n->workers && rc == 0; i++) rc = init_worker(n, i);
    return rc == 0 && n->cluster ? cluster_loss(n->cluster) : rc;
}

static void note_technique(locus *n, enum locus_technique technique)
{
    bool others = n->size > 1;
    n->plan.technique = technique_of(technique);
    n->moves = others && n->plan.technique->moves;
    n->heeds_intents = others && n->plan.technique->heeds_intents;
}

/* What shards see of their workers. */
static int share_progress(locus *n, unsigned shards)
{
    n->clock = calloc(n->workers, sizeof *n->clock);
    n->intents = calloc(shards, sizeof(struct intents *));
    n->clocks = calloc(shards, sizeof(struct clocks *));
    n->progress = calloc(n->workers, sizeof *n->progress);
    n->posted = calloc(n->workers, sizeof *n->posted);
    bool ok = n->clock && n->intents && n->clocks && n->progress && n->posted;
    for (unsigned i = 0; i < n->workers && ok; i++) {
        n->clock[i] = &n->worker[i].clock;
        n->progress[i] = &n->worker[i].progress;
        n->posted[i] = calloc(shards, sizeof *n->posted[i]);
        ok = n->posted[i] != NULL;
    }
    return ok ? 0 : error_set(-ENOMEM, "no memory for %u workers", n->workers);
}

static int start_cluster(const struct locus_config *c, locus *n, bool remembers)
{
    unsigned shards = cluster_shards(n->cluster);
    int rc = share_progress(n, shards);
    if (rc) return rc;
    n->plan.store = &n->store;
    n->plan.config = *c;
    n->plan.config.tables = NULL; /* these are the caller's: only opening reads them */
    n->plan.config.rendezvous = n->plan.config.listen = NULL;
    n->plan.remembers = remembers;
    n->plan.history = cluster_history(n->cluster, &n->plan.changes);
    n->plan.clock = n->clock;
    n->plan.node_keys = &n->waiting_keys;
    n->plan.progress = n->progress;
    n->plan.completed = operation_request_done;
    n->plan.posted = (const uint64_t *const *)n->posted;
    rc = cluster_start(n->cluster, &n->plan);
    for (unsigned s = 0; s < shards && rc == 0; s++) {
        n->intents[s] = node_shard(n, s)->intents;
        n->clocks[s] = node_shard(n, s)->clocks;
        if (n->trace) trace_follow(n->trace, s, node_shard(n, s)->events);
    }
    return rc ? rc : trace_start(n->trace);
}

static int open_store(const struct locus_config *c, locus *n)
{
    /* A cluster of one has nothing to serve, so it has one shard, unless there are too many keys:
     * then consecutive keys lie next to each other. */
    unsigned alone = c->shards ? c->shards : keyspace_shards_needed(c->tables, c->table_count);
    unsigned shards = n->cluster ? cluster_shards(n->cluster) : alone;
    const struct store_config store = {.tables = c->tables,
                                       .table_count = c->table_count,
                                       .shards = shards,
                                       .nodes = (unsigned)n->size,
                                       .rank = (unsigned)n->rank,
                                       .replicates = n->moves,
                                       .is_full = n->cluster && n->plan.technique->every_node_holds,
                                       .is_alone = !n->cluster,
                                       .survives = c->survives,
                                       .has_one_writer = !n->cluster && c->workers == 1};
    int rc = store_open(&n->store, &store);
    n->has_store = rc == 0;
    bool may_copy = c->workers > 1 && n->plan.technique->replicates;
    return rc || !may_copy ? rc : copies_open(&n->store, c->workers);
}

/* Words with commas between them. */
static int read_lab(struct lab *lab)
{
    enum { WORD_BYTES = 32 };
    const char *text = getenv("LOCUS_LAB");
    for (size_t length; text && *text; text += length + (text[length] == ',')) {
        char word[WORD_BYTES], rest;
        length = strcspn(text, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        bool is_immediate = strcmp(word, "immediate") == 0, is_tcp = strcmp(word, "tcp") == 0;
        lab->is_immediate |= is_immediate;
        lab->is_tcp_only |= is_tcp;
        if (is_immediate || is_tcp || !*word) continue;
        if (sscanf(word, "rounds=%u%c", &lab->rounds, &rest) != 1)
            return error_set(-EINVAL, "LOCUS_LAB has \"%s\": lab/README.md says what there is",
                             word);
    }
    return 0;
}

static int open_node(const struct locus_config *c, locus *n)
{
    size_t bytes = c->workers * sizeof *n->worker;
    n->worker = aligned_alloc(_Alignof(locus_worker), bytes);
    if (!n->worker) return error_set(-ENOMEM, "no memory for %u workers", c->workers);
    memset(n->worker, 0, bytes);
    n->rank = c->rank;
    n->size = c->size;
    note_technique(n, c->technique);
    n->workers = c->workers;
    unsigned keep;
    int metrics = -1, rc = series_keeps(&keep); /* refused now, and not by the first checkpoint */
    if (rc == 0) rc = read_lab(&n->plan.lab);
    if (rc == 0 && n->size > 1) rc = streams_prepare();
    if (rc == 0) rc = journal_open((unsigned)c->rank, &n->journal);
    if (rc == 0) rc = metrics_listen((unsigned)c->rank, &metrics);
    if (rc == 0 && n->size > 1) rc = cluster_join(c, on_loss, n, &n->cluster);
    if (rc == 0) rc = open_store(c, n);
    if (rc == 0) rc = trace_open(&n->store, n->plan.technique->name, &n->trace);
    if (rc == 0 && n->cluster) rc = start_cluster(c, n, metrics >= 0 || n->trace);
    if (rc == 0) rc = init_workers(n);
    if (rc == 0) rc = journal_start(n->journal, n);
    if (rc == 0) return metrics_start(n, metrics, &n->metrics);
    if (metrics >= 0) forked_end(metrics);
    return rc;
}

/* Before anything that they tell of. */
static void end_observers(locus *n)
{
    httpd_close(n->metrics);
    journal_close(n->journal);
    trace_close(n->trace);
    n->metrics = NULL;
    n->journal = NULL;
    n->trace = NULL;
}

static void end_node(locus *n)
{
    forked_unwatch(&n->forked);
    end_observers(n);
    cluster_free(n->cluster); /* first: its threads use all the rest */
    if (n->worker) fini_workers(n);
    if (n->has_store) {
        copies_close(&n->store);
        store_fini(&n->store);
    }
    collective_fini(&n->collective);
    pthread_mutex_destroy(&n->presence);
    stages_free_work(n->work);
    for (unsigned i = 0; n->posted && i < n->workers; i++) free(n->posted[i]);
    free(n->posted);
    free(n->progress);
    free(n->clocks);
    free(n->intents);
    free(n->clock);
}

int locus_open(const struct locus_config *config, locus **out)
{
    if (!out) return error_set(-EINVAL, "locus_open: `out` is NULL");
    *out = NULL;
    if (!config) return error_set(-EINVAL, "locus_open: the configuration is NULL");
    struct locus_config c = *config;
    struct environment e;
    int rc = complete(&c, &e);
    if (rc) return rc;
    locus *n = aligned_alloc(_Alignof(locus), sizeof *n);
    if (!n) return error_set(-ENOMEM, "no memory for a node");
    memset(n, 0, sizeof *n);
    collective_init(&n->collective, c.workers);
    pthread_mutex_init(&n->presence, NULL);
    sigset_t before = oversize_begin(); /* of reports and traces */
    rc = open_node(&c, n);
    if (rc) end_node(n);
    oversize_end(before);
    if (rc) {
        free(n->worker);
        free(n);
        return rc;
    }
    n->process = getpid();
    n->forked = (struct forked_watch){.call = on_fork, .context = n};
    forked_watch(&n->forked);
    if (n->cluster) collective_join(&n->collective, cluster_agree, n->cluster);
    *out = n;
    return 0;
}

static int check_workers(locus *n)
{
    unsigned open = collective_open_count(&n->collective);
    if (open == 0) return 0;
    return error_set(-EBUSY, "%u of %u workers are still open: close them first", open, n->workers);
}

static int end(locus *n, bool alone)
{
    sigset_t before = oversize_begin();
    end_observers(n);
    int rc = n->cluster ? cluster_leave(n->cluster, alone) : 0;
    end_node(n);
    oversize_end(before);
    n->is_closed = true;
    closed_keep(n, n->worker, sizeof *n + n->workers * sizeof *n->worker);
    return rc;
}

int locus_close(locus *n)
{
    int rc = n ? call_check_node("locus_close", n) : 0;
    if (!n || rc) return rc;
    rc = check_workers(n);
    return rc ? rc : end(n, false);
}

/* First all that this node wants of others, or has to tell them, is done. */
int locus_leave(locus *n)
{
    int rc = n ? call_check_node("locus_leave", n) : 0;
    if (!n || rc) return rc;
    rc = check_workers(n);
    if (rc || !n->cluster) return rc ? rc : end(n, false);
    if (n->rank == 0)
        return error_set(-EINVAL,
                         "locus_leave: rank 0 cannot leave alone: it keeps the others together");
    if (!n->plan.config.survives)
        return error_set(-EINVAL, "locus_leave: the job does not survive without a node: set "
                                  "`survives` in the configuration of all, or LOCUS_SURVIVES");
    rc = call_flush_updates(n->worker);
    return end(n, rc == 0);
}

int locus_rank(const locus *n)
{
    return call_is_gone("locus_rank", n) ? -EINVAL : n->rank;
}

int locus_size(const locus *n)
{
    return call_is_gone("locus_size", n) ? -EINVAL : n->size;
}

uint64_t locus_keys(const locus *n)
{
    return call_is_gone("locus_keys", n) ? 0 : n->store.keyspace.keys;
}

locus_key locus_table_first(const locus *n, unsigned table)
{
    if (call_is_gone("locus_table_first", n)) return 0;
    const struct keyspace *k = &n->store.keyspace;
    return table < k->tables ? k->table[table].first : k->keys;
}

int locus_technique_of(const locus *n)
{
    return call_is_gone("locus_technique_of", n) ? -EINVAL
                                                 : (int)(n->plan.technique - technique_of(0));
}

uint32_t locus_length(const locus *n, locus_key key)
{
    if (call_is_gone("locus_length", n) || key >= n->store.keyspace.keys) return 0;
    return n->store.keyspace.table[keyspace_table_of(&n->store.keyspace, key)].length;
}

uint32_t locus_state_length(const locus *n, locus_key key)
{
    if (call_is_gone("locus_state_length", n) || key >= n->store.keyspace.keys) return 0;
    return n->store.keyspace.table[keyspace_table_of(&n->store.keyspace, key)].stored;
}

static int check_stepped(const char *call, const locus *n, unsigned table)
{
    int rc = call_check_node(call, n);
    if (rc) return rc;
    const struct keyspace *k = &n->store.keyspace;
    if (table < k->tables && k->table[table].optimizer) return 0;
    return error_set(-EINVAL, "%s: table %u %s", call, table,
                     table < k->tables ? "has no optimizer" : "does not exist");
}

int locus_table_rate(locus *n, unsigned table, double rate)
{
    int rc = check_stepped("locus_table_rate", n, table);
    if (rc) return rc;
    if (!(rate >= 0 && rate <= FLT_MAX))
        return error_set(-EINVAL, "locus_table_rate: rate is %g: must be 0 or above, and finite",
                         rate);
    optimizer_set_rate(&n->store.optimizer[table], (float)rate);
    return 0;
}

int locus_table_steps(locus *n, unsigned table, uint64_t steps)
{
    int rc = check_stepped("locus_table_steps", n, table);
    if (rc == 0) optimizer_set_steps(&n->store.optimizer[table], steps);
    return rc;
}

size_t locus_owned(locus *n, locus_key from, locus_key *keys, size_t max)
{
    if (call_check_node("locus_owned", n)) return 0;
    return keys ? store_owned(&n->store, from, keys, max) : 0;
}

int locus_stats_read_sized(const locus *n, struct locus_stats *out, size_t size)
{
    struct figures f;
    if (!out) return error_set(-EINVAL, "locus_stats_read: the result is NULL");
    int rc = call_check_node("locus_stats_read", n);
    if (rc) return rc;
    figures_read(n, &f);
    memset(out, 0, size);
    memcpy(out, &f.stats, size < sizeof f.stats ? size : sizeof f.stats);
    return 0;
}

int locus_losses_read_sized(const locus *n, struct locus_losses *out, size_t size)
{
    struct locus_losses l = {.members = 1, .last = -1};
    if (!out) return error_set(-EINVAL, "locus_losses_read: the result is NULL");
    int rc = call_check_node("locus_losses_read", n);
    if (rc) return rc;
    if (n->cluster) cluster_losses(n->cluster, &l);
    memset(out, 0, size);
    memcpy(out, &l, size < sizeof l ? size : sizeof l);
    return 0;
}

int locus_histogram_read(const locus *n, enum locus_histogram_kind kind,
                         struct locus_histogram *out)
{
    if (!out) return error_set(-EINVAL, "locus_histogram_read: the result is NULL");
    int rc = call_check_node("locus_histogram_read", n);
    if (rc) return rc;
    if ((unsigned)kind > LOCUS_STALENESS)
        return error_set(-EINVAL, "locus_histogram_read: kind is %d: no such histogram", (int)kind);
    *out = (struct locus_histogram){0};
    for (unsigned i = 0; i < n->workers && kind == LOCUS_BLOCKED_TIME; i++)
        histogram_sum(out, &n->worker[i].operations.blocked);
    unsigned shards = n->cluster && kind != LOCUS_BLOCKED_TIME ? cluster_shards(n->cluster) : 0;
    for (unsigned s = 0; s < shards; s++) shard_add_histogram(node_shard(n, s), kind, out);
    return 0;
}

int locus_report_value(const locus *n, const char *curve, double value)
{
    if (!curve || !journal_may_name(curve))
        return error_set(-EINVAL,
                         "locus_report_value: the name of a curve has 1 to %d printable ASCII "
                         "characters, without \" and \\",
                         JOURNAL_CURVE_BYTES - 1);
    int rc = call_check_node("locus_report_value", n);
    if (rc == 0 && n->journal && isfinite(value)) journal_value(n->journal, curve, value);
    return rc;
}
