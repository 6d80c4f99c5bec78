#include "net/mesh.h"

#include "base/error.h"
#include "base/time.h"
#include "net/forked.h"
#include "net/secret.h"
#include "locus.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ACCEPTS_PER_TURN = 64 }; /* so that our own connections have their turn, too */
#define RETRY_NS UINT64_C(100000000)
#define CANCEL_NS UINT64_C(100000000)  /* how often `cancel` is looked at */
#define REPORT_NS UINT64_C(1000000000) /* how often unauthenticated peers are worth a line */

/* ---- what a mesh is made of ------------------------------------------------------------------ */

enum phase {
    WAITING, /* for the time of the next try */
    CONNECTING,
    HEARING, /* the other side's first message has not come in full */
    PROVING, /* nor has its proof */
    DONE,
};

struct contact {
    int fd;
    enum phase phase;
    unsigned peer, shard; /* an unauthenticated peer's are not known before it has said hello */
    uint64_t retry_ns;
    uint64_t since_ns; /* when an unauthenticated peer came */
    int error;         /* of the last try, as errno value */
    size_t heard;
    struct mesh_hello message;
    struct secret_talk talk;
};
static_assert(sizeof((struct mesh_hello){0}.proof) == SECRET_PROOF_BYTES, "a proof fits");
static_assert((int)SECRET_PROOF_BYTES == (int)SECRET_NONCE_BYTES, "so does a nonce");

struct mesh {
    const struct mesh_config *config;
    uint64_t start_ns;
    int *fd;
    unsigned missing;
    struct contact *ours; /* that we connect, shard by shard */
    unsigned ours_count;
    struct contact *unauthenticated; /* the oldest first */
    unsigned unauthenticated_count;
    struct pollfd *polled;
    uint64_t report_ns;   /* when to say who is missing */
    uint64_t reported_ns; /* when an unauthenticated peer was last named on stderr */
};

static enum mesh_side side_of(const struct mesh_config *c, unsigned peer)
{
    return (enum mesh_side)c->side[peer];
}

static int *place_of(const struct mesh *m, unsigned peer, unsigned shard)
{
    return &m->fd[(size_t)peer * m->config->shards + shard];
}

static void note_connected(struct mesh *m, unsigned peer, unsigned shard, int fd)
{
    *place_of(m, peer, shard) = fd;
    m->missing--;
}

static bool say(int fd, const struct mesh_config *c, enum mesh_status status, unsigned shard,
                const unsigned char proof[SECRET_PROOF_BYTES])
{
    struct mesh_hello hello = {
        .magic = MESH_MAGIC,
        .version = MESH_VERSION,
        .status = (uint16_t)status,
        .cluster = status == MESH_ACCEPTED || status == MESH_CHALLENGE ? c->cluster : 0,
        .rank = c->rank,
        .shard = shard,
    };
    if (proof) memcpy(hello.proof, proof, sizeof hello.proof);
    /* A new connection has room for it. */
    return send(fd, &hello, sizeof hello, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof hello;
}

static bool has_secret(const struct mesh *m)
{
    return m->config->secret && m->config->secret->is_known;
}

/* The peer is known, so our challenge to it is. */
static void begin_talk(const struct mesh *m, struct contact *k)
{
    if (!has_secret(m)) return;
    k->talk = (struct secret_talk){.our_rank = m->config->rank,
                                   .their_rank = k->peer,
                                   .shard = k->shard,
                                   .cluster = m->config->cluster};
    secret_nonce(k->talk.our_nonce);
}

static void await_proof(struct contact *k)
{
    memcpy(k->talk.their_nonce, k->message.proof, sizeof k->talk.their_nonce);
    k->heard = 0;
    k->phase = PROVING;
}

static bool say_proof(const struct mesh *m, const struct contact *k, enum secret_role role)
{
    unsigned char proof[SECRET_PROOF_BYTES];
    secret_answer(m->config->secret, &k->talk, role, NULL, 0, proof);
    return say(k->fd, m->config, MESH_ACCEPTED, k->shard, proof);
}

static bool has_proved(const struct mesh *m, const struct contact *k, enum secret_role role)
{
    return secret_hear(m->config->secret, &k->talk, role, NULL, 0, k->message.proof);
}

/* Reads only the message, because frames may follow. 1: complete; 0: not yet; negative: the
 * connection ended. */
static int hear(struct contact *k)
{
    ssize_t n =
        recv(k->fd, (char *)&k->message + k->heard, sizeof k->message - k->heard, MSG_DONTWAIT);
    if (n < 0) return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    if (n == 0) return -ECONNRESET;
    k->heard += (size_t)n;
    if (k->heard >= sizeof k->message.magic && k->message.magic != MESH_MAGIC) return -EPROTO;
    return k->heard == sizeof k->message;
}

/* -1: nobody can tell. */
static long count_open(void)
{
    long count = -3; /* ".", "..", and the folder itself */
    DIR *all = opendir("/proc/self/fd");
    if (!all) return errno == EMFILE || errno == ENFILE ? LONG_MAX : -1;
    while (readdir(all)) count++;
    closedir(all);
    return count;
}

/* Has this process room for so many more? true, too, if the system does not tell. */
static bool descriptors_suffice(unsigned more)
{
    struct rlimit limit;
    long open = count_open();
    if (open < 0 || getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= LONG_MAX) return true;
    return open <= (long)limit.rlim_cur - (long)more;
}

static int out_of_descriptors(const struct mesh *m, int error)
{
    struct rlimit limit = {0};
    unsigned peers = m->config->size - 1;
    getrlimit(RLIMIT_NOFILE, &limit);
    return error_set(
        -error,
        "too few descriptors: the links to %u nodes need %u; raise `ulimit -n`, which is %llu",
        peers, peers * m->config->shards, (unsigned long long)limit.rlim_cur);
}

/* ---- connecting to nodes of lower rank, or one that joins ------------------------------------ */

static void try_later(struct contact *k, int error, uint64_t now_ns)
{
    if (k->fd >= 0) forked_end(k->fd);
    k->fd = -1;
    k->phase = WAITING;
    k->error = error;
    k->retry_ns = now_ns + RETRY_NS;
}

static int open_contact(struct mesh *m, struct contact *k, uint64_t now_ns)
{
    char what[64];
    struct addrinfo *to;
    snprintf(what, sizeof what, "the address of node %u", k->peer);
    int rc = address_resolve(what, m->config->address[k->peer], AI_NUMERICHOST, AF_UNSPEC, &to);
    if (rc) return rc;
    k->fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool is_exhausted = k->fd < 0 && (errno == EMFILE || errno == ENFILE);
    if (is_exhausted) rc = out_of_descriptors(m, errno);
    if (k->fd >= 0) forked_register(k->fd);
    k->heard = 0;
    k->phase = CONNECTING;
    if (k->fd < 0 || (connect(k->fd, to->ai_addr, to->ai_addrlen) && errno != EINPROGRESS))
        try_later(k, errno, now_ns);
    freeaddrinfo(to);
    return rc;
}

static void greet(const struct mesh *m, struct contact *k, uint64_t now_ns)
{
    int error = 0;
    socklen_t bytes = sizeof error;
    getsockopt(k->fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
    begin_talk(m, k);
    if (error || !say(k->fd, m->config, MESH_ACCEPTED, k->shard, k->talk.our_nonce))
        try_later(k, error ? error : ECONNRESET, now_ns);
    else
        k->phase = HEARING;
}

static int meet_challenge(const struct mesh *m, struct contact *k, uint64_t now_ns)
{
    if (!has_secret(m))
        return error_set(
            -EACCES,
            "node %u (%s) asks for the cluster's secret, which this node does not know; %s",
            k->peer, m->config->address[k->peer], SECRET_REMEDY);
    await_proof(k);
    if (!say_proof(m, k, SECRET_CALLER)) try_later(k, ECONNRESET, now_ns);
    return 0;
}

/* By a node that will never take this connection. */
static int refused(const struct mesh *m, const struct contact *k)
{
    const struct mesh_config *c = m->config;
    char by[ADDRESS_MAX + 32];
    snprintf(by, sizeof by, "node %u (%s)", k->peer, c->address[k->peer]);
    if (k->message.status != MESH_MISFIT)
        return error_set(-EPROTO,
                         "%s makes its links by version %u of the protocol, this node by %u: run "
                         "the same version of locus on all nodes",
                         by, k->message.version, MESH_VERSION);
    return error_set(-EPROTO,
                     "%s refuses shard %u of node %u: it knows another cluster than one of %u "
                     "nodes with %u shards",
                     by, k->shard, c->rank, c->size, c->shards);
}

static int take_answer(struct mesh *m, struct contact *k, uint64_t now_ns)
{
    const struct mesh_config *c = m->config;
    const struct mesh_hello *a = &k->message;
    bool is_other = a->version != MESH_VERSION || a->status == MESH_OTHER_VERSION;
    bool fits = !is_other && a->cluster == c->cluster && a->rank == k->peer && a->shard == k->shard;
    /* Where there is a secret, who has proved nothing may be anybody. */
    if ((is_other || a->status == MESH_MISFIT) && !has_secret(m)) return refused(m, k);
    if (a->status == MESH_CHALLENGE && fits && k->phase == HEARING)
        return meet_challenge(m, k, now_ns);
    bool is_unproven = has_secret(m) && (k->phase != PROVING || !has_proved(m, k, SECRET_CALLEE));
    if (a->status == MESH_ACCEPTED && fits && !is_unproven) {
        k->phase = DONE;
        note_connected(m, k->peer, k->shard, k->fd);
        return 0;
    }
    bool is_proof = a->status == MESH_UNPROVEN || (a->status == MESH_ACCEPTED && fits);
    return try_later(k, is_proof ? EKEYREJECTED : EPROTO, now_ns), 0;
}

static int go_on(struct mesh *m, struct contact *k, uint64_t now_ns)
{
    if (k->phase == CONNECTING) {
        greet(m, k, now_ns);
        return 0;
    }
    int heard = hear(k);
    if (heard < 0) try_later(k, -heard, now_ns);
    return heard > 0 ? take_answer(m, k, now_ns) : 0;
}

/* ---- being connected to ---------------------------------------------------------------------- */

static bool has_ended(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLRDHUP};
    return poll(&p, 1, 0) > 0;
}

static enum mesh_status judge(const struct mesh *m, const struct mesh_hello *hello)
{
    const struct mesh_config *c = m->config;
    if (hello->version != MESH_VERSION) return MESH_OTHER_VERSION;
    if (hello->cluster != c->cluster) return MESH_OTHER_CLUSTER;
    if (hello->status != MESH_ACCEPTED || hello->rank >= c->size || hello->shard >= c->shards ||
        side_of(c, hello->rank) != MESH_THEY_DO)
        return MESH_MISFIT;
    int known_fd = *place_of(m, hello->rank, hello->shard);
    return known_fd >= 0 && !has_ended(known_fd) ? MESH_DUPLICATE : MESH_ACCEPTED;
}

static void place(struct mesh *m, const struct contact *k)
{
    int *at = place_of(m, k->peer, k->shard);
    if (*at >= 0) { /* one that has ended gives way */
        forked_end(*at);
        m->missing++;
    }
    note_connected(m, k->peer, k->shard, k->fd);
}

/* Somebody may try again and again: a line a second is enough. */
static void report_unauthenticated(struct mesh *m, const struct contact *k, uint64_t now_ns)
{
    char from[ADDRESS_MAX] = "unknown address";
    struct address a = {.bytes = sizeof a.as};
    if (m->reported_ns && now_ns < m->reported_ns + REPORT_NS) return;
    m->reported_ns = now_ns;
    if (getpeername(k->fd, (struct sockaddr *)&a.as, &a.bytes) == 0)
        address_text(&a, address_port(&a), from);
    fprintf(stderr, "locus: who connects as node %u (%s) does not know the cluster's secret; %s\n",
            k->peer, from, SECRET_REMEDY);
}

enum verdict { STAYS, IS_PLACED, MUST_GO };

static enum verdict admit(struct mesh *m, struct contact *k)
{
    const struct mesh_hello *hello = &k->message;
    enum mesh_status status = judge(m, hello);
    if (status != MESH_ACCEPTED) {
        say(k->fd, m->config, status, hello->shard, NULL);
        return MUST_GO;
    }
    k->peer = hello->rank;
    k->shard = hello->shard;
    if (has_secret(m)) {
        begin_talk(m, k);
        await_proof(k);
        return say(k->fd, m->config, MESH_CHALLENGE, k->shard, k->talk.our_nonce) ? STAYS : MUST_GO;
    }
    if (!say(k->fd, m->config, MESH_ACCEPTED, k->shard, NULL)) return MUST_GO;
    place(m, k);
    return IS_PLACED;
}

static enum verdict take_proof(struct mesh *m, const struct contact *k, uint64_t now_ns)
{
    const struct mesh_hello *hello = &k->message;
    bool is_same = hello->rank == k->peer && hello->shard == k->shard;
    enum mesh_status status = is_same ? judge(m, hello) : MESH_MISFIT;
    if (status == MESH_ACCEPTED && !has_proved(m, k, SECRET_CALLER)) {
        status = MESH_UNPROVEN;
        report_unauthenticated(m, k, now_ns);
    }
    if (status != MESH_ACCEPTED) {
        say(k->fd, m->config, status, k->shard, NULL);
        return MUST_GO;
    }
    if (!say_proof(m, k, SECRET_CALLEE)) return MUST_GO;
    place(m, k);
    return IS_PLACED;
}

static void forget_unauthenticated(struct mesh *m, unsigned i)
{
    m->unauthenticated_count--;
    memmove(&m->unauthenticated[i], &m->unauthenticated[i + 1],
            (m->unauthenticated_count - i) * sizeof *m->unauthenticated);
}

static void drop_unauthenticated(struct mesh *m, unsigned i)
{
    forked_end(m->unauthenticated[i].fd);
    forget_unauthenticated(m, i);
}

static void limit_unauthenticated(struct mesh *m)
{
    struct unauthenticated s = {.count = 0};
    for (unsigned i = m->unauthenticated_count; i-- > 0;)
        unauthenticated_add(&s, &m->unauthenticated[i], m->unauthenticated[i].phase == PROVING);
    const struct contact *k = unauthenticated_first_to_go(&s, m->missing);
    if (k) drop_unauthenticated(m, (unsigned)(k - m->unauthenticated));
}

static void listen_to_unauthenticated(struct mesh *m, unsigned i, uint64_t now_ns)
{
    struct contact *k = &m->unauthenticated[i];
    int heard = hear(k);
    if (heard == 0) return;
    enum verdict verdict = heard < 0             ? MUST_GO
                           : k->phase == HEARING ? admit(m, k)
                                                 : take_proof(m, k, now_ns);
    if (verdict == MUST_GO) forked_end(k->fd);
    if (verdict != STAYS) forget_unauthenticated(m, i);
}

static void drop_late_unauthenticated(struct mesh *m, uint64_t now_ns)
{
    while (m->unauthenticated_count > 0 && now_ns >= m->unauthenticated[0].since_ns + PROVING_NS)
        drop_unauthenticated(m, 0);
}

/* Most say hello at once, and without a secret they are accepted when this returns. */
static void welcome(struct mesh *m, int fd, uint64_t now_ns)
{
    forked_register(fd);
    limit_unauthenticated(m);
    m->unauthenticated[m->unauthenticated_count++] =
        (struct contact){.fd = fd, .phase = HEARING, .since_ns = now_ns};
    listen_to_unauthenticated(m, m->unauthenticated_count - 1, now_ns);
}

static int accept_all(struct mesh *m, uint64_t now_ns)
{
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        int fd = accept4(m->config->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        bool is_exhausted = fd < 0 && (errno == EMFILE || errno == ENFILE);
        if (is_exhausted && m->unauthenticated_count == 0) return out_of_descriptors(m, errno);
        if (is_exhausted)
            drop_unauthenticated(m, 0);
        else if (fd >= 0)
            welcome(m, fd, now_ns);
        else if (errno == EAGAIN)
            return 0;
        /* Otherwise a connection ended before it was accepted. */
    }
    return 0;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static unsigned missing_of(const struct mesh *m, unsigned peer)
{
    unsigned missing = 0;
    if (side_of(m->config, peer) == MESH_NOBODY) return 0;
    for (unsigned s = 0; s < m->config->shards; s++) missing += *place_of(m, peer, s) < 0;
    return missing;
}

/* Why our last try to reach a node failed, as text behind a sentence. */
static const char *trouble_with(const struct mesh *m, unsigned peer, char *text, size_t bytes)
{
    *text = '\0';
    for (unsigned i = 0; i < m->ours_count; i++) {
        const struct contact *k = &m->ours[i];
        if (k->peer != peer || k->phase == DONE || !k->error) continue;
        if (k->error == EPROTO)
            return ": another cluster, or something else, answers at its address";
        if (k->error == EKEYREJECTED)
            return ": what answers there does not know the same secret as this node; " SECRET_REMEDY;
        snprintf(text, bytes, ": %s", locus_strerror(-k->error));
    }
    return text;
}

enum { SENTENCE_BYTES = 512 };

static void describe_missing(const struct mesh *m, uint64_t now_ns, char sentence[SENTENCE_BYTES])
{
    const struct mesh_config *c = m->config;
    char trouble[128], others[64] = "";
    unsigned first = 0, nodes = 0,
             tenths = (unsigned)((now_ns - m->start_ns + 50000000) / 100000000);
    for (unsigned peer = c->size; peer-- > 0;) {
        if (missing_of(m, peer) == 0) continue;
        first = peer;
        nodes++;
    }
    if (nodes > 1)
        snprintf(others, sizeof others, "; %u more %s missing", nodes - 1,
                 nodes == 2 ? "is" : "are");
    snprintf(sentence, SENTENCE_BYTES, "node %u (%s) has not %s after %g s%s%s", first,
             c->address[first],
             side_of(c, first) == MESH_WE_DO ? "accepted our links" : "connected its links",
             tenths * 0.1, trouble_with(m, first, trouble, sizeof trouble), others);
}

static void report_delay(struct mesh *m, uint64_t now_ns)
{
    char sentence[SENTENCE_BYTES];
    if (now_ns < m->report_ns) return;
    describe_missing(m, now_ns, sentence);
    fprintf(stderr, "locus: %s\n", sentence);
    m->report_ns += m->config->report_ns;
}

/* Begins what is due. *until_ns: when there is something to begin next. */
static int begin_contacts(struct mesh *m, uint64_t now_ns, uint64_t *until_ns)
{
    int rc = 0;
    *until_ns = time_earlier(m->config->deadline_ns, m->report_ns);
    if (m->unauthenticated_count > 0)
        *until_ns = time_earlier(*until_ns, m->unauthenticated[0].since_ns + PROVING_NS);
    if (m->config->cancel) *until_ns = time_earlier(*until_ns, now_ns + CANCEL_NS);
    for (unsigned i = 0; i < m->ours_count && !rc; i++) {
        struct contact *k = &m->ours[i];
        if (k->phase == WAITING && k->retry_ns <= now_ns) rc = open_contact(m, k, now_ns);
        if (k->phase == WAITING) *until_ns = time_earlier(*until_ns, k->retry_ns);
    }
    return rc;
}

/* [0]: the listener; then our connections; then unauthenticated peers. A negative descriptor leaves
 * out those that wait for nothing. */
static unsigned fill_polled(struct mesh *m)
{
    unsigned n = 0;
    m->polled[n++] = (struct pollfd){.fd = m->config->listener, .events = POLLIN};
    for (unsigned i = 0; i < m->ours_count; i++) {
        const struct contact *k = &m->ours[i];
        m->polled[n++] = (struct pollfd){.fd = k->phase == DONE ? -1 : k->fd,
                                         .events = k->phase == CONNECTING ? POLLOUT : POLLIN};
    }
    for (unsigned i = 0; i < m->unauthenticated_count; i++)
        m->polled[n++] = (struct pollfd){.fd = m->unauthenticated[i].fd, .events = POLLIN};
    return n;
}

static int handle_polled(struct mesh *m, uint64_t now_ns)
{
    int rc = 0;
    const struct pollfd *ours = m->polled + 1, *unauthenticated = ours + m->ours_count;
    /* From the last to the first: when one leaves, those behind it move up. */
    for (unsigned i = m->unauthenticated_count; i-- > 0;)
        if (unauthenticated[i].revents) listen_to_unauthenticated(m, i, now_ns);
    drop_late_unauthenticated(m, now_ns);
    for (unsigned i = 0; i < m->ours_count && !rc; i++)
        if (ours[i].revents) rc = go_on(m, &m->ours[i], now_ns);
    if (!rc && m->polled[0].revents) rc = accept_all(m, now_ns);
    return rc;
}

static int wait_and_handle(struct mesh *m, uint64_t until_ns, uint64_t now_ns)
{
    uint64_t ms = until_ns > now_ns ? (until_ns - now_ns) / 1000000 + 1 : 0;
    unsigned n = fill_polled(m);
    int rc = poll(m->polled, n, ms < 3600000 ? (int)ms : 3600000);
    if (rc < 0 && errno != EINTR)
        return error_set(-errno, "cannot wait for peers: %s", locus_strerror(-errno));
    return handle_polled(m, time_now_ns());
}

static int connect_all(struct mesh *m)
{
    int rc = 0;
    char sentence[SENTENCE_BYTES];
    while (m->missing > 0 && !rc) {
        uint64_t until_ns, now_ns = time_now_ns();
        const bool *cancel = m->config->cancel;
        if (cancel && __atomic_load_n(cancel, __ATOMIC_ACQUIRE))
            return error_set(-ECANCELED, "connecting with the other nodes was cancelled");
        if (now_ns >= m->config->deadline_ns) {
            describe_missing(m, now_ns, sentence);
            return error_set(-ETIMEDOUT, "%s", sentence);
        }
        report_delay(m, now_ns);
        rc = begin_contacts(m, now_ns, &until_ns);
        if (!rc) rc = wait_and_handle(m, until_ns, now_ns);
    }
    return rc;
}

static int init_mesh(struct mesh *m, const struct mesh_config *c, int *fd)
{
    size_t all = (size_t)c->size * c->shards, others = all + UNAUTHENTICATED_MAX;
    *m = (struct mesh){.config = c, .start_ns = time_now_ns(), .fd = fd};
    m->report_ns = c->report_ns ? m->start_ns + c->report_ns : UINT64_MAX;
    m->ours = calloc(all + 1, sizeof *m->ours);
    m->unauthenticated = calloc(others, sizeof *m->unauthenticated);
    m->polled = calloc(1 + all + others, sizeof *m->polled);
    if (!m->ours || !m->unauthenticated || !m->polled)
        return error_set(-ENOMEM, "no memory for %zu links", all);
    for (unsigned peer = 0; peer < c->size; peer++) {
        for (unsigned shard = 0; shard < c->shards && side_of(c, peer) == MESH_WE_DO; shard++)
            m->ours[m->ours_count++] = (struct contact){.fd = -1, .peer = peer, .shard = shard};
        m->missing += side_of(c, peer) == MESH_NOBODY ? 0 : c->shards;
    }
    return 0;
}

/* All but those that have become links. */
static void close_contacts(struct mesh *m)
{
    while (m->unauthenticated_count > 0) drop_unauthenticated(m, m->unauthenticated_count - 1);
    for (unsigned i = 0; m->ours && i < m->ours_count; i++)
        if (m->ours[i].fd >= 0 && m->ours[i].phase != DONE) forked_end(m->ours[i].fd);
}

int mesh_connect(const struct mesh_config *c, int *fd)
{
    struct mesh m;
    for (size_t i = 0; i < (size_t)c->size * c->shards; i++) fd[i] = -1;
    int rc = init_mesh(&m, c, fd);
    /* Two a shard are for its ring. Those with room enough would wait for who has none. */
    if (!rc && !descriptors_suffice(m.missing + 2 * c->shards)) rc = out_of_descriptors(&m, EMFILE);
    if (!rc) rc = connect_all(&m);
    if (c->listener >= 0) forked_end(c->listener);
    close_contacts(&m);
    free(m.ours);
    free(m.unauthenticated);
    free(m.polled);
    return rc;
}
