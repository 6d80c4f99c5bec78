/*
 * A node is killed while all push, and no push of the others is in its row twice; in rows that the
 * lost node never had each is there once.
 *
 * Each push of a key has a number, from memory that all share, and a field of its own in the row: two
 * bits of a float, as in ../sim/content.h. When enough pushes have begun, node 2 is killed. Where
 * there are cables, before that its answers do not arrive at node 1 any more, whose pushes it goes on
 * to do, while rows move on to node 0.
 */
#include "cables.h"
#include "team.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NODES = 3, LOST = 2, WORKERS = 2, KEYS = 60, LENGTH = 100, FIELDS = 12, CALL = 6 };
enum { PUSHES = LENGTH * FIELDS, ALL = KEYS * PUSHES, FLIGHTS = 4, STEPS_MAX = 100000 };
static const struct locus_table table = {.rows = KEYS, .length = LENGTH};

struct book {
    int begun, pushes[KEYS]; /* atomic; of the latter as many as there are fields are made */
    bool is_safe[KEYS];      /* the lost node never has it */
    uint8_t by[KEYS][PUSHES];
    uint8_t done[KEYS][PUSHES];
};

/* A third of the keys is none of the lost node's. */
static bool may_touch(const struct seat *s, locus_key key)
{
    return s->rank != LOST || key % 3 != 0;
}

struct flight {
    locus_ticket ticket;
    size_t count;
    locus_key keys[CALL];
    int number[CALL];
    float values[CALL * LENGTH];
};

static void land(struct seat *s, struct flight *f)
{
    struct book *b = s->team->shared;
    CHECK_EQ(locus_wait(s->worker, f->ticket), 0);
    for (size_t i = 0; i < f->count; i++) b->done[f->keys[i]][f->number[i]] = 1;
    f->count = 0;
    f->ticket = 0;
}

/* Returns whether there was anything left to push. */
static bool push_some(struct seat *s, struct flight *f)
{
    struct book *b = s->team->shared;
    memset(f->values, 0, sizeof f->values);
    for (int i = 0; i < CALL; i++) {
        locus_key key = seat_random(s, KEYS);
        if (!may_touch(s, key) || __atomic_load_n(&b->pushes[key], __ATOMIC_RELAXED) >= PUSHES)
            continue;
        int number = __atomic_fetch_add(&b->pushes[key], 1, __ATOMIC_RELAXED);
        if (number >= PUSHES) continue;
        b->by[key][number] = (uint8_t)s->rank;
        f->values[f->count * LENGTH + (size_t)(number / FIELDS)] =
            (float)(1 << 2 * (number % FIELDS));
        f->keys[f->count] = key;
        f->number[f->count++] = number;
    }
    __atomic_fetch_add(&b->begun, (int)f->count, __ATOMIC_SEQ_CST);
    if (f->count == 0) return false;
    locus_clock now = locus_current_clock(s->worker);
    if (seat_random(s, 4) == 0)
        CHECK_EQ(locus_intent(s->worker, f->keys, f->count, now, now + 2), 0);
    if (seat_random(s, 4) == 0 && s->team->technique != LOCUS_REPLICATE)
        CHECK_EQ(locus_localize(s->worker, f->keys, f->count), 0);
    CHECK_EQ(locus_push_async(s->worker, f->keys, f->count, f->values, &f->ticket), 0);
    locus_advance_clock(s->worker);
    return true;
}

static void check_row(struct seat *s, locus_key key)
{
    const struct book *b = s->team->shared;
    float row[LENGTH];
    CHECK_EQ(locus_pull(s->worker, &key, 1, row), 0);
    int made = b->pushes[key] < PUSHES ? b->pushes[key] : PUSHES, missing = 0;
    for (int i = 0; i < PUSHES; i++) {
        unsigned times = (unsigned)row[i / FIELDS] >> 2 * (i % FIELDS) & 3;
        if (times > 1 || (times && i >= made))
            test_fail(__FILE__, __LINE__, "push %d of row %d is in it %u times", i, (int)key,
                      times);
        missing += i < made && times == 0 && b->by[key][i] != LOST && b->done[key][i];
    }
    if (missing && b->is_safe[key])
        test_fail(__FILE__, __LINE__, "row %d lacks %d pushes, and was not lost", (int)key,
                  missing);
    if (missing && s->rank == 0) printf("row %d lacks %d of %d\n", (int)key, missing, made);
}

static void body(struct seat *s)
{
    static _Thread_local struct flight flight[FLIGHTS];
    struct book *b = s->team->shared;
    locus_key owned[KEYS];
    for (locus_key key = 0; key < KEYS; key += 3)
        if (s->rank == 0 && s->id == 0) CHECK_EQ(locus_localize(s->worker, &key, 1), 0);
    seat_barrier(s);
    bool notes = s->rank != LOST && s->id == 0;
    size_t count = notes ? locus_owned(s->node, 0, owned, KEYS) : 0;
    for (size_t i = 0; i < count; i++) b->is_safe[owned[i]] = owned[i] % 3 == 0;
    seat_barrier(s);
    for (int step = 0; step < STEPS_MAX; step++) {
        struct flight *f = &flight[step % FLIGHTS];
        land(s, f);
        if (!push_some(s, f) && __atomic_load_n(&b->begun, __ATOMIC_SEQ_CST) == ALL) break;
    }
    for (int i = 0; i < FLIGHTS; i++) land(s, &flight[i]);
    for (double seats = NODES * WORKERS; seats > (NODES - 1) * WORKERS;) {
        seats = 1;
        CHECK_EQ(locus_sum(s->worker, &seats, 1), 0);
    }
    CHECK_EQ(locus_quiesce(s->worker), 0);
    for (locus_key key = 0; key < KEYS && s->id == 0; key++) check_row(s, key);
    seat_barrier(s);
}

ROLE(survive_once)
{
    struct team t = {TEAM_OF(NODES, WORKERS, 2, LOCUS_ADAPTIVE, &table, 1), .survives = 1};
    int fd, rank, technique;
    char host[64], listen[ADDRESS_BYTES];
    CHECK_EQ(sscanf(arguments, "%d %d %d %31s %63s", &fd, &rank, &technique, t.address, host), 5);
    snprintf(listen, sizeof listen, "10.77.0.%d", rank + 1);
    if (strcmp(host, "-") != 0) cables_enter(host);
    if (strcmp(host, "-") != 0) t.listen = listen;
    t.technique = (enum locus_technique)technique;
    t.shared = shared_of(fd, sizeof(struct book));
    team_run_node(&t, rank, body);
}

static void lose(enum locus_technique technique, unsigned *seed)
{
    struct child child[NODES];
    struct cables cables = {0};
    char address[ADDRESS_BYTES] = "10.77.0.1:7777";
    bool has_cables = cables_can() && rand_r(seed) % 4;
    int fd;
    struct book *b = shared_new(sizeof *b, &fd);
    if (has_cables)
        cables_lay(&cables, NODES);
    else
        address_new(address);
    for (int i = 0; i < NODES; i++)
        child_start(&child[i], "survive_once", "%d %d %d %s %s", fd, i, (int)technique, address,
                    has_cables ? cables_host(&cables, i) : "-");
    int when = 1 + rand_r(seed) % (ALL / 2);
    AWAIT(__atomic_load_n(&b->begun, __ATOMIC_SEQ_CST) >= when);
    if (has_cables) cables_lose(&cables, LOST, 1, true);
    if (has_cables) sleep_s(rand_r(seed) % 100 * 1e-3);
    child_kill(&child[LOST]);
    for (int i = 0; i < LOST; i++) child_wait(&child[i]);
    if (has_cables) cables_remove(&cables);
    shared_free(b, sizeof *b, fd);
}

TEST(survive_once, no_push_is_done_twice)
{
    static const enum locus_technique techniques[] = {LOCUS_ADAPTIVE, LOCUS_RELOCATE,
                                                      LOCUS_REPLICATE};
    unsigned seed = (unsigned)getpid();
    double end = now_s() + test_seconds() / 2.0;
    printf("seed %u\n", seed);
    for (int i = 0; i < 6 || now_s() < end; i++) lose(techniques[i % 3], &seed);
}
