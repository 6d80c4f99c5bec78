/*
 * local_fibers.c - the store's rows under every interleaving that a seed can think of.
 *
 * Workers read, add, set and view a few short rows while each shard's mover takes rows out and puts
 * them back, changed meanwhile or not, as another node would. All are fibers; at each of the
 * store's narrow places the seed decides who goes on. Checked: every row read is whole and the
 * key's own, every key's history has an order (history.h), a view stays with its row until its
 * section ends, -EAGAIN is answered only for a row that is away, and all memory comes back.
 */
#include "fibers.h"
#include "common/stores.h"
#include "history.h"
#include "seeds.h"
#include "store/row.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    LENGTH_MAX = 9,
    /* floats for a row; the compiler does not know that they are short, and warns of its copies of
     * 33 */
    CAPACITY = 40,
    KEYS_MAX = 4,
    TABLES_MAX = 3,
    SHARDS_MAX = 3,
    NODES_MAX = 3,
    WORKERS_MAX = 4,
    BATCH_MAX = 12,
    /* the values of different keys lie in different ranges: who sees another key's row knows it */
    VALUE_BITS = 6,
    VALUE_MAX = (1 << VALUE_BITS) - 1,
    /* as if other rows had used up all home slots that may be touched: spare ones are taken */
    CROWDED_BYTES = 1 << 30,
    STEPS_MAX = 200000,
    UNDECIDED_MAX = 10, /* more, and this would judge nothing */
};

struct key {
    locus_key key;
    struct row_ref ref;
    uint32_t length;
    float unit; /* its values are multiples of it: 0 ... VALUE_MAX times */
    bool has_sets;
    unsigned spent;   /* the sum of all that was ever added or set */
    unsigned planned; /* entries of the history that are taken or promised */
    struct history history;
    bool away, written;       /* as its mover knows; written: while it is away */
    uint64_t away_until;      /* the return of the last call that put it back */
    unsigned departures;      /* completed calls that took it out */
    unsigned returns;         /* calls that put it back, begun */
    directory_word elsewhere; /* what its word says while it is away */
    float values[CAPACITY];
};

struct worker {
    struct reader reader;
    struct dice dice;
    unsigned id, operations;
};

struct moves {
    struct mover mover;
    struct dice dice;
    unsigned shard, count;
};

static struct {
    struct store store;
    unsigned shards, keys, workers;
    struct key key[KEYS_MAX];
    struct worker worker[WORKERS_MAX];
    struct moves moves[SHARDS_MAX];
    unsigned view_weight, move_weight; /* how the operations are mixed */
    uint64_t now;                      /* a logical clock: calls and returns have different times */
} world;

static uint64_t undecided; /* histories with too many operations at once for a verdict */

static uint64_t tick(void)
{
    return ++world.now;
}

static void record(struct key *k, enum history_kind kind, unsigned value, uint64_t called)
{
    if (!history_add(&k->history, kind, value, called, tick()))
        give_up("the history of key %u is full", (unsigned)k->key);
}

/* Room for one more operation on the key; a history has its bound. */
static bool plan(struct key *k)
{
    /* the last two are for the end: read, and taken out */
    if (k->planned == HISTORY_MAX - 2) return false;
    k->planned++;
    return true;
}

/* An amount to add or set, 0: the range of the key's values is used up. */
static unsigned spend(struct key *k, struct dice *d)
{
    unsigned amount = 1 + dice_below(d, 3);
    if (k->spent + amount > VALUE_MAX) return 0;
    k->spent += amount;
    return amount;
}

static void fill(const struct key *k, float *row, unsigned amount)
{
    for (uint32_t i = 0; i < k->length; i++) row[i] = (float)amount * k->unit;
}

/* The element as a multiple of the key's unit. */
static unsigned amount_of(const struct key *k, float element, const char *what)
{
    unsigned amount = (unsigned)(element / k->unit);
    if (element < 0 || amount > VALUE_MAX || (float)amount * k->unit != element)
        give_up("%s of key %u found %g, which is not a value of this key", what, (unsigned)k->key,
                (double)element);
    return amount;
}

static unsigned row_amount(const struct key *k, const float *row, const char *what)
{
    for (uint32_t i = 1; i < k->length; i++)
        if (row[i] != row[0])
            give_up("%s of key %u is torn: element 0 is %g, element %u is %g", what,
                    (unsigned)k->key, (double)row[0], i, (double)row[i]);
    return amount_of(k, row[0], what);
}

/* -EAGAIN is true only of a row that was away at some moment of the call. */
static void check_refusal(const struct key *k, int rc, uint64_t called)
{
    if (rc != -EAGAIN) give_up("key %u: %s", (unsigned)k->key, strerror(-rc));
    if (!k->away && k->away_until < called)
        give_up("key %u: -EAGAIN although the row was here", (unsigned)k->key);
    locus_fiber_yield();
}

/* Is the row elsewhere, and was it ever since there were that many `returns`? */
static bool is_gone(const struct key *k, unsigned returns)
{
    return k->returns == returns && k->departures == returns + 1;
}

static void read_one(struct key *k, uint64_t called)
{
    float row[CAPACITY];
    int rc;
    bool gone = is_gone(k, k->returns);
    unsigned returns = k->returns;
    memset(row, 0xff, sizeof row);
    for (uint64_t attempt = called; (rc = row_read(k->ref, row)); attempt = tick())
        check_refusal(k, rc, attempt);
    if (gone && is_gone(k, returns)) give_up("a read of key %u, which is away", (unsigned)k->key);
    unsigned amount = row_amount(k, row, "a read");
    record(k, HISTORY_READ, amount, called);
}

static void add_to_row(void *update, float *row, uint32_t length)
{
    const float *from = update;
    for (uint32_t i = 0; i < length; i++) row[i] += from[i];
}

static void write_one(struct key *k, enum row_change change, unsigned amount, uint64_t called)
{
    float row[CAPACITY], scratch[2 * CAPACITY];
    const struct row_edit edit = {.change = add_to_row, .context = row, .scratch = scratch};
    bool in_place = change == ROW_ADD && amount % 2;
    int rc;
    fill(k, row, amount);
    for (uint64_t attempt = called;
         (rc = in_place ? row_edit(k->ref, &edit, NULL) : row_write(k->ref, row, change));
         attempt = tick())
        check_refusal(k, rc, attempt);
    record(k, change == ROW_ADD ? HISTORY_ADD : HISTORY_SET, amount, called);
}

static struct key *any_key(struct dice *d)
{
    return &world.key[dice_below(d, world.keys)];
}

static void read_some(struct worker *w)
{
    struct key *k = any_key(&w->dice);
    if (plan(k)) read_one(k, tick());
}

static void write_some(struct worker *w)
{
    struct key *k = any_key(&w->dice);
    enum row_change change = k->has_sets && dice_below(&w->dice, 2) ? ROW_SET : ROW_ADD;
    unsigned amount = plan(k) ? spend(k, &w->dice) : 0;
    if (amount) write_one(k, change, amount, tick());
}

/* Many keys in one call, each of them up to three times. */
struct batch {
    size_t n;
    locus_key keys[BATCH_MAX];
    unsigned amount[BATCH_MAX];
    size_t offset[BATCH_MAX];
    float values[BATCH_MAX * LENGTH_MAX];
    struct missed_row missed[BATCH_MAX];
    bool is_missed[BATCH_MAX];
};

static struct key *batch_key(const struct batch *b, size_t i)
{
    return &world.key[b->keys[i]];
}

static void fill_batch(struct batch *b, struct worker *w, bool to_write)
{
    size_t want = 2 + dice_below(&w->dice, 3 * world.keys - 1), offset = 0;
    memset(b, 0, sizeof *b);
    for (unsigned tries = 0; b->n < want && tries < 2 * BATCH_MAX; tries++) {
        struct key *k = any_key(&w->dice);
        size_t same = 0;
        for (size_t i = 0; i < b->n; i++) same += b->keys[i] == k->key;
        if (same == 3 || !plan(k)) continue;
        unsigned amount = to_write ? spend(k, &w->dice) : 0;
        if (to_write && !amount) continue;
        b->keys[b->n] = k->key;
        b->amount[b->n] = amount;
        b->offset[b->n++] = offset;
        fill(k, b->values + offset, amount);
        offset += k->length;
    }
}

/* Checks what the call says it did not do, and marks it. */
static void note_missed(struct batch *b, size_t count, uint64_t called)
{
    for (size_t i = 0; i < count; i++) {
        struct missed_row m = b->missed[i];
        if (m.position >= b->n || b->is_missed[m.position] || m.offset != b->offset[m.position])
            give_up("a batch of %zu missed position %zu at offset %zu", b->n, m.position, m.offset);
        b->is_missed[m.position] = true;
        check_refusal(batch_key(b, m.position), -EAGAIN, called);
    }
}

static void read_batch(struct worker *w)
{
    struct batch b;
    fill_batch(&b, w, false);
    memset(b.values, 0xff, sizeof b.values);
    uint64_t called = tick();
    size_t missed = rows_read(&world.store, NULL, b.keys, b.n, b.values, b.missed, NULL);
    for (size_t i = 0, m = 0; i < b.n; i++) {
        bool is_missed = m < missed && b.missed[m].position == i;
        if (is_missed) m++;
        if (is_missed) continue;
        unsigned amount = row_amount(batch_key(&b, i), b.values + b.offset[i], "a read of many");
        record(batch_key(&b, i), HISTORY_READ, amount, called);
    }
    note_missed(&b, missed, called);
    for (size_t i = 0; i < b.n; i++)
        if (b.is_missed[i]) read_one(batch_key(&b, i), called);
}

static void write_batch(struct worker *w)
{
    struct batch b;
    int rc = 0;
    bool all_may_be_set = true;
    fill_batch(&b, w, true);
    for (size_t i = 0; i < b.n; i++) all_may_be_set &= batch_key(&b, i)->has_sets;
    enum row_change change = all_may_be_set && dice_below(&w->dice, 2) ? ROW_SET : ROW_ADD;
    uint64_t called = tick();
    size_t missed =
        rows_write(&world.store, NULL, b.keys, b.n, b.values, change, b.missed, NULL, &rc);
    if (rc) give_up("a write of many: %s", strerror(-rc));
    for (size_t i = 0, m = 0; i < b.n; i++) {
        bool is_missed = m < missed && b.missed[m].position == i;
        if (is_missed) m++;
        if (is_missed) continue;
        record(batch_key(&b, i), change == ROW_ADD ? HISTORY_ADD : HISTORY_SET, b.amount[i],
               called);
    }
    note_missed(&b, missed, called);
    for (size_t i = 0; i < b.n; i++)
        if (b.is_missed[i]) write_one(batch_key(&b, i), change, b.amount[i], called);
}

/* A row in place, and what is known of it. */
struct look {
    struct key *key;
    const float *row;
    unsigned departures; /* of the row, when it was viewed */
    bool stands_still;   /* the row left since: `seen` is its last state */
    float seen[LENGTH_MAX];
};

static void look_again(struct look *l)
{
    bool had_left = l->key->departures != l->departures;
    float now[LENGTH_MAX] = {0};
    for (uint32_t i = 0; i < l->key->length; i++) {
        now[i] = l->row[i];
        unsigned amount = amount_of(l->key, now[i], "a view");
        if (!l->key->has_sets && amount < amount_of(l->key, l->seen[i], "a view"))
            give_up("a view of key %u went back from %g to %g", (unsigned)l->key->key,
                    (double)l->seen[i], (double)now[i]);
        if (l->stands_still && now[i] != l->seen[i])
            give_up("a view of key %u went on from %g to %g after the row had left",
                    (unsigned)l->key->key, (double)l->seen[i], (double)now[i]);
    }
    memcpy(l->seen, now, sizeof now);
    l->stands_still = had_left;
}

static void view_some(struct worker *w)
{
    struct look look[3];
    unsigned looks = 0, views = 1 + dice_below(&w->dice, 3);
    bool nested = dice_below(&w->dice, 4) == 0;
    reader_begin(&w->reader);
    for (unsigned i = 0; i < views; i++) {
        struct key *k = any_key(&w->dice);
        struct look *l = &look[looks];
        uint64_t called = tick();
        unsigned returns = k->returns;
        bool gone = is_gone(k, returns);
        if (nested) reader_begin(&w->reader);
        *l = (struct look){.key = k,
                           .departures = k->departures,
                           .row = row_view(&world.store, k->ref, NULL, &(int){0})};
        if (nested) reader_end(&w->reader);
        if (!l->row && !k->away && k->away_until < called)
            give_up("no view of key %u, which is here", (unsigned)k->key);
        if (l->row && gone && is_gone(k, returns))
            give_up("a view of key %u, which is away", (unsigned)k->key);
        /* else unknown which stay of the row this is */
        if (l->row && k->departures == l->departures) looks++;
        for (unsigned j = 0; j < looks; j++) look_again(&look[j]);
    }
    for (unsigned i = 0, n = 2 + dice_below(&w->dice, 6); i < n; i++) {
        locus_fiber_yield();
        if (dice_below(&w->dice, 4) == 0) read_some(w);
        for (unsigned j = 0; j < looks; j++) look_again(&look[j]);
    }
    reader_end(&w->reader);
}

static void work(void *argument)
{
    struct worker *w = argument;
    for (unsigned i = 0; i < w->operations; i++) {
        locus_fiber_yield();
        if (dice_below(&w->dice, 8) < world.view_weight) {
            view_some(w);
            continue;
        }
        switch (dice_below(&w->dice, 8)) {
        case 0: read_batch(w); break;
        case 1: write_batch(w); break;
        case 2:
        case 3:
        case 4: read_some(w); break;
        default: write_some(w);
        }
    }
}

static void take_out(struct moves *m, struct key *k)
{
    bool written;
    uint64_t called = tick();
    k->away = true; /* from some moment of the call on */
    memset(k->values, 0xff, sizeof k->values);
    k->elsewhere = directory_elsewhere(1 + dice_below(&m->dice, 3), dice_below(&m->dice, 100));
    int rc = row_take(&m->mover, k->ref, k->values, &written, k->elsewhere);
    k->departures++;
    if (rc) give_up("key %u cannot be taken out: %s", (unsigned)k->key, strerror(-rc));
    unsigned amount = row_amount(k, k->values, "taking out");
    if (!written && amount)
        give_up("key %u was never written, but its row is not zero", (unsigned)k->key);
    k->written = written;
    record(k, HISTORY_READ, amount, called);
}

/* As if it were written at the node where it is now. */
static void change_elsewhere(struct moves *m, struct key *k)
{
    bool is_set = k->has_sets && dice_below(&m->dice, 2);
    unsigned amount = plan(k) ? spend(k, &m->dice) : 0;
    if (!amount) return;
    for (uint32_t i = 0; i < k->length; i++)
        k->values[i] = (is_set ? 0 : k->values[i]) + (float)amount * k->unit;
    k->written = true;
    record(k, is_set ? HISTORY_SET : HISTORY_ADD, amount, tick());
}

static void put_back(struct key *k)
{
    k->returns++;
    if (*row_ref_word(k->ref) != k->elsewhere)
        give_up("the word of key %u, which is away, was changed", (unsigned)k->key);
    int rc = row_put(k->ref, k->written ? k->values : NULL);
    if (rc) give_up("key %u cannot be put back: %s", (unsigned)k->key, strerror(-rc));
    k->away = false;
    k->away_until = tick();
}

static void check_wrong_moves(struct moves *m, struct key *k)
{
    float row[CAPACITY] = {0};
    bool written;
    if (k->away && row_take(&m->mover, k->ref, row, &written, directory_elsewhere(9, 9)) != -EAGAIN)
        give_up("key %u was taken out twice", (unsigned)k->key);
    if (!k->away && row_put(k->ref, row) != -EEXIST)
        give_up("key %u was put in twice", (unsigned)k->key);
}

static void move_some(struct moves *m, struct key *k)
{
    if (dice_below(&m->dice, 8) == 0) check_wrong_moves(m, k);
    if (!k->away) {
        if (plan(k)) take_out(m, k);
    } else if (dice_below(&m->dice, 3) == 0) {
        change_elsewhere(m, k);
    } else {
        put_back(k);
    }
    for (unsigned polls = dice_below(&m->dice, 4); polls > 0; polls--) mover_reclaim(&m->mover);
}

static bool is_of_shard(const struct key *k, unsigned shard)
{
    return keyspace_shard(&world.store.keyspace, k->key) == shard;
}

static void move(void *argument)
{
    struct moves *m = argument;
    for (unsigned i = 0; i < m->count; i++) {
        struct key *k = any_key(&m->dice);
        locus_fiber_yield();
        if (is_of_shard(k, m->shard)) move_some(m, k);
    }
    for (unsigned i = 0; i < world.keys; i++)
        if (is_of_shard(&world.key[i], m->shard) && world.key[i].away) put_back(&world.key[i]);
}

/* The world of a seed: drawn before its fibers run. */

static unsigned draw_tables(struct dice *d, struct locus_table *table)
{
    unsigned tables = 0;
    world.keys = 1 + dice_below(d, KEYS_MAX);
    for (unsigned left = world.keys; left > 0; tables++) {
        unsigned rows = tables + 1 == TABLES_MAX ? left : 1 + dice_below(d, left);
        table[tables] = (struct locus_table){.rows = rows, .length = 1 + dice_below(d, LENGTH_MAX)};
        left -= rows;
    }
    return tables;
}

/* A key whose home is another node is away from the start, never written. */
static void draw_keys(struct dice *d)
{
    unsigned sets = dice_below(d, 3); /* no key, any key, every key is also set */
    for (unsigned i = 0; i < world.keys; i++) {
        struct key *k = &world.key[i];
        memset(k, 0, sizeof *k);
        k->key = i;
        k->ref = store_row_ref(&world.store, i);
        k->length = k->ref.partition->length;
        k->unit = (float)(1u << i * VALUE_BITS);
        k->has_sets = sets == 2 || (sets == 1 && dice_below(d, 2));
        k->away = !row_ref_is_home(k->ref);
        k->departures = k->away;
    }
}

static void draw_fibers(struct dice *d)
{
    unsigned operations = 2 + dice_below(d, 8), moves = dice_below(d, 20);
    world.workers = 1 + dice_below(d, WORKERS_MAX);
    world.view_weight = dice_below(d, 6);
    for (unsigned i = 0; i < world.workers; i++) {
        struct worker *w = &world.worker[i];
        w->id = i;
        w->dice.state = dice_throw(d);
        w->operations = operations;
        reader_init(&w->reader, &world.store);
        fibers_add(work, w);
    }
    for (unsigned i = 0; i < world.shards; i++) {
        struct moves *m = &world.moves[i];
        m->shard = i;
        m->dice.state = dice_throw(d);
        m->count = moves * world.keys / 2;
        mover_init(&m->mover, &world.store);
        fibers_add(move, m);
    }
}

static void draw_world(struct dice *d)
{
    struct locus_table table[TABLES_MAX];
    unsigned tables = draw_tables(d, table);
    world.now = 0;
    world.shards = 1 + dice_below(d, SHARDS_MAX);
    unsigned nodes = 1 + dice_below(d, NODES_MAX), rank = dice_below(d, nodes);
    if (store_init(&world.store, table, tables, world.shards, nodes, rank)) give_up("no store");
    if (dice_below(d, 2)) world.store.density.touched_bytes = CROWDED_BYTES;
    draw_keys(d);
    draw_fibers(d);
}

/* After the last step: nobody is inside the store. */

static void check_word(const struct key *k)
{
    directory_word w = *row_ref_word(k->ref);
    if (directory_is_latched(w)) give_up("key %u is still latched", (unsigned)k->key);
    if (w & DIRECTORY_WAITERS) give_up("the latch of key %u still has waiters", (unsigned)k->key);
}

static void check_history(struct key *k)
{
    read_one(k, tick());
    enum history_verdict verdict = history_check(&k->history);
    if (verdict == HISTORY_TOO_WIDE) undecided++;
    if (verdict == HISTORY_BAD) {
        history_print(&k->history);
        give_up("the operations on key %u have no order", (unsigned)k->key);
    }
}

static uint64_t rows_here(void)
{
    uint64_t rows = 0;
    for (unsigned i = 0; i < world.keys; i++)
        rows += directory_state(*row_ref_word(world.key[i].ref)) == DIRECTORY_MAIN;
    return rows;
}

/* Without readers a few polls must end every grace period. */
static void reclaim_all(void)
{
    for (unsigned polls = 0; polls < 16; polls++)
        for (unsigned i = 0; i < world.shards; i++) mover_reclaim(&world.moves[i].mover);
}

static void check_memory(void)
{
    reclaim_all();
    if (store_held_rows(&world.store) != rows_here())
        give_up("%" PRIu64 " slots are in use for %" PRIu64 " rows", store_held_rows(&world.store),
                rows_here());
    for (unsigned i = 0; i < world.keys; i++)
        take_out(&world.moves[keyspace_shard(&world.store.keyspace, i)], &world.key[i]);
    reclaim_all();
    if (store_held_rows(&world.store))
        give_up("%" PRIu64 " slots were never given back", store_held_rows(&world.store));
    if (world.store.density.held_bytes)
        give_up("%" PRId64 " bytes of rows are left", world.store.density.held_bytes);
    int64_t touched = world.store.density.touched_bytes % CROWDED_BYTES;
    if (touched != (int64_t)store_touched_bytes(&world.store))
        give_up("%" PRId64 " bytes are counted as touched, %" PRIu64 " are", touched,
                store_touched_bytes(&world.store));
}

static void end_world(void)
{
    for (unsigned i = 0; i < world.workers; i++) reader_fini(&world.worker[i].reader);
    for (unsigned i = 0; i < world.shards; i++) mover_fini(&world.moves[i].mover);
    store_fini(&world.store);
}

static void check_end(enum fibers_end end)
{
    if (end == FIBERS_ENDLESS) give_up("no end after %d steps", STEPS_MAX);
    for (unsigned i = 0; i < world.keys; i++) {
        check_word(&world.key[i]);
        check_history(&world.key[i]);
    }
    check_memory();
    end_world();
}

static void run(uint64_t seed)
{
    struct dice d = {seed};
    fibers_begin((enum fibers_policy)(seed % FIBERS_POLICIES), dice_throw(&d));
    draw_world(&d);
    check_end(fibers_run(STEPS_MAX));
}

int main(int argc, char **argv)
{
    printf("%" PRIu64 " seeds\n", seeds_run_long(argc, argv, 10000, run));
    if (undecided) printf("%" PRIu64 " histories were too wide for a verdict\n", undecided);
    return seeds_end(undecided <= UNDECIDED_MAX);
}
