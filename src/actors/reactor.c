#include "actors/reactor_private.h"

#include "base/error.h"
#include "base/sync.h"
#include "base/time.h"
#include "net/forked.h"
#include "protocol/repair.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* A thread that has woken stays awake for so long, though a worker would take its turns. */
#define AWAKE_NS UINT64_C(1000000)
/* How often it is asked whether the worker runs as soon as the thread would. */
#define SOON_NS UINT64_C(100000000)

/* The platform of the shard (protocol/shard.h). */

static struct wire_entry *platform_entry(void *context, unsigned peer, uint32_t length,
                                         uint64_t until_ns)
{
    struct reactor *r = context;
    /* During a long turn peers get their frames early, so that they can begin. That is done before
     * the new entry, because an entry must not leave before its caller has filled it in. */
    if (r->unsubmitted_bytes >= LINK_FRAME_BYTES) {
        r->unsubmitted_bytes = 0;
        if (turn_is_ours(&r->shared.turn))
            uring_give_shm(r->uring);
        else
            uring_submit(r->uring);
    }
    if (!r->link[peer]) return NULL;
    r->unsubmitted_bytes += wire_entry_bytes(length);
    outbox_say(&r->outbox, peer, until_ns);
    return link_entry(r->link[peer], length);
}

static void platform_complete(void *context, struct request *request, int rc)
{
    ((struct reactor *)context)->completed(request, rc);
}

static uint64_t platform_now_ns(void *context)
{
    (void)context;
    return time_now_ns();
}

static uint64_t platform_cpu_ns(void *context)
{
    (void)context;
    return time_ns(CLOCK_THREAD_CPUTIME_ID);
}

static const char *on_frame(void *context, unsigned peer, const struct wire_frame *f,
                            const void *body)
{
    return shard_frame(&((struct reactor *)context)->shard, peer, f, body);
}

static void on_heartbeat(void *context, unsigned peer)
{
    shard_heartbeat(&((struct reactor *)context)->shard, peer);
}

static void on_failed(void *context, unsigned peer, unsigned culprit, const char *reason)
{
    struct reactor *r = context;
    char left[REASON_BYTES];
    if (repair_has_left(&r->shard)) return; /* which no member needs any more */
    /* Where nodes survive a loss rank 0 alone says whose: a peer that gives another up leaves. */
    bool is_leaving = r->repaired && culprit != peer && culprit != r->shard.rank && peer != 0;
    snprintf(left, sizeof left, "left: to it node %u %s", culprit, reason);
    r->lost(r->context, is_leaving ? peer : culprit, is_leaving ? left : reason);
}

static void platform_repaired(void *context, uint32_t view)
{
    struct reactor *r = context;
    if (r->change.kind == CHANGE_LEAVES && r->change.node != r->shard.rank) {
        r->left = r->change.node;
        uring_wake(r->uring); /* this may be a worker's thread */
    }
    r->repaired(r->context, view);
}

static uint64_t platform_sent(void *context)
{
    return uring_bytes_sent(((struct reactor *)context)->uring);
}

/* Opening. */

static int add_links(struct reactor *r, const struct reactor_config *c)
{
    for (unsigned peer = 0; peer < r->nodes; peer++) {
        if (peer == r->shard.rank || c->fd[peer] < 0) continue;
        int rc = uring_add_link(r->uring, peer, c->fd[peer], &r->link[peer]);
        if (rc) return rc;
    }
    return 0;
}

static void wake_for_dirty(void *reactor)
{
    reactor_wake(reactor);
}

static int open_parts(struct reactor *r, const struct reactor_config *c)
{
    struct store *store = c->plan->store;
    const struct shard_config shard = {.plan = c->plan,
                                       .platform = &r->platform,
                                       .number = c->shard,
                                       .credit_bytes = LINK_CREDIT_BYTES,
                                       .has_own_core = !c->yields,
                                       .round_ns = REACTOR_ROUND_NS,
                                       .kib_ns = REACTOR_KIB_NS};
    int rc = shard_init(&r->shard, &shard);
    if (rc) return error_set(rc, "no memory for shard %u", c->shard);
    const struct uring_config ring = {.events = {r, on_frame, on_failed, on_heartbeat},
                                      .nodes = r->nodes,
                                      .rank = r->shard.rank,
                                      .entry_bytes_max = shard_entry_bytes_max(store),
                                      .peer_timeout_s = c->peer_timeout_s,
                                      .queued_max = shard_memory_max(store),
                                      .has_repairs = c->repaired != NULL,
                                      .membership = store->home.membership,
                                      .is_shm = !c->plan->lab.is_tcp_only};
    rc = uring_init(&r->uring, &ring);
    if (rc) return rc;
    if (store->dirty) {
        store->dirty[c->shard].context = r;
        store->dirty[c->shard].notify = wake_for_dirty;
    }
    return add_links(r, c);
}

static void close_unused(const struct reactor *r, const struct reactor_config *c)
{
    for (unsigned peer = 0; peer < c->plan->store->home.nodes; peer++)
        if (c->fd[peer] >= 0 && !(r && r->link && r->link[peer])) forked_end(c->fd[peer]);
}

int reactor_open(const struct reactor_config *c, struct reactor **out)
{
    struct reactor *r = aligned_alloc(_Alignof(struct reactor), sizeof *r);
    *out = NULL;
    if (r) {
        *r = (struct reactor){.nodes = c->plan->store->home.nodes,
                              .workers = c->plan->config.workers,
                              .yields = c->yields,
                              .has_one_worker = c->yields && c->plan->config.workers == 1,
                              .place = c->place,
                              .completed = c->completed,
                              .lost = c->lost,
                              .repaired = c->repaired,
                              .context = c->context,
                              .shared.fd = -1};
        r->platform = (struct platform){r,
                                        platform_entry,
                                        platform_complete,
                                        platform_now_ns,
                                        platform_cpu_ns,
                                        platform_repaired,
                                        platform_sent};
        r->link = calloc(r->nodes, sizeof(struct link *));
        r->inbox = calloc(r->workers, sizeof *r->inbox);
    }
    int rc = r && r->link && r->inbox && outbox_init(&r->outbox, r->nodes) == 0
                 ? open_parts(r, c)
                 : error_set(-ENOMEM, "no memory for a reactor");
    if (rc) close_unused(r, c);
    *out = r;
    return rc;
}

void reactor_fini(struct reactor *r)
{
    shard_fini(&r->shard);
}

void reactor_free(struct reactor *r)
{
    if (!r) return;
    uring_fini(r->uring);
    reactor_fini(r);
    if (r->shared.fd >= 0) forked_end(r->shared.fd);
    free(r->inbox);
    free(r->link);
    outbox_fini(&r->outbox);
    free(r);
}

/* Turns. */

/* Requests of one worker, in order, that are there now: one that asks as fast as it is served would
 * keep us from all others. A request that waits for credit holds back those behind it. */
static unsigned serve_inbox(struct reactor *r, struct inbox *in)
{
    unsigned served = 0, there = mailbox_count(&in->mailbox) + (in->current != NULL);
    for (; served < there; served++) {
        if (!in->current) in->current = mailbox_take(&in->mailbox);
        uint32_t sent = in->current->sent;
        if (!shard_serve(&r->shard, in->current)) return served + (in->current->sent > sent);
        in->current = NULL;
    }
    return served;
}

/* Each turn begins with another worker: the first one takes what room there is in credit. */
static unsigned serve_inboxes(struct reactor *r)
{
    unsigned served = 0, w = r->first_inbox;
    for (unsigned i = 0; i < r->workers; i++) {
        served += serve_inbox(r, &r->inbox[w]);
        w = w + 1 < r->workers ? w + 1 : 0;
    }
    r->first_inbox = w + 1 < r->workers ? w + 1 : 0;
    return served;
}

static void flush_link(void *reactor, unsigned peer)
{
    link_flush(((struct reactor *)reactor)->link[peer]);
}

/* A turn without news costs the same however many peers there are. */
static void flush_links(struct reactor *r, uint64_t now)
{
    outbox_flush(&r->outbox, now, flush_link, r);
    uring_submit(r->uring);
}

static void take_leave(struct reactor *r)
{
    for (unsigned peer = 0; peer < r->nodes; peer++) {
        if (!r->link[peer]) continue;
        if (r->saw_loss)
            link_lost(r->link[peer], r->shared.lost_rank, r->shared.reason);
        else
            link_bye(r->link[peer]);
    }
    uring_submit(r->uring);
}

static void handle_loss(struct reactor *r)
{
    if (r->saw_loss || __atomic_load_n(&r->shared.loss, __ATOMIC_ACQUIRE) != 2) return;
    r->saw_loss = true;
    shard_fail(&r->shard, -ECONNRESET);
    take_leave(r);
}

static void begin_repair(struct reactor *r)
{
    if (!__atomic_load_n(&r->shared.has_change, __ATOMIC_ACQUIRE)) return;
    const struct change change = r->change = r->shared.change;
    struct link *new = NULL;
    struct link *former = r->link[change.node];
    if (!r->saw_loss && change.kind == CHANGE_LOST && former) uring_drop_link(r->uring, former);
    if (!r->saw_loss && r->shared.fd >= 0 &&
        uring_add_link(r->uring, change.node, r->shared.fd, &new))
        r->lost(r->context, r->shard.rank, locus_error());
    if (new) __atomic_store_n(&r->link[change.node], new, __ATOMIC_RELEASE);
    if (new) r->shared.fd = -1;
    __atomic_store_n(&r->shared.has_change, 0, __ATOMIC_RELEASE);
    if (!r->saw_loss) repair_begin(&r->shard, change);
}

/* Nothing more comes from there, and nobody there takes the end of the link for a failure. */
static void drop_who_left(struct reactor *r)
{
    if (r->left) uring_drop_link(r->uring, r->link[r->left]);
    r->left = 0;
}

static void answer_question(struct reactor *r)
{
    if (!__atomic_load_n(&r->shared.question, __ATOMIC_RELAXED)) return;
    struct question *q = __atomic_exchange_n(&r->shared.question, NULL, __ATOMIC_ACQUIRE);
    if (!q) return;
    shard_snapshot(&r->shard, q->index, q->answer);
    __atomic_store_n(&q->is_answered, true, __ATOMIC_RELEASE);
}

/* Closing earlier might reset a connection and discard our last message. */
static bool may_close(const struct reactor *r)
{
    for (unsigned peer = 0; peer < r->nodes; peer++) {
        const struct link *l = r->link[peer];
        if (l && !(link_is_drained(l) && link_peer_is_gone(l))) return false;
    }
    return true;
}

/* After a loss this waits less long, because the peers may have nothing more to do. */
static bool is_finished(struct reactor *r, uint64_t now)
{
    if (!__atomic_load_n(&r->shared.stopping, __ATOMIC_ACQUIRE)) return false;
    if (!r->said_bye) {
        r->said_bye = true;
        r->goodbye_ns = now + (r->saw_loss ? REACTOR_GOODBYE_NS / 10 : REACTOR_GOODBYE_NS);
        if (!r->saw_loss) take_leave(r);
    }
    return now >= r->goodbye_ns || may_close(r);
}

static bool has_news(struct reactor *r)
{
    /* Requests behind one that waits for credit are no news: an answer will end the wait, and the
     * sleep. */
    for (unsigned w = 0; w < r->workers; w++)
        if (!r->inbox[w].current && mailbox_count(&r->inbox[w].mailbox) > 0) return true;
    if (shard_has_news(&r->shard)) return true;
    if (__atomic_load_n(&r->shared.question, __ATOMIC_RELAXED)) return true;
    if (__atomic_load_n(&r->shared.has_change, __ATOMIC_RELAXED) || r->left) return true;
    if (!r->said_bye && __atomic_load_n(&r->shared.stopping, __ATOMIC_ACQUIRE)) return true;
    return !r->saw_loss && __atomic_load_n(&r->shared.loss, __ATOMIC_ACQUIRE) == 2;
}

/* When what the shard and its outbox wait for is due. */
static uint64_t next_due_ns(const struct reactor *r)
{
    return time_earlier(r->due_ns, outbox_due_ns(&r->outbox));
}

/* A worker uses links in shared memory alone. A node that has lost another or leaves needs more. */
static bool may_be_helped(const struct reactor *r)
{
    return r->has_one_worker && !r->saw_loss && !r->said_bye && uring_is_shm(r->uring);
}

static void sleep_until_news(struct reactor *r)
{
    uint64_t until = time_earlier(uring_next_tick_ns(r->uring), next_due_ns(r));
    if (r->said_bye && r->goodbye_ns < until) until = r->goodbye_ns;
    turn_check(&r->shared.turn);
    if (until <= time_now_ns() || has_news(r) || !uring_lie_down(r->uring)) return;
    r->until_ns = until;
    __atomic_store_n(&r->sleeps, r->sleeps + 1, __ATOMIC_RELAXED);
    if (turn_leave(&r->shared.turn, may_be_helped(r))) {
        uring_sleep(r->uring, until);
        turn_take_back(&r->shared.turn);
    }
    uring_get_up(r->uring);
    r->slept_ns = time_now_ns();
}

/* Leave its turns to a worker that waits? Not soon after others wanted the thread: to wake it each
 * time would cost them more than the worker gains. */
static bool would_leave(const struct reactor *r, uint64_t now)
{
    return __atomic_load_n(&r->shared.helper, __ATOMIC_RELAXED) && now - r->slept_ns > AWAKE_NS &&
           may_be_helped(r);
}

static void *run(void *argument)
{
    struct reactor *r = argument;
    uint64_t now = time_now_ns(), busy = now;
    while (!is_finished(r, now)) {
        unsigned work = uring_poll(r->uring, now);
        handle_loss(r);
        drop_who_left(r); /* one of its rank may be the next to join */
        begin_repair(r);
        answer_question(r);
        work += serve_inboxes(r);
        r->due_ns = shard_turn(&r->shard, now);
        flush_links(r, now);
        uring_tick(r->uring, now);
        if (work > 0)
            busy = now;
        else if (now - busy < REACTOR_SPIN_NS && !would_leave(r, now))
            r->yields ? (void)sched_yield() : cpu_relax();
        else
            sleep_until_news(r);
        now = time_now_ns();
    }
    uring_stop(r->uring);
    return NULL;
}

static void *start(void *argument)
{
    struct reactor *r = argument;
    pinning_apply(r->place); /* refused: slower, not wrong */
    pinning_shorten_slices();
    __atomic_store_n(&r->shared.thread, gettid(), __ATOMIC_RELAXED);
    int rc = uring_start(r->uring, time_now_ns());
    if (rc) r->lost(r->context, r->shard.rank, locus_error());
    return run(r);
}

int reactor_start(struct reactor *r)
{
    char name[16];
    int rc = pthread_create(&r->thread, NULL, start, r);
    if (rc)
        return error_set(-rc, "no thread for shard %u: %s", r->shard.number, locus_strerror(-rc));
    r->started = true;
    snprintf(name, sizeof name, "locus-shard%u", r->shard.number);
    pthread_setname_np(r->thread, name);
    return 0;
}

/* From other threads. */

void reactor_wake(struct reactor *r)
{
    if (turn_want(&r->shared.turn)) uring_wake(r->uring);
}

void reactor_post(struct reactor *r, struct request *request)
{
    mailbox_put(&r->inbox[request->worker].mailbox, request);
    if (!turn_is_ours(&r->shared.turn)) reactor_wake(r);
}

/* ---- a worker instead of the thread ---- */

static void give_turn(struct reactor *r)
{
    if (turn_give(&r->shared.turn)) uring_wake(r->uring);
}

/* A worker that gets no core while it has the turn would make peers take the node for lost. */
bool reactor_help_begin(struct reactor *r)
{
    if (!r->has_one_worker) return false;
    uint64_t now = time_now_ns();
    if (now - r->soon_ns > SOON_NS) {
        pid_t thread = __atomic_load_n(&r->shared.thread, __ATOMIC_RELAXED);
        r->soon_ns = now;
        r->is_as_soon = thread > 0 && pinning_is_as_soon(thread);
    }
    if (!r->is_as_soon) return false;
    __atomic_store_n(&r->shared.helper, 1, __ATOMIC_RELAXED);
    if (turn_take(&r->shared.turn)) uring_get_up(r->uring);
    return true;
}

bool reactor_help(struct reactor *r)
{
    if (!turn_is_ours(&r->shared.turn)) {
        if (!turn_take(&r->shared.turn)) return false;
        uring_get_up(r->uring);
    }
    uint64_t now = time_now_ns();
    unsigned work = uring_poll_shm(r->uring, now) + serve_inboxes(r);
    r->due_ns = shard_turn(&r->shard, now);
    outbox_flush(&r->outbox, now, flush_link, r);
    uring_give_shm(r->uring);
    if (turn_is_wanted(&r->shared.turn)) give_turn(r);
    return work > 0;
}

/* The thread may go on sleeping if it would do so itself, and as long. */
void reactor_help_end(struct reactor *r)
{
    __atomic_store_n(&r->shared.helper, 0, __ATOMIC_RELAXED);
    if (!turn_is_ours(&r->shared.turn)) return;
    bool may_sleep = next_due_ns(r) >= r->until_ns && uring_lie_down_shm(r->uring) && !has_news(r);
    if (!may_sleep || !turn_return(&r->shared.turn)) give_turn(r);
}

void reactor_stop(struct reactor *r)
{
    if (!r->started) return;
    __atomic_store_n(&r->shared.stopping, 1, __ATOMIC_RELEASE);
    reactor_wake(r);
    pthread_join(r->thread, NULL);
    r->started = false;
}
