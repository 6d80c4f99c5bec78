#include "cluster/cluster.h"

#include "base/error.h"
#include "base/pinning.h"
#include "cluster/losses.h"
#include "cluster/newcomer.h"
#include "cluster/places.h"
#include "cluster/rendezvous.h"
#include "net/forked.h"
#include "net/mesh.h"
#include "net/secret.h"
#include "net/tcp.h"
#include "net/uring.h"
#include "protocol/repair.h"
#include "protocol/saves.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOSS_BYTES = 320 };

struct cluster {
    int rank, size;
    bool survives;
    unsigned shards;
    double join_timeout_s, peer_timeout_s;
    struct secret secret;
    int listener; /* of the data port while joining, else -1 */
    struct newcomer newcomer;
    struct rendezvous *rendezvous;
    struct rendezvous_cluster agreed;
    struct pinning_machine *machine;
    struct pinning_plan *plan;
    struct reactor **reactor; /* [shards] */
    void (*lost)(void *context);
    void *context;
    pthread_mutex_t mutex; /* of what follows */
    pthread_cond_t noted;
    bool has_reactors; /* all are open: a loss is told to them */
    bool is_open;      /* atomic: all nodes have said so */
    bool is_telling;   /* they are being told */
    bool is_lost;      /* atomic: mesh_connect looks at it, too */
    unsigned lost_rank;
    char loss[LOSS_BYTES]; /* the sentence */
    struct {
        struct change change;
        uint32_t saved;  /* the last one that is over, and all is saved anew */
        unsigned shards; /* that are not through with it */
        uint64_t began_ns;
        struct locus_losses now; /* what shards count: as it was after the change before */
        char loss[LOSS_BYTES];
    } view;                    /* the last change of members */
    bool is_newcomer, has_met; /* joined a running cluster; and has met the others there */
};

/* Losing a node. */

static void describe_loss(const struct cluster *c, unsigned rank, const char *reason,
                          char loss[LOSS_BYTES])
{
    char address[ADDRESS_MAX] = "unknown address";
    if (c->agreed.address && rank < (unsigned)c->size)
        rendezvous_address(c->rendezvous, rank, address);
    snprintf(loss, LOSS_BYTES, "node %u (%s) %s", rank, address, reason);
}

/* The first loss counts: what follows is mostly its consequence. */
static bool note_loss(struct cluster *c, unsigned rank, const char *reason, bool *has_reactors)
{
    bool first = false;
    pthread_mutex_lock(&c->mutex);
    *has_reactors = c->has_reactors;
    if (!c->is_lost) {
        first = c->is_telling = true;
        __atomic_store_n(&c->is_lost, true, __ATOMIC_RELEASE);
        c->lost_rank = rank;
        describe_loss(c, rank, reason, c->loss);
        /* Called before any thread can see the loss, and so before any call ends because of it.
         * From then on every call fails, even for rows that are here. */
        c->lost(c->context);
        pthread_cond_broadcast(&c->noted);
    }
    pthread_mutex_unlock(&c->mutex);
    return first;
}

static void lose(struct cluster *c, unsigned rank, const char *reason)
{
    bool has_reactors;
    if (!note_loss(c, rank, reason, &has_reactors)) return;
    for (unsigned s = 0; has_reactors && s < c->shards; s++)
        reactor_lose(c->reactor[s], rank, reason);
    pthread_mutex_lock(&c->mutex);
    c->is_telling = false;
    pthread_cond_broadcast(&c->noted);
    pthread_mutex_unlock(&c->mutex);
}

/* Whoever found the loss has told the reactors of it and uses them no more. */
static void await_told(struct cluster *c)
{
    pthread_mutex_lock(&c->mutex);
    while (c->is_telling) pthread_cond_wait(&c->noted, &c->mutex);
    pthread_mutex_unlock(&c->mutex);
}

/* If two nodes do not hear each other, only rank 0 can tell which is lost. And a node that fails to
 * start ends its links; rank 0 knows the reason. And whether the others go on. */
static void lost_by_link(void *context, unsigned rank, const char *reason)
{
    struct cluster *c = context;
    bool is_clear = __atomic_load_n(&c->is_open, __ATOMIC_RELAXED) && !c->survives &&
                    !silence_is_reason(reason);
    bool comes_back = rendezvous_report_lost(c->rendezvous, (int)rank, reason);
    if (is_clear || !comes_back) lose(c, rank, reason);
}

/* For a moment, until a loss is noted. */
static void await_note(struct cluster *c)
{
    uint64_t until_ns = time_now_ns() + 1000000000;
    pthread_mutex_lock(&c->mutex);
    while (!c->is_lost && condition_wait(&c->noted, &c->mutex, until_ns)) continue;
    pthread_mutex_unlock(&c->mutex);
}

/* If rank 0 has left because of another node's failure, it has said so on its links: that is used
 * first. */
static void lost_by_rendezvous(void *context, int rank, const char *reason)
{
    struct cluster *c = context;
    if (rank == 0 && c->rank != 0) await_note(c);
    lose(c, (unsigned)rank, reason);
}

/* ---- the members change ---- */

static void see_view(void *context, const struct change *change, const char *reason)
{
    struct cluster *c = context;
    pthread_mutex_lock(&c->mutex);
    bool is_anew = change->number == c->view.change.number, joins = change->kind == CHANGE_JOINS;
    if (!is_anew && c->view.shards > 0)
        fprintf(stderr, "locus: %s; a node is lost before rows are saved anew\n", c->view.loss);
    c->view.change = *change;
    if (!is_anew) c->view.shards = c->shards;
    if (!is_anew) c->view.began_ns = time_now_ns();
    losses_note(&c->view.now, change, is_anew);
    describe_loss(c, change->node, reason, c->view.loss);
    pthread_mutex_unlock(&c->mutex);
    for (unsigned s = 0; s < c->shards; s++)
        reactor_see(c->reactor[s], *change, joins ? newcomer_take(&c->newcomer, s) : -1);
}

static void see_joining(void *context, uint64_t id, unsigned rank, const char *address)
{
    newcomer_connect(&((struct cluster *)context)->newcomer, id, rank, address);
}

/* What shards count, of all times. */
static void add_counted(struct cluster *c, struct locus_losses *l)
{
    struct shard_counters all = {0};
    struct saves_ages ages = {0};
    for (unsigned s = 0; s < c->shards; s++) {
        shard_add_counters(reactor_shard(c->reactor[s]), &all);
        saves_add_ages(reactor_shard(c->reactor[s]), &ages);
    }
    l->rows_from_replicas = all.rows_from_replicas;
    l->rows_from_saves = all.rows_from_saves;
    l->rows_zero = all.rows_lost;
    l->rows_handed_over = all.rows_handed_over;
    l->saves = all.saves;
    l->saved_bytes = all.saved_bytes;
    l->save_age_s = 1e-9 * (double)ages.here_ns;
    l->last_age_s = 1e-9 * (double)ages.lost_ns;
}

void cluster_losses(struct cluster *c, struct locus_losses *l)
{
    pthread_mutex_lock(&c->mutex);
    *l = c->view.now;
    pthread_mutex_unlock(&c->mutex);
    if (l->survives) add_counted(c, l);
}

static void report_repair(struct cluster *c)
{
    const struct locus_losses before = c->view.now;
    c->view.now.last_s = 1e-9 * (double)(time_now_ns() - c->view.began_ns);
    add_counted(c, &c->view.now);
    losses_report(&before, &c->view.now, &c->view.change, c->view.loss, (unsigned)c->rank);
}

/* On the thread of a reactor. */
static void note_repaired(void *context, uint32_t view)
{
    struct cluster *c = context;
    pthread_mutex_lock(&c->mutex);
    if (view != c->view.change.number) { /* which another one has overtaken */
        pthread_mutex_unlock(&c->mutex);
        return;
    }
    bool is_over = --c->view.shards == 0;
    if (is_over) report_repair(c);
    if (is_over) c->view.saved = view;
    pthread_cond_broadcast(&c->noted);
    pthread_mutex_unlock(&c->mutex);
    if (is_over) rendezvous_repaired(c->rendezvous, view);
}

uint32_t cluster_view(struct cluster *c)
{
    return c->survives ? rendezvous_view(c->rendezvous) : 0;
}

uint32_t cluster_repaired(struct cluster *c)
{
    uint32_t view = UINT32_MAX;
    for (unsigned s = 0; s < c->shards; s++) {
        uint32_t last = repair_last(reactor_shard(c->reactor[s]));
        if (last < view) view = last;
    }
    return view;
}

bool cluster_has_lost(struct cluster *c, unsigned rank)
{
    return c->survives && rendezvous_has_lost(c->rendezvous, rank);
}

const struct change *cluster_history(const struct cluster *c, uint32_t *changes)
{
    *changes = c->agreed.changes;
    return c->agreed.history;
}

int cluster_loss(struct cluster *c)
{
    int rc = 0;
    pthread_mutex_lock(&c->mutex);
    if (c->is_lost) rc = error_set(-ECONNRESET, "%s", c->loss);
    pthread_mutex_unlock(&c->mutex);
    return rc;
}

/* The rendezvous reports that a node was lost; it names the node on another thread, and not always
 * at once. */
static int await_loss(struct cluster *c, int rc)
{
    await_note(c);
    await_note(c);
    int loss = cluster_loss(c);
    return loss ? loss : rc;
}

/* Joining. */

/* Without a secret any program that reaches our ports could join. So programs on other machines
 * cannot reach them, unless the configuration says otherwise. */
static bool stays_on_loopback(const struct cluster *c, const struct locus_config *config)
{
    return !c->secret.is_known && !address_has_host(config->listen);
}

static int join_rendezvous(struct cluster *c, const struct locus_config *config,
                           const char *data_address)
{
    const struct rendezvous_config r = {
        .node = *config,
        .data_address = data_address,
        .choice = places_choose_shards(c->machine, config),
        .secret = &c->secret,
        .loopback_only = stays_on_loopback(c, config),
        .lost = lost_by_rendezvous,
        .view = see_view,
        .joining = see_joining,
        .context = c,
    };
    int rc = rendezvous_join(&r, &c->rendezvous, &c->agreed);
    if (rc) return rc;
    c->shards = c->agreed.shards;
    c->peer_timeout_s = c->agreed.peer_timeout_s;
    c->view.saved = c->agreed.changes;
    c->is_newcomer = c->agreed.changes > 0;
    c->view.now.is_newcomer = c->is_newcomer;
    for (uint32_t i = 0; i < c->agreed.changes; i++)
        c->view.now.members += c->agreed.history[i].kind == CHANGE_JOINS ? 1u : -1u;
    return 0;
}

static int listen_for_peers(struct cluster *c, const struct locus_config *config,
                            char address[ADDRESS_MAX])
{
    const struct address_place place = {
        .listen = config->listen,
        .rendezvous = config->rendezvous,
        .loopback_only = stays_on_loopback(c, config),
        .deadline_ns = time_now_ns() + (uint64_t)(c->join_timeout_s * 1e9),
    };
    return address_listen(&place, &c->listener, address);
}

static int join(struct cluster *c, const struct locus_config *config)
{
    char data_address[ADDRESS_MAX];
    /* its form is the first thing to be wrong */
    struct rendezvous_address rendezvous;
    /* an unknown machine: nothing is pinned */
    if (pinning_machine_load(c->machine, NULL, NULL)) c->machine->cores = 0;
    int rc = rendezvous_address_parse(&rendezvous, config->rendezvous);
    if (rc == 0) rc = secret_read(&c->secret);
    if (rc == 0) rc = listen_for_peers(c, config, data_address);
    if (rc == 0) rc = join_rendezvous(c, config, data_address);
    if (rc) return rc;
    c->reactor = calloc(c->shards, sizeof(struct reactor *));
    return c->reactor ? 0 : error_set(-ENOMEM, "no memory for %u shards", c->shards);
}

int cluster_join(const struct locus_config *config, void (*lost)(void *context), void *context,
                 struct cluster **out)
{
    struct cluster *c = calloc(1, sizeof *c);
    *out = NULL;
    if (!c) return error_set(-ENOMEM, "no memory for a cluster");
    pthread_mutex_init(&c->mutex, NULL);
    condition_init(&c->noted);
    c->listener = -1;
    c->rank = config->rank;
    c->size = config->size;
    c->survives = config->survives;
    c->view.now = (struct locus_losses){
        .survives = config->survives, .members = (unsigned)config->size, .last = -1};
    c->join_timeout_s = config->join_timeout_s;
    c->lost = lost;
    c->context = context;
    c->machine = calloc(1, sizeof *c->machine);
    c->plan = calloc(1, sizeof *c->plan);
    int rc = c->machine && c->plan ? join(c, config)
                                   : error_set(-ENOMEM, "no memory for a pinning plan");
    if (rc) {
        cluster_free(c);
        return rc;
    }
    *out = c;
    return 0;
}

unsigned cluster_shards(const struct cluster *c)
{
    return c->shards;
}

static void close_sockets(const int *fd, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (fd[i] >= 0) forked_end(fd[i]);
}

/* Opens a reactor for every shard; fd[peer * shards + shard] are taken over. */
static int open_reactors(struct cluster *c, const struct node_plan *plan, const int *fd)
{
    int rc = 0, own[RENDEZVOUS_NODES_MAX];
    for (unsigned s = 0; s < c->shards; s++) {
        for (int peer = 0; peer < c->size; peer++) own[peer] = fd[(size_t)peer * c->shards + s];
        const struct reactor_config r = {
            .plan = plan,
            .shard = s,
            .fd = own,
            .peer_timeout_s = c->peer_timeout_s,
            .place = c->plan->shard[s],
            .yields = cluster_shares_cores(c),
            .completed = plan->completed,
            .lost = lost_by_link,
            .repaired = c->survives ? note_repaired : NULL,
            .context = c,
        };
        if (rc) {
            close_sockets(own, (size_t)c->size);
            continue;
        }
        places_bind(c->machine, c->plan->shard[s], plan->store, s);
        rc = reactor_open(&r, &c->reactor[s]);
    }
    return rc;
}

/* As cluster_loss, but leaves the sentence of what has failed here. */
static bool has_lost(struct cluster *c)
{
    pthread_mutex_lock(&c->mutex);
    bool is_lost = c->is_lost;
    pthread_mutex_unlock(&c->mutex);
    return is_lost;
}

/* The others wait for this node: they hear why it does not come. */
static void report_failure(struct cluster *c)
{
    char reason[LOSS_BYTES];
    snprintf(reason, sizeof reason, "could not start: %s", locus_error());
    rendezvous_report_lost(c->rendezvous, c->rank, reason);
}

/* Not before all have heard why: else the end of these connections would be what they hear of. */
static void give_up_links(struct cluster *c, const int *fd, size_t links)
{
    if (!has_lost(c)) report_failure(c);
    rendezvous_await_verdict(c->rendezvous);
    close_sockets(fd, links);
}

static int connect_links(struct cluster *c, const struct node_plan *plan)
{
    size_t links = (size_t)c->shards * (unsigned)c->size;
    int *fd = malloc(links * sizeof *fd);
    unsigned char side[RENDEZVOUS_NODES_MAX];
    if (!fd) return error_set(-ENOMEM, "no memory for %zu links", links);
    for (int i = 0; i < c->size; i++) {
        bool is_none = i == c->rank || cluster_has_lost(c, (unsigned)i);
        bool connects = i > c->rank || c->is_newcomer;
        side[i] = is_none ? MESH_NOBODY : connects ? MESH_THEY_DO : MESH_WE_DO;
    }
    const struct mesh_config m = {
        .cluster = c->agreed.id,
        .rank = (unsigned)c->rank,
        .size = (unsigned)c->size,
        .shards = c->shards,
        .side = side,
        .address = (const char(*)[ADDRESS_MAX])c->agreed.address,
        .listener = c->listener,
        .secret = &c->secret,
        .deadline_ns = time_now_ns() + (uint64_t)(c->join_timeout_s * 1e9),
        .report_ns = UINT64_C(10000000000),
        .cancel = &c->is_lost,
    };
    int rc = mesh_connect(&m, fd);
    if (!c->survives) secret_forget(&c->secret);
    c->listener = -1;
    c->newcomer = (struct newcomer){
        .rendezvous = c->rendezvous, .mesh = m, .timeout_ns = (uint64_t)(c->join_timeout_s * 1e9)};
    if (rc == 0 && c->survives) rc = newcomer_init(&c->newcomer);
    if (rc == 0)
        rc = open_reactors(c, plan, fd);
    else
        give_up_links(c, fd, links);
    free(fd);
    return rc;
}

/* The rendezvous may report a loss at any time after joining. We must look for one that came before
 * this. */
static int announce_reactors(struct cluster *c)
{
    pthread_mutex_lock(&c->mutex);
    c->has_reactors = true;
    pthread_mutex_unlock(&c->mutex);
    return cluster_loss(c);
}

/* Our shards have begun to repair what the others begin to when all are connected. */
static int await_membership(struct cluster *c)
{
    struct reminder waits = {.since_ns = time_now_ns()};
    rendezvous_connected(c->rendezvous, c->agreed.id, "");
    pthread_mutex_lock(&c->mutex);
    while (!c->is_lost && c->view.saved == c->agreed.changes)
        if (!condition_wait(&c->noted, &c->mutex, reminder_next_ns(&waits)))
            fprintf(stderr,
                    "locus: node %d has waited %u s to become a member of the running job: for the "
                    "links of all others, the end of their checkpoint, or their repair\n",
                    c->rank, reminder_due(&waits, time_now_ns()));
    pthread_mutex_unlock(&c->mutex);
    return cluster_loss(c);
}

int cluster_start(struct cluster *c, const struct node_plan *plan)
{
    const struct change ours = {c->agreed.changes + 1, CHANGE_JOINS, (unsigned)c->rank};
    const struct meeting opening = {.name = "locus_open"};
    struct word nothing = {.rc = 0};
    places_plan(c->machine, &c->agreed, (unsigned)c->rank, (unsigned)c->size, c->plan);
    /* Before there are links, whose end would speak faster than the report. */
    int rc = uring_check((unsigned)c->size, 1);
    if (rc == 0) rc = connect_links(c, plan);
    if (rc == -ECANCELED) rc = cluster_loss(c);
    if (rc == 0) rc = announce_reactors(c);
    if (rc == 0 && c->is_newcomer) see_view(c, &ours, "has joined");
    for (unsigned s = 0; s < c->shards && rc == 0; s++) rc = reactor_start(c->reactor[s]);
    if (rc && !has_lost(c)) report_failure(c);
    if (rc == 0) rc = c->is_newcomer ? await_membership(c) : cluster_agree(c, &opening, &nothing);
    if (rc == 0) __atomic_store_n(&c->is_open, true, __ATOMIC_RELAXED);
    for (unsigned s = 0; s < c->shards && rc == 0; s++) reactor_all_run(c->reactor[s]);
    return rc;
}

struct reactor **cluster_reactors(struct cluster *c)
{
    return c->reactor;
}

bool cluster_shares_cores(const struct cluster *c)
{
    return !c->plan->has_own_core;
}

int cluster_agree(void *cluster, const struct meeting *meeting, struct word *w)
{
    struct cluster *c = cluster;
    int rc = cluster_loss(c);
    if (rc == 0 && c->is_newcomer && !c->has_met && !meeting->lets_in) {
        snprintf(w->text, sizeof w->text,
                 "node %d has joined a running job, where it must meet the others by locus_meet "
                 "before it can call %s",
                 c->rank, meeting->name);
        return error_set(w->rc = -EINVAL, "%s", w->text);
    }
    if (rc == 0) rc = rendezvous_agree(c->rendezvous, meeting, w);
    if (rc != -ECONNRESET) c->has_met = true;
    return rc == -ECONNRESET ? await_loss(c, rc) : rc;
}

int cluster_absent(struct cluster *c, bool absent)
{
    if (absent) rendezvous_absent(c->rendezvous);
    int rc = absent ? 0 : rendezvous_present(c->rendezvous);
    return rc == -ECONNRESET ? await_loss(c, rc) : rc;
}

/* Leaving. */

/* Each may tell all others of a loss until it has stopped. */
static void end_reactors(struct cluster *c)
{
    for (unsigned s = 0; c->reactor && s < c->shards; s++)
        if (c->reactor[s]) reactor_stop(c->reactor[s]);
    await_told(c);
    /* Each waits for all readers that the store knows, including the other shards: so none is freed
     * before. */
    for (unsigned s = 0; c->reactor && s < c->shards; s++)
        if (c->reactor[s]) reactor_fini(c->reactor[s]);
    for (unsigned s = 0; c->reactor && s < c->shards; s++) {
        if (c->reactor[s]) reactor_free(c->reactor[s]);
        c->reactor[s] = NULL;
    }
}

int cluster_leave(struct cluster *c, bool alone)
{
    int rc = cluster_loss(c);
    if (rc == 0) rc = rendezvous_leave(c->rendezvous, alone);
    end_reactors(c);
    int loss = cluster_loss(c);
    return loss ? loss : rc;
}

void cluster_free(struct cluster *c)
{
    if (!c) return;
    rendezvous_stop(c->rendezvous); /* first: until then it may tell the reactors of a loss */
    newcomer_fini(&c->newcomer);
    end_reactors(c);
    rendezvous_free(c->rendezvous); /* last: until then they may tell it of one */
    if (c->listener >= 0) forked_end(c->listener);
    if (c->machine) pinning_machine_fini(c->machine);
    pthread_cond_destroy(&c->noted);
    pthread_mutex_destroy(&c->mutex);
    secret_forget(&c->secret);
    free(c->reactor);
    free(c->machine);
    free(c->plan);
    free(c);
}
