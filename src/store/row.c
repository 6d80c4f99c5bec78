#include "store/row.h"

#include "base/error.h"
#include "base/yield.h"

#include <errno.h>

/* A copy that a writer disturbs this often in a row is made under the latch. */
enum { READ_ATTEMPTS = 4 };

/* Looks, a microsecond or two at most, for the other to take the latch. */
enum { GIVE_WAY_LOOKS = 32 };

void row_give_way(const directory_word *word)
{
    directory_word free = directory_load(word);
    for (int i = 0;
         i < GIVE_WAY_LOOKS && directory_load(word) == free && !directory_is_latched(free); i++) {
        LOCUS_YIELD();
        cpu_relax();
    }
}

static inline float *slot_row(const struct partition *p, directory_word w)
{
    return partition_row(p, directory_slot(w));
}

/* The slot that is reserved for the key here. */
static uint64_t own_slot(struct row_ref s)
{
    return row_ref_is_home(s) ? row_ref_usual_slot(s) : SLAB_NONE;
}

/* Returns the word, latched by us; or, unlatched, a word that says that the row is not here. Waits
 * for the holder of the latch. */
static directory_word latch_here(struct row_ref s)
{
    unsigned spins = 0;
    for (;;) {
        directory_word w = directory_load(row_ref_word(s));
        LOCUS_YIELD();
        if (directory_is_latched(w)) {
            directory_want(row_ref_word(s), w);
            spin_wait(&spins);
            continue;
        }
        if (!row_ref_is_held(s, w)) return w;
        if (directory_try_latch(row_ref_word(s), w)) return w | DIRECTORY_LATCH;
    }
}

static int read_latched(struct row_ref s, float *values)
{
    directory_word w = latch_here(s);
    if (!directory_is_latched(w)) return -EAGAIN;
    LOCUS_YIELD();
    if (directory_has_row(w))
        floats_copy(values, slot_row(s.partition, w), s.partition->length);
    else
        memset(values, 0, s.partition->row_bytes);
    /* nothing changed: the same version */
    directory_publish(row_ref_word(s), w & ~DIRECTORY_LATCH);
    return directory_has_row(w) ? directory_is_replica(w) : 0;
}

int row_read_slowly(struct row_ref s, float *values)
{
    for (int i = 0; i < READ_ATTEMPTS; i++) {
        directory_word w = directory_load(row_ref_word(s));
        LOCUS_YIELD();
        if (directory_is_readable(w)) {
            floats_copy(values, slot_row(s.partition, w), s.partition->length);
            LOCUS_YIELD();
            if (directory_is_unchanged(row_ref_word(s), w)) return directory_is_replica(w);
        } else if (!row_ref_is_held(s, w)) {
            return -EAGAIN;
        } else if (!directory_has_row(w)) {
            /* zero at the moment of the load, latched or not */
            memset(values, 0, s.partition->row_bytes);
            return row_ref_is_here(s, w) ? 0 : ROW_ON_REPLICA;
        }
        cpu_relax();
    }
    return read_latched(s, values);
}

static void fill_slot(struct partition *p, uint64_t slot, const float *values)
{
    /* Release: the slot's previous row changed its word before we write. Pairs with the fence in
     * directory_is_unchanged(): a late reader of that row that copies what is written here finds
     * the word changed. */
    FENCE(__ATOMIC_RELEASE);
    floats_copy(partition_row(p, slot), values, p->length);
}

static void unlatch(struct row_ref s, directory_word w)
{
    directory_publish(row_ref_word(s), w & ~DIRECTORY_LATCH);
}

/* Takes two slots for a replica and returns the copy's. A key whose home is here has no computed
 * slots for a replica. */
static uint64_t take_pair(struct row_ref s)
{
    uint64_t elsewhere, slot = home_slot(s.partition->home, row_ref_number(s), &elsewhere);
    uint64_t pair =
        slab_take(&s.partition->pairs, elsewhere && s.partition->foresees ? slot / 2 : SLAB_NONE);
    return pair == SLAB_NONE ? SLAB_NONE : s.partition->first_pair + 2 * pair;
}

static float *updates_row(const struct partition *p, directory_word w)
{
    return partition_row(p, directory_slot(w) + 1);
}

/* Each time a row arrives, its version begins far from the last one: a reader that began before the
 * row left and ends now must not find the same word again. */
static uint64_t fresh_version(struct partition *p)
{
    return __atomic_add_fetch(&p->arrivals, 1, __ATOMIC_RELAXED) * UINT64_C(0x9E3779B1);
}

/* Publishes a shared row with its change. The first change since the shard last looked adds the key
 * to the dirty set. */
static void publish_dirty(struct row_ref s, directory_word w)
{
    directory_word *word = row_ref_word(s);
    bool wanted = directory_is_wanted(word);
    directory_publish(word, w | DIRECTORY_DIRTY);
    if (!(w & DIRECTORY_DIRTY)) dirty_set_add(s.partition->dirty, s.index);
    if (__builtin_expect(wanted, 0)) row_give_way(word);
}

/* Full replication: a first update of what is a replica of zeros. */
static int write_first_replica(struct row_ref s, const float *values, enum row_change change,
                               directory_word w)
{
    uint64_t slot = change == ROW_ADD ? take_pair(s) : SLAB_NONE;
    LOCUS_YIELD();
    if (slot == SLAB_NONE) {
        unlatch(s, w);
        return change == ROW_ADD ? -ENOMEM : -EAGAIN;
    }
    fill_slot(s.partition, slot, values);
    fill_slot(s.partition, slot + 1, values);
    publish_dirty(s, directory_held(DIRECTORY_REPLICA, slot, fresh_version(s.partition)));
    row_ref_touched(s);
    return ROW_ON_REPLICA;
}

/* After a first write. Another first write may still be under way: a view of its row shows it while
 * it is being written, as with any row. With one writer this was the last one. */
static void partition_note_first(struct partition *p)
{
    if (!slab_is_full_at_home(&p->slab, p->keys)) return;
    /* with the rows; pairs with partition_is_array() */
    __atomic_store_n(&p->is_array, true, __ATOMIC_RELEASE);
    if (p->has_one_writer) __atomic_store_n(&p->is_plain, true, __ATOMIC_RELEASE);
}

/* The first write of a row: it gets a slot. The key is latched; w is its word. */
static int write_first(struct row_ref s, const float *values, directory_word w)
{
    uint64_t slot = slab_take(&s.partition->slab, own_slot(s));
    LOCUS_YIELD();
    if (slot == SLAB_NONE) {
        unlatch(s, w);
        return -ENOMEM;
    }
    fill_slot(s.partition, slot, values);
    LOCUS_YIELD();
    if (s.partition->is_full)
        publish_dirty(s, directory_held(DIRECTORY_SHARED, slot, 1));
    else
        directory_publish(row_ref_word(s), directory_main(slot, 1));
    row_ref_touched(s);
    if (s.partition->is_alone) partition_note_first(s.partition);
    return 0;
}

/* The first update since the last were taken out finds the slot with whatever was there. */
static void add_update(struct partition *p, directory_word w, const float *values)
{
    if (w & DIRECTORY_DIRTY)
        p->add(updates_row(p, w), values, p->length);
    else
        floats_copy(updates_row(p, w), values, p->length);
}

/* Latched: a shared row of zeros gets memory of its own. False: there is none. */
static bool materialize(struct row_ref s, directory_word *w)
{
    if (!partition_is_zeros(s.partition, *w)) return true;
    uint64_t slot = directory_is_replica(*w) ? take_pair(s)
                                             : slab_take(&s.partition->slab, own_slot(s));
    LOCUS_YIELD();
    if (slot == SLAB_NONE) return false;
    FENCE(__ATOMIC_RELEASE); /* as in fill_slot() */
    floats_zero(partition_row(s.partition, slot), s.partition->length);
    *w = directory_held(directory_state(*w), slot, directory_version(*w));
    return true;
}

int row_write_shared(struct row_ref s, directory_word w, const float *values,
                     enum row_change change)
{
    bool replica = directory_is_replica(w);
    if (replica && change == ROW_SET) {
        unlatch(s, w);
        return -EAGAIN;
    }
    if (!materialize(s, &w)) {
        unlatch(s, w);
        return -ENOMEM;
    }
    float *row = slot_row(s.partition, w);
    LOCUS_YIELD();
    if (change == ROW_ADD)
        s.partition->add(row, values, s.partition->length);
    else
        floats_copy(row, values, s.partition->length);
    LOCUS_YIELD();
    if (replica) add_update(s.partition, w, values);
    LOCUS_YIELD();
    publish_dirty(s, w + DIRECTORY_VERSION_ONE);
    return replica;
}

int row_write_slowly(struct row_ref s, const float *values, enum row_change change)
{
    directory_word w = latch_here(s);
    if (!directory_is_latched(w)) return -EAGAIN;
    w &= ~DIRECTORY_LATCH;
    if (!directory_has_row(w))
        return row_ref_is_here(s, w) ? write_first(s, values, w)
                                     : write_first_replica(s, values, change, w);
    if (directory_state(w) != DIRECTORY_MAIN) return row_write_shared(s, w, values, change);
    row_write_latched(s, row_ref_word(s), w, values, change);
    return 0;
}

int row_edit_shared(struct row_ref s, directory_word w, const struct row_edit *e)
{
    if (!materialize(s, &w)) {
        unlatch(s, w);
        return -ENOMEM;
    }
    bool replica = directory_is_replica(w);
    float *row = slot_row(s.partition, w), *before = e->scratch;
    LOCUS_YIELD();
    if (replica) floats_copy(before, row, s.partition->length);
    row_edit_latched(row, s.partition->length, e);
    LOCUS_YIELD();
    if (replica)
        s.partition->gain(updates_row(s.partition, w), before, row, s.partition->length,
                          w & DIRECTORY_DIRTY);
    LOCUS_YIELD();
    publish_dirty(s, w + DIRECTORY_VERSION_ONE);
    return replica;
}

/* What it makes of zeros is its update as well. */
static int edit_first(struct row_ref s, const struct row_edit *e, directory_word w)
{
    memset(e->scratch, 0, s.partition->row_bytes);
    e->change(e->context, e->scratch, s.partition->length);
    return row_ref_is_here(s, w) ? write_first(s, e->scratch, w)
                                 : write_first_replica(s, e->scratch, ROW_ADD, w);
}

int row_edit_slowly(struct row_ref s, const struct row_edit *e)
{
    directory_word w = latch_here(s);
    if (!directory_is_latched(w)) return -EAGAIN;
    w &= ~DIRECTORY_LATCH;
    if (!directory_has_row(w)) return edit_first(s, e, w);
    if (directory_state(w) != DIRECTORY_MAIN) return row_edit_shared(s, w, e);
    row_edit_latched(slot_row(s.partition, w), s.partition->length, e);
    row_publish(row_ref_word(s), w);
    return 0;
}

int row_take(struct mover *m, struct row_ref s, float *values, bool *written, directory_word next)
{
    directory_word w = latch_here(s);
    if (!directory_is_latched(w)) return -EAGAIN;
    *written = directory_has_row(w) && !partition_is_zeros(s.partition, w);
    LOCUS_YIELD();
    if (*written && values)
        floats_copy(values, slot_row(s.partition, w), s.partition->length);
    else if (values)
        memset(values, 0, s.partition->row_bytes);
    LOCUS_YIELD();
    directory_publish(row_ref_word(s), next);
    row_ref_touched(s);
    LOCUS_YIELD();
    if (*written) mover_free(m, s.partition, directory_slot(w));
    return 0;
}

bool row_take_empty(struct row_ref s, directory_word next)
{
    directory_word w = directory_load(row_ref_word(s));
    LOCUS_YIELD();
    if (directory_is_latched(w) || row_word_is_written(s, w) || !row_ref_is_here(s, w))
        return false;
    if (!__atomic_compare_exchange_n(row_ref_word(s), &w, next, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return false;
    row_ref_touched(s);
    return true;
}

bool row_take_unchanged(struct mover *m, struct row_ref s, directory_word then, directory_word next)
{
    directory_word w = then;
    LOCUS_YIELD();
    if (!__atomic_compare_exchange_n(row_ref_word(s), &w, next, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return false;
    mover_free(m, s.partition, directory_slot(then));
    return true;
}

int row_put(struct row_ref s, const float *values)
{
    if (row_ref_is_here(s, directory_load(row_ref_word(s)))) return -EEXIST;
    if (!values) {
        directory_publish(row_ref_word(s), directory_empty());
        row_ref_touched(s);
        return 0;
    }
    uint64_t slot = slab_take(&s.partition->slab, own_slot(s));
    if (slot == SLAB_NONE) return -ENOMEM;
    LOCUS_YIELD();
    fill_slot(s.partition, slot, values);
    LOCUS_YIELD();
    directory_publish(row_ref_word(s), directory_main(slot, fresh_version(s.partition)));
    row_ref_touched(s);
    return 0;
}

/* ---- replicas ---- */

/* Of a row that is here: the word, latched. */
static directory_word latch(struct row_ref s)
{
    directory_word w = latch_here(s);
    INVARIANT(directory_is_latched(w), "a row that must be here is not");
    return w & ~DIRECTORY_LATCH;
}

void row_read_version(struct row_ref s, float *values, directory_word *w)
{
    for (int i = 0; i < READ_ATTEMPTS; i++) {
        *w = directory_load(row_ref_word(s));
        LOCUS_YIELD();
        if (!directory_is_readable(*w)) {
            cpu_relax();
            continue;
        }
        floats_copy(values, slot_row(s.partition, *w), s.partition->length);
        LOCUS_YIELD();
        if (directory_is_unchanged(row_ref_word(s), *w)) return;
    }
    *w = latch(s);
    if (directory_has_row(*w))
        floats_copy(values, slot_row(s.partition, *w), s.partition->length);
    else
        memset(values, 0, s.partition->row_bytes);
    unlatch(s, *w);
}

directory_word row_word(struct row_ref s)
{
    unsigned spins = 0;
    for (;;) {
        directory_word w = directory_load(row_ref_word(s));
        if (!directory_is_latched(w)) return w;
        LOCUS_YIELD();
        spin_wait(&spins);
    }
}

void row_share(struct row_ref s)
{
    directory_word w = latch(s);
    bool has_row = directory_has_row(w);
    uint64_t slot = has_row ? directory_slot(w) : s.partition->zero_slot,
             version = has_row ? directory_version(w) : 1;
    directory_publish(row_ref_word(s), directory_held(DIRECTORY_SHARED, slot, version));
    row_ref_touched(s);
}

void row_unshare(struct row_ref s)
{
    directory_word w = latch(s);
    if (partition_is_zeros(s.partition, w))
        directory_publish(row_ref_word(s), directory_empty());
    else
        directory_publish(row_ref_word(s),
                          directory_held(DIRECTORY_MAIN, directory_slot(w), directory_version(w)));
}

void row_clean(struct row_ref s)
{
    directory_word w = directory_load(row_ref_word(s));
    if (!(w & DIRECTORY_DIRTY)) return;
    w = latch(s);
    unlatch(s, w & ~DIRECTORY_DIRTY);
}

int row_replicate(struct row_ref s, const float *values)
{
    uint64_t slot = values ? take_pair(s) : s.partition->zero_slot;
    if (slot == SLAB_NONE) return -ENOMEM;
    LOCUS_YIELD();
    if (values) fill_slot(s.partition, slot, values);
    LOCUS_YIELD();
    directory_publish(row_ref_word(s),
                      directory_held(DIRECTORY_REPLICA, slot, fresh_version(s.partition)));
    row_ref_touched(s);
    return 0;
}

int row_ensure_replica(struct row_ref s)
{
    if (row_word_is_written(s, row_word(s))) return 0;
    uint64_t slot = take_pair(s);
    if (slot == SLAB_NONE) return -ENOMEM;
    directory_word w = latch(s);
    if (row_word_is_written(s, w)) { /* a worker was faster */
        unlatch(s, w);
        slab_give(&s.partition->pairs, (slot - s.partition->first_pair) / 2);
        return 0;
    }
    FENCE(__ATOMIC_RELEASE); /* as in fill_slot() */
    floats_zero(partition_row(s.partition, slot), s.partition->length);
    directory_publish(row_ref_word(s),
                      directory_held(DIRECTORY_REPLICA, slot, fresh_version(s.partition)));
    return 0;
}

void row_refresh(struct row_ref s, const float *values)
{
    directory_word w = latch(s);
    float *row = slot_row(s.partition, w);
    LOCUS_YIELD();
    floats_copy(row, values, s.partition->length);
    LOCUS_YIELD();
    if (w & DIRECTORY_DIRTY)
        s.partition->add(row, updates_row(s.partition, w), s.partition->length);
    LOCUS_YIELD();
    unlatch(s, w + DIRECTORY_VERSION_ONE);
}

/* Latched: the updates go out, the mark comes off. */
static void take_updates(struct row_ref s, directory_word w, float *updates)
{
    if (updates && w & DIRECTORY_DIRTY)
        floats_copy(updates, updates_row(s.partition, w), s.partition->length);
    else if (updates)
        memset(updates, 0, s.partition->row_bytes);
    LOCUS_YIELD();
}

void row_collect(struct row_ref s, float *updates)
{
    directory_word w = latch(s);
    LOCUS_YIELD();
    take_updates(s, w, updates);
    unlatch(s, w & ~DIRECTORY_DIRTY);
}

bool row_forget_clean(struct mover *m, struct row_ref s, directory_word next)
{
    directory_word w = directory_load(row_ref_word(s));
    LOCUS_YIELD();
    if (w & (DIRECTORY_LATCH | DIRECTORY_DIRTY)) return false;
    if (!__atomic_compare_exchange_n(row_ref_word(s), &w, next, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return false;
    if (directory_has_row(w)) mover_free(m, s.partition, directory_slot(w));
    return true;
}

void row_forget(struct mover *m, struct row_ref s, float *updates, directory_word next)
{
    directory_word w = latch(s);
    LOCUS_YIELD();
    take_updates(s, w, updates);
    LOCUS_YIELD();
    directory_publish(row_ref_word(s), next);
    mover_free(m, s.partition, directory_slot(w));
}

/* Latched: the slot has the row. */
static void promote(struct mover *m, struct row_ref s, directory_word w, uint64_t slot)
{
    LOCUS_YIELD();
    directory_publish(row_ref_word(s), directory_main(slot, fresh_version(s.partition)));
    mover_free(m, s.partition, directory_slot(w));
}

/* A replica of zeros becomes a row of zeros: false, when it is none, or was written just now. */
static bool promote_zeros(struct row_ref s)
{
    directory_word w = row_word(s);
    if (!partition_is_zeros(s.partition, w)) return false;
    w = latch(s);
    if (partition_is_zeros(s.partition, w)) {
        directory_publish(row_ref_word(s), directory_empty());
        return true;
    }
    unlatch(s, w);
    return false;
}

int row_promote(struct mover *m, struct row_ref s, const float *values)
{
    if (!values && promote_zeros(s)) return 0;
    uint64_t slot = slab_take(&s.partition->slab, own_slot(s));
    if (slot == SLAB_NONE) return -ENOMEM;
    float *row = partition_row(s.partition, slot);
    directory_word w = latch(s);
    LOCUS_YIELD();
    if (values)
        fill_slot(s.partition, slot, values);
    else
        floats_zero(row, s.partition->length);
    LOCUS_YIELD();
    if (w & DIRECTORY_DIRTY)
        s.partition->add(row, updates_row(s.partition, w), s.partition->length);
    promote(m, s, w, slot);
    return 0;
}

int row_promote_as_it_is(struct mover *m, struct row_ref s)
{
    if (promote_zeros(s)) return 0;
    uint64_t slot = slab_take(&s.partition->slab, own_slot(s));
    if (slot == SLAB_NONE) return -ENOMEM;
    directory_word w = latch(s);
    LOCUS_YIELD();
    fill_slot(s.partition, slot, slot_row(s.partition, w));
    promote(m, s, w, slot);
    return 0;
}
