/*
 * tsan.h - what the thread sanitizer cannot see by itself.
 *
 * Under it (LOCUS_TSAN) row copies are relaxed atomics, and stand-alone fences, which it does not
 * model, are left out. ck is described to it by the headers in test/tsan. Memory that is mapped
 * where it does not look: mapping.h.
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
