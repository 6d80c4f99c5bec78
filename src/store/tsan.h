/*
 * tsan.h - what the thread sanitizer cannot see by itself.
 *
 * Under it (LOCUS_TSAN) row copies are relaxed atomics, and stand-alone fences, which it does not
 * model, are left out. ck is described to it by the headers in test/tsan.
 */
#ifndef LOCUS_STORE_TSAN_H
#define LOCUS_STORE_TSAN_H

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
