#include "net/uring.h"

#include "base/error.h"
#include "base/ring.h"
#include "base/time.h"
#include "net/forked.h"
#include "net/link_private.h"
#include "locus.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    SUBMISSIONS_MAX = 1024, /* that one system call takes along */
};
#define SLEEP_MAX_NS UINT64_C(3600000000000)

/* What a completion is for: a link's address with the operation in the low bits, or the wake-up. */
enum operation { RECEIVE, SEND, OPERATION_MASK = 63 };
enum { WAKE_UP = 1 };

struct uring {
    struct io_uring ring;
    struct links links;
    struct link **link; /* [count] */
    unsigned count, capacity;
    unsigned under_way; /* operations that the kernel has, or will have when submitted */
    unsigned flags;     /* IORING_SETUP_* */
    pid_t thread;       /* 0: not started */
    uint64_t tick_ns;
    unsigned rank;
    bool all_run; /* atomic */
    int wake_fd;
    bool wake_is_read; /* a read of wake_fd is under way */
    uint64_t wakes;
    uint64_t counted_again; /* bytes that links sent, and that later ones to the peer count, too */
};

/* ---- opening the ring ------------------------------------------------------------------------ */

/* Newest first: Linux 6.1, 6.0, 5.19, 5.7. TASKRUN_FLAG shows without a system call that
 * completions are pending. R_DISABLED allows another thread than the one that opens the ring to use
 * it. */
static const unsigned setups[] = {
    IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG |
        IORING_SETUP_SUBMIT_ALL | IORING_SETUP_R_DISABLED,
    IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG |
        IORING_SETUP_SUBMIT_ALL | IORING_SETUP_R_DISABLED,
    IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL,
    0,
};
static_assert(sizeof setups / sizeof *setups == URING_SETUPS, "tests know how many there are");

static unsigned long limit_of(int resource)
{
    struct rlimit limit = {0};
    getrlimit(resource, &limit);
    return (unsigned long)limit.rlim_cur;
}

static int refused(int error)
{
    switch (error) {
    case ENOSYS:
        return error_set(
            -error,
            "this kernel has no io_uring, or a seccomp profile hides it (%s): locus needs Linux 5.7 or newer "
            "with io_uring allowed, as by `docker run --security-opt seccomp=unconfined`",
            locus_strerror(-error));
    case EINVAL:
        return error_set(-error,
                         "this kernel's io_uring is too old: locus needs Linux 5.7 or newer");
    case EPERM:
    case EACCES:
        return error_set(
            -error,
            "io_uring is refused (%s): set kernel.io_uring_disabled to 0 with sysctl, or allow "
            "io_uring in the container's seccomp profile",
            locus_strerror(-error));
    case ENOMEM:
        return error_set(-error, "no memory for an io_uring: raise `ulimit -l`, which is %lu KiB",
                         limit_of(RLIMIT_MEMLOCK) / 1024);
    case EMFILE:
        return error_set(-error, "no descriptor for an io_uring: raise `ulimit -n`, which is %lu",
                         limit_of(RLIMIT_NOFILE));
    default: return error_set(-error, "io_uring is refused: %s", locus_strerror(-error));
    }
}

/* Without FAST_POLL kernel threads would do our waiting, and use our memory after the ring's thread
 * is gone. */
static int check_ring(struct uring *u)
{
    if (u->ring.features & IORING_FEAT_FAST_POLL) return 0;
    ring_close(&u->ring);
    return refused(EINVAL);
}

/* A completion each for what may be under way: a send and a receive a link, the wake-up. */
static int open_ring(struct uring *u, unsigned nodes, unsigned first_setup)
{
    int rc = -EINVAL;
    unsigned operations = 2 * nodes;
    for (unsigned i = first_setup; i < URING_SETUPS && rc == -EINVAL; i++) {
        struct io_uring_params p = {.flags = setups[i] | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP,
                                    .cq_entries = 2 * operations};
        rc = ring_open(&u->ring, operations < SUBMISSIONS_MAX ? operations : SUBMISSIONS_MAX, &p);
        u->flags = setups[i];
    }
    return rc ? refused(-rc) : check_ring(u);
}

int uring_check(unsigned nodes, unsigned rings)
{
    struct uring *u = calloc(rings, sizeof *u);
    unsigned opened = 0;
    int rc = u ? 0 : error_set(-ENOMEM, "no memory for %u rings", rings);
    while (rc == 0 && opened < rings)
        if ((rc = open_ring(&u[opened], nodes, 0)) == 0) opened++;
    while (opened > 0) ring_close(&u[--opened].ring);
    free(u);
    return rc;
}

static void free_uring(struct uring *u)
{
    links_fini(&u->links);
    if (u->wake_fd >= 0) close(u->wake_fd);
    free(u->link);
    free(u);
}

int uring_init(struct uring **out, const struct uring_config *c)
{
    struct uring *u = calloc(1, sizeof *u);
    *out = NULL;
    if (!u) return error_set(-ENOMEM, "no memory for a ring");
    links_init(&u->links, &c->events, c->nodes, c->entry_bytes_max, c->peer_timeout_s);
    if (c->queued_max) u->links.queued_max = c->queued_max;
    u->links.has_repairs = c->has_repairs;
    if (c->is_shm && !shm_place(u->links.place)) *u->links.place = '\0';
    u->links.membership = c->membership;
    u->rank = c->rank;
    u->capacity = c->nodes;
    u->link = calloc(u->capacity, sizeof(struct link *));
    int rc = u->link ? 0 : error_set(-ENOMEM, "no memory for %u links", c->nodes);
    u->wake_fd = eventfd(0, EFD_CLOEXEC);
    if (!rc && u->wake_fd < 0) rc = refused(errno);
    if (!rc) rc = open_ring(u, c->nodes, c->first_setup);
    if (!rc && forked_register(u->ring.ring_fd)) {
        ring_close(&u->ring);
        rc = error_set(-ENOMEM, "no memory for a ring");
    }
    if (rc) {
        free_uring(u);
        return rc;
    }
    /* Before Linux 5.11 a sleep with an end needs an operation; a test of the oldest way tests
     * that, too. */
    if (c->first_setup == URING_SETUPS - 1) u->ring.features &= ~(unsigned)IORING_FEAT_EXT_ARG;
    *out = u;
    return 0;
}

/* ---- links ----------------------------------------------------------------------------------- */

static void begin_link(const struct uring *u, struct link *l, uint64_t now_ns)
{
    l->heard_ns = l->spoke_ns = now_ns;
    link_is_ready(l);
    if (l->peer > u->rank) link_ask_shm(l);
}

/* Those that were dropped keep their places: operations of theirs may be under way. */
static bool has_place(struct uring *u)
{
    if (u->count < u->capacity) return true;
    struct link **larger = realloc(u->link, 2 * u->capacity * sizeof(struct link *));
    if (!larger) return false;
    u->link = larger;
    u->capacity *= 2;
    return true;
}

int uring_add_link(struct uring *u, unsigned peer, int fd, struct link **out)
{
    INVARIANT((!u->thread || u->thread == gettid()) && peer < u->links.nodes,
              "a link is added out of place");
    struct link *l = has_place(u) ? link_new(&u->links, peer, fd) : NULL;
    if (!l) return error_set(-ENOMEM, "no memory for the buffers of the link to node %u", peer);
    for (unsigned i = 0; i < u->count; i++)
        if (u->link[i]->peer == peer) l->stats = u->link[i]->stats;
    u->counted_again += l->stats.bytes_sent;
    *out = u->link[u->count++] = l;
    if (!u->thread) return 0;
    begin_link(u, l, u->links.now_ns);
    u->tick_ns = u->links.now_ns;
    return 0;
}

void uring_drop_link(struct uring *u, struct link *l)
{
    INVARIANT(u->thread == gettid(), "a link is dropped by another thread than the ring's");
    link_drop(l);
}

/* ---- handing over to the kernel -------------------------------------------------------------- */

static void check_submitted(int rc)
{
    INVARIANT(rc != -EEXIST && rc != -EBADF, "a ring is used by another thread than its own");
    /* Whatever else is refused stays in the submission queue for the next time. */
}

/* Room for one more operation, after a submission if need be. */
static bool has_room(struct uring *u)
{
    if (io_uring_sq_space_left(&u->ring) == 0) check_submitted(io_uring_submit(&u->ring));
    return io_uring_sq_space_left(&u->ring) > 0;
}

static struct io_uring_sqe *next_operation(struct uring *u)
{
    u->under_way++;
    return io_uring_get_sqe(&u->ring);
}

static void send_on(struct uring *u, struct link *l)
{
    if (l->writes_shm) link_give(l);
    unsigned pieces = l->writes_shm ? 0 : link_gather(l);
    if (pieces == 0) return;
    struct io_uring_sqe *sqe = next_operation(u);
    if (pieces == 1)
        io_uring_prep_send(sqe, l->fd, l->piece[0].iov_base, l->piece[0].iov_len,
                           MSG_WAITALL | MSG_NOSIGNAL);
    else
        io_uring_prep_sendmsg(sqe, l->fd, &l->message, MSG_WAITALL | MSG_NOSIGNAL);
    io_uring_sqe_set_data64(sqe, (uintptr_t)l | SEND);
}

/* Where the last receive found all there was, the kernel need not try before it waits. */
static void receive_on(struct uring *u, struct link *l)
{
    if (l->receiving || l->phase != LINK_OPEN) return;
    struct iovec space = link_space(l);
    struct io_uring_sqe *sqe = next_operation(u);
    io_uring_prep_recv(sqe, l->fd, space.iov_base, space.iov_len, 0);
    if (!l->more && (u->flags & IORING_SETUP_TASKRUN_FLAG))
        sqe->ioprio |= IORING_RECVSEND_POLL_FIRST;
    io_uring_sqe_set_data64(sqe, (uintptr_t)l | RECEIVE);
    l->receiving = true;
}

/* Sends come first: somebody waits for them. */
static void prepare(struct uring *u)
{
    for (struct link *l = u->links.ready; l; l = l->next_ready) {
        if (!has_room(u)) return;
        send_on(u, l);
    }
    while (u->links.ready && has_room(u)) {
        struct link *l = u->links.ready;
        u->links.ready = l->next_ready;
        l->is_ready = false;
        receive_on(u, l);
    }
}

void uring_submit(struct uring *u)
{
    prepare(u);
    if (io_uring_sq_ready(&u->ring) > 0) check_submitted(io_uring_submit(&u->ring));
}

/* ---- what the kernel has done ---------------------------------------------------------------- */

static void complete(struct uring *u, const struct io_uring_cqe *done)
{
    uint64_t what = done->user_data;
    /* of a sleep, on kernels that need an operation for it */
    if (what == LIBURING_UDATA_TIMEOUT) return;
    u->under_way--;
    if (what == WAKE_UP) {
        u->wake_is_read = false;
        return;
    }
    struct link *l = (void *)(uintptr_t)(what & ~(uint64_t)OPERATION_MASK);
    if ((what & OPERATION_MASK) == SEND) {
        link_sent(l, done->res);
    } else {
        /* Not before: whoever handles a frame may submit, and still uses the buffer. */
        link_received(l, done->res, done->flags & IORING_CQE_F_SOCK_NONEMPTY);
        l->receiving = false;
    }
    if (l->is_dropped) link_drop(l);
}

/* Handles as many completions as there are now; new ones wait for the next call. The place of each
 * is released before it is handled, because handling may take long. */
static unsigned complete_all(struct uring *u)
{
    unsigned n = io_uring_cq_ready(&u->ring);
    for (unsigned i = 0; i < n; i++) {
        struct io_uring_cqe *next;
        if (io_uring_peek_cqe(&u->ring, &next) != 0) return i;
        struct io_uring_cqe done = *next;
        io_uring_cqe_seen(&u->ring, next);
        complete(u, &done);
    }
    return n;
}

static unsigned tell_fallen(struct uring *u)
{
    unsigned n = 0;
    struct links *all = &u->links;
    for (; all->fallen; n++) {
        struct link *l = all->fallen;
        all->fallen = l->next_fallen;
        if (!all->fallen) all->fallen_end = &all->fallen;
        all->events.failed(all->events.context, l->peer, l->culprit, l->reason);
    }
    return n;
}

/* Completions that the kernel makes only when we come by. */
static void collect(struct uring *u)
{
    unsigned flags = __atomic_load_n(u->ring.sq.kflags, __ATOMIC_RELAXED);
    if (flags & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW))
        check_submitted(io_uring_get_events(&u->ring));
}

unsigned uring_poll(struct uring *u, uint64_t now_ns)
{
    u->links.now_ns = now_ns;
    collect(u);
    unsigned n = complete_all(u) + uring_poll_shm(u, now_ns);
    return n + tell_fallen(u);
}

/* ---- sleep and wake-up ----------------------------------------------------------------------- */

static void read_wake(struct uring *u)
{
    if (u->wake_is_read || !has_room(u)) return;
    struct io_uring_sqe *sqe = next_operation(u);
    io_uring_prep_read(sqe, u->wake_fd, &u->wakes, sizeof u->wakes, 0);
    io_uring_sqe_set_data64(sqe, WAKE_UP);
    u->wake_is_read = true;
}

static void wait_for_one(struct uring *u, uint64_t ns)
{
    struct io_uring_cqe *first;
    struct __kernel_timespec limit = {.tv_sec = (int64_t)(ns / 1000000000),
                                      .tv_nsec = (long long)(ns % 1000000000)};
    check_submitted(io_uring_submit_and_wait_timeout(&u->ring, &first, 1, &limit, NULL));
}

bool uring_lie_down(struct uring *u)
{
    prepare(u);
    if (u->links.fallen || !links_sleep(&u->links)) {
        uring_submit(u);
        return false;
    }
    read_wake(u);
    return true;
}

void uring_sleep(struct uring *u, uint64_t until_ns)
{
    uint64_t now_ns = time_now_ns(), ns = until_ns > now_ns ? until_ns - now_ns : 0;
    wait_for_one(u, ns < SLEEP_MAX_NS ? ns : SLEEP_MAX_NS);
}

void uring_get_up(struct uring *u)
{
    links_awake(&u->links);
}

/* ---- without the ring ---- */

bool uring_is_shm(const struct uring *u)
{
    for (unsigned i = 0; i < u->count; i++) {
        const struct link *l = u->link[i];
        if (l->is_dropped) continue;
        if (l->phase != LINK_OPEN || !l->reads_shm || !l->writes_shm || !l->receiving) return false;
    }
    return !u->links.fallen;
}

bool uring_lie_down_shm(struct uring *u)
{
    return uring_is_shm(u) && links_sleep(&u->links);
}

unsigned uring_poll_shm(struct uring *u, uint64_t now_ns)
{
    unsigned n = 0;
    u->links.now_ns = now_ns;
    for (struct link *l = u->links.shm; l; l = l->next_shm) n += link_move(l);
    return n;
}

void uring_give_shm(struct uring *u)
{
    struct link *next = u->links.ready;
    u->links.ready = NULL;
    for (struct link *l; (l = next);) {
        next = l->next_ready;
        l->is_ready = false;
        link_give(l); /* one that has no room is ready again */
    }
}

void uring_wake(struct uring *u)
{
    uint64_t one = 1;
    ssize_t n = write(u->wake_fd, &one, sizeof one);
    INVARIANT(n == sizeof one, "a sleeping thread cannot be woken");
}

uint64_t uring_bytes_sent(const struct uring *u)
{
    struct link_stats sum = {0};
    for (unsigned i = 0; i < u->count; i++) link_add_stats(u->link[i], &sum);
    return sum.bytes_sent - u->counted_again;
}

uint64_t uring_buffer_bytes(const struct uring *u)
{
    return __atomic_load_n(&u->links.buffers, __ATOMIC_RELAXED) *
           (sizeof(struct outgoing) + u->links.frame_bytes);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void excuse_silence(struct uring *u, uint64_t late_ns, uint64_t now_ns)
{
    for (unsigned i = 0; i < u->count; i++) {
        struct link *l = u->link[i];
        l->heard_ns = now_ns - l->heard_ns > late_ns ? l->heard_ns + late_ns : now_ns;
    }
}

static void begin_silence(struct uring *u, uint64_t now_ns)
{
    u->links.all_run = true;
    for (unsigned i = 0; i < u->count; i++)
        if (u->link[i]->sequence_in == 0) u->link[i]->heard_ns = now_ns;
}

/* Whatever happens to a link in between makes its next deadline later, not earlier. */
void uring_tick(struct uring *u, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    if (now_ns < u->tick_ns) return;
    u->links.now_ns = now_ns;
    if (!u->links.all_run && __atomic_load_n(&u->all_run, __ATOMIC_RELAXED))
        begin_silence(u, now_ns);
    if (now_ns - u->tick_ns > silence_beat_ns(u->links.timeout_ns))
        excuse_silence(u, now_ns - u->tick_ns, now_ns);
    for (unsigned i = 0; i < u->count; i++) {
        uint64_t ns = link_tick(u->link[i], now_ns);
        if (ns < next_ns) next_ns = ns;
    }
    u->tick_ns = next_ns;
}

void uring_all_run(struct uring *u)
{
    __atomic_store_n(&u->all_run, true, __ATOMIC_RELAXED); /* the next heartbeat looks at it */
}

uint64_t uring_next_tick_ns(const struct uring *u)
{
    return u->tick_ns;
}

/* ---- start and end --------------------------------------------------------------------------- */

/* The calling thread becomes the one that uses the ring. liburing.so 2.3 does not export
 * io_uring_enable_rings. */
static int enable_ring(struct uring *u)
{
    if (!(u->flags & IORING_SETUP_R_DISABLED)) return 0;
    int rc = io_uring_register((unsigned)u->ring.ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0);
    return rc ? refused(-rc) : 0;
}

int uring_start(struct uring *u, uint64_t now_ns)
{
    int rc = enable_ring(u);
    if (rc) return rc;
    u->thread = gettid();
    for (unsigned i = 0; i < u->count; i++) begin_link(u, u->link[i], now_ns);
    u->tick_ns = now_ns;
    uring_tick(u, now_ns);
    uring_submit(u);
    return 0;
}

void uring_stop(struct uring *u)
{
    for (unsigned i = 0; i < u->count; i++) link_end(u->link[i]);
    if (u->wake_is_read) uring_wake(u);
    while (u->under_way > 0) {
        wait_for_one(u, SLEEP_MAX_NS);
        complete_all(u);
    }
}

/* Operations under way at the end of the ring's thread can do no harm, because the kernel uses our
 * memory only on that thread. */
void uring_fini(struct uring *u)
{
    if (!u) return;
    if (u->thread == gettid()) uring_stop(u);
    forked_unregister(u->ring.ring_fd);
    ring_close(&u->ring);
    for (unsigned i = 0; i < u->count; i++) {
        link_end(u->link[i]);
        link_free(u->link[i]);
    }
    free_uring(u);
}
