/*
 * stress_test.c - many threads at the same few rows, while movers take them out and put them back.
 *
 * No row may be torn, no update lost, no view may see another row, and in the end all memory must
 * be back. Under the sanitizers also: nothing is used after it was given back, and nothing is
 * touched by two threads without an order.
 */
#include "common/stores.h"
#include "store/row.h"
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A row's first element names the key and never changes. What its other elements are, all the
 * same: */
enum role {
    COUNTER,  /* the sum of what all threads added */
    REGISTER, /* what the setter set last */
    CONSTANT, /* the key's name too: nobody writes it, so that views may read it without atomics */
    ROLES
};

enum {
    KEYS = 48,
    LENGTH_MAX = 40,
    SHARDS = 4,
    MOVERS = 2,
    ADDERS = 2,
    READERS = 2,
    VIEWERS = 2,
    SETTERS = 1, /* a register has one writer: its last value is known */
    THREADS = MOVERS + ADDERS + READERS + VIEWERS + SETTERS,
    OUT_MAX = 4,       /* rows that a mover keeps out at a time */
    BALANCE_MAX = 999, /* of what a thread has added to a key: sums stay exact in a float */
    ITERATIONS_MIN = 500,
};

struct stress;

struct thread {
    struct stress *stress;
    unsigned number; /* among its kind */
    uint64_t dice;
    pthread_t thread;
    struct reader reader;
    struct mover mover;
    int sum[KEYS]; /* what it added to each, or set last */
    uint64_t iterations;
};

struct stress {
    struct store store;
    int stop;
    struct thread thread[THREADS];
};

static unsigned throw_dice(struct thread *t, unsigned sides)
{
    t->dice = t->dice * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (unsigned)(t->dice >> 33) % sides;
}

static bool goes_on(struct thread *t)
{
    return t->iterations++ < ITERATIONS_MIN || !__atomic_load_n(&t->stress->stop, __ATOMIC_RELAXED);
}

static enum role role_of(locus_key key)
{
    return (enum role)(key % ROLES);
}

static float name_of(locus_key key)
{
    return (float)(100000 + key);
}

static struct row_ref row_ref_of(struct thread *t, locus_key key)
{
    return store_row_ref(&t->stress->store, key);
}

static locus_key any_key(struct thread *t, enum role role)
{
    return throw_dice(t, KEYS / ROLES) * ROLES + role;
}

/* Others may be at work on the row. */
static float look(const float *at)
{
    float f;
    __atomic_load(at, &f, __ATOMIC_RELAXED);
    return f;
}

static void check_row(locus_key key, const float *row, uint32_t length)
{
    CHECK(row[0] == name_of(key));
    for (uint32_t i = 2; i < length; i++) CHECK(row[i] == row[1]);
    if (role_of(key) == CONSTANT) CHECK(row[1] == name_of(key));
}

static void write_row(struct thread *t, locus_key key, enum row_change change, int value)
{
    float row[LENGTH_MAX];
    int rc;
    row[0] = change == ROW_ADD ? 0 : name_of(key);
    for (int i = 1; i < LENGTH_MAX; i++) row[i] = (float)value;
    while ((rc = row_write(row_ref_of(t, key), row, change)) == -EAGAIN) sched_yield();
    CHECK_EQ(rc, 0);
}

static int amount_to_add(struct thread *t, locus_key key)
{
    int amount = 1 + (int)throw_dice(t, 8);
    if (throw_dice(t, 2)) amount = -amount;
    if (t->sum[key] + amount > BALANCE_MAX || t->sum[key] + amount < -BALANCE_MAX) amount = -amount;
    t->sum[key] += amount;
    return amount;
}

/* Some counters in one call; those that are elsewhere one by one until they are back. */
static void add_many(struct thread *t)
{
    locus_key keys[20];
    float values[20 * LENGTH_MAX];
    struct missed_row missed[20];
    int amount[20], rc = 0;
    size_t n = 2 + throw_dice(t, 19), offset = 0;
    for (size_t i = 0; i < n; i++) {
        keys[i] = any_key(t, COUNTER);
        amount[i] = amount_to_add(t, keys[i]);
        values[offset] = 0;
        for (uint32_t k = 1; k < row_ref_of(t, keys[i]).partition->length; k++)
            values[offset + k] = (float)amount[i];
        offset += row_ref_of(t, keys[i]).partition->length;
    }
    size_t count = rows_write(&t->stress->store, NULL, keys, n, values, ROW_ADD, missed, NULL, &rc);
    CHECK_EQ(rc, 0);
    for (size_t i = 0; i < count; i++)
        write_row(t, keys[missed[i].position], ROW_ADD, amount[missed[i].position]);
}

static void *add(void *argument)
{
    struct thread *t = argument;
    while (goes_on(t)) {
        locus_key key = any_key(t, COUNTER);
        if (throw_dice(t, 4) == 0)
            add_many(t);
        else
            write_row(t, key, ROW_ADD, amount_to_add(t, key));
    }
    return NULL;
}

static void *set(void *argument)
{
    struct thread *t = argument;
    while (goes_on(t)) {
        locus_key key = any_key(t, REGISTER);
        t->sum[key] = (t->sum[key] + 1) % 1000000;
        write_row(t, key, ROW_SET, t->sum[key]);
    }
    return NULL;
}

static void read_many(struct thread *t)
{
    locus_key keys[20];
    float values[20 * LENGTH_MAX];
    struct missed_row missed[20];
    size_t n = 2 + throw_dice(t, 19), offset = 0;
    for (size_t i = 0; i < n; i++) keys[i] = throw_dice(t, KEYS);
    size_t count = rows_read(&t->stress->store, NULL, keys, n, values, missed, NULL);
    for (size_t i = 0, m = 0; i < n; i++) {
        uint32_t length = row_ref_of(t, keys[i]).partition->length;
        if (m < count && missed[m].position == i)
            m++;
        else
            check_row(keys[i], values + offset, length);
        offset += length;
    }
}

static void *read_rows(void *argument)
{
    struct thread *t = argument;
    while (goes_on(t)) {
        locus_key key = throw_dice(t, KEYS);
        float row[LENGTH_MAX];
        int rc = row_read(row_ref_of(t, key), row);
        CHECK(rc == 0 || rc == -EAGAIN);
        if (rc == 0) check_row(key, row, row_ref_of(t, key).partition->length);
        if (throw_dice(t, 4) == 0) read_many(t);
    }
    return NULL;
}

static void check_view(locus_key key, const float *view, uint32_t length)
{
    if (!view) return;
    CHECK(look(&view[0]) == name_of(key));
    if (role_of(key) != CONSTANT) return;
    /* plain: who writes it must come after us */
    for (uint32_t i = 1; i < length; i++) CHECK(view[i] == name_of(key));
}

static void *view(void *argument)
{
    struct thread *t = argument;
    while (goes_on(t)) {
        locus_key keys[8];
        const float *views[8];
        unsigned n = 1 + throw_dice(t, 8);
        reader_begin(&t->reader);
        for (unsigned i = 0; i < n; i++) {
            keys[i] = throw_dice(t, KEYS);
            views[i] = row_view(&t->stress->store, row_ref_of(t, keys[i]), NULL, &(int){0});
        }
        for (unsigned again = throw_dice(t, 20); again > 0; again--) {
            for (unsigned i = 0; i < n; i++)
                check_view(keys[i], views[i], row_ref_of(t, keys[i]).partition->length);
            if (throw_dice(t, 4) == 0) sched_yield();
        }
        reader_end(&t->reader);
        if (throw_dice(t, 2)) sched_yield(); /* movers must find an end now and then */
    }
    return NULL;
}

/* A row that is out, as it would be on its way. */
struct parcel {
    locus_key key;
    float row[LENGTH_MAX];
};

static void take_out(struct thread *t, struct parcel *p)
{
    bool written = false;
    directory_word next = directory_elsewhere(1 + throw_dice(t, 9), throw_dice(t, 1000));
    CHECK_EQ(row_take(&t->mover, row_ref_of(t, p->key), p->row, &written, next), 0);
    CHECK(written);
    check_row(p->key, p->row, row_ref_of(t, p->key).partition->length);
}

static void put_back(struct thread *t, struct parcel *p)
{
    int rc;
    /* as if it were written where it was */
    if (role_of(p->key) == COUNTER && throw_dice(t, 4) == 0) {
        int amount = amount_to_add(t, p->key);
        for (int i = 1; i < LENGTH_MAX; i++) p->row[i] += (float)amount;
    }
    /* too many wait for a grace period */
    while ((rc = row_put(row_ref_of(t, p->key), p->row)) == -ENOMEM) {
        mover_reclaim(&t->mover);
        sched_yield();
    }
    CHECK_EQ(rc, 0);
}

static locus_key any_key_of_mover(struct thread *t)
{
    for (;;) {
        locus_key key = throw_dice(t, KEYS);
        if (keyspace_shard(&t->stress->store.keyspace, key) % MOVERS == t->number) return key;
    }
}

static void *move(void *argument)
{
    struct thread *t = argument;
    struct parcel out[OUT_MAX];
    unsigned count = 0;
    while (goes_on(t)) {
        locus_key key = any_key_of_mover(t);
        bool is_taken = false;
        for (unsigned i = 0; i < count; i++) is_taken |= out[i].key == key;
        if (count < OUT_MAX && !is_taken) {
            out[count].key = key;
            take_out(t, &out[count++]);
        }
        if (throw_dice(t, 3) == 0) mover_reclaim(&t->mover);
        if (count > 0 && throw_dice(t, 2)) {
            unsigned which = throw_dice(t, count);
            put_back(t, &out[which]);
            out[which] = out[--count];
        }
    }
    while (count > 0) put_back(t, &out[--count]);
    return NULL;
}

static const struct {
    void *(*run)(void *);
    unsigned count;
} kinds[] = {{add, ADDERS}, {set, SETTERS}, {read_rows, READERS}, {view, VIEWERS}, {move, MOVERS}};

static struct stress *open_stress(void)
{
    static const struct locus_table tables[] = {{.rows = KEYS / 2, .length = 16},
                                                {.rows = KEYS / 4, .length = 2},
                                                {.rows = KEYS / 4, .length = LENGTH_MAX}};
    struct stress *s = aligned_alloc(128, (sizeof *s + 127) / 128 * 128);
    CHECK(s != NULL);
    memset(s, 0, sizeof *s);
    /* Half of the keys have their home elsewhere: they live in slots that others left. */
    CHECK_EQ(store_init(&s->store, tables, 3, SHARDS, 2, 0), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        struct thread *t = &s->thread[i];
        t->stress = s;
        t->dice = i;
        reader_init(&t->reader, &s->store);
        mover_init(&t->mover, &s->store);
    }
    for (locus_key key = 0; key < KEYS; key++) {
        if (!row_ref_is_home(store_row_ref(&s->store, key)))
            CHECK_EQ(row_put(store_row_ref(&s->store, key), NULL), 0);
        write_row(&s->thread[0], key, ROW_SET, role_of(key) == CONSTANT ? (int)name_of(key) : 0);
    }
    return s;
}

static void run_stress(struct stress *s)
{
    unsigned i = 0;
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
        for (unsigned number = 0; number < kinds[kind].count; number++, i++) {
            s->thread[i].number = number;
            CHECK_EQ(pthread_create(&s->thread[i].thread, NULL, kinds[kind].run, &s->thread[i]), 0);
        }
    sleep((unsigned)test_seconds());
    __atomic_store_n(&s->stop, 1, __ATOMIC_RELAXED);
    for (i = 0; i < THREADS; i++) CHECK_EQ(pthread_join(s->thread[i].thread, NULL), 0);
}

/* All were here when the movers ended. */
static void check_sums(struct stress *s)
{
    for (locus_key key = 0; key < KEYS; key++) {
        float row[LENGTH_MAX];
        int sum = 0;
        for (unsigned i = 0; i < THREADS; i++) sum += s->thread[i].sum[key];
        CHECK_EQ(row_read(store_row_ref(&s->store, key), row), 0);
        check_row(key, row, store_row_ref(&s->store, key).partition->length);
        if (role_of(key) != CONSTANT) CHECK_EQ(row[1], sum);
    }
}

static void reclaim_all(struct stress *s)
{
    for (int polls = 0; polls < 16; polls++)
        for (unsigned i = 0; i < THREADS; i++) mover_reclaim(&s->thread[i].mover);
}

static void check_memory(struct stress *s)
{
    struct parcel p;
    reclaim_all(s);
    CHECK_EQ(store_held_rows(&s->store), KEYS);
    for (p.key = 0; p.key < KEYS; p.key++) take_out(&s->thread[THREADS - 1], &p);
    reclaim_all(s);
    CHECK_EQ(store_held_rows(&s->store), 0);
    CHECK_EQ(s->store.density.held_bytes, 0);
}

static void close_stress(struct stress *s)
{
    for (unsigned i = 0; i < THREADS; i++) {
        reader_fini(&s->thread[i].reader);
        mover_fini(&s->thread[i].mover);
    }
    store_fini(&s->store);
    free(s);
}

TEST(store_stress, rows_move_while_all_threads_use_them)
{
    struct stress *s = open_stress();
    run_stress(s);
    check_sums(s);
    check_memory(s);
    close_stress(s);
}
