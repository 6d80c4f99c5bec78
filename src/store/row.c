#include "store/row_private.h"

#include "base/error.h"

#include <errno.h>

/* A microsecond or two at most, for the other to take the latch. */
enum { GIVE_WAY_SPINS = 32 };

void row_give_way(const directory_word *word)
{
    directory_word free = directory_load(word);
    for (int i = 0; directory_load(word) == free && !directory_is_latched(free); i++) {
        LOCUS_YIELD();
        if (i == GIVE_WAY_SPINS) { /* it may wait for this very processor */
            sched_yield();
            return;
        }
        cpu_relax();
    }
}

/* ---- a worker's own copy: false, the row has none any more ---- */

static bool read_copy(struct copies *mine, struct row_ref s, float *values)
{
    struct copy *copy = copies_hold(mine, s);
    if (!copy) return false;
    partition_show(s.partition, values, copies_row(mine, copy), false);
    copies_release(mine, copy);
    return true;
}

/* Held. */
static void write_copy(struct copies *mine, struct copy *copy, const struct write *write)
{
    write_at(copy->row.partition, copies_row(mine, copy), write, copies_unsent(mine, copy),
             !copy->is_dirty, copies_draw(mine, copy));
    copy->is_dirty = true;
    LOCUS_YIELD();
    copies_release(mine, copy);
}

static bool add_to_copy(struct copies *mine, struct row_ref s, const struct write *write)
{
    struct copy *copy = copies_hold(mine, s);
    if (!copy) return false;
    write_copy(mine, copy, write);
    return true;
}

/* As write_at(). Where rows are not sums of floats, what the function makes of the values is set. */
static void edit_at(const struct partition *p, float *row, const struct row_edit *e, float *unsent,
                    bool is_first, uint64_t draw)
{
    const struct write write = {.change = ROW_SET, .values = e->scratch};
    LOCUS_YIELD();
    if (p->optimizer) {
        partition_show(p, e->scratch, row, false);
        e->change(e->context, e->scratch, p->length);
        write_at(p, row, &write, unsent, is_first, draw);
        return;
    }
    if (unsent && is_first) floats_copy(unsent, row, p->length);
    LOCUS_YIELD();
    row_edit_latched(row, p->length, e);
}

static bool edit_copy(struct copies *mine, struct row_ref s, const struct row_edit *e)
{
    struct copy *copy = copies_hold(mine, s);
    if (!copy) return false;
    edit_at(s.partition, copies_row(mine, copy), e, copies_unsent(mine, copy), !copy->is_dirty,
            copies_draw(mine, copy));
    copy->is_dirty = true;
    LOCUS_YIELD();
    copies_release(mine, copy);
    return true;
}

/* The row, whose word was w, has changed: who found its latch taken (`mine`, else NULL) may give it
 * copies. */
static void publish_changed(struct row_ref s, directory_word w, struct copies *mine)
{
    const directory_word *word = row_ref_word(s);
    bool awaited = !(w & DIRECTORY_HAS_COPIES) && directory_has_waiters(word);
    add_if_clean(s, w);
    LOCUS_YIELD();
    if (mine && copies_contended(mine, s))
        copies_begin(s, w);
    else
        unlatch(s, changed(w));
    if (__builtin_expect(awaited, 0)) row_give_way(word);
}

/* ---- reading ---- */

static void read_zeros(const struct partition *p, float *values, unsigned form)
{
    uint32_t values_alone = form & ROW_AS_STORED ? p->packed : p->length;
    floats_zero(values, values_alone + (form & ROW_WITH_STATE ? p->stored - p->packed : 0));
}

static void read_at(const struct partition *p, float *values, const float *row, unsigned form)
{
    if (form & ROW_AS_STORED)
        floats_copy(values, row, form & ROW_WITH_STATE ? p->stored : p->packed);
    else
        partition_show(p, values, row, form & ROW_WITH_STATE);
}

static int read_latched(struct row_ref s, float *values, unsigned form, struct copies *mine)
{
    directory_word w;
    while (directory_has_copies(w = latch_or_copies(s, mine)))
        if (read_copy(mine, s, values)) return directory_is_replica(w);
    if (!directory_is_latched(w)) return -EAGAIN;
    LOCUS_YIELD();
    if (directory_has_row(w))
        read_at(s.partition, values, slot_row(s.partition, w), form);
    else
        read_zeros(s.partition, values, form);
    /* nothing changed: the same version */
    directory_publish(row_ref_word(s), w & ~DIRECTORY_LATCH);
    return directory_has_row(w) ? directory_is_replica(w) : 0;
}

/* Here, and without a row: so it was at the moment of the load, latched or not, unless homes pass and
 * it is at home here only since then. */
static inline __attribute__((always_inline)) bool was_zeros(struct row_ref s, directory_word w)
{
    return !s.partition->tracks_all || directory_is_unchanged(row_ref_word(s), w);
}

int row_read_slowly(struct row_ref s, float *values, unsigned form, struct copies *mine)
{
    for (int i = 0; i < READ_ATTEMPTS; i++) {
        directory_word w = directory_load(row_ref_word(s));
        LOCUS_YIELD();
        if (directory_is_readable(w)) {
            read_at(s.partition, values, slot_row(s.partition, w), form);
            LOCUS_YIELD();
            if (directory_is_unchanged(row_ref_word(s), w)) return directory_is_replica(w);
        } else if (!row_ref_is_held(s, w)) {
            return -EAGAIN;
        } else if (!directory_has_row(w)) {
            read_zeros(s.partition, values, form);
            if (s.partition->is_full) return row_ref_is_home(s) ? 0 : ROW_ON_REPLICA;
            LOCUS_YIELD();
            if (was_zeros(s, w)) return 0;
        } else if (directory_has_copies(w)) {
            break;
        }
        cpu_relax();
    }
    return read_latched(s, values, form, mine);
}

const float *row_view_slowly(const struct store *st, struct row_ref s, struct copies *mine,
                             int *is_replica)
{
    for (;;) {
        directory_word w = directory_load(row_ref_word(s));
        LOCUS_YIELD();
        /* State and slot are valid even while the key is latched. */
        *is_replica = directory_has_row(w) ? directory_is_replica(w) : 0;
        if (!directory_has_row(w)) {
            if (!row_ref_is_held(s, w)) return NULL;
            if (was_zeros(s, w)) return st->zeros;
            continue;
        }
        if (!mine || !directory_has_copies(w)) return row_at(s, w);
        const float *copy = copies_view(mine, s);
        if (copy) return copy;
    }
}

/* ---- writing ---- */

/* The node's own: what it may do to a replica, too. */
static struct write write_of(const struct partition *p, const float *values, enum row_change change)
{
    const struct row_step step = p->optimizer ? optimizer_step(p->optimizer) : (struct row_step){0};
    return (struct write){change, values, step};
}

/* The same for a slot that no reader knows yet. */
static void write_new(struct row_ref s, directory_word w, uint64_t slot, const struct write *write,
                      float *unsent)
{
    struct partition *p = s.partition;
    if (!p->optimizer) {
        fill_slot(p, slot, write->values);
        if (unsent) floats_zero(unsent, p->length);
        return;
    }
    zero_slot(p, slot);
    write_at(p, partition_row(p, slot), write, unsent, true, draw_of(s, w));
}

/* A tracked row that was never written before. */
static void publish_first(struct row_ref s, directory_word w)
{
    add_if_clean(s, w);
    LOCUS_YIELD();
    unlatch(s, w | DIRECTORY_DIRTY);
}

/* Full replication: a first update of what is a replica of zeros. */
static int write_first_replica(struct row_ref s, const struct write *write, directory_word w)
{
    uint64_t slot = row_change_sets(write->change) ? SLAB_NONE : take_pair(s);
    LOCUS_YIELD();
    if (slot == SLAB_NONE) {
        unlatch(s, w);
        return row_change_sets(write->change) ? -EAGAIN : -ENOMEM;
    }
    write_new(s, 0, slot, write, partition_row(s.partition, slot + 1));
    publish_first(s, directory_held(DIRECTORY_REPLICA, slot, fresh_version(s.partition)));
    row_ref_touched(s);
    return ROW_ON_REPLICA;
}

/* After a first write. Another first write may still be under way: a view of its row shows it while
 * it is being written, as with any row. With one writer that is of the same call. */
static void partition_note_first(struct partition *p)
{
    if (!slab_is_full_at_home(&p->slab, p->keys)) return;
    /* with the rows; pairs with partition_is_array() */
    uint8_t is_array = false;
    __atomic_compare_exchange_n(&p->is_array, &is_array, true, false, __ATOMIC_RELEASE,
                                __ATOMIC_RELAXED);
    __atomic_store_n(&p->plain, p->plain_when_full, __ATOMIC_RELEASE);
}

/* The first write of a row: it gets a slot. The key is latched; w is its word. */
static int write_first(struct row_ref s, const struct write *write, directory_word w)
{
    uint64_t slot = slab_take(&s.partition->slab, own_slot(s));
    LOCUS_YIELD();
    if (slot == SLAB_NONE) {
        unlatch(s, w);
        return -ENOMEM;
    }
    write_new(s, 0, slot, write, NULL);
    LOCUS_YIELD();
    if (s.partition->tracks_all)
        publish_first(s, directory_held(DIRECTORY_TRACKED, slot, 1));
    else
        directory_publish(row_ref_word(s), main_word(s.partition, slot, 1));
    row_ref_touched(s);
    if (s.partition->is_alone) partition_note_first(s.partition);
    return 0;
}

/* Latched: a tracked row of zeros gets memory of its own. False: there is none. */
static bool materialize(struct row_ref s, directory_word *w)
{
    if (!partition_is_zeros(s.partition, *w)) return true;
    uint64_t slot = directory_is_replica(*w) ? take_pair(s)
                                             : slab_take(&s.partition->slab, own_slot(s));
    LOCUS_YIELD();
    if (slot == SLAB_NONE) return false;
    zero_slot(s.partition, slot);
    *w = directory_held(directory_state(*w), slot, directory_version(*w));
    return true;
}

static int write_tracked(struct row_ref s, directory_word w, const struct write *write,
                         struct copies *mine)
{
    bool replica = directory_is_replica(w);
    if (replica && row_change_sets(write->change)) {
        unlatch(s, w);
        return -EAGAIN;
    }
    if (!materialize(s, &w)) {
        unlatch(s, w);
        return -ENOMEM;
    }
    LOCUS_YIELD();
    write_at(s.partition, slot_row(s.partition, w), write,
             replica ? unsent_row(s.partition, w) : NULL, !(w & DIRECTORY_DIRTY), draw_of(s, w));
    publish_changed(s, w, mine);
    return replica;
}

int row_write_tracked(struct row_ref s, directory_word w, const float *values,
                      enum row_change change)
{
    const struct partition *p = s.partition;
    if (change == ROW_ADD && p->optimizer && !p->bf16 && directory_is_own_stepped(w)) {
        optimizer_step_row(p->optimizer, row_at(s, w), values);
        row_publish(row_ref_word(s), w);
        return 0;
    }
    const struct write write = write_of(p, values, change);
    return write_tracked(s, w, &write, NULL);
}

/* The key is latched, and w was its word before. */
static int write_latched(struct row_ref s, directory_word w, const struct write *write,
                         struct copies *mine)
{
    if (!directory_has_row(w))
        return row_ref_is_here(s, w) ? write_first(s, write, w) : write_first_replica(s, write, w);
    if (directory_state(w) != DIRECTORY_MAIN) return write_tracked(s, w, write, mine);
    LOCUS_YIELD();
    row_write_at(s, slot_row(s.partition, w), write->values, write->change);
    publish_changed(s, w, mine);
    return 0;
}

static int write_slowly(struct row_ref s, const struct write *write, struct copies *mine)
{
    directory_word w;
    bool sets = row_change_sets(write->change); /* the row itself */
    if (sets) mine = NULL;
    if (!mine && !sets)
        w = latch_beside(s);
    else
        while (directory_has_copies(w = latch_or_copies(s, mine)))
            if (add_to_copy(mine, s, write)) return directory_is_replica(w);
    return directory_is_latched(w) ? write_latched(s, w & ~DIRECTORY_LATCH, write, mine) : -EAGAIN;
}

int row_write_slowly(struct row_ref s, const float *values, enum row_change change,
                     struct copies *mine)
{
    const struct write write = write_of(s.partition, values, change);
    return write_slowly(s, &write, mine);
}

int row_step(struct row_ref s, const float *gradient, struct row_step step)
{
    const struct write write = {ROW_ADD, gradient, step};
    return write_slowly(s, &write, NULL);
}

/* A row that nobody else changes, for a caller's function: as in row_edit_at(). */
static const float *to_show(const struct partition *p, const float *row, float *copy)
{
#if !defined(LOCUS_TSAN) && !defined(LOCUS_FIBERS)
    if (!p->bf16) return row;
#endif
    partition_show(p, copy, row, false);
    return copy;
}

/* The values of a latched row. */
static const float *values_to_show(const struct partition *p, directory_word w, float *copy)
{
    if (directory_has_row(w)) return to_show(p, slot_row(p, w), copy);
    floats_zero(copy, p->length);
    return copy;
}

/* The step that the function wants of these values. */
static struct write step_of(const struct partition *p, const float *values,
                            row_gradient_fn *gradient, void *context, float *scratch)
{
    gradient(context, values, scratch, p->length);
    optimizer_begin_step(p->optimizer);
    return (struct write){ROW_ADD, scratch, optimizer_step(p->optimizer)};
}

int row_step_in_place(struct row_ref s, row_gradient_fn *gradient, void *context, float *scratch,
                      struct copies *mine)
{
    const struct partition *p = s.partition;
    float *shown = scratch + p->length;
    directory_word w = directory_load(row_ref_word(s));
    /* a replica's is asked for here, taken or not */
    struct copies *waits = directory_is_latched(w) ? mine : NULL;
    while (directory_has_copies(w = latch_or_copies(s, mine))) {
        struct copy *copy = copies_hold(mine, s);
        if (!copy) continue;
        const float *values = to_show(p, copies_row(mine, copy), shown);
        const struct write write = step_of(p, values, gradient, context, scratch);
        write_copy(mine, copy, &write);
        return directory_is_replica(w);
    }
    if (!directory_is_latched(w)) return -EAGAIN;
    w &= ~DIRECTORY_LATCH;
    const struct write write = step_of(p, values_to_show(p, w, shown), gradient, context, scratch);
    int rc = write_latched(s, w, &write, waits);
    if (rc < 0) optimizer_take_back_step(p->optimizer);
    return rc;
}

static int edit_tracked(struct row_ref s, directory_word w, const struct row_edit *e,
                        struct copies *mine)
{
    if (!materialize(s, &w)) {
        unlatch(s, w);
        return -ENOMEM;
    }
    bool replica = directory_is_replica(w);
    edit_at(s.partition, slot_row(s.partition, w), e, replica ? unsent_row(s.partition, w) : NULL,
            !(w & DIRECTORY_DIRTY), draw_of(s, w));
    publish_changed(s, w, mine);
    return replica;
}

int row_edit_tracked(struct row_ref s, directory_word w, const struct row_edit *e)
{
    return edit_tracked(s, w, e, NULL);
}

/* What it makes of zeros is its update as well. */
static int edit_first(struct row_ref s, const struct row_edit *e, directory_word w)
{
    const struct write write = {.change = ROW_ADD, .values = e->scratch};
    floats_zero(e->scratch, s.partition->length);
    e->change(e->context, e->scratch, s.partition->length);
    return row_ref_is_here(s, w) ? write_first(s, &write, w) : write_first_replica(s, &write, w);
}

int row_edit_slowly(struct row_ref s, const struct row_edit *e, struct copies *mine)
{
    directory_word w;
    while (directory_has_copies(w = latch_or_copies(s, mine)))
        if (edit_copy(mine, s, e)) return directory_is_replica(w);
    if (!directory_is_latched(w)) return -EAGAIN;
    w &= ~DIRECTORY_LATCH;
    if (!directory_has_row(w)) return edit_first(s, e, w);
    if (directory_state(w) != DIRECTORY_MAIN) return edit_tracked(s, w, e, mine);
    row_edit_latched(slot_row(s.partition, w), s.partition->length, e);
    publish_changed(s, w, mine);
    return 0;
}

/* The slot of a row that has left. */
static void leave(struct mover *m, struct partition *p, uint64_t slot)
{
    if (m->keeps)
        m->kept = slot == p->zero_slot ? SLAB_NONE : slot;
    else
        mover_free(m, p, slot);
}

int row_take(struct mover *m, struct row_ref s, float *values, bool *written, directory_word next)
{
    directory_word w = latch_here(s);
    if (!directory_is_latched(w)) return -EAGAIN;
    *written = directory_has_row(w) && !partition_is_zeros(s.partition, w);
    LOCUS_YIELD();
    if (*written && values)
        floats_copy(values, slot_row(s.partition, w), s.partition->stored);
    else if (values)
        floats_zero(values, s.partition->stored);
    LOCUS_YIELD();
    publish_moved(s, next);
    LOCUS_YIELD();
    if (*written) leave(m, s.partition, directory_slot(w));
    return 0;
}

bool row_take_empty(struct row_ref s, directory_word next)
{
    directory_word w = directory_load(row_ref_word(s));
    LOCUS_YIELD();
    if (directory_is_latched(w) || row_word_is_written(s, w) || !row_ref_is_here(s, w))
        return false;
    if (!try_move(s, w, next)) return false;
    row_ref_touched(s);
    return true;
}

bool row_take_unchanged(struct mover *m, struct row_ref s, directory_word then, directory_word next)
{
    LOCUS_YIELD();
    if (!try_move(s, then, next)) return false;
    leave(m, s.partition, directory_slot(then));
    return true;
}

uint64_t row_save(struct row_ref s, uint64_t slot, const float *values)
{
    if (slot == SLAB_NONE) slot = slab_take(&s.partition->slab, own_slot(s));
    if (slot != SLAB_NONE) fill_slot(s.partition, slot, values);
    return slot;
}

void row_adopt(struct row_ref s, uint64_t slot)
{
    publish_moved(s, main_word(s.partition, slot, fresh_version(s.partition)));
}

int row_put(struct row_ref s, const float *values)
{
    if (row_ref_is_here(s, directory_load(row_ref_word(s)))) return -EEXIST;
    if (!values) {
        publish_moved(s, directory_empty());
        return 0;
    }
    uint64_t slot = slab_take(&s.partition->slab, own_slot(s));
    if (slot == SLAB_NONE) return -ENOMEM;
    LOCUS_YIELD();
    fill_slot(s.partition, slot, values);
    LOCUS_YIELD();
    row_adopt(s, slot);
    return 0;
}
