/*
 * ck_pr.h - shadows Concurrency Kit's header of this name in builds with ThreadSanitizer, which
 * cannot see through its inline assembly, and takes the volatile accesses of its portable version
 * for races.
 *
 * Loads become acquire, stores release, the rest compiler builtins. That orders more than ck
 * promises: a missing fence can hide here, and has to be argued for where it belongs. A missing
 * hand-over does not hide.
 */
#ifndef LOCUS_TSAN_CK_PR_H
#define LOCUS_TSAN_CK_PR_H

#if !CK_USE_CC_BUILTINS
#error "compile with -DCK_USE_CC_BUILTINS=1"
#endif

#include_next <ck_pr.h>

#define TSAN_ACCESS(S, T) \
    static inline T tsan_load_##S(const T *from) \
    { \
        T value; \
        __atomic_load((T *)(uintptr_t)from, &value, __ATOMIC_ACQUIRE); \
        return value; \
    } \
    static inline void tsan_store_##S(T *to, T value) \
    { \
        __atomic_store(to, &value, __ATOMIC_RELEASE); \
    } \
    static inline T tsan_fas_##S(T *at, T value) \
    { \
        T before; \
        __atomic_exchange(at, &value, &before, __ATOMIC_ACQ_REL); \
        return before; \
    }

TSAN_ACCESS(char, char)
TSAN_ACCESS(int, int)
TSAN_ACCESS(uint, unsigned int)
TSAN_ACCESS(double, double)
TSAN_ACCESS(8, uint8_t)
TSAN_ACCESS(16, uint16_t)
TSAN_ACCESS(32, uint32_t)
TSAN_ACCESS(64, uint64_t)
#undef TSAN_ACCESS

static inline void *tsan_load_ptr(const void *from)
{
    return __atomic_load_n((void **)(uintptr_t)from, __ATOMIC_ACQUIRE);
}

static inline void tsan_store_ptr(void *to, const void *value)
{
    __atomic_store_n((void **)to, (void *)(uintptr_t)value, __ATOMIC_RELEASE);
}

static inline void *tsan_fas_ptr(void *at, void *value)
{
    return __atomic_exchange_n((void **)at, value, __ATOMIC_ACQ_REL);
}

/* ck's macros end in these names. */
#define ck_pr_md_load_char tsan_load_char
#define ck_pr_md_load_int tsan_load_int
#define ck_pr_md_load_uint tsan_load_uint
#define ck_pr_md_load_double tsan_load_double
#define ck_pr_md_load_8 tsan_load_8
#define ck_pr_md_load_16 tsan_load_16
#define ck_pr_md_load_32 tsan_load_32
#define ck_pr_md_load_64 tsan_load_64
#define ck_pr_md_load_ptr tsan_load_ptr

#define ck_pr_md_store_char tsan_store_char
#define ck_pr_md_store_int tsan_store_int
#define ck_pr_md_store_uint tsan_store_uint
#define ck_pr_md_store_double tsan_store_double
#define ck_pr_md_store_8 tsan_store_8
#define ck_pr_md_store_16 tsan_store_16
#define ck_pr_md_store_32 tsan_store_32
#define ck_pr_md_store_64 tsan_store_64
#define ck_pr_md_store_ptr tsan_store_ptr

/* Without assembly these are loops around a plain load. */
#define ck_pr_fas_char tsan_fas_char
#define ck_pr_fas_int tsan_fas_int
#define ck_pr_fas_uint tsan_fas_uint
#define ck_pr_fas_double tsan_fas_double
#define ck_pr_fas_8 tsan_fas_8
#define ck_pr_fas_16 tsan_fas_16
#define ck_pr_fas_32 tsan_fas_32
#define ck_pr_fas_64 tsan_fas_64
#define ck_pr_fas_ptr tsan_fas_ptr

#endif
