/* Compile with -O3: the loops are to be vectorized. `objdump -d floors.o | grep zmm` shows it. */
#include "floors.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined __has_feature
#define BUILT_WITH(sanitizer) __has_feature(sanitizer)
#else
#define BUILT_WITH(sanitizer) 0
#endif
#if defined __SANITIZE_THREAD__ || BUILT_WITH(thread_sanitizer)
#define SANITIZES_THREADS 1
#else
#define SANITIZES_THREADS 0
#endif
#if defined __SANITIZE_ADDRESS__ || BUILT_WITH(address_sanitizer)
#define SANITIZES_ADDRESSES 1
#else
#define SANITIZES_ADDRESSES 0
#endif

/*
 * One copy of a loop for each kind of vectors, chosen when the program starts. Under a sanitizer
 * (where time means nothing) the choosing code would run before the sanitizer is ready, and other
 * systems have no way to choose. With clang only this file finds such a function by its name.
 */
#if defined __x86_64__ && defined __GLIBC__ && !SANITIZES_THREADS && !SANITIZES_ADDRESSES
#define WIDEST_VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDEST_VECTORS
#endif

/* The loops without mutexes race on purpose; the thread sanitizer is asked to look away. */
#if SANITIZES_THREADS
void __tsan_ignore_thread_begin(void);
void __tsan_ignore_thread_end(void);
#define RACE_BEGIN() __tsan_ignore_thread_begin()
#define RACE_END() __tsan_ignore_thread_end()
#else
#define RACE_BEGIN() ((void)0)
#define RACE_END() ((void)0)
#endif

enum { HUGE_PAGE = 2 << 20 };

/* Each mutex in its own cache line: locks are compared at their best. */
struct stripe {
    _Alignas(64) pthread_mutex_t mutex;
};

struct floors {
    float *rows;
    size_t length;
    struct stripe *stripes;
};

static void *huge_alloc(size_t bytes)
{
    void *memory = aligned_alloc(HUGE_PAGE, (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
    /* if refused, small pages cost up to 5 % */
    if (memory != NULL) madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

struct floors *floors_new(size_t rows, size_t length)
{
    struct floors *f = malloc(sizeof *f);
    if (f == NULL) return NULL;
    f->length = length;
    f->rows = huge_alloc(rows * length * sizeof(float));
    f->stripes = aligned_alloc(64, FLOOR_MUTEXES * sizeof *f->stripes);
    if (f->rows == NULL || f->stripes == NULL) {
        free(f->rows);
        free(f->stripes);
        free(f);
        return NULL;
    }
    for (size_t i = 0; i < rows * length; i++) f->rows[i] = (float)(i % 7);
    for (size_t i = 0; i < FLOOR_MUTEXES; i++) pthread_mutex_init(&f->stripes[i].mutex, NULL);
    return f;
}

void floors_free(struct floors *f)
{
    if (f == NULL) return;
    for (size_t i = 0; i < FLOOR_MUTEXES; i++) pthread_mutex_destroy(&f->stripes[i].mutex);
    free(f->rows);
    free(f->stripes);
    free(f);
}

static inline float *row_of(const struct floors *f, uint64_t key)
{
    return f->rows + key * f->length;
}

static inline size_t place_in_batch(const struct floors *f, size_t i)
{
    return i % FLOOR_BATCH * f->length;
}

static inline pthread_mutex_t *mutex_of(const struct floors *f, uint64_t key)
{
    return &f->stripes[key % FLOOR_MUTEXES].mutex;
}

static inline __attribute__((always_inline)) void row_add(float *restrict row,
                                                          const float *restrict d, size_t length)
{
    for (size_t i = 0; i < length; i++) row[i] += d[i];
}

void floor_read(const struct floors *f, const uint64_t *keys, size_t n, float *batch)
{
    size_t bytes = f->length * sizeof(float);
    RACE_BEGIN();
    for (size_t i = 0; i < n; i++) memcpy(batch + place_in_batch(f, i), row_of(f, keys[i]), bytes);
    RACE_END();
}

void floor_write(struct floors *f, const uint64_t *keys, size_t n, const float *batch)
{
    size_t bytes = f->length * sizeof(float);
    RACE_BEGIN();
    for (size_t i = 0; i < n; i++) memcpy(row_of(f, keys[i]), batch + place_in_batch(f, i), bytes);
    RACE_END();
}

WIDEST_VECTORS
static void add_rows(struct floors *f, const uint64_t *keys, size_t n, const float *batch)
{
    for (size_t i = 0; i < n; i++)
        row_add(row_of(f, keys[i]), batch + place_in_batch(f, i), f->length);
}

WIDEST_VECTORS
static void add_row(float *row, const float *d, size_t length)
{
    row_add(row, d, length);
}

void row_increase(float *row, const float *d, size_t length)
{
    add_row(row, d, length);
}

void floor_add(struct floors *f, const uint64_t *keys, size_t n, const float *batch)
{
    RACE_BEGIN();
    add_rows(f, keys, n, batch);
    RACE_END();
}

void floor_locked_read(struct floors *f, const uint64_t *keys, size_t n, float *batch)
{
    size_t bytes = f->length * sizeof(float);
    for (size_t i = 0; i < n; i++) {
        pthread_mutex_lock(mutex_of(f, keys[i]));
        memcpy(batch + place_in_batch(f, i), row_of(f, keys[i]), bytes);
        pthread_mutex_unlock(mutex_of(f, keys[i]));
    }
}

WIDEST_VECTORS
static void add_rows_locked(struct floors *f, const uint64_t *keys, size_t n, const float *batch)
{
    for (size_t i = 0; i < n; i++) {
        pthread_mutex_lock(mutex_of(f, keys[i]));
        row_add(row_of(f, keys[i]), batch + place_in_batch(f, i), f->length);
        pthread_mutex_unlock(mutex_of(f, keys[i]));
    }
}

void floor_locked_add(struct floors *f, const uint64_t *keys, size_t n, const float *batch)
{
    add_rows_locked(f, keys, n, batch);
}

/* Several chains of vector additions, because a compiler may not reorder one chain of float
 * additions. */
typedef float vector __attribute__((vector_size(64), aligned(sizeof(float)), may_alias));
enum { VECTOR = sizeof(vector) / sizeof(float) };

WIDEST_VECTORS
static float sum_of(const float *row, size_t length)
{
    vector a = {0}, b = {0}, c = {0}, d = {0};
    size_t i = 0;
    for (; i + 4 * VECTOR <= length; i += 4 * VECTOR) {
        const vector *v = (const vector *)(row + i);
        a += v[0], b += v[1], c += v[2], d += v[3];
    }
    for (; i + VECTOR <= length; i += VECTOR) a += *(const vector *)(row + i);
    a += b + (c + d);
    a += __builtin_shufflevector(a, a, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    a += __builtin_shufflevector(a, a, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
    float total = (a[0] + a[1]) + (a[2] + a[3]);
    for (; i < length; i++) total += row[i];
    return total;
}

float row_sum(const float *row, size_t length)
{
    return sum_of(row, length);
}

float floor_sum(const struct floors *f, const uint64_t *keys, size_t n)
{
    float total = 0;
    RACE_BEGIN();
    for (size_t i = 0; i < n; i++) total += row_sum(row_of(f, keys[i]), f->length);
    RACE_END();
    return total;
}
