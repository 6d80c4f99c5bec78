#include "store/row.h"

#include <errno.h>

/* Prefetching. In a cluster of one a key's word and home slot follow from the key, so both can be
 * loaded at the same time. With several nodes most rows are elsewhere, and useless prefetches take
 * the place and the time of useful ones. Rows go to the second level of the cache, because the
 * first must also hold the caller's buffer. (Figures: lab/design/row-access.md.) */
enum {
    FETCH_LINES_MAX = 16, /* the processor goes on by itself in a longer row */
    CACHE_LINE = 64,
};

/* To write: exclusively, because the shard has read or written the line. (The compiler does not
 * emit the instruction, because some processors lack it; they ignore it.) */
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
    const char *end = row + (p->row_bytes < FETCH_LINES_MAX * CACHE_LINE
                                 ? p->row_bytes
                                 : FETCH_LINES_MAX * CACHE_LINE);
    for (const char *at = row; at < end; at += CACHE_LINE) fetch_line(at, to_write);
    fetch_line(end - 1, to_write); /* a row need not begin with its line */
}

void row_fetch_to_write(struct row_ref s)
{
    fetch_line((const char *)row_ref_word(s), true);
    if (!s.partition->computes_replicas) return;
    uint64_t slot = row_ref_computed_slot(s);
    fetch_slot(s.partition, slot, true);
    if (s.partition->optimizer && slot >= s.partition->first_pair)
        fetch_slot(s.partition, slot + 1, true);
}

/* The word is prefetched for reading, although a writer will change it. If no other core has the
 * line, it comes exclusively anyway. If another thread works on it, taking it away long before it
 * is needed costs both threads time. */
static inline __attribute__((always_inline)) struct row_ref fetch_word(const struct store *s,
                                                                       locus_key key)
{
    struct row_ref ref = store_row_ref(s, key);
    if (!partition_plain(ref.partition)) __builtin_prefetch(row_ref_word(ref), 0, 3);
    return ref;
}

enum fetch { TO_READ, TO_WRITE, TO_EITHER };

/* The word has arrived by now: prefetches the row from where it is; for a write also the slot
 * behind it, where a clean replica keeps what it was, and one with an optimizer the delta of its
 * steps. For a write exclusively, because the shard and other workers read and write the same rows
 * on other processors. */
static inline __attribute__((always_inline)) void fetch_found(struct row_ref s, enum fetch fetch)
{
    if (partition_plain(s.partition)) {
        fetch_slot(s.partition, row_ref_number(s), false);
        return;
    }
    directory_word w = __atomic_load_n(row_ref_word(s), __ATOMIC_RELAXED);
    if (!directory_has_row(w)) return;
    fetch_slot(s.partition, directory_slot(w), fetch == TO_WRITE);
    if (fetch != TO_READ && directory_is_replica(w) &&
        (!(w & DIRECTORY_DIRTY) || s.partition->optimizer))
        fetch_slot(s.partition, directory_slot(w) + 1, true);
}

void rows_fetch(const struct store *s, const locus_key *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        locus_key key = keys[i];
        const struct partition *p = store_block_partition(s, key);
        if (__builtin_expect(p && partition_plain(p), 1)) {
            fetch_slot(p, key - p->first_number, false);
            continue;
        }
        struct row_ref ref = fetch_word(s, key);
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

/* A batch is a pipeline: a key is located and its word prefetched WORD_AHEAD steps before its
 * access, and its row fewer steps before. The processor cannot load more long rows at the same
 * time; fewer short rows do not fill the time of one load; and with fewer words ahead, rows in a
 * cluster wait for their words. */
enum { WORD_AHEAD = 64, LONG_ROW_AHEAD = 24, SHORT_ROW_AHEAD = 40, SHORT_ROW_BYTES = 256 };

/* The fields of the row references are stored separately, so that none is read wider than it was
 * written (store.h has the cost of that). */
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

static inline struct row_ref located(const struct pipeline *p, size_t i)
{
    return (struct row_ref){p->partition[i % WORD_AHEAD], p->index[i % WORD_AHEAD]};
}

static inline size_t row_ahead(const struct partition *p)
{
    return p->row_bytes <= SHORT_ROW_BYTES ? SHORT_ROW_AHEAD : LONG_ROW_AHEAD;
}

enum access { READ, READ_ANY, ADD, SET };

static inline __attribute__((always_inline)) size_t access_rows(
    const struct store *s, struct copies *mine, const locus_key *keys, size_t n, float *values,
    struct missed_row *missed, size_t *replicas, int *rc, enum access access)
{
    const enum fetch fetch = access <= READ_ANY ? TO_READ : TO_WRITE;
    struct pipeline p;
    size_t offset = 0, misses = 0;
    for (size_t i = 0; i < n && i < WORD_AHEAD; i++) locate(&p, i, s, keys[i]);
    const size_t ahead = n > 0 ? row_ahead(p.partition[0]) : 0;
    for (size_t i = 0; i < n && i < ahead; i++) fetch_found(located(&p, i), fetch);
    for (size_t i = 0; i < n; i++) {
        struct row_ref now = located(&p, i);
        if (i % WORD_AHEAD == 0) copies_use_many(mine, true);
        if (i + ahead < n) fetch_found(located(&p, i + ahead), fetch);
        if (i + WORD_AHEAD < n) locate(&p, i + WORD_AHEAD, s, keys[i + WORD_AHEAD]);
        float *at = values + offset;
        int done = access == READ ? row_read_by(now, at, mine)
                   : access == READ_ANY
                       ? row_read_any(now, at, mine)
                       : row_write_by(now, at, access == ADD ? ROW_ADD : ROW_SET, mine);
        if (__builtin_expect(done > 0, 0)) ++*replicas;
        if (__builtin_expect(done < 0, 0)) {
            if (done == -ENOMEM && rc) *rc = done;
            if (missed) missed[misses] = (struct missed_row){i, offset};
            misses++;
        }
        offset += now.partition->length;
    }
    copies_use_many(mine, false);
    return misses;
}

size_t rows_read(const struct store *s, struct copies *mine, const locus_key *keys, size_t n,
                 float *values, struct missed_row *missed, size_t *replicas)
{
    if (s->has_bf16) return access_rows(s, mine, keys, n, values, missed, replicas, NULL, READ_ANY);
    return access_rows(s, mine, keys, n, values, missed, replicas, NULL, READ);
}

size_t rows_write(const struct store *s, struct copies *mine, const locus_key *keys, size_t n,
                  const float *values, enum row_change change, struct missed_row *missed,
                  size_t *replicas, int *rc)
{
    /* only read: the one pipeline serves both directions */
    float *from = (float *)(uintptr_t)values;
    if (change == ROW_ADD) return access_rows(s, mine, keys, n, from, missed, replicas, rc, ADD);
    return access_rows(s, mine, keys, n, from, missed, replicas, rc, SET);
}

size_t rows_access_stored(const struct store *s, const locus_key *keys, size_t n, float *rows,
                          bool sets, struct missed_row *missed, size_t *replicas, int *rc)
{
    size_t misses = 0, offset = 0;
    for (size_t i = 0; i < n; i++) {
        struct row_ref ref = store_row_ref(s, keys[i]);
        float *at = rows + offset;
        int done = sets ? row_write(ref, at, ROW_SET_STATE) : row_read_as(ref, at, ROW_WITH_STATE);
        if (done > 0) ++*replicas;
        if (done == -ENOMEM) *rc = done;
        if (done < 0 && missed) missed[misses] = (struct missed_row){i, offset};
        misses += done < 0;
        offset += partition_full(ref.partition);
    }
    return misses;
}
