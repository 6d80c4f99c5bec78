/*
 * tsan.h - what the thread sanitizer must be told.
 *
 * Under the sanitizer (LOCUS_TSAN) row copies are relaxed atomics, and stand-alone fences, which it
 * does not model, are left out. The headers in test/tsan describe ck to it. For memory mappings
 * that it does not see there is mapping.h.
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
#else
#define FENCE(order) __atomic_thread_fence(order)
#endif

#endif
