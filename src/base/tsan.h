/*
 * tsan.h - what the thread sanitizer cannot see by itself.
 *
 * Under it (LOCUS_TSAN) row copies are relaxed atomics, and stand-alone fences, which it does not
 * model, are left out. ck is described to it by the headers in test/tsan.
 *
 * LETS_GO and TAKES_UP are an order of two threads that the kernel makes: what the one did before
 * is over when the other begins.
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
void __tsan_acquire(void *);
void __tsan_release(void *);
#define FENCE(order) ((void)0)
#define LETS_GO(address) __tsan_release(address)
#define TAKES_UP(address) __tsan_acquire(address)
#else
#define FENCE(order) __atomic_thread_fence(order)
#define LETS_GO(address) ((void)(address))
#define TAKES_UP(address) ((void)(address))
#endif

#endif
