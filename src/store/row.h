/*
 * row.h - operations on rows: read, add, set, edit, view, take out, put in; the same for many keys.
 *
 * Every read and write of a key is atomic. A reader copies without a latch and writes nothing
 * that others read: if the directory word is the same before and after, the copy is consistent. After a
 * bounded number of attempts it takes the latch like a writer. A latch is held for the time of one
 * copy; a thread that waits longer yields the processor.
 *
 *   0        done
 *   1        done on a replica (ROW_ON_REPLICA)
 *   -EAGAIN  not here; nothing was done
 *   -ENOMEM  a first write or an arrival found no slot (slab.h says when); nothing was done
 *
 * A replica is a copy of the row. A worker reads and adds in place. The first change since the
 * owner was last told keeps in the next slot what the row was before, and their difference is what
 * the owner does not have yet; so all later changes cost what those of a main copy do. Only the
 * owner sets rows: setting a replica returns -EAGAIN.
 *
 * With an optimizer (optimizer.h) an update is a gradient, with which the row takes a step, and the
 * next slot has the delta of a replica's steps (row_type.h). Workers read values; a row that moves
 * or is replicated has its state with it.
 *
 * Where several workers write a row at the same time, each has a copy of it (copies.h). So those of
 * a worker name its copies: `mine`, NULL for a worker without, and for a thread that is none.
 *
 * A batch of keys is a pipeline: words and rows are prefetched while earlier keys are accessed.
 *
 * Callers   workers (any thread) for read, add, set, edit, view; a shard's mover alone for take and
 *           put of its keys
 * Memory    slots of the key's slab; values are the caller's
 * Waiting   for latches only
 * Life      as the store
 */
#ifndef LOCUS_STORE_ROW_H
#define LOCUS_STORE_ROW_H

#include "store/copies.h"

#include <errno.h>

enum { ROW_ON_REPLICA = 1 };

/* A change of a row in place, by a caller's function. */
typedef void row_change_fn(void *context, float *row, uint32_t length);

struct row_edit {
    row_change_fn *change;
    void *context;
    float *scratch; /* for two rows */
};

/* How a row is read: as calls have it, or as it lies in memory and in messages, which differs where
 * values are of 16 bits; the values alone, or with the state of an optimizer. */
enum row_form { ROW_WITH_STATE = 1, ROW_AS_STORED = 2 };

/* The slow path, and the only one to values of 16 bits: a writer is at work, workers have copies of
 * the row, it was never written, or it is not here. */
int row_read_slowly(struct row_ref, float *values, unsigned form, struct copies *mine);
int row_write_slowly(struct row_ref, const float *values, enum row_change, struct copies *mine);
int row_edit_slowly(struct row_ref, const struct row_edit *, struct copies *mine);
const float *row_view_slowly(const struct store *, struct row_ref, struct copies *mine,
                             int *is_replica);
/* The key is latched, and w was its word before: a replica, a main copy that has replicas, or one
 * that has an optimizer. */
int row_write_tracked(struct row_ref, directory_word w, const float *values, enum row_change);
int row_edit_tracked(struct row_ref, directory_word w, const struct row_edit *);

/* The row that the word names. That is nearly always the slot that follows from the key, so the
 * processor can use that address before the word arrives. The asm hides from the compiler that the
 * two are equal in that case. */
static inline float *row_at_computed(struct row_ref s, directory_word w)
{
    uint64_t slot = row_ref_computed_slot(s);
    float *row = partition_row(s.partition, slot);
    __asm__("" : "+r"(row));
    return __builtin_expect(directory_slot(w) == slot, 1)
               ? row
               : partition_row(s.partition, directory_slot(w));
}

/* The same without that guess. In a cluster of several nodes it costs more than it gains if words
 * and rows are prefetched, or the latch comes first. */
static inline float *row_at(struct row_ref s, directory_word w)
{
    return __builtin_expect(s.partition->home != NULL, 0)
               ? partition_row(s.partition, directory_slot(w))
               : row_at_computed(s, w);
}

/* If a partition is an array (store.h), a view reads no word. If it is plain, no access reads a
 * word, and no version rises. */

/* One attempt. -EAGAIN also if a writer is at work or the row was never written. `length`: the
 * partition's; `alone`: its word was not prefetched. */
static inline __attribute__((always_inline)) int row_try_read(struct row_ref s, float *values,
                                                              uint32_t length, bool alone)
{
    if (partition_plain(s.partition)) {
        floats_copy(values, row_ref_array_row(s), length);
        return 0;
    }
    const directory_word *word = row_ref_word(s);
    directory_word w = directory_load(word);
    LOCUS_YIELD();
    if (__builtin_expect(!directory_is_readable(w), 0)) return -EAGAIN;
    floats_copy(values, alone ? row_at_computed(s, w) : row_at(s, w), length);
    LOCUS_YIELD();
    return __builtin_expect(directory_is_unchanged(word, w), 1) ? directory_is_replica(w) : -EAGAIN;
}

static inline __attribute__((always_inline)) int row_read_by(struct row_ref s, float *values,
                                                             struct copies *mine)
{
    int done = row_try_read(s, values, s.partition->length, false);
    return done >= 0 ? done : row_read_slowly(s, values, 0, mine);
}

/* The same of any row: those above are of floats. */
static inline __attribute__((always_inline)) int row_read_any(struct row_ref s, float *values,
                                                              struct copies *mine)
{
    return s.partition->bf16 ? row_read_slowly(s, values, 0, mine) : row_read_by(s, values, mine);
}

static inline int row_read(struct row_ref s, float *values)
{
    return row_read_any(s, values, NULL);
}

/* Lets a waiting thread have the latch. A thread that writes a row again and again would otherwise
 * take it back before the other processor has seen it free. */
void row_give_way(const directory_word *);

/* The key is latched, and w was its word before: the row has changed. */
static inline void row_publish(directory_word *word, directory_word w)
{
    LOCUS_YIELD();
    bool awaited = directory_has_waiters(word);
    directory_publish(word, w + DIRECTORY_VERSION_ONE);
    if (__builtin_expect(awaited, 0)) row_give_way(word);
}

static inline __attribute__((always_inline)) void row_write_at(struct row_ref s, float *row,
                                                               const float *values,
                                                               enum row_change change)
{
    if (!row_change_sets(change))
        s.partition->add(row, values, s.partition->length);
    else
        floats_copy(row, values, s.partition->length);
}

/* The key is latched, and w was its word before. */
static inline void row_write_latched(struct row_ref s, directory_word *word, directory_word w,
                                     const float *values, enum row_change change)
{
    float *row = row_at(s, w);
    LOCUS_YIELD();
    row_write_at(s, row, values, change);
    row_publish(word, w);
}

/* For a thread that has seen the row without a latch: a locked instruction would wait for all
 * earlier stores. */
static inline bool row_try_latch(struct row_ref s, directory_word *word, directory_word w)
{
    return s.partition->has_one_writer || directory_try_latch(word, w);
}

/* Does the latch suffice to change the row, because nobody need be told? No other node has a replica;
 * or the key is in the dirty set, and what a replica was before is kept. An optimizer's rows need
 * more. */
static inline __attribute__((always_inline)) bool row_is_told(struct row_ref s, directory_word w)
{
    return directory_is_own(w) || (directory_is_dirty(w) && !s.partition->optimizer);
}

/* The same for such a change: only the owner sets rows. */
static inline __attribute__((always_inline)) bool row_may_write(struct row_ref s, directory_word w,
                                                                enum row_change change)
{
    return row_is_told(s, w) && !(row_change_sets(change) && directory_is_replica(w));
}

/* Only for such a row, and while no writer is at work; -EAGAIN: nothing was done. */
static inline __attribute__((always_inline)) int row_write_own(struct row_ref s,
                                                               const float *values,
                                                               enum row_change change)
{
    if (partition_plain(s.partition) & PLAIN_SUMS) {
        row_write_at(s, row_ref_array_row(s), values, change);
        return 0;
    }
    directory_word *word = row_ref_word(s), w = __atomic_load_n(word, __ATOMIC_RELAXED);
    LOCUS_YIELD();
    if (__builtin_expect(!row_may_write(s, w, change) || !row_try_latch(s, word, w), 0))
        return -EAGAIN;
    row_write_latched(s, word, w, values, change);
    return directory_is_replica(w);
}

static inline __attribute__((always_inline)) int row_write_by(struct row_ref s, const float *values,
                                                              enum row_change change,
                                                              struct copies *mine)
{
    if (partition_plain(s.partition) & PLAIN_SUMS) return row_write_own(s, values, change);
    directory_word *word = row_ref_word(s), w = __atomic_load_n(word, __ATOMIC_RELAXED);
    LOCUS_YIELD();
    if (__builtin_expect(!directory_is_readable(w) || !row_try_latch(s, word, w), 0))
        return row_write_slowly(s, values, change, mine);
    if (__builtin_expect(!row_may_write(s, w, change), 0))
        return row_write_tracked(s, w, values, change);
    row_write_latched(s, word, w, values, change);
    return directory_is_replica(w);
}

static inline int row_write(struct row_ref s, const float *values, enum row_change change)
{
    return row_write_by(s, values, change, NULL);
}

static inline int row_add(struct row_ref s, const float *updates)
{
    return row_write(s, updates, ROW_ADD);
}

static inline int row_set(struct row_ref s, const float *values)
{
    return row_write(s, values, ROW_SET);
}

/* A step in place: the function is called once, with the values and the gradient that it shall
 * write, unless the row is not here. `scratch` as in struct row_edit. The partition has an
 * optimizer. */
typedef void row_gradient_fn(void *context, const float *values, float *gradient, uint32_t length);
int row_step_in_place(struct row_ref s, row_gradient_fn *gradient, void *context, float *scratch,
                      struct copies *mine);

/* The same where no other thread writes the row. `gradient` NULL: it is in `scratch`. */
static inline __attribute__((always_inline)) void row_step_at(const struct partition *p, float *row,
                                                              row_gradient_fn *gradient,
                                                              void *context, float *scratch)
{
#if defined(LOCUS_TSAN) || defined(LOCUS_FIBERS)
    const float *values = scratch + p->length;
    if (gradient) floats_copy(scratch + p->length, row, p->length); /* as in row_edit_at() */
#else
    const float *values = row;
#endif
    if (gradient) gradient(context, values, scratch, p->length);
    optimizer_begin_step(p->optimizer);
    optimizer_step_row(p->optimizer, row, scratch);
}

/* A step in place of a main copy while no writer is at work, and nobody need be told: no other node
 * has a replica, or the key is in the dirty set; false: nothing was done. */
static inline __attribute__((always_inline)) bool row_step_own(struct row_ref s,
                                                               row_gradient_fn *gradient,
                                                               void *context, float *scratch)
{
    if (partition_plain(s.partition) == PLAIN_STEPS) {
        row_step_at(s.partition, row_ref_array_row(s), gradient, context, scratch);
        return true;
    }
    directory_word *word = row_ref_word(s), w = __atomic_load_n(word, __ATOMIC_RELAXED);
    LOCUS_YIELD();
    if (s.partition->bf16) return false;
    if (__builtin_expect(!directory_is_own_stepped(w) || !row_try_latch(s, word, w), 0))
        return false;
    row_step_at(s.partition, row_at(s, w), gradient, context, scratch);
    row_publish(word, w);
    return true;
}

/* A step of the row that another node has asked for: row_add() makes one of this node's. */
int row_step(struct row_ref, const float *gradient, struct row_step);

/* The row in a form. */
static inline int row_read_as(struct row_ref s, float *values, unsigned form)
{
    return row_read_slowly(s, values, form, NULL);
}

/* No other thread writes the row: the key is latched, or its partition is plain. `scratch` holds
 * two rows. */
static inline __attribute__((always_inline)) void row_edit_at(float *row, uint32_t length,
                                                              row_change_fn *change, void *context,
                                                              float *scratch)
{
#if defined(LOCUS_TSAN) || defined(LOCUS_FIBERS)
    /* The caller's function is not written for concurrent readers: floats_copy() is (floats.h). */
    float *copy = scratch + length;
    floats_copy(copy, row, length);
    change(context, copy, length);
    floats_copy(row, copy, length);
#else
    (void)scratch;
    change(context, row, length);
#endif
}

static inline void row_edit_latched(float *row, uint32_t length, const struct row_edit *e)
{
    row_edit_at(row, length, e->change, e->context, e->scratch);
}

/* As row_write_own(). */
static inline __attribute__((always_inline)) int row_edit_own(struct row_ref s,
                                                              const struct row_edit *e)
{
    if (partition_plain(s.partition) & PLAIN_SUMS) {
        row_edit_latched(row_ref_array_row(s), s.partition->length, e);
        return 0;
    }
    directory_word *word = row_ref_word(s), w = __atomic_load_n(word, __ATOMIC_RELAXED);
    LOCUS_YIELD();
    if (__builtin_expect(!row_is_told(s, w) || !row_try_latch(s, word, w), 0)) return -EAGAIN;
    LOCUS_YIELD();
    row_edit_latched(row_at(s, w), s.partition->length, e);
    row_publish(word, w);
    return directory_is_replica(w);
}

/* The function is called once, unless the row is not here. */
static inline __attribute__((always_inline)) int row_edit(struct row_ref s,
                                                          const struct row_edit *e,
                                                          struct copies *mine)
{
    if (partition_plain(s.partition) & PLAIN_SUMS) return row_edit_own(s, e);
    directory_word *word = row_ref_word(s), w = __atomic_load_n(word, __ATOMIC_RELAXED);
    LOCUS_YIELD();
    if (__builtin_expect(!directory_is_readable(w) || !row_try_latch(s, word, w), 0))
        return row_edit_slowly(s, e, mine);
    if (__builtin_expect(!row_is_told(s, w), 0)) return row_edit_tracked(s, w, e);
    LOCUS_YIELD();
    row_edit_latched(row_at(s, w), s.partition->length, e);
    row_publish(word, w);
    return directory_is_replica(w);
}

/* The row in place, inside a reader's section; NULL if it is not here. *is_replica: 0 or 1. */
static inline __attribute__((always_inline)) const float *row_view(const struct store *st,
                                                                   struct row_ref s,
                                                                   struct copies *mine,
                                                                   int *is_replica)
{
    if (partition_is_array(s.partition)) {
        *is_replica = 0;
        return row_ref_array_row(s);
    }
    directory_word w = directory_load(row_ref_word(s));
    LOCUS_YIELD();
    if (__builtin_expect(!directory_is_readable(w), 0))
        return row_view_slowly(st, s, mine, is_replica);
    *is_replica = directory_is_replica(w);
    return row_at(s, w);
}

/* Takes the row out: copies it to `values` (zeros if it was never written; NULL: no copy), sets the
 * word to `next` (not a held state), and frees the slot when no reader can see it any more.
 * *written: whether it had values. */
int row_take(struct mover *, struct row_ref, float *values, bool *written, directory_word next);
/* The same for a row that is here and was never written, unless a thread is about to write it;
 * false: nothing was done. */
bool row_take_empty(struct row_ref, directory_word next);
/* The same for a row that is here, without its values, if the word is still `then`; false: nothing
 * was done. */
bool row_take_unchanged(struct mover *, struct row_ref, directory_word then, directory_word next);

/* Values of a row that is elsewhere, for whoever keeps them: into the slot, which no reader knows;
 * SLAB_NONE: into a new one, which is returned. SLAB_NONE: there is none. */
uint64_t row_save(struct row_ref, uint64_t slot, const float *values);

/* Puts in a row that was elsewhere; values NULL: it was never written. -EEXIST if it is already
 * here. */
int row_put(struct row_ref, const float *values);
/* The same with what is in the slot of row_save(), which is the row's from now on. */
void row_adopt(struct row_ref, uint64_t slot);

/*
 * Replicas, and main copies that have them: all by the shard's mover alone. 0 or -ENOMEM where an
 * int is returned.
 */

/* Reads a row that is here as row_read does; *w: the word with the version of the copy. */
void row_read_version(struct row_ref, float *values, directory_word *w);
/* The word, as soon as no writer is at work. */
directory_word row_word(struct row_ref);

/* Does a row that is held here with this word have memory of its own? */
static inline bool row_word_is_written(struct row_ref s, directory_word w)
{
    return directory_has_row(w) && !partition_is_zeros(s.partition, w);
}

/* The main copy: from now on a change puts its key into the dirty set; no longer. */
void row_track(struct row_ref);
void row_untrack(struct row_ref);
/* Called before the shard looks at a tracked row that was in the dirty set: the next change puts it
 * there again. */
void row_clean(struct row_ref);

/* Creates a replica; values NULL: zeros, without memory. */
int row_replicate(struct row_ref, const float *values);
/* A replica that may still have no memory gets some. */
int row_ensure_replica(struct row_ref);
/* New values of the main copy, for a replica with memory; our own updates that are not in them are
 * added. */
void row_refresh(struct row_ref, const float *values);
/* Are there updates that the owner does not have, or is a writer at work, who has perhaps put the
 * key into the dirty set? */
static inline bool row_is_dirty(struct row_ref s)
{
    directory_word w = __atomic_load_n(row_ref_word(s), __ATOMIC_RELAXED);
    bool is_held = directory_has_copies(w) ? w & DIRECTORY_WAITERS : directory_is_latched(w);
    return is_held || w & DIRECTORY_DIRTY;
}
/* Takes these updates out, and leaves none. Returns the floats that it wrote: a delta, or the
 * gradient of the only step (optimizer.h); 0 with updates NULL. */
uint32_t row_collect(struct row_ref, float *updates);
/* Ends a replica without such updates. false: it has some, or a writer is at work, and nothing was
 * done. */
bool row_forget_clean(struct mover *, struct row_ref, directory_word next);
/* Ends a replica and takes its updates out, as row_collect(). */
uint32_t row_forget(struct mover *, struct row_ref, float *updates, directory_word next);
/* The main copy arrives where a replica is: the row is its values plus our updates; NULL: it was
 * never written. */
int row_promote(struct mover *, struct row_ref, const float *values);
/* The replica itself becomes the main copy. */
int row_promote_as_it_is(struct mover *, struct row_ref);

/*
 * Many keys, and fetching ahead (rows.c).
 */

/* For one key alone, before a write looks at its word: prefetches the word and, if its place
 * follows from the key, the row. A locked instruction waits for all earlier stores, and later loads
 * wait for it; without the prefetch, word and row would be loaded one after the other. */
void row_fetch_to_write(struct row_ref);

/* Prefetches the word for an access soon; in a cluster of one the row as well, from its home
 * slot. */
void rows_fetch(const struct store *, const locus_key *keys, size_t n);
/* A moment later, when the word has arrived: prefetches the row to which the word points; of a
 * replica also its updates. */
void rows_fetch_found(const struct store *, const locus_key *keys, size_t n);
void row_fetch_found(struct row_ref);
/* The word alone. */
static inline void word_fetch(struct row_ref s)
{
    __builtin_prefetch(row_ref_word(s), 0, 3);
}

/*
 * The same for n keys, with rows one after the other, and prefetching. Keys must be in range. Does
 * all keys that are here. Returns how many are not (or found no memory: then *rc is -ENOMEM) and,
 * if `missed` is not NULL, their positions. Adds to *replicas how many were done on replicas.
 */
struct missed_row {
    size_t position; /* in keys */
    size_t offset;   /* in values, in floats */
};
size_t rows_read(const struct store *, struct copies *mine, const locus_key *keys, size_t n,
                 float *values, struct missed_row *missed, size_t *replicas);
size_t rows_write(const struct store *, struct copies *mine, const locus_key *keys, size_t n,
                  const float *values, enum row_change, struct missed_row *missed, size_t *replicas,
                  int *rc);
/* The same of rows with their state, without fetching ahead: with `sets`, `rows`
 * written. */
size_t rows_access_stored(const struct store *, const locus_key *keys, size_t n, float *rows,
                          bool sets, struct missed_row *missed, size_t *replicas, int *rc);

#endif
