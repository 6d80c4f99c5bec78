/*
 * tsan.h - what the thread sanitizer must be told.
 *
 * Under the sanitizer (LOCUS_TSAN) row copies are relaxed atomics, and stand-alone fences, which it
 * does not model, are left out. The headers in test/tsan describe ck to it.
 *
 * It does not see memory that is mapped and unmapped by others: liburing calls the kernel directly,
 * and so does the dynamic loader when hwloc loads and unloads its plugins. If one thread's mapping
 * ends and another thread's begins at the same address, it reports a race. So under the sanitizer
 * these calls take turns, between mapping_begin() and mapping_end().
 */
#ifndef LOCUS_BASE_TSAN_H
#define LOCUS_BASE_TSAN_H

#if defined(__SANITIZE_THREAD__) && !defined(LOCUS_TSAN)
#define LOCUS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LOCUS_TSAN 1
#endif
#endif

#ifdef LOCUS_TSAN
#define FENCE(order) ((void)0)
void mapping_begin(void);
void mapping_end(void);
#else
#define FENCE(order) __atomic_thread_fence(order)
static inline void mapping_begin(void)
{
}
static inline void mapping_end(void)
{
}
#endif

#endif
