#include "store/row.h"

#include "base/error.h"
#include "store/yield.h"

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

/* The word, latched by us; or, unlatched, a word that says that the row is not here. Waits for
 * whoever has the latch. */
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
    /* Release: the slot's last tenant left its word before we write. Pairs with the fence in
     * directory_is_unchanged(): a late reader of that tenant who copies what is written here finds
     * its word changed. */
    FENCE(__ATOMIC_RELEASE);
    floats_copy(partition_row(p, slot), values, p->length);
}

static void unlatch(struct row_ref s, directory_word w)
{
    directory_publish(row_ref_word(s), w & ~DIRECTORY_LATCH);
}

/* Two slots for a replica: the copy's is returned. A key whose home is here has none that is its
 * own. */
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

/* Every stay of a row begins with another version, far from the last: a reader that began before
 * the row left and ends now must not find its word again. */
static uint64_t fresh_version(struct partition *p)
{
    return __atomic_add_fetch(&p->arrivals, 1, __ATOMIC_RELAXED) * UINT64_C(0x9E3779B1);
}

/* Publishes a shared row with its change, and marks the key with the first change since the shard
 * last looked. */
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
    return ROW_ON_REPLICA;
}

/* After a first write. Another one may still be under way: who views that row now sees it being
 * written, as anybody may who views a row that somebody writes. With one writer it is the last. */
static void partition_note_first(struct partition *p)
{
    if (!slab_is_full_at_home(&p->slab, p->keys)) return;
    /* with the rows; pairs with part_is_array() */
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
    return __atomic_compare_exchange_n(row_ref_word(s), &w, next, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
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
        return 0;
    }
    uint64_t slot = slab_take(&s.partition->slab, own_slot(s));
    if (slot == SLAB_NONE) return -ENOMEM;
    LOCUS_YIELD();
    fill_slot(s.partition, slot, values);
    LOCUS_YIELD();
    directory_publish(row_ref_word(s), directory_main(slot, fresh_version(s.partition)));
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

/* Fetching ahead. On one node a key's word and home slot are known from the key, so both can be
 * under way together. Among several most rows are somewhere else: what is fetched in vain takes the
 * place, and the time, of what is needed. Rows go to the second level of the cache: the first also
 * has to hold the caller's buffer. (Figures: docs/design/row-access.md.) */
enum {
    FETCH_LINES_MAX = 16, /* the processor goes on by itself in a longer row */
    CACHE_LINE = 64,
};

/* To write: exclusively, for the shard has read the line, or written it. (The compiler leaves the
 * instruction out because some processors do not have it; they pass it over.) */
static inline __attribute__((always_inline)) void fetch_line(const char *line, bool to_write)
{
#if defined(__x86_64__)
    if (to_write) {
        __asm__ volatile("prefetchw %0" ::"m"(*line));
        return;
    }
#endif
    __builtin_prefetch(line, 0, 2);
}

static inline __attribute__((always_inline)) void fetch_slot(const struct partition *p,
                                                             uint64_t slot, bool to_write)
{
    const char *row = p->rows + slot * p->row_bytes;
    uint32_t bytes = p->row_bytes < FETCH_LINES_MAX * CACHE_LINE ? p->row_bytes
                                                                 : FETCH_LINES_MAX * CACHE_LINE;
    for (uint32_t at = 0; at < bytes; at += CACHE_LINE) fetch_line(row + at, to_write);
    fetch_line(row + bytes - 1, to_write); /* a row need not begin with its line */
}

void row_fetch_to_write(struct row_ref s)
{
    fetch_line((const char *)row_ref_word(s), true);
    if (!s.partition->foresees) return;
    uint64_t slot = row_ref_usual_slot(s);
    fetch_slot(s.partition, slot, true);
    if (slot >= s.partition->first_pair) fetch_slot(s.partition, slot + 1, true);
}

/* The word is fetched to be read, although a writer will change it: when nobody else has the line
 * it comes exclusively all the same; when another thread works on it, taking it away long before it
 * is needed costs both. */
static inline __attribute__((always_inline)) struct row_ref fetch_word(const struct store *s,
                                                                       locus_key key)
{
    struct row_ref ref = store_row_ref(s, key);
    if (!partition_is_plain(ref.partition)) __builtin_prefetch(row_ref_word(ref), 0, 3);
    return ref;
}

enum fetch { TO_READ, TO_WRITE, TO_EITHER };

/* The word has arrived by now: the row is fetched from where it is, unless to be read also the sum
 * of a replica's updates. To write exclusively: shard and other workers read and write the same
 * rows on another processor. */
static inline __attribute__((always_inline)) void fetch_found(struct row_ref s, enum fetch fetch)
{
    if (partition_is_plain(s.partition)) {
        fetch_slot(s.partition, row_ref_number(s), false);
        return;
    }
    directory_word w = __atomic_load_n(row_ref_word(s), __ATOMIC_RELAXED);
    if (!directory_has_row(w)) return;
    fetch_slot(s.partition, directory_slot(w), fetch == TO_WRITE);
    if (fetch != TO_READ && directory_is_replica(w))
        fetch_slot(s.partition, directory_slot(w) + 1, true);
}

/* Inlined: of a function that does nothing but prefetch the compiler leaves the call out. */
static inline __attribute__((always_inline)) void fetch_plain(const struct partition *p,
                                                              const locus_key *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) fetch_slot(p, keys[i] - p->first_number, false);
}

void rows_fetch(const struct store *s, const locus_key *keys, size_t n)
{
    if (s->has_one_part && partition_is_plain(s->partition)) {
        fetch_plain(s->partition, keys, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct row_ref ref = fetch_word(s, keys[i]);
        if (!ref.partition->home) fetch_slot(ref.partition, row_ref_number(ref), false);
    }
}

void row_fetch_found(struct row_ref s)
{
    fetch_found(s, TO_EITHER);
}

void rows_fetch_found(const struct store *s, const locus_key *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) fetch_found(store_row_ref(s, keys[i]), TO_EITHER);
}

/* A batch is a pipeline: a key is located and its word fetched WORD_AHEAD steps before its access,
 * its row some steps. More long rows at once are more than the processor fetches together, fewer
 * short ones do not fill the time that one takes; with fewer words the rows of a cluster wait for
 * theirs. */
enum { WORD_AHEAD = 64, LONG_ROW_AHEAD = 24, SHORT_ROW_AHEAD = 40, SHORT_ROW_BYTES = 256 };

/* The fields of the row references lie apart, so that none is read back wider than it was written
 * (store.h says what that costs). */
struct pipeline {
    struct partition *partition[WORD_AHEAD];
    uint64_t index[WORD_AHEAD];
};

static inline __attribute__((always_inline)) void locate(struct pipeline *p, size_t i,
                                                         const struct store *s, locus_key key)
{
    struct row_ref ref = fetch_word(s, key);
    p->partition[i % WORD_AHEAD] = ref.partition;
    p->index[i % WORD_AHEAD] = ref.index;
}

static inline __attribute__((always_inline)) struct row_ref located(const struct pipeline *p,
                                                                    size_t i)
{
    return partition_row_ref(p->partition[i % WORD_AHEAD], p->index[i % WORD_AHEAD]);
}

static inline size_t row_ahead(const struct partition *p)
{
    return p->row_bytes <= SHORT_ROW_BYTES ? SHORT_ROW_AHEAD : LONG_ROW_AHEAD;
}

enum access { READ, ADD, SET };

static inline __attribute__((always_inline)) size_t access_rows(
    const struct store *s, const locus_key *keys, size_t n, float *values,
    struct missed_row *missed, size_t *replicas, int *rc, enum access access)
{
    const enum fetch fetch = access == READ ? TO_READ : TO_WRITE;
    struct pipeline p;
    size_t offset = 0, misses = 0;
    for (size_t i = 0; i < n && i < WORD_AHEAD; i++) locate(&p, i, s, keys[i]);
    const size_t ahead = n > 0 ? row_ahead(p.partition[0]) : 0;
    for (size_t i = 0; i < n && i < ahead; i++) fetch_found(located(&p, i), fetch);
    for (size_t i = 0; i < n; i++) {
        struct row_ref now = located(&p, i);
        if (i + ahead < n) fetch_found(located(&p, i + ahead), fetch);
        if (i + WORD_AHEAD < n) locate(&p, i + WORD_AHEAD, s, keys[i + WORD_AHEAD]);
        float *at = values + offset;
        int done = access == READ ? row_read(now, at)
                                  : row_write(now, at, access == ADD ? ROW_ADD : ROW_SET);
        if (__builtin_expect(done > 0, 0)) ++*replicas;
        if (__builtin_expect(done < 0, 0)) {
            if (done == -ENOMEM && rc) *rc = done;
            if (missed) missed[misses] = (struct missed_row){i, offset};
            misses++;
        }
        offset += now.partition->length;
    }
    return misses;
}

size_t rows_read(const struct store *s, const locus_key *keys, size_t n, float *values,
                 struct missed_row *missed, size_t *replicas)
{
    return access_rows(s, keys, n, values, missed, replicas, NULL, READ);
}

size_t rows_write(const struct store *s, const locus_key *keys, size_t n, const float *values,
                  enum row_change change, struct missed_row *missed, size_t *replicas, int *rc)
{
    /* only read: the one pipeline serves both directions */
    float *from = (float *)(uintptr_t)values;
    if (change == ROW_ADD) return access_rows(s, keys, n, from, missed, replicas, rc, ADD);
    return access_rows(s, keys, n, from, missed, replicas, rc, SET);
}
