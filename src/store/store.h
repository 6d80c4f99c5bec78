/*
 * store.h - all rows that a node holds: directory, slabs, and the reclamation of memory that
 * readers may still see.
 *
 * The store is divided into partitions, one for each shard and range of tables (keyspace.h). The
 * keys of a partition have consecutive indices in its shard's directory, rows of one length, and
 * one slab.
 *
 * Memory    address space at init; 8 bytes and a bit a key written, replicated or moved, in pages; rows
 *           when written
 * Waiting   only in mover_wait and mover_make_room, and in mover_free if its list cannot grow
 * Life      store_open, readers and movers register, row_* by any thread, all unregister,
 *           store_fini
 */
#ifndef LOCUS_STORE_STORE_H
#define LOCUS_STORE_STORE_H

#include "base/floats.h"
#include "base/memory.h"
#include "base/sets.h"
#include "store/directory.h"
#include "store/keyspace.h"
#include "store/optimizer.h"
#include "store/slab.h"

#include <ck_epoch.h>

/*
 * The keys of a shard that have changed, so that other nodes must be told (dirty_set.c).
 *
 * A tree of bits (base/sets.h). Adding goes up only while a word was empty. Taking goes down from the
 * root and empties each word with one exchange. So a key that is added while others are taken is
 * either seen now or found by way of the root the next time. The cost of both depends on the keys
 * in the set, however many keys there are in all. Any thread adds, under the key's latch; the
 * shard's takes. Nobody waits.
 */
struct dirty_set {
    struct bitset keys; /* changed by atomic operations alone */
    /* Called by the thread that adds a key to an empty set. May be NULL. Must not wait. */
    void (*notify)(void *context);
    void *context;
};

/* For indices 0 ... bound-1; false: no address space. */
bool dirty_set_init(struct dirty_set *, uint64_t bound);
void dirty_set_fini(struct dirty_set *);
void dirty_set_add(struct dirty_set *, uint64_t index);
bool dirty_set_is_empty(const struct dirty_set *);
/* Takes all keys out, in ascending order. */
void dirty_set_take(struct dirty_set *, void (*each)(void *context, uint64_t index), void *context);

struct partition {
    /* What a pull needs, in one cache line. */
    directory_word *words; /* of the whole shard, by index */
    char *rows;
    const struct home *home;    /* NULL in a cluster of one: everything is at home */
    uint64_t first_number;      /* an index minus this is the key's number: keyspace.h */
    uint32_t length;            /* values in a row */
    uint32_t row_bytes;         /* of a slot: a row with its state, or what a replica keeps */
    uint64_t first_computed[2]; /* where the computed slots begin: 0, and those of replicas */
    /* slots are computed for keys at home elsewhere, too: row_ref_computed_slot() */
    bool computes_replicas;
    bool has_one_writer; /* that of the store */
    /* atomic: no row ever leaves, and each is written and in its home slot, so its word is not
     * needed. PARTITION_NO_ARRAY: some have copies (copies.h), or had */
    uint8_t is_array;
    uint8_t plain, plain_when_full; /* atomic: enum partition_plain */
    unsigned first_bucket;          /* keyspace.h */
    /* What is here, a bit a key, by number: `held_first`, over and over, was so at the start, and
     * `moved` is no longer so. Atomic; the shard writes it; NULL if no row ever leaves. */
    const uint64_t *held_first;
    uint64_t *moved;
    floats_add_fn *add; /* from here on, what only a push needs */
    uint64_t keys;
    /* NULL: rows are sums of floats. With one, a main copy without replicas is TRACKED and always
     * dirty, unless all are tracked: so the paths for such sums do not ask. */
    struct optimizer *optimizer;
    /* units of four bytes, in memory and in messages, of the values; of the values and the state; and
     * of a delta. Those of values that are floats, of the state and of deltas are floats. */
    uint32_t packed, stored, delta;
    const struct bf16_loops *bf16; /* values are of 16 bits; NULL: they are floats */
    uint64_t place;                /* so that no two rows round alike */
    struct draws *draws;           /* nor two changes of a row; NULL: none rounds */
    /* every node holds every row: an untouched row of another home is a replica of zeros here */
    bool is_full;
    bool is_alone; /* no row ever leaves */
    /* every written main copy is TRACKED, and without a replica it stays dirty until the shard
     * cleans it */
    bool tracks_all;
    floats_gain_fn *gain;
    size_t words_bytes;
    struct dirty_set *dirty; /* of the whole shard, by index; NULL: nothing is replicated */
    uint64_t first_pair;     /* slots from here on are replicas' */
    /* the slot of rows never written that have replicas, and of those replicas; never written to.
     * SLAB_NONE: there are none */
    uint64_t zero_slot;
    struct slab slab, pairs;
    /* rows that came here, and first updates under full replication; written by the shard */
    uint64_t arrivals;
    struct all_copies *copies; /* workers' copies of rows; NULL: there are none */
} __attribute__((aligned(64)));

enum { PARTITION_NO_ARRAY = 2 };

/* By which number the next change of a row rounds (floats.h): with one writer the next of all, else
 * the row's version beyond those that earlier jobs have reached. A checkpoint has the number. So no
 * job repeats the chances of an earlier one, and one writer rounds as if it had not stopped. */
struct draws {
    uint64_t number; /* atomic */
    bool stays;      /* the writer's threads change rows, each row once, and all have this number */
};

/* Of one that is_array, has_one_writer, lies in the only shard, and has values that are floats:
 * without an optimizer, and with one. */
enum partition_plain { PLAIN_NOT, PLAIN_SUMS, PLAIN_STEPS };

enum { STORE_BLOCKS = 256 };

struct store {
    struct keyspace keyspace;
    bool is_full;  /* every node holds every row */
    bool is_alone; /* no row ever leaves */
    /* One worker writes rows, and is their only reader; one of its threads writes a row. */
    bool has_one_writer;
    bool has_one_partition;      /* one length and one shard: no need to search */
    struct partition *partition; /* [shard * ranges + range] */
    /* So that a key's range needs no search: that of shard 0 for each 2^block_bits keys; NULL: they
     * have several. */
    unsigned block_bits;
    struct partition *block[STORE_BLOCKS];
    directory_word **words;            /* [shard] */
    struct dirty_set *dirty;           /* [shard]; NULL: nothing is replicated */
    struct optimizer *optimizer;       /* [table] those without one have no type */
    bool has_optimizers, counts_steps; /* some; and some number them */
    bool has_bf16;                     /* in some partitions */
    struct draws draws;
    /* a row or delta of the greatest length, never written: what an empty row looks like */
    const float *zeros;
    size_t zeros_bytes;
    struct home home;
    struct home *homes; /* [shard]; NULL: all have `home`, which stays as it was at the start */
    struct slab_density density;
    ck_epoch_t epoch;
    struct all_copies *copies; /* copies.h; NULL: there are none */
};

/* The place of a key. It fits into two registers, so it stays in registers between functions. The
 * compiler would write a larger struct to the stack in two pieces and read it back in one, and that
 * waits until every earlier store has reached the cache, even stores to rows that are still being
 * loaded (lab/design/row-access.md). So the word is computed where it is needed. */
struct row_ref {
    struct partition *partition;
    uint64_t index; /* of the key in its shard */
};

struct store_config {
    const struct locus_table *tables;
    size_t table_count;
    unsigned shards, nodes, rank;
    bool replicates; /* rows may have replicas on other nodes */
    bool is_full;    /* all rows have, on all nodes, from the start */
    bool is_alone;   /* no row ever leaves: there is no mover */
    bool survives;   /* the homes of a lost node pass to others, in each shard at its own time */
    /* Only one worker at a time reads and writes rows, and the next one sees what it did; of its
     * threads one alone writes a row. So nothing is latched. */
    bool has_one_writer;
};

/* 0, -EINVAL or -ENOMEM with the sentence in locus_error(). */
int store_open(struct store *, const struct store_config *);
void store_fini(struct store *);

/* The number with which those go on who restore a checkpoint of now; never 0. */
uint64_t store_draws(const struct store *);
void store_set_draws(struct store *, uint64_t number);
/* The memory of one shard's words, rows and dirty set, to place it on a NUMA node. None of it is
 * touched before the first access. A range may be empty. */
void store_ranges(const struct store *, unsigned shard,
                  void (*range)(void *context, void *from, size_t bytes), void *context);

/* Bytes of the rows that are held; and of the replicas among them, with two rows each. Any
 * thread. */
void store_row_bytes(const struct store *, uint64_t *rows, uint64_t *replicas);

/* Keys whose home is here. */
uint64_t store_home_keys(const struct store *);

/* Writes at most `max` keys >= from whose main copy is here, ascending. */
size_t store_owned(const struct store *, locus_key from, locus_key *keys, size_t max);

/* Neighbours' words, which are often hot together, lie in eight different cache lines; but 64
 * consecutive words still fill eight lines. */
static inline directory_word *row_ref_word(struct row_ref s)
{
    /* of two groups of three bits, which change places */
    uint64_t differ = (s.index ^ s.index >> 3) & 7;
    return &s.partition->words[s.index ^ differ * 9];
}

/* The word is, perhaps for the first time, other than UNTOUCHED. */
static inline void row_ref_touched(struct row_ref s)
{
    memory_touched(s.partition->words, s.partition->words_bytes, row_ref_word(s),
                   sizeof(directory_word));
}

/* The partition of the key's range in shard 0; NULL: to be searched for. */
static inline struct partition *store_block_partition(const struct store *s, locus_key key)
{
    return s->block[key >> s->block_bits];
}

static inline struct row_ref store_row_ref(const struct store *s, locus_key key)
{
    const struct keyspace *k = &s->keyspace;
    if (s->has_one_partition) return (struct row_ref){s->partition, key};
    struct partition *first = store_block_partition(s, key);
    if (__builtin_expect(!first, 0)) first = &s->partition[keyspace_range_of(k, key)];
    if (k->shards == 1) return (struct row_ref){first, key};
    uint64_t index = keyspace_index(k, key);
    size_t shard = (size_t)(key - index * k->shards);
    return (struct row_ref){first + shard * k->ranges, index};
}

/* The key's number in its partition, counted from the partition's first bucket. */
static inline uint64_t row_ref_number(struct row_ref s)
{
    return s.index - s.partition->first_number;
}

/* The computed slot of the row, or of its replica if the key's home is elsewhere; the row is there
 * unless the word says otherwise. In partitions that compute only the slots of keys at home here,
 * it is valid for these. (It is compared with the word's slot in either case.) */
static inline uint64_t row_ref_computed_slot(struct row_ref s)
{
    uint64_t elsewhere;
    if (!s.partition->home) return row_ref_number(s);
    uint64_t slot = home_slot(s.partition->home, row_ref_number(s), &elsewhere);
    return slot + s.partition->first_computed[elsewhere];
}

/* Of the keys with the numbers 64 * i ... 64 * i + 63: whose rows, or replicas, are here, or were a
 * moment ago. Who looks for such keys reads a bit of each instead of its word, which changes with
 * the row. */
static inline uint64_t partition_held(const struct partition *p, uint64_t i)
{
    return __atomic_load_n(&p->moved[i], __ATOMIC_RELAXED) ^ p->held_first[i % (HOME_BUCKETS / 64)];
}

static inline bool row_ref_was_held(struct row_ref s)
{
    uint64_t number = row_ref_number(s);
    return partition_held(s.partition, number / 64) >> number % 64 & 1;
}

/* For the shard: the row, or a replica, has come or left. */
static inline void row_ref_moved(struct row_ref s)
{
    uint64_t number = row_ref_number(s), *bits = &s.partition->moved[number / 64];
    __atomic_store_n(bits, *bits ^ UINT64_C(1) << number % 64, __ATOMIC_RELAXED);
}

static inline unsigned row_ref_home(struct row_ref s)
{
    const struct home *h = s.partition->home;
    return h ? __atomic_load_n(&h->node[row_ref_number(s) % HOME_BUCKETS], __ATOMIC_RELAXED) : 0;
}

static inline bool row_ref_is_home(struct row_ref s)
{
    return !s.partition->home || row_ref_home(s) == s.partition->home->rank;
}

/* Is the main copy here, according to this word? An untouched word means: at its home. */
static inline bool row_ref_is_here(struct row_ref s, directory_word w)
{
    enum directory_state state = directory_state(w);
    if (state == DIRECTORY_UNTOUCHED) return row_ref_is_home(s);
    return state != DIRECTORY_ELSEWHERE && state != DIRECTORY_REPLICA;
}

/* Is the main copy or a replica here? */
static inline bool row_ref_is_held(struct row_ref s, directory_word w)
{
    enum directory_state state = directory_state(w);
    return state == DIRECTORY_UNTOUCHED ? s.partition->is_full || row_ref_is_home(s)
                                        : state != DIRECTORY_ELSEWHERE;
}

static inline float *partition_row(const struct partition *p, uint64_t slot)
{
    return (float *)(void *)(p->rows + slot * p->row_bytes);
}

/* For a word that has a row: was the row never written? */
static inline bool partition_is_zeros(const struct partition *p, directory_word w)
{
    return directory_slot(w) == p->zero_slot;
}

/* Floats of a row with its state, as calls have it. */
static inline uint32_t partition_full(const struct partition *p)
{
    return p->length + p->stored - p->packed;
}

/* A row as calls have it, with or without its state. */
static inline void partition_show(const struct partition *p, float *to, const float *row,
                                  bool has_state)
{
    if (p->bf16)
        p->bf16->widen(to, row, p->length);
    else
        floats_copy(to, row, p->length);
    if (has_state) floats_copy(to + p->length, row + p->packed, p->stored - p->packed);
}

/* The other way round; without a state it is cleared. `draw`: how the values round. */
static inline void partition_store(const struct partition *p, float *to, const float *row,
                                   bool has_state, uint64_t draw)
{
    uint32_t state = p->stored - p->packed;
    if (p->bf16)
        p->bf16->round(to, row, p->length, draw);
    else
        floats_copy(to, row, p->length);
    if (has_state)
        floats_copy(to + p->packed, row + p->length, state);
    else
        floats_zero(to + p->packed, state);
}

static inline bool partition_is_array(const struct partition *p)
{
    return __atomic_load_n(&p->is_array, __ATOMIC_ACQUIRE) == true;
}

static inline enum partition_plain partition_plain(const struct partition *p)
{
    return (enum partition_plain)__atomic_load_n(&p->plain, __ATOMIC_ACQUIRE);
}

/* The row of a key whose partition is an array. */
static inline float *row_ref_array_row(struct row_ref s)
{
    return partition_row(s.partition, row_ref_number(s));
}

/*
 * Readers in place. A row pointer stays readable while the reader is inside a section (ck_epoch):
 * after a row has left, its slot is reused only when every section that began before has ended.
 * Copying reads need no section.
 */
struct reader {
    /* stays on the store's list: registered once, in memory that outlives the store */
    ck_epoch_record_t record;
    unsigned depth;   /* open sections */
    uint64_t section; /* the number of the last one, without those within it */
    bool is_alone;    /* no row ever leaves, so nothing waits for the end of a section */
};
void reader_init(struct reader *, struct store *);
void reader_fini(struct reader *);
static inline void reader_begin(struct reader *);
static inline void reader_end(struct reader *);

/*
 * A mover takes rows out and puts rows in; it is the shard's thread. It owns the slots of departed
 * rows until no reader can see them. Its lists grow with the rows that leave during one read
 * section, by 16 bytes each.
 */
struct freed_slot {
    struct partition *partition;
    uint64_t slot;
};

struct freed_list {
    struct freed_slot *slot;
    size_t count, capacity;
};

struct mover {
    ck_epoch_record_t record; /* as a reader's */
    ck_epoch_entry_t entry;
    struct freed_list open, waiting; /* still collecting; waiting for its grace period */
    bool is_waiting;
    bool keeps;    /* a row that leaves stays as it is in its slot, */
    uint64_t kept; /* which is this one: whoever keeps it frees it. SLAB_NONE: it had none */
};
void mover_init(struct mover *, struct store *);
/* Requires that all sections have ended; returns every slot. */
void mover_fini(struct mover *);
/* Puts a slot on the open list. */
void mover_free(struct mover *, struct partition *, uint64_t slot);
/* Returns the slots that no reader sees any more. Cheap; called now and then by the mover's
 * thread. */
void mover_reclaim(struct mover *);
/* Waits until every section that is open now has ended, and returns the slots of rows that left
 * before. After a while it says on stderr that it waits. */
enum { STORE_LONG_SECTION_S = 2 };
void mover_wait(struct mover *);
/* The same for who needs a slot: one must be waiting. */
void mover_make_room(struct mover *);

static inline void reader_begin(struct reader *r)
{
    if (r->depth++ > 0) return;
    r->section++;
    if (!r->is_alone) ck_epoch_begin(&r->record, NULL);
}

static inline void reader_end(struct reader *r)
{
    if (--r->depth > 0 || r->is_alone) return;
    ck_epoch_end(&r->record, NULL);
}

#endif
