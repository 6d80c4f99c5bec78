/*
 * Unauthenticated peers at the ports of a cluster: they send bytes, nothing, a byte now and then,
 * without end, lengths that cannot be, the hello of a rank that has joined; thousands of them,
 * before, while and after the nodes join. The nodes join, work and leave as if nobody were there,
 * with few descriptors and little memory.
 *
 * Every node is a process in the role `hostile_node`, with a port for peers that the unauthenticated
 * peers know.
 */
#include "team.h"

#include "cluster/message.h"
#include "net/mesh.h"
#include "net/secret.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    NODES = 3,
    KEYS = 60,
    ROUNDS_MIN = 20,
    LENGTH = 4,
    NODE_DESCRIPTORS = 400, /* `ulimit -n` of a node: others must not use it up */
    GROWTH_KB = 16 << 10,   /* of a node, beside what it needs when it is left alone */
    CROWD_MAX = 2000,       /* connections at a time */
};
static const struct locus_table table = {.name = "rows", .rows = KEYS, .length = LENGTH};

/* ---- a node ---- */

static int told_to_leave; /* atomic */

static void *hear_parent(void *unused)
{
    char line[LINE_BYTES];
    if (parent_hear(line)) __atomic_store_n(&told_to_leave, 1, __ATOMIC_RELEASE);
    return unused;
}

/* The most memory that this process ever had. */
static long peak_kb(void)
{
    struct rusage usage;
    CHECK_EQ(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

/* Everybody adds to every row, and finds what all have added. Key 0 is rank 0's word that this was
 * the last round. */
static bool do_round(locus_worker *w, int rank, int round)
{
    locus_key keys[KEYS];
    float rows[KEYS][LENGTH];
    bool is_last = rank == 0 && round >= ROUNDS_MIN &&
                   __atomic_load_n(&told_to_leave, __ATOMIC_ACQUIRE);
    for (int k = 0; k < KEYS; k++) {
        keys[k] = (locus_key)k;
        for (int i = 0; i < LENGTH; i++) rows[k][i] = k == 0 ? (float)is_last : 1;
    }
    CHECK_EQ(locus_push(w, keys, KEYS, rows[0]), 0);
    CHECK_EQ(locus_barrier(w), 0);
    CHECK_EQ(locus_pull(w, keys, KEYS, rows[0]), 0);
    for (int k = 1; k < KEYS; k++)
        for (int i = 0; i < LENGTH; i++) CHECK_EQ(rows[k][i], NODES * round);
    CHECK_EQ(locus_barrier(w), 0);
    return rows[0][0] == 0;
}

ROLE(hostile_node)
{
    struct team t = {TEAM_OF(NODES, 1, 2, LOCUS_STATIC, &table, 1)};
    char listen[ADDRESS_BYTES];
    pthread_t thread;
    int rank, has_secret, round = 1;
    CHECK_EQ(sscanf(arguments, "%d %d %31s %31s", &rank, &has_secret, t.address, listen), 4);
    if (has_secret) setenv("LOCUS_SECRET", "what unauthenticated peers do not know", 1);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &(struct rlimit){NODE_DESCRIPTORS, NODE_DESCRIPTORS}), 0);
    t.listen = listen;
    parent_tell("here");
    CHECK_EQ(pthread_create(&thread, NULL, hear_parent, NULL), 0);
    locus *n = team_open(&t, rank);
    locus_worker *w = worker_of(n);
    parent_tell("joined");
    while (do_round(w, rank, round)) round++;
    parent_tell("%d %ld", round, peak_kb());
    CHECK_EQ(locus_worker_close(w), 0);
    CHECK_EQ(locus_close(n), 0);
    pthread_join(thread, NULL);
}

/* ---- unauthenticated peers ---- */

struct attack;
struct peer {
    int fd;
    bool is_rendezvous;
    unsigned age; /* how often it has acted */
    /* What it does with its connection, again and again while it is there. False: it leaves. */
    bool (*act)(struct attack *, const struct peer *);
};
typedef bool behaviour(struct attack *, const struct peer *);

struct attack {
    behaviour *const *behaviours; /* each peer in turn has the next; none: the cluster is alone */
    unsigned behaviour_count;
    bool has_secret;   /* the cluster */
    unsigned pause_us; /* between two rounds */
    unsigned at_a_time;
    char rendezvous[ADDRESS_BYTES], listen[NODES][ADDRESS_BYTES];
    struct child node[NODES];
    struct peer peer[CROWD_MAX];
    unsigned peers;
    unsigned seed;
    pthread_t thread;
    int is_over;              /* atomic, as the next */
    unsigned connected;       /* connections to the rendezvous that were made */
    unsigned peers_connected; /* and to ports for peers */
    long descriptors;         /* the most that a node was seen to have */
};

static int call(const char *address)
{
    const struct sockaddr_in a = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)atoi(strchr(address, ':') + 1)),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CHECK(fd >= 0);
    if (connect(fd, (const struct sockaddr *)&a, sizeof a) == 0 || errno == EINPROGRESS) return fd;
    close(fd);
    return -1;
}

/* Without a rest that the kernel keeps for a minute. */
static void hang_up(int fd)
{
    const struct linger at_once = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(fd);
}

static bool is_connected(int fd)
{
    struct sockaddr_in a;
    socklen_t bytes = sizeof a;
    return getpeername(fd, (struct sockaddr *)&a, &bytes) == 0;
}

static void leave(struct attack *s, unsigned i)
{
    hang_up(s->peer[i].fd);
    s->peers--;
    memmove(&s->peer[i], &s->peer[i + 1], (s->peers - i) * sizeof *s->peer);
}

/* Each in turn: half of them at the rendezvous, the others at the nodes' ports for peers. */
static void come(struct attack *s)
{
    unsigned turn = s->seed++;
    bool is_rendezvous = turn % 2 == 0;
    int fd = call(is_rendezvous ? s->rendezvous : s->listen[turn / 2 % NODES]);
    if (fd < 0) return;
    if (s->peers == s->at_a_time) leave(s, 0);
    s->peer[s->peers++] =
        (struct peer){.fd = fd,
                      .is_rendezvous = is_rendezvous,
                      .act = s->behaviours[turn / 2 / NODES % s->behaviour_count]};
}

static void act(struct attack *s, unsigned i)
{
    struct peer *p = &s->peer[i];
    bool is_there = is_connected(p->fd), stays = is_there ? p->act(s, p) : p->age <= 100;
    if (is_there && p->age == 0)
        __atomic_fetch_add(p->is_rendezvous ? &s->connected : &s->peers_connected, 1,
                           __ATOMIC_RELAXED);
    p->age++;
    if (!stays) leave(s, i);
}

static void *attack_nodes(void *argument)
{
    enum { CALLS = 20 };
    struct attack *s = argument;
    while (!__atomic_load_n(&s->is_over, __ATOMIC_ACQUIRE)) {
        for (int i = 0; i < CALLS; i++) come(s);
        for (unsigned i = s->peers; i-- > 0;) act(s, i);
        sleep_s(s->pause_us * 1e-6);
    }
    while (s->peers > 0) leave(s, 0);
    return NULL;
}

/* ---- what they say ---- */

/* False: the node has ended the connection. What does not go at once is lost. */
static bool say(int fd, const void *data, size_t bytes)
{
    ssize_t n = send(fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    return n >= 0 || errno == EAGAIN;
}

static bool send_bytes(struct attack *s, const struct peer *p)
{
    unsigned char bytes[4096];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)rand_r(&s->seed);
    return p->age < 3 && say(p->fd, bytes, sizeof bytes);
}

static bool send_nothing(struct attack *s, const struct peer *p)
{
    (void)s, (void)p;
    return true;
}

static struct rendezvous_config config_of(int rank)
{
    return (struct rendezvous_config){.node = {.rank = rank,
                                               .size = NODES,
                                               .tables = &table,
                                               .table_count = 1,
                                               .technique = LOCUS_STATIC,
                                               .shards = 2,
                                               .workers = 1,
                                               .join_timeout_s = HANG_S,
                                               .peer_timeout_s = 10},
                                      .data_address = "127.0.0.1:9"};
}

static struct message *hello_of(int rank)
{
    const struct rendezvous_config c = config_of(rank);
    struct message *m = hello_write(&c, HANG_S * 1000);
    CHECK(m != NULL);
    return m;
}

/* Lets the message go. */
static bool say_message(int fd, struct message *m)
{
    bool goes_on = say(fd, m->data, m->bytes);
    message_let_go(m);
    return goes_on;
}

static const struct mesh_hello sound_hello = {
    .magic = MESH_MAGIC, .version = MESH_VERSION, .cluster = 1234567, .rank = NODES - 1};

/* A message that never becomes whole. */
static bool dribble(struct attack *s, const struct peer *p)
{
    struct message *m = hello_of(0);
    size_t whole = p->is_rendezvous ? m->bytes : sizeof sound_hello;
    const unsigned char *at = p->is_rendezvous ? m->data : (const void *)&sound_hello;
    (void)s;
    bool goes_on = p->age + 1 >= whole || say(p->fd, at + p->age, 1);
    message_let_go(m);
    return goes_on;
}

/* Heartbeats of a member, and to a port for peers zeros behind the beginning of a hello, as many as
 * it takes. */
static bool stream(struct attack *s, const struct peer *p)
{
    static const unsigned char heartbeat[MESSAGE_HEADER_BYTES] = {
        'l', 'o', 'c', 'r', MESSAGE_VERSION, 0, MESSAGE_HEARTBEAT};
    unsigned char many[3000 * sizeof heartbeat] = {0};
    (void)s;
    for (size_t i = 0; p->is_rendezvous && i < sizeof many; i += sizeof heartbeat)
        memcpy(many + i, heartbeat, sizeof heartbeat);
    if (!p->is_rendezvous && p->age == 0) memcpy(many, &sound_hello, sizeof sound_hello.magic);
    return say(p->fd, many, sizeof many);
}

/* A rendezvous' message of the greatest length, or of a length that cannot be; a hello of a rank
 * and a shard that cannot be. What the node makes room for is filled. */
static bool exaggerate(struct attack *s, const struct peer *p)
{
    static const uint32_t lengths[] = {MESSAGE_MAX - MESSAGE_HEADER_BYTES, MESSAGE_MAX, INT32_MAX,
                                       UINT32_MAX};
    static unsigned char filling[1 << 18];
    struct mesh_hello h = sound_hello;
    h.rank = h.shard = UINT32_MAX;
    if (p->age > 0) return p->is_rendezvous && say(p->fd, filling, sizeof filling);
    if (!p->is_rendezvous) return say(p->fd, &h, sizeof h);
    struct message *m = hello_of(0);
    memcpy(m->data + 8, &lengths[s->seed / 2 % 4], sizeof *lengths);
    return say_message(p->fd, m);
}

/* The hello of rank 0, which has joined before any other, whole; and a hello of a node of another
 * cluster. */
static bool pretend(struct attack *s, const struct peer *p)
{
    (void)s;
    if (p->age > 0) return true;
    return p->is_rendezvous ? say_message(p->fd, hello_of(0))
                            : say(p->fd, &sound_hello, sizeof sound_hello);
}

/* What would end a cluster without a secret: any rank, other tables, another size, another
 * version. */
static struct message *misleading_hello(const struct attack *s, const struct secret *secret)
{
    static const struct locus_table other = {.name = "rows", .rows = KEYS + 1, .length = LENGTH};
    struct rendezvous_config c = config_of((int)(s->seed / 2 % NODES));
    unsigned how = s->seed / 2 / NODES % 5;
    c.secret = how == 1 ? NULL : secret;
    if (how == 2) c.node.tables = &other;
    if (how == 3) c.node.size = NODES + 1;
    struct message *m = hello_write(&c, 1);
    CHECK(m != NULL);
    if (how == 4) m->data[4]++; /* the version */
    return m;
}

/* Says that it knows the secret, and proves it wrongly, without and with a challenge. */
static bool guess(struct attack *s, const struct peer *p)
{
    unsigned char bytes[SECRET_NONCE_BYTES + SECRET_PROOF_BYTES] = {0};
    const struct secret any = {.is_known = true};
    struct mesh_hello h = sound_hello;
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)rand_r(&s->seed);
    memcpy(h.proof, bytes, sizeof h.proof);
    if (!p->is_rendezvous || p->age > 1) return p->age < 2 && say(p->fd, &h, sizeof h);
    struct message *hello = misleading_hello(s, &any);
    if (p->age == 0) return say_message(p->fd, hello);
    struct message *m = message_new(MESSAGE_RESPONSE);
    message_put_bytes(m, bytes, sizeof bytes);
    message_put_bytes(m, hello->data + MESSAGE_HEADER_BYTES, hello->bytes - MESSAGE_HEADER_BYTES);
    message_let_go(hello);
    return say_message(p->fd, message_done(m));
}

/* Comes and goes. */
static bool come_and_leave(struct attack *s, const struct peer *p)
{
    (void)s;
    return p->age < 1;
}

/* ---- an attack ---- */

static void start_node(struct attack *s, int rank)
{
    child_start(&s->node[rank], "hostile_node", "%d %d %s %s", rank, s->has_secret, s->rendezvous,
                s->listen[rank]);
    child_expect(&s->node[rank], "here"); /* until then it has our descriptors */
}

static long descriptors_of(const struct child *c)
{
    char folder[64];
    snprintf(folder, sizeof folder, "/proc/%d/fd", (int)c->pid);
    return names_in(folder);
}

static void look_at_nodes(struct attack *s)
{
    for (int r = 0; r < NODES; r++) {
        if (s->node[r].pid == 0) continue;
        long n = descriptors_of(&s->node[r]);
        if (n > s->descriptors) s->descriptors = n;
    }
}

/* Until so many more have come to a port, whatever it takes. */
static void await_peers(struct attack *s, const unsigned *count, unsigned more)
{
    unsigned until = __atomic_load_n(count, __ATOMIC_RELAXED) + more;
    AWAIT((look_at_nodes(s), __atomic_load_n(count, __ATOMIC_RELAXED) >= until));
}

/* Returns the most memory that a node needed. */
static long end_nodes(struct attack *s)
{
    long most_kb = 0;
    child_tell(&s->node[0], "leave");
    for (int r = 0; r < NODES; r++) {
        int rounds;
        long kb;
        CHECK_EQ(sscanf(child_hear(&s->node[r]), "%d %ld", &rounds, &kb), 2);
        CHECK(rounds >= ROUNDS_MIN);
        if (kb > most_kb) most_kb = kb;
        if (r > 0) child_tell(&s->node[r], "so be it");
    }
    for (int r = 0; r < NODES; r++) child_wait(&s->node[r]);
    return most_kb;
}

/* So many connections this process can have at a time. */
static unsigned raise_descriptors(void)
{
    enum { OTHERS = 100 };
    struct rlimit limit;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    CHECK(limit.rlim_cur > 2 * OTHERS);
    return limit.rlim_cur - OTHERS < CROWD_MAX ? (unsigned)limit.rlim_cur - OTHERS : CROWD_MAX;
}

/* The cluster alone, then with unauthenticated peers at the rendezvous before anybody else joins,
 * at the ports for peers while they wait, and at whatever listens when all have joined: then rank 0
 * accepts a hundred in a second. */
static long run(struct attack *s)
{
    enum { BEFORE = 1000, AFTER = 200 };
    address_new(s->rendezvous);
    for (int r = 0; r < NODES; r++) address_new(s->listen[r]);
    if (s->behaviour_count) CHECK_EQ(pthread_create(&s->thread, NULL, attack_nodes, s), 0);
    start_node(s, 0);
    if (s->behaviour_count) await_peers(s, &s->connected, BEFORE);
    start_node(s, 1);
    if (s->behaviour_count) await_peers(s, &s->peers_connected, BEFORE);
    start_node(s, 2);
    for (int r = 0; r < NODES; r++) child_expect(&s->node[r], "joined");
    for (int r = 0; r < NODES; r++) CHECK_EQ(address_dial(s->listen[r]), -1);
    if (s->behaviour_count) await_peers(s, &s->connected, AFTER);
    look_at_nodes(s);
    long kb = end_nodes(s);
    if (!s->behaviour_count) return kb;
    __atomic_store_n(&s->is_over, 1, __ATOMIC_RELEASE);
    pthread_join(s->thread, NULL);
    return kb;
}

static void endure_with(const struct attack *how)
{
    static struct attack alone, s;
    unsigned most = raise_descriptors();
    alone = (struct attack){.has_secret = how->has_secret};
    long alone_kb = run(&alone);
    s = *how;
    s.seed = 1;
    if (s.at_a_time > most) s.at_a_time = most;
    long kb = run(&s);
    if (!IS_SANITIZED && kb > alone_kb + GROWTH_KB)
        test_fail(__FILE__, __LINE__,
                  "a node needed %ld KB, and %ld KB without unauthenticated peers", kb, alone_kb);
    if (s.descriptors > NODE_DESCRIPTORS - 20)
        test_fail(__FILE__, __LINE__, "a node had %ld descriptors of %d", s.descriptors,
                  NODE_DESCRIPTORS);
}

/* One manner each, all at the same time. The last is for clusters with a secret: in one without any
 * hello of its size may end the joining. */
static behaviour *const all_behaviours[] = {send_bytes, send_nothing, dribble,        stream,
                                            exaggerate, pretend,      come_and_leave, guess};
enum { BEHAVIOURS = sizeof all_behaviours / sizeof *all_behaviours };

#define ATTACK(these, count, secret, pause, most) \
    endure_with(&(struct attack){.behaviours = (these), \
                                 .behaviour_count = (count), \
                                 .has_secret = (secret), \
                                 .pause_us = (pause), \
                                 .at_a_time = (most)})

TEST(hostile, peers_of_all_kinds_harm_no_cluster)
{
    ATTACK(all_behaviours, BEHAVIOURS - 1, false, 100, 300);
    ATTACK(all_behaviours, BEHAVIOURS, true, 100, 300);
}

TEST(hostile, crowd_of_silent_peers_harms_no_cluster)
{
    ATTACK(&all_behaviours[1], 1, false, 0, CROWD_MAX);
}
