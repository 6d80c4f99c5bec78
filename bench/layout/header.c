/*
 * Latch and version in the row. The slab is the library's, of rows that are longer by the header;
 * so are the directory words, whose latch and version stay unused here.
 *
 * That a row leaves and its slot gets another tenant changes both its directory word and the
 * header. A reader takes the header, copies, and then finds first the directory word and then the
 * header as they were: so the key had the slot at a moment between two looks at the header, and
 * nothing happened to the slot in between. A writer looks at the directory word again when it has
 * the latch, without which no row leaves.
 */
#include "layout.h"

#include "store/row.h"

#include <stdlib.h>

enum { LATCH = 1, VERSION_ONE = 2 }; /* the header: bit 0 the latch, the rest the version */
/* as in the library */
enum { READ_ATTEMPTS = 4, AHEAD = 32, MOVED_AHEAD = 16, FETCH_LINES_MAX = 16, CACHE_LINE = 64 };

struct headed_row {
    uint64_t header;
    float values[];
};

struct headed {
    struct store store; /* of one table; its rows are headed_rows */
    uint32_t length;    /* floats */
};

static inline struct row_ref row_ref_of(const struct headed *h, uint64_t key)
{
    return store_row_ref(&h->store, key);
}

/* Words that nobody writes may share a cache line. */
static inline directory_word *word_of(struct row_ref s)
{
    return &s.partition->words[s.index];
}

/* At the address computed from the key, ahead of the directory word's arrival, as in row.h. */
static inline struct headed_row *headed_at(struct row_ref s, directory_word w)
{
    return (struct headed_row *)(void *)row_at(s, w);
}

static inline bool try_latch(struct headed_row *row, uint64_t header)
{
    bool ok = __atomic_compare_exchange_n(&row->header, &header, header | LATCH, false,
                                          __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
    /* the latch is visible before the first change; pairs with the fence in is_unchanged() */
    FENCE(__ATOMIC_RELEASE);
    return ok;
}

/* First the directory, then the header; the acquire keeps this order. */
static inline bool is_unchanged(struct row_ref s, directory_word w, const struct headed_row *row,
                                uint64_t header)
{
    FENCE(__ATOMIC_ACQUIRE);
    return directory_load(word_of(s)) == w &&
           __atomic_load_n(&row->header, __ATOMIC_RELAXED) == header;
}

enum outcome { DONE, DISTURBED, ELSEWHERE };

static inline enum outcome read_once(const struct headed *h, struct row_ref s, float *values)
{
    directory_word w = directory_load(word_of(s));
    if (__builtin_expect(directory_state(w) != DIRECTORY_MAIN, 0)) return ELSEWHERE;
    struct headed_row *row = headed_at(s, w);
    uint64_t header = __atomic_load_n(&row->header, __ATOMIC_ACQUIRE);
    if (__builtin_expect(header & LATCH, 0)) return DISTURBED;
    floats_copy(values, row->values, h->length);
    return __builtin_expect(is_unchanged(s, w, row, header), 1) ? DONE : DISTURBED;
}

static inline enum outcome latch_once(struct row_ref s, directory_word w, struct headed_row *row,
                                      uint64_t *header)
{
    *header = __atomic_load_n(&row->header, __ATOMIC_RELAXED);
    if (__builtin_expect(*header & LATCH || !try_latch(row, *header), 0)) return DISTURBED;
    if (__builtin_expect(directory_load(word_of(s)) == w, 1)) return DONE;
    __atomic_store_n(&row->header, *header, __ATOMIC_RELEASE);
    return DISTURBED;
}

static inline enum outcome add_once(const struct headed *h, struct row_ref s, const float *updates)
{
    directory_word w = __atomic_load_n(word_of(s), __ATOMIC_RELAXED);
    if (__builtin_expect(directory_state(w) != DIRECTORY_MAIN, 0)) return ELSEWHERE;
    struct headed_row *row = headed_at(s, w);
    uint64_t header;
    enum outcome outcome = latch_once(s, w, row, &header);
    if (__builtin_expect(outcome != DONE, 0)) return outcome;
    s.partition->add(row->values, updates, h->length);
    __atomic_store_n(&row->header, header + VERSION_ONE, __ATOMIC_RELEASE);
    return DONE;
}

static enum outcome read_latched_once(const struct headed *h, struct row_ref s, float *values)
{
    directory_word w = directory_load(word_of(s));
    if (directory_state(w) != DIRECTORY_MAIN) return ELSEWHERE;
    struct headed_row *row = headed_at(s, w);
    uint64_t header;
    enum outcome outcome = latch_once(s, w, row, &header);
    if (outcome != DONE) return outcome;
    floats_copy(values, row->values, h->length);
    /* nothing changed: the same version */
    __atomic_store_n(&row->header, header, __ATOMIC_RELEASE);
    return DONE;
}

static __attribute__((noinline)) enum outcome read_slowly(const struct headed *h, uint64_t key,
                                                          float *values)
{
    struct row_ref s = row_ref_of(h, key);
    enum outcome outcome = DISTURBED;
    for (int i = 0; i < READ_ATTEMPTS && outcome == DISTURBED; i++) {
        outcome = read_once(h, s, values);
        if (outcome == DISTURBED) cpu_relax();
    }
    unsigned spins = 0;
    while (outcome == DISTURBED) {
        outcome = read_latched_once(h, s, values);
        if (outcome == DISTURBED) spin_wait(&spins);
    }
    return outcome;
}

static __attribute__((noinline)) enum outcome add_slowly(const struct headed *h, uint64_t key,
                                                         const float *updates)
{
    struct row_ref s = row_ref_of(h, key);
    unsigned spins = 0;
    enum outcome outcome;
    while ((outcome = add_once(h, s, updates)) == DISTURBED) spin_wait(&spins);
    return outcome;
}

/* Whether the key was a miss. */
static inline bool read_row(const struct headed *h, uint64_t key, float *values)
{
    enum outcome outcome = read_once(h, row_ref_of(h, key), values);
    if (__builtin_expect(outcome == DISTURBED, 0)) outcome = read_slowly(h, key, values);
    return outcome != DONE;
}

static inline bool add_row(const struct headed *h, uint64_t key, const float *updates)
{
    enum outcome outcome = add_once(h, row_ref_of(h, key), updates);
    if (__builtin_expect(outcome == DISTURBED, 0)) outcome = add_slowly(h, key, updates);
    return outcome != DONE;
}

/* ---- 64 keys: the pipeline of the library ---- */

/* A compiler may drop the call of a function that only fetches ahead: it has no result. Hence
 * always_inline. */
static inline __attribute__((always_inline)) void fetch_slot(const struct partition *p,
                                                             uint64_t slot)
{
    const char *row = p->rows + slot * p->row_bytes;
    uint32_t bytes = p->row_bytes < FETCH_LINES_MAX * CACHE_LINE ? p->row_bytes
                                                                 : FETCH_LINES_MAX * CACHE_LINE;
    for (uint32_t at = 0; at < bytes; at += CACHE_LINE) __builtin_prefetch(row + at, 0, 2);
    __builtin_prefetch(row + bytes - 1, 0, 2);
}

static inline __attribute__((always_inline)) void fetch_row(const struct headed *h, uint64_t key)
{
    struct row_ref ref = row_ref_of(h, key);
    __builtin_prefetch(word_of(ref), 0, 3);
    fetch_slot(ref.partition, row_ref_usual_slot(ref));
}

static inline __attribute__((always_inline)) void fetch_moved(const struct headed *h, uint64_t key)
{
    struct row_ref ref = row_ref_of(h, key);
    directory_word w = __atomic_load_n(word_of(ref), __ATOMIC_RELAXED);
    if (directory_state(w) == DIRECTORY_MAIN && directory_slot(w) != row_ref_usual_slot(ref))
        fetch_slot(ref.partition, directory_slot(w));
}

static inline __attribute__((always_inline)) size_t access_batch(const struct headed *h,
                                                                 const uint64_t *keys, float *batch,
                                                                 bool add)
{
    size_t misses = 0;
    for (size_t i = 0; i < BATCH + AHEAD; i++) {
        if (i < BATCH) fetch_row(h, keys[i]);
        if (i >= MOVED_AHEAD && i - MOVED_AHEAD < BATCH) fetch_moved(h, keys[i - MOVED_AHEAD]);
        if (i < AHEAD) continue;
        size_t now = i - AHEAD;
        float *at = batch + now * h->length;
        misses += add ? add_row(h, keys[now], at) : read_row(h, keys[now], at);
    }
    return misses;
}

/* ---- The layout ---- */

static void pull_1(void *rows, const uint64_t *keys, size_t n, float *batch)
{
    const struct headed *h = rows;
    size_t misses = 0, length = h->length;
    for (size_t i = 0; i < n; i++) misses += read_row(h, keys[i], batch + i % BATCH * length);
    expect_no_misses(misses);
}

static void push_1(void *rows, const uint64_t *keys, size_t n, float *batch)
{
    const struct headed *h = rows;
    size_t misses = 0, length = h->length;
    for (size_t i = 0; i < n; i++) misses += add_row(h, keys[i], batch + i % BATCH * length);
    expect_no_misses(misses);
}

static void pull_64(void *rows, const uint64_t *keys, size_t n, float *batch)
{
    for (size_t i = 0; i < n; i += BATCH)
        expect_no_misses(access_batch(rows, keys + i, batch, false));
}

static void push_64(void *rows, const uint64_t *keys, size_t n, float *batch)
{
    for (size_t i = 0; i < n; i += BATCH)
        expect_no_misses(access_batch(rows, keys + i, batch, true));
}

static void write_all(struct headed *h, uint64_t rows)
{
    struct partition *p = h->store.partition;
    for (uint64_t key = 0; key < rows; key++) {
        struct row_ref ref = row_ref_of(h, key);
        uint64_t slot = slab_take(&p->slab, row_ref_usual_slot(ref));
        expect_no_misses(slot == SLAB_NONE);
        struct headed_row *row = (struct headed_row *)(void *)partition_row(p, slot);
        row->header = 0;
        for (uint32_t i = 0; i < h->length; i++) row->values[i] = 1;
        directory_publish(word_of(ref), directory_main(slot, 0));
    }
}

static void *open_headed(uint64_t rows, uint32_t length, uint32_t unit)
{
    uint32_t bytes = (uint32_t)(sizeof(struct headed_row) + length * sizeof(float) + unit - 1) /
                     unit * unit;
    struct locus_table table = {.name = "rows", .rows = rows, .length = bytes / sizeof(float)};
    struct headed *h = malloc(sizeof *h);
    if (h == NULL) return NULL;
    h->length = length;
    if (store_init(&h->store, &table, 1, 1, 1, 0) != 0) {
        free(h);
        return NULL;
    }
    write_all(h, rows);
    return h;
}

/* The next header must be aligned: across two cache lines, latching would stop the whole
 * machine. */
static void *open_packed(uint64_t rows, uint32_t length)
{
    return open_headed(rows, length, sizeof(uint64_t));
}

static void *open_padded(uint64_t rows, uint32_t length)
{
    return open_headed(rows, length, CACHE_LINE);
}

static void close_headed(void *rows)
{
    struct headed *h = rows;
    store_fini(&h->store);
    free(h);
}

const struct layout layout_row = {
    "row", open_packed, close_headed, {pull_1, pull_64, push_1, push_64}};
const struct layout layout_row_padded = {
    "row-padded", open_padded, close_headed, {pull_1, pull_64, push_1, push_64}};
