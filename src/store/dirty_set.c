#include "store/store.h"

#include "base/sync.h"

bool dirty_set_init(struct dirty_set *d, uint64_t bound)
{
    *d = (struct dirty_set){.notify = NULL};
    return bitset_init(&d->keys, bound);
}

void dirty_set_fini(struct dirty_set *d)
{
    bitset_fini(&d->keys);
}

void dirty_set_add(struct dirty_set *d, uint64_t index)
{
    for (unsigned l = 0; l < d->keys.levels; l++, index /= 64) {
        uint64_t bit = UINT64_C(1) << index % 64;
        /* Sequentially consistent: a thread that finds a word empty goes up until it is seen; pairs
         * with take(). */
        uint64_t before = __atomic_fetch_or(&d->keys.level[l][index / 64], bit, __ATOMIC_SEQ_CST);
        LOCUS_YIELD();
        if (before) return;
    }
    if (d->notify) d->notify(d->context);
}

bool dirty_set_is_empty(const struct dirty_set *d)
{
    const struct bitset *keys = &d->keys;
    return keys->levels == 0 ||
           __atomic_load_n(&keys->level[keys->levels - 1][0], __ATOMIC_SEQ_CST) == 0;
}

static void take(struct dirty_set *d, unsigned level, uint64_t word, void (*each)(void *, uint64_t),
                 void *context)
{
    uint64_t bits = __atomic_exchange_n(&d->keys.level[level][word], 0, __ATOMIC_SEQ_CST);
    LOCUS_YIELD();
    for (; bits; bits &= bits - 1) {
        uint64_t child = word * 64 + (uint64_t)__builtin_ctzll(bits);
        if (level == 0)
            each(context, child);
        else
            take(d, level - 1, child, each, context);
    }
}

void dirty_set_take(struct dirty_set *d, void (*each)(void *, uint64_t), void *context)
{
    if (!dirty_set_is_empty(d)) take(d, d->keys.levels - 1, 0, each, context);
}
