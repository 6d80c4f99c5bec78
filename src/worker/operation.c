#include "worker/operation.h"

#include "actors/reactor.h"
#include "base/error.h"
#include "base/figures.h"
#include "base/sync.h"
#include "base/time.h"
#include "protocol/clocks.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Requests of a worker: enough for eight operations that touch every shard, and for long calls. */
static unsigned pool_size(unsigned shards)
{
    unsigned n = 32 + 8 * shards;
    return n < REQUEST_NUMBERS_MAX ? n : REQUEST_NUMBERS_MAX;
}

static void init_requests(struct operations *o, unsigned worker)
{
    for (unsigned i = 0; i < o->requests; i++) {
        struct request *r = &o->request[i];
        r->worker = (uint16_t)worker;
        r->number = (uint16_t)i;
        r->item = &o->item[(size_t)i * REQUEST_ITEMS_MAX];
    }
    for (unsigned i = 0; i < OPERATIONS_MAX; i++) o->operation[i].waiter = &o->waiter;
}

int operations_init(struct operations *o, const struct operations_config *c)
{
    *o = (struct operations){.waiter = {.yields = c->yields},
                             .reactor = c->reactor,
                             .shards = c->shards,
                             .posted = c->posted};
    o->requests = pool_size(c->shards);
    o->request = calloc(o->requests, sizeof *o->request);
    o->item = calloc((size_t)o->requests * REQUEST_ITEMS_MAX, sizeof *o->item);
    o->filling = calloc(c->shards, sizeof(struct request *));
    if (c->moves) o->under_way = calloc(OPERATIONS_PLACES, sizeof *o->under_way);
    if (!o->request || !o->item || !o->filling || (c->moves && !o->under_way)) {
        operations_fini(o);
        return error_set(-ENOMEM, "no memory for the requests of worker %u", c->worker);
    }
    init_requests(o, c->worker);
    return 0;
}

struct kept {
    struct kept *next;
    float values[];
};

static void free_kept(struct operation *op)
{
    for (struct kept *k; (k = op->kept);) {
        op->kept = k->next;
        free(k);
    }
}

void operations_fini(struct operations *o)
{
    for (unsigned i = 0; i < OPERATIONS_MAX; i++) free_kept(&o->operation[i]);
    free(o->request);
    free(o->item);
    free(o->filling);
    free(o->under_way);
    *o = (struct operations){0};
}

/* Something for the worker was completed. The exchange is a full fence: the worker, which looks
 * again in wait_until() after announcing its sleep, sees what was completed before it. */
static void waiter_wake(struct waiter *w)
{
    if (__atomic_exchange_n(&w->sleeping, 0, __ATOMIC_SEQ_CST) == 0) return;
    __atomic_fetch_add(&w->completions, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &w->completions, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

#ifdef LOCUS_FIBERS
/* The shard is a fiber, which goes on whenever the worker waits. */
static bool wait_until(struct waiter *w, bool (*condition)(const void *), const void *a,
                       const struct timespec *time)
{
    (void)w, (void)time;
    locus_fiber_wait(condition, a);
    return true;
}
#else
static void end_to_help(struct waiter *w)
{
    if (w->helps) reactor_help_end(w->helps);
    w->helps = NULL;
}

static void spin_once(const struct waiter *w)
{
    if (w->helps && reactor_help(w->helps)) return;
    if (w->yields)
        sched_yield();
    else
        for (int i = 0; i < 16; i++) cpu_relax();
}

/* True if `condition(a)` became true while spinning. If our own shard shares our core, yielding to
 * it costs half as much as going to sleep and being woken. */
static bool spin_until(const struct waiter *w, bool (*condition)(const void *), const void *a)
{
    if (condition(a)) return true;
    uint64_t end = time_now_ns() + WAITER_SPIN_NS;
    do {
        spin_once(w);
        if (condition(a)) return true;
    } while (time_now_ns() < end);
    return false;
}

/* False: not within the time; NULL: however long it takes. */
static bool wait_until(struct waiter *w, bool (*condition)(const void *), const void *a,
                       const struct timespec *time)
{
    while (!spin_until(w, condition, a)) {
        end_to_help(w);
        uint32_t seen = __atomic_load_n(&w->completions, __ATOMIC_ACQUIRE);
        /* Sequentially consistent: pairs with the exchange in waiter_wake(). */
        __atomic_exchange_n(&w->sleeping, 1, __ATOMIC_SEQ_CST);
        if (condition(a)) {
            __atomic_store_n(&w->sleeping, 0, __ATOMIC_RELAXED);
            return true;
        }
        if (syscall(SYS_futex, &w->completions, FUTEX_WAIT_PRIVATE, seen, time, NULL, 0) == 0)
            continue;
        if (time && errno == ETIMEDOUT) return condition(a);
    }
    return true;
}

#endif

static bool is_complete(const void *operation)
{
    const struct operation *op = operation;
    return __atomic_load_n(&op->left, __ATOMIC_ACQUIRE) == 0;
}

static bool is_free(const struct request *r)
{
    return __atomic_load_n(&r->busy, __ATOMIC_ACQUIRE) == 0;
}

static struct request *find_free(const struct operations *o)
{
    for (unsigned i = 0; i < o->requests; i++) {
        struct request *r = &o->request[(o->next + i) % o->requests];
        if (is_free(r)) return r;
    }
    return NULL;
}

static bool has_free_request(const void *operations)
{
    return find_free(operations) != NULL;
}

/* Keys under way. Counted when they are added; the worker itself subtracts them, some time after
 * the shard is done. */

static void count_off(struct operations *o, struct request *r)
{
    for (uint32_t i = 0; i < r->count; i++) --*operations_under_way(o, r->item[i].key);
    o->keys_under_way -= r->count;
    r->is_counted = false;
}

/* Requests that the shards are done with. The newest first: it is often the only one. */
static void count_off_free(struct operations *o)
{
    for (unsigned i = o->requests; i > 0 && o->keys_under_way > 0; i--) {
        struct request *r = &o->request[(o->next + i - 1) % o->requests];
        if (r->is_counted && is_free(r)) count_off(o, r);
    }
}

static bool may_be_under_way(const struct operations *o, const locus_key *keys, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (*operations_under_way(o, keys[i])) return true;
    return false;
}

bool operations_hold(struct operations *o, const locus_key *keys, size_t n)
{
    if (o->keys_under_way == 0 || !may_be_under_way(o, keys, n)) return false;
    count_off_free(o);
    return may_be_under_way(o, keys, n);
}

float *operation_keep(struct operation *op, size_t floats)
{
    struct kept *k = malloc(sizeof *k + floats * sizeof(float));
    INVARIANT(k != NULL, "no memory for the values of an operation");
    k->next = op->kept;
    op->kept = k;
    return k->values;
}

struct operation *operation_begin(struct operations *o)
{
    struct operation *op = &o->operation[(o->last + 1) % OPERATIONS_MAX];
    if (!is_complete(op)) wait_until(&o->waiter, is_complete, op, NULL);
    if (op->kept) free_kept(op);
    if (op->rc && !o->forgotten) o->forgotten = op->rc;
    op->ticket = ++o->last;
    op->rc = 0;
    op->left = 1;
    return op;
}

/* What these shards are asked. Counted first: a shard that sees a clock of ours knows what we asked
 * before. */
static void post(struct operations *o, unsigned shard, unsigned end)
{
    for (; shard < end; shard++) {
        struct request *r = o->filling[shard];
        if (!r) continue;
        o->filling[shard] = NULL;
        LOCUS_YIELD();
        if (o->posted) __atomic_store_n(&o->posted[shard], o->posted[shard] + 1, __ATOMIC_RELEASE);
        reactor_post(o->reactor[shard], r);
    }
}

static struct request *begin_request(struct operations *o, struct operation *op,
                                     enum request_kind kind)
{
    struct request *r;
    while (!(r = find_free(o))) {
        /* nothing may be kept back while we wait: it might be what we wait for */
        post(o, 0, o->shards);
        wait_until(&o->waiter, has_free_request, o, NULL);
    }
    o->next = (r->number + 1u) % o->requests;
    if (r->is_counted) count_off(o, r);
    r->operation = op;
    r->kind = kind;
    r->is_counted = o->under_way != NULL;
    r->generation = (uint8_t)((r->generation + 1) % REQUEST_GENERATIONS);
    r->count = r->sent = r->answered = 0;
    r->is_taken = false;
    __atomic_store_n(&r->busy, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&op->left, 1, __ATOMIC_RELAXED);
    return r;
}

void operation_add(struct operations *o, struct operation *op, enum request_kind kind,
                   unsigned shard, locus_key key, float *values)
{
    struct request *r = o->filling[shard];
    if (!r) r = o->filling[shard] = begin_request(o, op, kind);
    if (r->is_counted) {
        ++*operations_under_way(o, key);
        o->keys_under_way++;
    }
    r->item[r->count++] = (struct request_item){.key = key, .values = values, .state = ITEM_NEW};
    if (r->count == REQUEST_ITEMS_MAX) post(o, shard, shard + 1);
}

void operation_request_done(struct request *r, int rc)
{
    struct operation *op = r->operation;
    int none = 0;
    __atomic_store_n(&r->busy, 0, __ATOMIC_RELEASE);
    /* the worker may use the operation again as soon as it is complete */
    struct waiter *w = op->waiter;
    if (rc)
        __atomic_compare_exchange_n(&op->rc, &none, rc, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&op->left, 1, __ATOMIC_ACQ_REL);
    waiter_wake(w);
}

locus_ticket operation_submit(struct operations *o, struct operation *op)
{
    locus_ticket ticket = op->ticket;
    post(o, 0, o->shards);
    if (__atomic_sub_fetch(&op->left, 1, __ATOMIC_ACQ_REL) > 0) return ticket;
    return op->rc ? ticket : 0;
}

int operation_run(struct operations *o, struct operation *op)
{
#ifdef LOCUS_FIBERS
    return operations_wait(o, operation_submit(o, op));
#else
    if (o->shards == 1 && reactor_help_begin(o->reactor[0])) o->waiter.helps = o->reactor[0];
    int rc = operations_wait(o, operation_submit(o, op));
    end_to_help(&o->waiter);
    return rc;
#endif
}

/* Asks a shard for what is of no key. */
static void ask(struct operations *o, struct operation *op, unsigned shard, enum request_kind kind,
                locus_clock clock)
{
    o->filling[shard] = begin_request(o, op, kind);
    o->filling[shard]->clock = clock;
}

int operations_flush(struct operations *o, enum request_kind kind)
{
    struct operation *op = operation_begin(o);
    for (unsigned shard = 0; shard < o->shards; shard++) ask(o, op, shard, kind, 0);
    return operations_wait(o, operation_submit(o, op));
}

int operations_bound(struct operations *o, struct clocks **clocks, locus_clock clock,
                     void (*say)(void *context, unsigned waited_s), void *context)
{
    static const struct timespec pause = {.tv_sec = REMINDER_S};
    struct operation *op = operation_begin(o);
    for (unsigned shard = 0; shard < o->shards; shard++)
        if (clocks_gate(clocks[shard]) < clock) ask(o, op, shard, REQUEST_CLOCK, clock);
    locus_ticket ticket = operation_submit(o, op);
    for (unsigned s = REMINDER_S; !wait_until(&o->waiter, is_complete, op, &pause); s += REMINDER_S)
        say(context, s);
    return operations_wait(o, ticket);
}

bool operations_would_wait(const struct operations *o, size_t keys)
{
    unsigned free = 0;
    for (unsigned i = 0; i < o->requests; i++) free += is_free(&o->request[i]);
    /* Each shard may leave its last request part empty. */
    size_t needed = keys / REQUEST_ITEMS_MAX + o->shards;
    return needed > free || !is_complete(&o->operation[(o->last + 1) % OPERATIONS_MAX]);
}

int operations_check(const struct operations *o, const char *call, locus_ticket ticket)
{
    return ticket <= o->last ? 0
                             : error_set(-EINVAL, "%s: ticket %llu was never given out", call,
                                         (unsigned long long)ticket);
}

int operations_wait(struct operations *o, locus_ticket ticket)
{
    if (ticket == 0) return 0;
    struct operation *op = &o->operation[ticket % OPERATIONS_MAX];
    if (op->ticket != ticket) return 0; /* complete long ago, and its place was used again */
    if (!is_complete(op)) {
        uint64_t began = time_now_ns();
        wait_until(&o->waiter, is_complete, op, NULL);
        histogram_add(&o->blocked, time_now_ns() - began);
    }
    count_off_free(o);
    free_kept(op);
    int rc = op->rc;
    op->rc = 0;
    return rc;
}

int operations_wait_all(struct operations *o)
{
    int first = o->forgotten;
    o->forgotten = 0;
    for (unsigned i = 1; i <= OPERATIONS_MAX; i++) { /* oldest first */
        int rc = operations_wait(o, o->operation[(o->last + i) % OPERATIONS_MAX].ticket);
        if (first == 0) first = rc;
    }
    return first;
}

bool operations_done(const struct operations *o, locus_ticket ticket)
{
    const struct operation *op = &o->operation[ticket % OPERATIONS_MAX];
    return ticket == 0 || op->ticket != ticket || is_complete(op);
}

bool operations_all_done(const struct operations *o)
{
    bool all = true;
    for (unsigned i = 0; i < OPERATIONS_MAX; i++) all &= is_complete(&o->operation[i]);
    return all;
}

size_t operations_bytes(const struct operations *o)
{
    size_t places = o->under_way ? OPERATIONS_PLACES * sizeof *o->under_way : 0;
    return places + o->requests * (sizeof *o->request + REQUEST_ITEMS_MAX * sizeof *o->item);
}
