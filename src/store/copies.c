#include "store/copies.h"

#include "base/error.h"
#include "base/sync.h"
#include "store/change.h"

#include <errno.h>
#include <stdlib.h>

enum {
    WAYS = 4, /* places for a row among a worker's copies: its words share a cache line */
    ROW_BYTES_MAX = 16 << 10, /* longer rows get no copies */
    ROWS_BYTES_MAX = 1 << 20, /* a worker's */
    FAILING = 64,
    SUSPECTS = 256,
    FAILURES_NS = 4000000, /* within this time */
#ifdef LOCUS_FIBERS
    FAILURES = 1,   /* of one worker at one latch */
    USES_WORTH = 2, /* fewer until a copy is too old: it does not pay */
    LONELY_MAX = 2,
#else
    FAILURES = 4,
    USES_WORTH = 8,
    LONELY_MAX = 4,
#endif
};

/* How often a worker found the latch of a row taken. */
struct failing {
    const directory_word *word;
    unsigned count;
    uint64_t since_ns;
};

/* A worker that found it taken too often. */
struct suspect {
    int latch;
    const directory_word *word;
    const struct copies *worker;
    uint64_t at_ns;
};

struct copies {
    struct all_copies *all;
    const struct reader *reader;
    enum { CHECK_EACH, CHECK_ONCE, CHECKED } age; /* which uses check how old copies are */
    directory_word **at; /* [slots] atomic; whose copies they are: NULL, nobody's */
    struct copy *copy;   /* [slots] */
    char *rows;          /* [slots], two each */
    struct failing failing[FAILING];
    /* Written by others, too. */
    unsigned held __attribute__((aligned(64))); /* atomic: slots in use */
    uint64_t swept_ns; /* atomic: when the worker last looked how old they are */
} __attribute__((aligned(64)));

struct all_copies {
    unsigned workers, slots;
    uint32_t row_bytes; /* of the longest row that can have copies */
    uint64_t begun;     /* atomic */
    struct suspect suspect[SUSPECTS];
    struct copies of[];
};

static uint64_t hash_of(const directory_word *word)
{
    return (uint64_t)(uintptr_t)word * UINT64_C(0x9E3779B97F4A7C15) >> 40;
}

static unsigned first_slot(const struct all_copies *all, const directory_word *word)
{
    return (unsigned)(hash_of(word) % (all->slots / WAYS)) * WAYS;
}

static directory_word *slot_word(const struct copies *c, unsigned slot)
{
    return __atomic_load_n(&c->at[slot], __ATOMIC_ACQUIRE);
}

/* COPIES_MAX: none. While the word's second latch is held the answer stays true. */
static inline unsigned find(const struct copies *c, const directory_word *word)
{
    unsigned first = first_slot(c->all, word);
    for (unsigned i = first; i < first + WAYS; i++)
        if (slot_word(c, i) == word) return i;
    return COPIES_MAX;
}

float *copies_row(const struct copies *c, const struct copy *copy)
{
    size_t slot = (size_t)(copy - c->copy);
    return (float *)(void *)(c->rows + slot * 2 * c->all->row_bytes);
}

float *copies_unsent(const struct copies *c, const struct copy *copy)
{
    return copies_row(c, copy) + c->all->row_bytes / sizeof(float);
}

uint64_t copies_draw(const struct copies *c, const struct copy *copy)
{
    if (!copy->row.partition->draws) return 0;
    uint64_t row = draw_at(copy->row, copy->version);
    return bf16_draw(row, ((uint64_t)(c - c->all->of) + 1) * COPIES_USES + copy->uses);
}

/* ---- the second latch ---- */

directory_word copies_hold_word(directory_word *word)
{
    unsigned spins = 0;
    for (;;) {
        directory_word w = directory_load(word);
        LOCUS_YIELD();
        if (!directory_has_copies(w)) return 0;
        if (w & DIRECTORY_WAITERS) {
            spin_wait(&spins);
            continue;
        }
        if (!__atomic_compare_exchange_n(word, &w, w | DIRECTORY_WAITERS, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        FENCE(__ATOMIC_RELEASE); /* as in directory_try_latch() */
        return w;
    }
}

/* Held, both: the copy's updates go into the row. Returns its word; the shard knows of it before
 * anybody can see that the copy has no updates any more. */
static directory_word fold(const struct copies *c, struct copy *copy, directory_word w)
{
    if (!copy->is_dirty) return w;
    LOCUS_YIELD();
    const struct partition *p = copy->row.partition;
    float *row = slot_row(p, w), *unsent = directory_is_replica(w) ? unsent_row(p, w) : NULL;
    fold_at(p, row, copies_row(c, copy), copies_unsent(c, copy), unsent, !(w & DIRECTORY_DIRTY),
            draw_of(copy->row, w));
    add_if_clean(copy->row, w);
    copy->is_dirty = false;
    return changed(w);
}

/* The held word of the row whose copy the slot is; 0: it is nobody's. */
static directory_word hold_slot(const struct copies *c, unsigned slot)
{
    directory_word *word = slot_word(c, slot), w = word ? copies_hold_word(word) : 0;
    if (!w || slot_word(c, slot) == word) return w;
    directory_publish(word, w);
    return 0;
}

/* For all but an access of its worker, which waits for us: what a caller's function does with the
 * copy may take long, and its next call comes at once. */
static void take_first(struct copy *copy)
{
    __atomic_fetch_add(&copy->waiters, 1, __ATOMIC_RELAXED);
    latch_take(&copy->latch);
    __atomic_fetch_sub(&copy->waiters, 1, __ATOMIC_RELAXED);
}

/* Held: the slot is nobody's any more. */
static directory_word empty_slot(struct copies *c, unsigned slot, directory_word w)
{
    struct copy *copy = &c->copy[slot];
    take_first(copy);
    w = fold(c, copy, w);
    __atomic_store_n(&c->at[slot], NULL, __ATOMIC_RELEASE);
    __atomic_sub_fetch(&c->held, 1, __ATOMIC_RELEASE);
    LOCUS_YIELD();
    latch_give(&copy->latch);
    return w;
}

/* Held. */
static void end(struct row_ref s, directory_word w)
{
    struct all_copies *all = s.partition->copies;
    for (unsigned i = 0; i < all->workers; i++) {
        unsigned slot = find(&all->of[i], row_ref_word(s));
        if (slot < COPIES_MAX) w = empty_slot(&all->of[i], slot, w);
    }
    LOCUS_YIELD();
    unlatch(s, (w & ~DIRECTORY_HAS_COPIES & ~DIRECTORY_LATCH) + DIRECTORY_VERSION_ONE);
}

void copies_end(struct row_ref s)
{
    directory_word w = copies_hold_word(row_ref_word(s));
    if (w) end(s, w);
}

/* ---- exchange ---- */

/* Held, both: the copy is the row. */
static void renew(const struct copies *c, struct copy *copy, directory_word w, uint64_t version)
{
    copy->uses = 0;
    copy->since_ns = LOCUS_NOW_NS();
    copy->version = version;
    floats_copy(copies_row(c, copy), slot_row(copy->row.partition, w), copy->row.partition->stored);
}

/* Held: the copy is the row, which has its updates. */
static directory_word exchange_held(const struct copies *c, struct copy *copy, directory_word w)
{
    take_first(copy);
    copy->lonely = copy->version == directory_version(w) ? copy->lonely + 1 : 0;
    w = fold(c, copy, w);
    renew(c, copy, w, directory_version(w));
    latch_give(&copy->latch);
    LOCUS_YIELD();
    return w;
}

static void exchange(struct copies *c, unsigned slot)
{
    struct copy *copy = &c->copy[slot];
    struct row_ref s = copy->row;
    directory_word w = hold_slot(c, slot);
    if (!w) return;
    unlatch(s, exchange_held(c, copy, w));
    if (copy->lonely >= LONELY_MAX) copies_end(s);
}

/* What another worker keeps that has not looked for long. */
static void take_from(struct copies *other)
{
    for (unsigned slot = 0; slot < other->all->slots; slot++) {
        directory_word w = hold_slot(other, slot);
        if (!w) continue;
        struct row_ref s = other->copy[slot].row;
        unlatch(s, empty_slot(other, slot, w));
    }
}

void copies_fold_all(const struct store *s)
{
    struct all_copies *all = s->copies;
    for (unsigned i = 0; all && i < all->workers; i++) {
        struct copies *c = &all->of[i];
        bool has_some = __atomic_load_n(&c->held, __ATOMIC_ACQUIRE) > 0;
        for (unsigned slot = 0; has_some && slot < all->slots; slot++) {
            struct copy *copy = &c->copy[slot];
            directory_word w = hold_slot(c, slot);
            if (!w) continue;
            take_first(copy);
            w = fold(c, copy, w);
            latch_give(&copy->latch);
            unlatch(copy->row, w);
        }
    }
}

/* Is it long since the worker looked, who has copies? */
static bool is_idle(const struct copies *c, uint64_t now_ns)
{
    uint64_t swept_ns = __atomic_load_n(&c->swept_ns, __ATOMIC_RELAXED);
    return now_ns > swept_ns && now_ns - swept_ns > 2 * COPIES_AGE_NS;
}

/* Returns whether there are copies. */
static bool take_idle(struct all_copies *all, uint64_t now_ns)
{
    bool are_some = false;
    for (unsigned i = 0; i < all->workers; i++) {
        struct copies *c = &all->of[i];
        if (__atomic_load_n(&c->held, __ATOMIC_SEQ_CST) == 0) continue;
        if (is_idle(c, now_ns)) take_from(c);
        are_some = true;
    }
    return are_some;
}

uint64_t copies_take_idle(const struct store *s, uint64_t now_ns)
{
    return s->copies && take_idle(s->copies, now_ns) ? now_ns + 2 * COPIES_AGE_NS : UINT64_MAX;
}

/* Own copies that are too old are exchanged, or end; those of a worker that uses none, too. */
static void sweep(struct copies *c, uint64_t now_ns)
{
    struct all_copies *all = c->all;
    __atomic_store_n(&c->swept_ns, now_ns, __ATOMIC_RELAXED);
    take_idle(all, now_ns);
    for (unsigned slot = 0; slot < all->slots; slot++) {
        const struct copy *copy = &c->copy[slot];
        if (!slot_word(c, slot) || now_ns - copy->since_ns < COPIES_AGE_NS) continue;
        if (copy->uses < USES_WORTH)
            copies_end(copy->row);
        else
            exchange(c, slot);
    }
}

/* ---- use ---- */

/* A slot that no view of the present section shows, unless as the same row. */
static unsigned free_slot(const struct copies *c, const directory_word *word)
{
    unsigned first = first_slot(c->all, word);
    for (unsigned i = first; i < first + WAYS; i++) {
        const struct copy *copy = &c->copy[i];
        bool is_seen = c->reader->depth > 0 && copy->section == c->reader->section &&
                       row_ref_word(copy->row) != word;
        if (!slot_word(c, i) && !is_seen) return i;
    }
    return COPIES_MAX;
}

/* A new copy. Nobody else gives slots of this worker to rows. */
static void make(struct copies *c, struct row_ref s)
{
    directory_word *word = row_ref_word(s);
    unsigned slot = free_slot(c, word);
    if (slot == COPIES_MAX) {
        copies_end(s);
        return;
    }
    struct copy *copy = &c->copy[slot];
    directory_word w = copies_hold_word(word);
    if (!w) return;
    take_first(copy);
    copy->row = s;
    copy->lonely = 0;
    renew(c, copy, w, directory_version(w));
    bool is_first = __atomic_add_fetch(&c->held, 1, __ATOMIC_SEQ_CST) == 1;
    __atomic_store_n(&c->at[slot], word, __ATOMIC_RELAXED);
    latch_give(&copy->latch);
    LOCUS_YIELD();
    directory_publish(word, w);
    /* A shard has a turn: from now on it looks whether the worker still does. */
    if (is_first && s.partition->dirty) dirty_set_add(s.partition->dirty, s.index);
}

void copies_use_many(struct copies *c, bool begin)
{
    if (c) c->age = begin ? CHECK_ONCE : CHECK_EACH;
}

static void check_age(struct copies *c)
{
    uint64_t now_ns = LOCUS_NOW_NS();
    if (now_ns - c->swept_ns >= COPIES_AGE_NS) sweep(c, now_ns);
    if (c->age == CHECK_ONCE) c->age = CHECKED;
}

struct copy *copies_hold(struct copies *c, struct row_ref s)
{
    if (c->age != CHECKED) check_age(c);
    const directory_word *word = row_ref_word(s);
    unsigned slot = find(c, word);
    if (slot == COPIES_MAX) {
        make(c, s);
        slot = find(c, word);
    }
    if (slot == COPIES_MAX) return NULL;
    struct copy *copy = &c->copy[slot];
    LOCUS_YIELD();
    for (unsigned spins = 0; __atomic_load_n(&copy->waiters, __ATOMIC_RELAXED);) spin_wait(&spins);
    latch_take(&copy->latch);
    LOCUS_YIELD();
    if (slot_word(c, slot) == word) return copy;
    latch_give(&copy->latch); /* it was taken in the last moment */
    if (c->age == CHECKED) c->age = CHECK_ONCE;
    return NULL;
}

void copies_release(struct copies *c, struct copy *copy)
{
    unsigned slot = (unsigned)(copy - c->copy);
    bool is_due = ++copy->uses >= COPIES_USES;
    latch_give(&copy->latch);
    if (is_due) exchange(c, slot);
}

const float *copies_view(struct copies *c, struct row_ref s)
{
    struct copy *copy = copies_hold(c, s);
    if (!copy) return NULL;
    copy->section = c->reader->section;
    const float *row = copies_row(c, copy);
    copies_release(c, copy);
    return row;
}

void copies_drain(struct copies *c)
{
    if (!c || __atomic_load_n(&c->held, __ATOMIC_ACQUIRE) == 0) return;
    for (unsigned slot = 0; slot < c->all->slots; slot++) {
        directory_word w = hold_slot(c, slot);
        if (w) end(c->copy[slot].row, w);
    }
}

void copies_drain_all(const struct store *s)
{
    for (unsigned i = 0; s->copies && i < s->copies->workers; i++) copies_drain(&s->copies->of[i]);
}

/* ---- contention ---- */

/* Has another worker found the same latch taken as often, a moment ago? Else the next one knows of
 * us. */
static bool is_contended(const struct copies *c, const directory_word *word, uint64_t now_ns)
{
    struct suspect *t = &c->all->suspect[hash_of(word) % SUSPECTS];
    latch_take(&t->latch);
    bool contended = t->word == word && t->worker != c && now_ns - t->at_ns < FAILURES_NS;
    *t = (struct suspect){.latch = 1, .word = word, .worker = c, .at_ns = now_ns};
    latch_give(&t->latch);
    return contended;
}

bool copies_contended(struct copies *c, struct row_ref s)
{
    const directory_word *word = row_ref_word(s);
    if (!c || s.partition->row_bytes > c->all->row_bytes) return false;
    struct failing *f = &c->failing[hash_of(word) % FAILING];
    uint64_t now_ns = LOCUS_NOW_NS();
    if (f->word != word || now_ns - f->since_ns > FAILURES_NS)
        *f = (struct failing){.word = word, .since_ns = now_ns};
    if (++f->count < FAILURES) return false;
    f->word = NULL;
    return is_contended(c, word, now_ns) && free_slot(c, word) < COPIES_MAX;
}

void copies_begin(struct row_ref s, directory_word w)
{
    /* before any update is in a copy: a view of an array shows the row alone; pairs with
     * partition_is_array() */
    __atomic_store_n(&s.partition->is_array, PARTITION_NO_ARRAY, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&s.partition->copies->begun, 1, __ATOMIC_RELAXED);
    LOCUS_YIELD();
    unlatch(s, changed(w) | DIRECTORY_HAS_COPIES);
}

uint64_t copies_begun(const struct store *s)
{
    return s->copies ? __atomic_load_n(&s->copies->begun, __ATOMIC_RELAXED) : 0;
}

/* ---- life ---- */

static size_t slots_bytes(const struct all_copies *all)
{
    return all->slots * (sizeof(directory_word *) + sizeof(struct copy) + 2 * all->row_bytes);
}

static void use_memory(struct copies *c, const struct all_copies *all, char *memory)
{
    c->copy = (struct copy *)(void *)memory;
    c->rows = memory + all->slots * sizeof(struct copy);
    c->at = (directory_word **)(void *)(c->rows + (size_t)all->slots * 2 * all->row_bytes);
}

static void choose_slots(struct all_copies *all, uint32_t longest)
{
    uint32_t bytes = longest * (uint32_t)sizeof(float);
    all->row_bytes = bytes < ROW_BYTES_MAX ? (bytes + 63) / 64 * 64 : ROW_BYTES_MAX;
    all->slots = COPIES_MAX;
    while ((size_t)all->slots * 2 * all->row_bytes > ROWS_BYTES_MAX) all->slots /= 2;
}

int copies_open(struct store *s, unsigned workers)
{
    size_t bytes = sizeof(struct all_copies) + workers * sizeof(struct copies);
    struct all_copies *all = aligned_alloc(_Alignof(struct all_copies), bytes);
    if (!all) return error_set(-ENOMEM, "no memory for the copies of %u workers", workers);
    memset(all, 0, bytes);
    s->copies = all;
    choose_slots(all, keyspace_longest(&s->keyspace));
    for (; all->workers < workers; all->workers++) {
        char *memory = memory_reserve(slots_bytes(all));
        if (!memory)
            return error_set(-ENOMEM, "no address space for copies of rows: raise `ulimit -v`");
        all->of[all->workers].all = all;
        use_memory(&all->of[all->workers], all, memory);
    }
    for (size_t i = 0; i < (size_t)s->keyspace.shards * s->keyspace.ranges; i++)
        s->partition[i].copies = all;
    return 0;
}

void copies_close(struct store *s)
{
    struct all_copies *all = s->copies;
    for (unsigned i = 0; all && i < all->workers; i++)
        memory_release(all->of[i].copy, slots_bytes(all));
    free(all);
    s->copies = NULL;
}

struct copies *copies_of(const struct store *s, unsigned worker, const struct reader *reader)
{
    if (!s->copies) return NULL;
    s->copies->of[worker].reader = reader;
    return &s->copies->of[worker];
}
