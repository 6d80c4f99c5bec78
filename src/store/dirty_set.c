#include "store/dirty_set.h"

#include "base/memory.h"
#include "base/yield.h"

static uint64_t words_for(uint64_t bits)
{
    return (bits + 63) / 64;
}

bool dirty_set_init(struct dirty_set *m, uint64_t bound)
{
    uint64_t words = 0, bits = bound ? bound : 1;
    *m = (struct dirty_set){0};
    do {
        bits = words_for(bits);
        words += bits;
        m->levels++;
    } while (bits > 1);
    m->bytes = words * sizeof(uint64_t);
    m->memory = memory_reserve(m->bytes);
    if (!m->memory) return false;
    uint64_t *at = m->memory;
    bits = bound ? bound : 1;
    for (unsigned l = 0; l < m->levels; l++) {
        bits = words_for(bits);
        m->level[l] = at;
        at += bits;
    }
    return true;
}

void dirty_set_fini(struct dirty_set *m)
{
    memory_release(m->memory, m->bytes);
    *m = (struct dirty_set){0};
}

void dirty_set_add(struct dirty_set *m, uint64_t index)
{
    for (unsigned l = 0; l < m->levels; l++, index /= 64) {
        uint64_t bit = UINT64_C(1) << index % 64;
        /* Sequentially consistent: a thread that finds a word empty goes up until it is seen; pairs
         * with take(). */
        uint64_t before = __atomic_fetch_or(&m->level[l][index / 64], bit, __ATOMIC_SEQ_CST);
        LOCUS_YIELD();
        if (before) return;
    }
    if (m->notify) m->notify(m->context);
}

bool dirty_set_is_empty(const struct dirty_set *m)
{
    return m->levels == 0 || __atomic_load_n(&m->level[m->levels - 1][0], __ATOMIC_SEQ_CST) == 0;
}

static void take(struct dirty_set *m, unsigned level, uint64_t word, void (*each)(void *, uint64_t),
                 void *context)
{
    uint64_t bits = __atomic_exchange_n(&m->level[level][word], 0, __ATOMIC_SEQ_CST);
    LOCUS_YIELD();
    for (; bits; bits &= bits - 1) {
        uint64_t child = word * 64 + (uint64_t)__builtin_ctzll(bits);
        if (level == 0)
            each(context, child);
        else
            take(m, level - 1, child, each, context);
    }
}

void dirty_set_take(struct dirty_set *m, void (*each)(void *, uint64_t), void *context)
{
    if (!dirty_set_is_empty(m)) take(m, m->levels - 1, 0, each, context);
}
