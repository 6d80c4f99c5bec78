/*
 * copies.c - workers' copies of rows, under every interleaving that a seed can think of.
 *
 * A few workers add to, edit, step, read and view a few short rows, sometimes stop for some
 * milliseconds of a time of their own making, and drain; a mover takes rows out and puts them back;
 * another thread reads and changes them as a shard would. The rows are main copies without replicas,
 * or with some, which are told of changes; or they are replicas, whose owner gets their updates and
 * refreshes them; with SGD or without; of floats or of 16 bits, which whole numbers up to
 * 256 fit into. Each update counts in the element of its worker, in an element for
 * all, and no update changes the last one, which names the key. Checked at each read: the row is
 * whole and the key's own, has all of its worker's updates, no fewer of anybody's than this worker
 * saw before, and all that were done some milliseconds ago; who is no worker sees everything that is
 * done; and so do other nodes as soon as they are told of all that is in copies, too. At the end
 * nothing is missing, there and here. Where one worker alone writes, no row ever has copies.
 */
#include "fibers.h"
#include "seeds.h"
#include "store/row.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    WORKERS_MAX = 4,
    KEYS_MAX = 6, /* more than a worker has copies */
    OTHER = WORKERS_MAX,
    PARTIES = WORKERS_MAX + 1,
    LENGTH = PARTIES + 2,
    CAPACITY = 40, /* what the compiler does not know to be more than enough */
    ALL = PARTIES,
    NAME = PARTIES + 1,
    OPERATIONS = 60,
    STEPS_MAX = 400000,
    STEP_NS = 1,
};
/* How old may be what a copy lacks: it is exchanged when it is COPIES_AGE_NS old, which its worker
 * looks at as often; so is another's, or after twice that, if it does not look. */
static const uint64_t lag_ns = UINT64_C(7) * COPIES_AGE_NS;

enum where { OWN, SHARED, REPLICA };

struct seen {
    float row[LENGTH];
};

static struct {
    struct store store;
    struct dice dice;
    uint64_t now_ns;
    unsigned workers, writers, keys, busy; /* busy: inside an operation */
    enum where where;
    bool is_pausing, has_optimizer, is_bf16;
    struct reader reader[WORKERS_MAX];
    struct copies *copies[WORKERS_MAX];
    struct mover mover;
    unsigned begun[KEYS_MAX][PARTIES], done[KEYS_MAX][PARTIES];
    uint64_t done_ns[KEYS_MAX][PARTIES][OPERATIONS * 3 + 1];
    float told[KEYS_MAX][CAPACITY]; /* what other nodes know, or the owner has */
    struct seen seen[WORKERS_MAX][KEYS_MAX];
    unsigned moves[KEYS_MAX]; /* odd: it is taken out, or about to be */
    uint64_t copied;          /* over all seeds */
} world;

static uint64_t now_ns(void)
{
    return world.now_ns += STEP_NS;
}

static struct row_ref ref_of(unsigned key)
{
    return store_row_ref(&world.store, key);
}

/* A row as the store has it, and its values. */
static void show(float *values, const float *stored)
{
    partition_show(world.store.partition, values, stored, false);
}

static const float *pack(float *stored, const float *values)
{
    const struct partition *p = world.store.partition;
    if (!p->bf16) return values;
    p->bf16->round(stored, values, LENGTH, 0);
    return stored;
}

/* Updates of `worker` that were done before. */
static unsigned done_before(unsigned key, unsigned worker, uint64_t ns)
{
    unsigned n = world.done[key][worker];
    while (n > 0 && world.done_ns[key][worker][n] >= ns) n--;
    return n;
}

static void check_whole(unsigned key, const float *row)
{
    float sum = 0;
    for (unsigned w = 0; w < PARTIES; w++) {
        sum += row[w];
        MUST(row[w] <= (float)world.begun[key][w], "key %u has update %g of worker %u, of %u", key,
             (double)row[w], w, world.begun[key][w]);
    }
    MUST(row[NAME] == (float)key + 1, "key %u has the row of %g", key, (double)row[NAME] - 1);
    MUST(row[ALL] == sum, "the row of key %u is torn: %g of %g", key, (double)row[ALL],
         (double)sum);
}

static void check_has(unsigned key, const float *row, unsigned worker, unsigned least,
                      const char *who)
{
    MUST(row[worker] >= (float)least, "%s of key %u has %g of %u updates of worker %u", who, key,
         (double)row[worker], least, worker);
}

/* Only a row that was out at some moment of the call is not here. */
static void check_refused(unsigned key, int rc, unsigned moves)
{
    MUST(rc >= 0 || moves % 2 || world.moves[key] != moves, "key %u, which is here, is not", key);
}

/* What was done when the call began. */
struct before {
    unsigned done[PARTIES];
};

static struct before before_now(unsigned key, uint64_t ns)
{
    struct before b;
    for (unsigned w = 0; w < PARTIES; w++) b.done[w] = done_before(key, w, ns);
    return b;
}

static void check_read(unsigned reader, unsigned key, const float *row, const struct before *b)
{
    struct seen *s = &world.seen[reader][key];
    check_whole(key, row);
    for (unsigned w = 0; w < PARTIES; w++) {
        check_has(key, row, w, b->done[w], "a late read");
        check_has(key, row, w, (unsigned)s->row[w], "a second read");
    }
    check_has(key, row, reader, world.done[key][reader], "a worker's read");
    memcpy(s->row, row, sizeof s->row);
}

static uint64_t long_ago(void)
{
    return world.now_ns > lag_ns ? world.now_ns - lag_ns : 0;
}

static void read_one(unsigned me, unsigned key)
{
    float row[CAPACITY];
    struct before b = before_now(key, long_ago());
    unsigned moves = world.moves[key];
    locus_key keys[1] = {key};
    bool is_batch = dice_below(&world.dice, 2);
    size_t replicas = 0;
    int rc = is_batch
                 ? -(int)rows_read(&world.store, world.copies[me], keys, 1, row, NULL, &replicas)
                 : row_read_any(ref_of(key), row, world.copies[me]);
    if (rc >= 0) check_read(me, key, row, &b);
    check_refused(key, rc, moves);
}

static void view_some(unsigned me)
{
    const float *view[3];
    unsigned key[3], n = 1 + dice_below(&world.dice, 3);
    reader_begin(&world.reader[me]);
    for (unsigned i = 0; i < n; i++) {
        key[i] = dice_below(&world.dice, world.keys);
        struct before b = before_now(key[i], long_ago());
        view[i] = row_view(&world.store, ref_of(key[i]), world.copies[me], &(int){0});
        /* a view shows a replica also while it is refreshed */
        bool is_exact = view[i] && world.where != REPLICA;
        if (is_exact) check_has(key[i], view[i], me, world.done[key[i]][me], "a view");
        for (unsigned w = 0; is_exact && w < PARTIES; w++)
            check_has(key[i], view[i], w, b.done[w], "a late view");
        if (dice_below(&world.dice, 3) == 0) read_one(me, dice_below(&world.dice, world.keys));
        for (unsigned j = 0; j <= i; j++)
            MUST(!view[j] || view[j][NAME] == (float)key[j] + 1, "a view of key %u shows %g",
                 key[j], (double)view[j][NAME] - 1);
    }
    reader_end(&world.reader[me]);
}

static void add_to_row(void *update, float *row, uint32_t length)
{
    const float *from = update;
    for (uint32_t i = 0; i < length; i++) row[i] += from[i];
}

/* SGD with a rate of 1 makes the same of a gradient. */
static void step_row(void *update, const float *values, float *gradient, uint32_t length)
{
    const float *from = update;
    (void)values;
    for (uint32_t i = 0; i < length; i++) gradient[i] = -from[i];
}

/* May there be one more? */
static bool begin_write(unsigned who, unsigned key)
{
    unsigned all = 0;
    for (unsigned w = 0; w < PARTIES; w++) all += world.begun[key][w];
    if (world.is_bf16 && all >= 256) return false;
    world.begun[key][who]++;
    return true;
}

static void has_written(unsigned who, unsigned key, int rc)
{
    if (rc < 0)
        world.begun[key][who]--;
    else
        world.done_ns[key][who][++world.done[key][who]] = world.now_ns;
}

static void write_one(unsigned me, unsigned key)
{
    float update[CAPACITY] = {[ALL] = 1}, scratch[2 * CAPACITY], added[CAPACITY];
    const struct row_edit edit = {.change = add_to_row, .context = update, .scratch = scratch};
    unsigned moves = world.moves[key];
    locus_key keys[1] = {key};
    size_t replicas = 0;
    int rc = 0, none = 0;
    update[me] = 1;
    for (unsigned i = 0; i < LENGTH; i++) added[i] = world.has_optimizer ? -update[i] : update[i];
    if (!begin_write(me, key)) return;
    switch (dice_below(&world.dice, 3)) {
    case 0:
        rc = world.has_optimizer
                 ? row_step_in_place(ref_of(key), step_row, update, scratch, world.copies[me])
                 : row_edit(ref_of(key), &edit, world.copies[me]);
        break;
    case 1: rc = row_write_by(ref_of(key), added, ROW_ADD, world.copies[me]); break;
    default:
        rc = -(int)rows_write(&world.store, world.copies[me], keys, 1, added, ROW_ADD, NULL,
                              &replicas, &none);
    }
    check_refused(key, rc, moves);
    has_written(me, key, rc);
}

/* Time passes between operations alone: in one everybody is as quick as the seed likes. */
static bool is_quiet(const void *unused)
{
    (void)unused;
    return world.busy == 0;
}

static bool may_go_on(const void *unused)
{
    (void)unused;
    return !world.is_pausing;
}

static void pause_some(void)
{
    if (world.is_pausing) return;
    world.is_pausing = true;
    locus_fiber_wait(is_quiet, NULL);
    world.now_ns += dice_below(&world.dice, 3 * COPIES_AGE_NS);
    world.is_pausing = false;
}

static void work_once(unsigned me)
{
    unsigned key = dice_below(&world.dice, 3) ? 0 : dice_below(&world.dice, world.keys);
    unsigned what = dice_below(&world.dice, 32);
    while (world.is_pausing) locus_fiber_wait(may_go_on, NULL);
    world.busy++;
    if (what < 20 && me < world.writers)
        write_one(me, key);
    else if (what < 28)
        read_one(me, key);
    else if (what < 31 && !world.is_bf16) /* of these there are no views */
        view_some(me);
    else
        copies_drain(world.copies[me]);
    world.busy--;
    if (dice_below(&world.dice, 4) == 0) pause_some();
}

static void work(void *argument)
{
    unsigned me = (unsigned)(uintptr_t)argument;
    for (unsigned i = 0; i < OPERATIONS; i++) {
        work_once(me);
        locus_fiber_yield();
    }
}

/* Who is no worker sees all that is done. */
static void check_exact(unsigned key, const float *row, const struct before *b, const char *who)
{
    check_whole(key, row);
    for (unsigned w = 0; w < PARTIES; w++) check_has(key, row, w, b->done[w], who);
}

/* ---- the shard ---- */

/* The updates of a replica are the owner's now. */
static void give_owner(unsigned key, const float *updates)
{
    for (unsigned i = 0; i < LENGTH; i++) world.told[key][i] += updates[i];
}

static void tell(void *unused, uint64_t index)
{
    float row[CAPACITY] = {0};
    unsigned key = (unsigned)index;
    directory_word w;
    (void)unused;
    if (world.where == REPLICA) {
        row_collect(ref_of(key), row);
        give_owner(key, row);
    } else if (world.where == SHARED) {
        row_clean(ref_of(key));
        row_read_version(ref_of(key), row, &w);
        show(world.told[key], row);
    }
    check_whole(key, world.told[key]);
}

/* In a round others hear of what was done some milliseconds ago; before a clock is said, of all
 * that is done. */
static void tell_others(bool of_all)
{
    struct before b[KEYS_MAX] = {0};
    for (unsigned key = 0; key < world.keys; key++)
        b[key] = before_now(key, of_all ? UINT64_MAX : long_ago());
    copies_take_idle(&world.store, world.now_ns);
    if (of_all) copies_fold_all(&world.store);
    dirty_set_take(world.store.dirty, tell, NULL);
    for (unsigned key = 0; key < world.keys; key++)
        check_exact(key, world.told[key], &b[key], "what others know");
}

/* What a row loses by it was done before. */
static void move_one(unsigned key)
{
    float row[CAPACITY], values[CAPACITY];
    bool written;
    struct before b = before_now(key, UINT64_MAX);
    const directory_word next = directory_elsewhere(1, 1);
    world.moves[key]++;
    if (world.where == REPLICA) {
        row_forget(&world.mover, ref_of(key), row, next);
        give_owner(key, row);
        check_exact(key, world.told[key], &b, "the owner of what was forgotten");
    } else {
        MUST(row_take(&world.mover, ref_of(key), row, &written, next) == 0,
             "key %u cannot be taken out", key);
        show(values, row);
        check_exact(key, values, &b, "what was taken out");
    }
    locus_fiber_yield();
    int rc = world.where == REPLICA ? row_replicate(ref_of(key), pack(row, world.told[key]))
                                    : row_put(ref_of(key), row);
    MUST(rc == 0, "key %u cannot be put back", key);
    if (world.where == SHARED) {
        row_track(ref_of(key));
        tell(NULL, key);
    }
    world.moves[key]++;
}

/* Another node's update comes to the main copy, or the main copy's values to a replica. */
static void hear(unsigned key)
{
    float update[CAPACITY] = {[ALL] = 1, [OTHER] = 1}, stored[CAPACITY];
    if (world.where == REPLICA) {
        row_refresh(ref_of(key), pack(stored, world.told[key]));
        return;
    }
    if (begin_write(OTHER, key)) has_written(OTHER, key, row_write(ref_of(key), update, ROW_MERGE));
}

static void serve_once(unsigned key)
{
    float row[CAPACITY];
    struct before b = before_now(key, UINT64_MAX);
    switch (dice_below(&world.dice, 8)) {
    case 0:
    case 1: move_one(key); break;
    case 2:
        if (row_read(ref_of(key), row) >= 0) check_exact(key, row, &b, "another thread's read");
        break;
    case 3: hear(key); break;
    default:
        if (world.where != OWN) tell_others(dice_below(&world.dice, 2));
    }
    mover_reclaim(&world.mover);
}

static void move(void *unused)
{
    (void)unused;
    for (unsigned i = dice_below(&world.dice, 40); i > 0; i--) {
        serve_once(dice_below(&world.dice, world.keys));
        for (unsigned n = dice_below(&world.dice, 200); n > 0; n--) locus_fiber_yield();
    }
}

static void begin_row(unsigned key)
{
    float *row = world.told[key], stored[CAPACITY];
    row[NAME] = (float)key + 1;
    struct row_ref s = ref_of(key);
    bool is_here = row_ref_is_here(s, directory_load(row_ref_word(s)));
    int rc = world.where == REPLICA ? row_replicate(s, pack(stored, row))
                                    : (is_here ? row_set(s, row) : row_put(s, pack(stored, row)));
    MUST(rc == 0, "no row");
    if (world.where == SHARED) row_track(s);
}

static void open_world(void)
{
    const struct locus_table table = {.name = "rows",
                                      .rows = world.keys,
                                      .length = LENGTH,
                                      .element = world.is_bf16 ? LOCUS_BF16 : LOCUS_F32,
                                      .optimizer = world.has_optimizer ? LOCUS_SGD
                                                                       : LOCUS_NO_OPTIMIZER,
                                      .rule = {.rate = world.has_optimizer}};
    const struct store_config c = {
        .tables = &table, .table_count = 1, .shards = 1, .nodes = 2, .replicates = true};
    MUST(store_open(&world.store, &c) == 0, "no store");
    MUST(copies_open(&world.store, world.workers) == 0, "no copies");
    for (unsigned key = 0; key < world.keys; key++) begin_row(key);
    mover_init(&world.mover, &world.store);
    for (unsigned w = 0; w < world.workers; w++) {
        reader_init(&world.reader[w], &world.store);
        world.copies[w] = copies_of(&world.store, w, &world.reader[w]);
    }
}

static void close_world(void)
{
    for (unsigned w = 0; w < world.workers; w++) reader_fini(&world.reader[w]);
    mover_fini(&world.mover);
    copies_close(&world.store);
    store_fini(&world.store);
}

static void check_end(void)
{
    copies_drain_all(&world.store);
    if (world.where != OWN) tell_others(true);
    for (unsigned key = 0; key < world.keys; key++) {
        float row[CAPACITY];
        struct before b = before_now(key, UINT64_MAX);
        directory_word w = directory_load(row_ref_word(ref_of(key)));
        float at[CAPACITY];
        show(at, partition_row(ref_of(key).partition, directory_slot(w)));
        MUST(!(w & DIRECTORY_HAS_COPIES) || directory_has_copies(w), "key %u has a strange word",
             key);
        check_exact(key, at, &b, "the row");
        MUST(row_read(ref_of(key), row) >= 0, "key %u is not here", key);
        MUST(
            !(directory_load(row_ref_word(ref_of(key))) & (DIRECTORY_LATCH | DIRECTORY_HAS_COPIES)),
            "key %u is still latched", key);
    }
    MUST(world.writers > 1 || copies_begun(&world.store) == 0,
         "a row that one worker writes had copies");
    world.copied += copies_begun(&world.store);
}

static void run(uint64_t seed)
{
    uint64_t copied = world.copied;
    memset(&world, 0, sizeof world);
    world.copied = copied;
    world.dice.state = seed;
    world.workers = 2 + dice_below(&world.dice, WORKERS_MAX - 1);
    world.writers = 1 + dice_below(&world.dice, world.workers);
    world.keys = 1 + dice_below(&world.dice, KEYS_MAX);
    world.where = (enum where)dice_below(&world.dice, 3);
    world.has_optimizer = dice_below(&world.dice, 2);
    world.is_bf16 = seed / FIBERS_POLICIES % 4 == 3;
    open_world();
    fibers_begin((enum fibers_policy)(seed % FIBERS_POLICIES), seed);
    fibers_set_clock(now_ns);
    for (uintptr_t w = 0; w < world.workers; w++) fibers_add(work, (void *)w);
    fibers_add(move, NULL);
    MUST(fibers_run(STEPS_MAX) == FIBERS_ENDED, "no end");
    check_end();
    close_world();
}

int main(int argc, char **argv)
{
    uint64_t seeds = seeds_run(argc, argv, run);
    printf("%" PRIu64 " seeds, %" PRIu64 " times a row got copies\n", seeds, world.copied);
    return seeds_end(world.copied > 0 || seeds < SEEDS);
}
