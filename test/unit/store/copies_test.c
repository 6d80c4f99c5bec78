/* Workers' copies of rows, made and ended step by step; test/sim/copies.c has the orders. */
#include "store/row.h"

#include "base/time.h"
#include "test.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { KEYS = 8, LENGTH = 3, CAPACITY = 40, WORKERS = 3, HOT = 5 };

struct fixture {
    struct store store;
    struct reader reader[WORKERS];
    struct copies *of[WORKERS];
};

static struct row_ref row_ref_of(struct fixture *f, locus_key key)
{
    return store_row_ref(&f->store, key);
}

static void fill(float *row, float value)
{
    for (int i = 0; i < LENGTH; i++) row[i] = value;
}

static struct fixture *begin_with(enum locus_optimizer optimizer, enum locus_element element)
{
    const struct locus_table table = {
        .rows = KEYS, .length = LENGTH, .optimizer = optimizer, .element = element};
    const struct store_config c = {
        .tables = &table, .table_count = 1, .shards = 1, .nodes = 1, .is_alone = true};
    struct fixture *f = aligned_alloc(128, (sizeof *f + 127) / 128 * 128);
    float row[CAPACITY] = {0};
    CHECK(f != NULL);
    CHECK_EQ(store_open(&f->store, &c), 0);
    CHECK_EQ(copies_open(&f->store, WORKERS), 0);
    for (unsigned w = 0; w < WORKERS; w++) {
        reader_init(&f->reader[w], &f->store);
        f->of[w] = copies_of(&f->store, w, &f->reader[w]);
    }
    fill(row, 1000);
    for (locus_key key = 0; key < KEYS; key++) CHECK_EQ(row_set(row_ref_of(f, key), row), 0);
    return f;
}

static struct fixture *begin(void)
{
    return begin_with(LOCUS_NO_OPTIMIZER, LOCUS_F32);
}

static void end(struct fixture **at)
{
    struct fixture *f = *at;
    for (unsigned w = 0; w < WORKERS; w++) reader_fini(&f->reader[w]);
    copies_close(&f->store);
    store_fini(&f->store);
    free(f);
}

/* As a writer that found the latch of HOT taken. */
static void give_copies(struct fixture *f)
{
    struct row_ref s = row_ref_of(f, HOT);
    directory_word w = directory_load(row_ref_word(s));
    CHECK(directory_try_latch(row_ref_word(s), w));
    copies_begin(s, w);
    CHECK(directory_has_copies(directory_load(row_ref_word(s))));
}

static bool has_copies(struct fixture *f)
{
    return directory_has_copies(directory_load(row_ref_word(row_ref_of(f, HOT))));
}

static void add(struct fixture *f, unsigned worker, float value)
{
    float row[CAPACITY];
    fill(row, value);
    CHECK_EQ(row_write_by(row_ref_of(f, HOT), row, ROW_ADD, f->of[worker]), 0);
}

static void double_it(void *unused, float *row, uint32_t length)
{
    (void)unused;
    for (uint32_t i = 0; i < length; i++) row[i] *= 2;
}

TEST(copies, contended_needs_two_workers)
{
    CLOSED_BY(end) struct fixture *f = begin();
    struct row_ref s = row_ref_of(f, HOT);
    for (int i = 0; i < 1000; i++) CHECK(!copies_contended(f->of[0], s));
    bool shared = false;
    for (int tries = 0; tries < 100 && !shared; tries++) /* a pause between them forgets */
        for (unsigned w = 0; w < 2; w++)
            for (int i = 0; i < 8; i++) shared |= copies_contended(f->of[w], s);
    CHECK(shared);
    CHECK(!copies_contended(NULL, s));
}

/* Steps of a quarter of what lies between two values of 16 bits are not lost in copies: each rounds
 * on its own. Six standard deviations are allowed. */
TEST(copies, small_bf16_steps_add_up)
{
    enum { ADDS = 200 };
    const float small = 1.0f / 128, grown = 2 * ADDS * small;
    CLOSED_BY(end) struct fixture *f = begin_with(LOCUS_NO_OPTIMIZER, LOCUS_BF16);
    float row[CAPACITY], scratch[2 * CAPACITY];
    const struct row_edit edit = {.change = double_it, .scratch = scratch};
    fill(row, 2);
    CHECK_EQ(row_set(row_ref_of(f, HOT), row), 0);
    give_copies(f);
    CHECK_EQ(row_edit(row_ref_of(f, HOT), &edit, f->of[0]), 0);
    CHECK_EQ(row_read_any(row_ref_of(f, HOT), row, f->of[0]), 0);
    CHECK(row[0] == 4 && row[LENGTH - 1] == 4);
    for (int i = 0; i < 2 * ADDS; i++) {
        if (!has_copies(f)) give_copies(f);
        add(f, (unsigned)i % 2, small);
    }
    CHECK_EQ(row_read(row_ref_of(f, HOT), row), 0);
    for (int i = 0; i < LENGTH; i++) CHECK(fabsf(row[i] - 4 - grown) < 1.7f);
    CHECK(copies_begun(&f->store) > 0);
}

/* ---- a worker whose function takes long ---- */

enum { LONG_NS = 100000 };

struct slow {
    struct fixture *of;
    unsigned calls; /* atomic: begun */
    bool ends;      /* atomic */
};

static void take_long(void *slow, float *row, uint32_t length)
{
    (void)row, (void)length;
    __atomic_fetch_add(&((struct slow *)slow)->calls, 1, __ATOMIC_SEQ_CST);
    for (uint64_t end_ns = time_now_ns() + LONG_NS; time_now_ns() < end_ns;) continue;
}

static void *edit_on(void *slow)
{
    struct slow *s = slow;
    float scratch[2 * CAPACITY];
    const struct row_edit edit = {.change = take_long, .context = s, .scratch = scratch};
    while (!__atomic_load_n(&s->ends, __ATOMIC_SEQ_CST))
        CHECK_EQ(row_edit(row_ref_of(s->of, HOT), &edit, s->of->of[0]), 0);
    return NULL;
}

static unsigned calls_of(const struct slow *s)
{
    return __atomic_load_n(&s->calls, __ATOMIC_SEQ_CST);
}

/* The row has copies, and the worker is in a call with its own, or was just now. */
static void await_copy(struct slow *s)
{
    struct row_ref ref = row_ref_of(s->of, HOT);
    for (;;) {
        directory_word w = directory_load(row_ref_word(ref));
        if (directory_has_copies(w)) break;
        if (!directory_is_latched(w) && directory_try_latch(row_ref_word(ref), w)) {
            copies_begin(ref, w);
            break;
        }
        if (directory_is_latched(w)) directory_add_waiter(row_ref_word(ref), w);
        sched_yield();
    }
    for (unsigned before = calls_of(s); calls_of(s) == before;) sched_yield();
}

/* How long this process had no processor, up to now. */
static uint64_t without_processor_ns(void)
{
    struct timespec used;
    uint64_t now_ns = time_now_ns();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return now_ns - ((uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec);
}

/* Were the worker's copy, or the row, ours after the call that was under way? -1: another process had
 * the processor, then the worker's next call may come first. */
static int is_had_soon(struct slow *s, bool is_copy)
{
    if (is_copy) await_copy(s);
    uint64_t before_ns = without_processor_ns();
    unsigned before = calls_of(s);
    if (is_copy)
        copies_fold_all(&s->of->store);
    else
        copies_end(row_ref_of(s->of, HOT)), add(s->of, 1, 1);
    bool is_soon = calls_of(s) <= before + 2;
    return without_processor_ns() - before_ns > LONG_NS ? -1 : is_soon;
}

/* On one processor, where their latches are free for moments only. */
TEST(copies, and_rows_of_a_slow_worker_are_had_after_its_call)
{
    enum { TIMES = 20, TRIES = 300 };
    CLOSED_BY(end) struct fixture *f = begin();
    struct slow s = {.of = f};
    unsigned counted[2] = {0}, soon[2] = {0};
    pthread_t thread;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    CHECK_EQ(pthread_create(&thread, NULL, edit_on, &s), 0);
    while (calls_of(&s) == 0) sched_yield();
    for (int i = 0; i < 2 * TRIES; i++) {
        int is_copy = i % 2, is_soon = counted[is_copy] < TIMES ? is_had_soon(&s, is_copy) : -1;
        counted[is_copy] += is_soon >= 0;
        soon[is_copy] += is_soon > 0;
    }
    __atomic_store_n(&s.ends, true, __ATOMIC_SEQ_CST);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    if (counted[0] < TIMES || counted[1] < TIMES) SKIP("other processes keep the processor");
    CHECK(soon[0] > TIMES / 4 && soon[1] > TIMES / 4);
}

/* ---- deltas ---- */

enum { VALUES = 2, RECORD_MAX = 3 * VALUES + 1 };

/* What a worker makes of its copy of a row that has had a step: `steps` more. */
static void step(struct optimizer *o, float *row, float *delta, int steps)
{
    for (int i = 0; i < steps; i++) {
        const float gradient[VALUES] = {0.5f + (float)i, -1.0f};
        optimizer_begin_step(o);
        o->element->change(o, row, ROW_ADD, gradient, optimizer_step(o), delta, i == 0, 0);
    }
}

/* Values and state are as near to each other as so many roundings leave them. */
static void check_alike(const struct optimizer *o, const float *a, const float *b)
{
    float wide[2][VALUES];
    const float *row[2] = {a, b};
    size_t words = o->bf16 ? 1 : 0;
    for (int r = 0; o->bf16 && r < 2; r++) o->bf16->widen(wide[r], row[r], VALUES);
    for (int i = 0; o->bf16 && i < VALUES; i++)
        CHECK(fabsf(wide[0][i] - wide[1][i]) <= 0.03f * fmaxf(1, fabsf(wide[0][i])));
    size_t state = row_type_stored(o->type, VALUES) - (o->bf16 ? VALUES : 0);
    for (size_t i = words; i < words + state; i++)
        CHECK(fabsf(a[i] - b[i]) <= 1e-5f * fmaxf(1, fabsf(a[i])));
}

static void check_records(enum locus_optimizer kind, enum locus_element element)
{
    const struct row_type *type = row_type_of(kind);
    struct optimizer o;
    float row[2][RECORD_MAX], kept[2][RECORD_MAX] = {0}, said[RECORD_MAX] = {7};
    float first[RECORD_MAX] = {1, 2};
    optimizer_init(&o, type, &type->usual, element, VALUES);
    step(&o, first, NULL, 1);
    for (int w = 0; w < 2; w++) {
        memcpy(row[w], first, sizeof first);
        step(&o, row[w], kept[w], 2 + w);
    }
    float replica[RECORD_MAX], owner[RECORD_MAX];
    memcpy(replica, first, sizeof replica);
    memcpy(owner, first, sizeof owner);
    for (int w = 0; w < 2; w++) o.element->fold(&o, replica, row[w], kept[w], said, w == 0, 0);
    o.element->fold(&o, owner, replica, said, NULL, false, 0);
    check_alike(&o, owner, replica);
}

/* A replica gets the deltas of two workers, and its owner one of both. */
TEST(copies, fold_records_the_steps_of_all_workers)
{
    for (enum locus_optimizer kind = LOCUS_SGD; kind <= LOCUS_ADAMW; kind++) {
        check_records(kind, LOCUS_F32);
        check_records(kind, LOCUS_BF16);
    }
}

/* ---- threads ---- */

enum { UPDATES = 20000 };
