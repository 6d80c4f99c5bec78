#include "store/slab.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/sync.h"

/* Slots beside those of the keys: address space, until rows need them. */
#ifdef LOCUS_FIBERS
enum { SLAB_MORE_MIN = 64, SLAB_MORE_MAX = 64 }; /* simulations copy their states */
#else
enum { SLAB_MORE_MIN = 64, SLAB_MORE_MAX = 1 << 16 };
#endif
#define SLAB_MORE_BYTES (UINT64_C(1) << 28)

static uint64_t slab_bytes(const struct slab *s)
{
    return s->slots * s->row_bytes;
}

static uint64_t chunk_count(const struct slab *s)
{
    return slab_bytes(s) / MEMORY_CHUNK_BYTES + 1;
}

static size_t taken_bytes(const struct slab *s)
{
    return (s->slots + 63) / 64 * sizeof *s->taken;
}

static uint64_t first_chunk(const struct slab *s, uint64_t slot)
{
    return slot * s->row_bytes / MEMORY_CHUNK_BYTES;
}

static uint64_t last_chunk(const struct slab *s, uint64_t slot)
{
    return ((slot + 1) * s->row_bytes - 1) / MEMORY_CHUNK_BYTES;
}

static uint64_t chunk_bytes(const struct slab *s, uint64_t chunk)
{
    uint64_t begin = chunk * MEMORY_CHUNK_BYTES, rest = slab_bytes(s) - begin;
    return rest < MEMORY_CHUNK_BYTES ? rest : MEMORY_CHUNK_BYTES;
}

static bool is_touched(const struct slab *s, uint64_t chunk)
{
    return s->chunk_rows[chunk] > 0 || s->empty == chunk;
}

static bool has_home_slots(const struct slab *s, uint64_t chunk)
{
    return s->home_slots > 0 && chunk <= last_chunk(s, s->home_slots - 1);
}

static bool plan(struct slab *s, size_t row_bytes, uint64_t keys, uint64_t home_slots,
                 struct slab_density *density)
{
    *s = (struct slab){.row_bytes = row_bytes,
                       .home_slots = home_slots,
                       .next_spare = home_slots,
                       .empty = SLAB_NONE,
                       .density = density};
    if (keys == 0) return true;
    /* Spare slots for every key, and as many again for those that wait for a grace period; more for
     * a small table, whose rows may move often during one. */
    if (keys > SIZE_MAX / 16 / s->row_bytes) return false;
    uint64_t more = SLAB_MORE_BYTES / s->row_bytes;
    if (more < SLAB_MORE_MIN) more = SLAB_MORE_MIN;
    if (more > SLAB_MORE_MAX) more = SLAB_MORE_MAX;
    s->slots = home_slots + 2 * keys + more;
    return true;
}

static bool reserve(struct slab *s, size_t bytes)
{
    if (s->slots == 0) return true;
    s->memory_bytes = bytes;
    s->memory = memory_reserve(bytes);
    s->rows = s->memory;
    s->is_owner = true;
    return s->rows != NULL;
}

static bool reserve_lists(struct slab *s)
{
    if (s->slots == 0) return true;
    s->chunk_rows = memory_reserve(chunk_count(s) * sizeof *s->chunk_rows);
    s->taken = memory_reserve(taken_bytes(s));
    return s->chunk_rows && s->taken && bitset_init(&s->released, s->slots);
}

bool slab_init(struct slab *s, uint32_t length, uint64_t keys, uint64_t home_slots,
               struct slab_density *density)
{
    bool ok = plan(s, length * sizeof(float), keys, home_slots, density);
    ok = ok && reserve(s, slab_bytes(s)) && reserve_lists(s);
    if (!ok) slab_fini(s);
    return ok;
}

/* A multiple of 1024 rows, so that the pairs begin with a page; and at least one row that belongs
 * to no key. */
uint64_t slab_first_pair(const struct slab *s)
{
    return (s->slots + 1024) / 1024 * 1024;
}

uint64_t slab_zero_slot(const struct slab *s)
{
    return slab_first_pair(s) - 1;
}

bool slab_init_with_pairs(struct slab *s, struct slab *pairs, uint32_t length, uint64_t keys,
                          uint64_t home_slots, uint64_t home_pairs, struct slab_density *density)
{
    size_t row = length * sizeof(float);
    *pairs = (struct slab){0};
    bool ok = plan(s, row, keys, home_slots, density) &&
              plan(pairs, 2 * row, keys, home_pairs, density);
    pairs->keeps_home = true;
    ok = ok && reserve(s, slab_first_pair(s) * row + slab_bytes(pairs)) && reserve_lists(s);
    pairs->rows = s->rows + slab_first_pair(s) * row;
    pairs->memory = s->memory;
    pairs->memory_bytes = s->memory_bytes;
    ok = ok && reserve_lists(pairs);
    if (ok) return true;
    slab_fini(pairs);
    slab_fini(s);
    return false;
}

void slab_fini(struct slab *s)
{
    if (s->slots == 0) return;
    if (s->is_owner) memory_release(s->memory, s->memory_bytes);
    memory_release(s->chunk_rows, chunk_count(s) * sizeof *s->chunk_rows);
    memory_release(s->taken, taken_bytes(s));
    bitset_fini(&s->released);
    *s = (struct slab){0};
}

static void count_density(struct slab *s, int64_t touched, int64_t held)
{
    __atomic_fetch_add(&s->density->touched_bytes, touched, __ATOMIC_RELAXED);
    __atomic_fetch_add(&s->density->held_bytes, held, __ATOMIC_RELAXED);
}

static void enter_chunk(struct slab *s, uint64_t chunk)
{
    if (s->chunk_rows[chunk]++ > 0) return;
    if (s->empty == chunk)
        s->empty = SLAB_NONE;
    else if (has_home_slots(s, chunk))
        count_density(s, (int64_t)chunk_bytes(s, chunk), 0);
}

static void discard_chunk(struct slab *s, uint64_t chunk)
{
    memory_discard(s->memory, s->memory_bytes, s->rows + chunk * MEMORY_CHUNK_BYTES,
                   chunk_bytes(s, chunk));
    if (has_home_slots(s, chunk)) count_density(s, -(int64_t)chunk_bytes(s, chunk), 0);
}

/* The lowest empty chunk is kept, so that a single row that comes and goes does not cost a page
 * fault each time. */
static void leave_chunk(struct slab *s, uint64_t chunk)
{
    if (--s->chunk_rows[chunk] > 0) return;
    if (s->empty == SLAB_NONE) {
        s->empty = chunk;
    } else if (s->empty > chunk) {
        discard_chunk(s, s->empty);
        s->empty = chunk;
    } else {
        discard_chunk(s, chunk);
    }
}

static bool home_is_dense_enough(const struct slab *s, uint64_t slot)
{
    int64_t untouched = 0;
    for (uint64_t c = first_chunk(s, slot); c <= last_chunk(s, slot); c++)
        if (!is_touched(s, c)) untouched += (int64_t)chunk_bytes(s, c);
    if (untouched == 0) return true;
    int64_t touched = __atomic_load_n(&s->density->touched_bytes, __ATOMIC_RELAXED);
    int64_t held = __atomic_load_n(&s->density->held_bytes, __ATOMIC_RELAXED);
    return touched + untouched <= 2 * (held + (int64_t)s->row_bytes) + SLAB_SLACK_BYTES;
}

static bool is_taken(const struct slab *s, uint64_t slot)
{
    return s->taken[slot / 64] >> slot % 64 & 1;
}

/* A home slot that was never used, or that its last tenant left, is free for its key. */
static uint64_t choose(const struct slab *s, uint64_t home)
{
    if (home != SLAB_NONE && !is_taken(s, home) && home_is_dense_enough(s, home)) return home;
    uint64_t slot = bitset_lowest(&s->released);
    if (slot != BITSET_NONE) return slot;
    return s->next_spare < s->slots ? s->next_spare : SLAB_NONE;
}

static uint64_t take(struct slab *s, uint64_t home)
{
    uint64_t slot = choose(s, home);
    LOCUS_YIELD();
    if (slot == SLAB_NONE) return slot;
    if (slot == s->next_spare)
        __atomic_store_n(&s->next_spare, s->next_spare + 1, __ATOMIC_RELAXED);
    else if (bitset_has(&s->released, slot))
        bitset_remove(&s->released, slot);
    s->taken[slot / 64] |= UINT64_C(1) << slot % 64;
    if (slot < s->home_slots) count_density(s, 0, (int64_t)s->row_bytes);
    for (uint64_t c = first_chunk(s, slot); c <= last_chunk(s, slot); c++) enter_chunk(s, c);
    __atomic_store_n(&s->held, s->held + 1, __ATOMIC_RELEASE);
    return slot;
}

uint64_t slab_take(struct slab *s, uint64_t home)
{
    latch_take(&s->latch);
    uint64_t slot = take(s, home);
    latch_give(&s->latch);
    if (slot == SLAB_NONE) return slot;
    memory_touched(s->memory, s->memory_bytes, slab_row(s, slot), s->row_bytes);
    return slot;
}

void slab_give(struct slab *s, uint64_t slot)
{
    latch_take(&s->latch);
    INVARIANT(slot < s->slots && is_taken(s, slot), "a slot was given back that was not taken");
    s->taken[slot / 64] &= ~(UINT64_C(1) << slot % 64);
    LOCUS_YIELD();
    if (!s->keeps_home || slot >= s->home_slots) bitset_add(&s->released, slot);
    if (slot < s->home_slots) count_density(s, 0, -(int64_t)s->row_bytes);
    for (uint64_t c = first_chunk(s, slot); c <= last_chunk(s, slot); c++) leave_chunk(s, c);
    __atomic_store_n(&s->held, s->held - 1, __ATOMIC_RELAXED);
    latch_give(&s->latch);
}

uint64_t slab_held(const struct slab *s)
{
    return __atomic_load_n(&s->held, __ATOMIC_RELAXED);
}

bool slab_is_full_at_home(const struct slab *s, uint64_t rows)
{
    /* Acquire: a thread that sees the last row counted sees where it went. Pairs with take(). */
    return __atomic_load_n(&s->held, __ATOMIC_ACQUIRE) == rows &&
           __atomic_load_n(&s->next_spare, __ATOMIC_RELAXED) == s->home_slots;
}
