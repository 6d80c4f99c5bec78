/*
 * test.h - what every test file includes.
 *
 *     TEST(mailbox, keeps_the_order_of_one_sender)
 *     {
 *         CHECK_EQ(mailbox_put(&mb, &m), 0);
 *     }
 *
 * The same bodies run under two runners. Criterion runs them in the ordinary and the ASan build;
 * the plain runner (test/runner/plain.c) everywhere, and alone under ThreadSanitizer, where
 * Criterion aborts. Both give each test a process of its own and a time limit. A failed check
 * prints where and what, and ends the test at once, from any thread or fiber; SKIP() is for the
 * test's own thread.
 */
#ifndef TEST_H
#define TEST_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { TEST_LIMIT_S = 240 };

/* A test of at most TEST_LIMIT_S seconds, or of a limit of its own. Names are
 * sentences_with_underscores. */
#define TEST(suite, name) TEST_TIMEOUT(suite, name, TEST_LIMIT_S)

/* A test of a `struct type`, which its body knows as the pointer `v`: type_begin(v) comes before it,
 * type_end(v) after it. */
#define TEST_WITH(suite, name, type, v) \
    static void suite##__##name##__with(struct type *); \
    TEST(suite, name) \
    { \
        struct type here; \
        type##_begin(&here); \
        suite##__##name##__with(&here); \
        type##_end(&here); \
    } \
    static void suite##__##name##__with(struct type *v)

/* Before a variable: what its closing function is, called with its address at the end of its block. */
#define CLOSED_BY(close) __attribute__((cleanup(close)))
/* Such a function: frees what the variable points to. */
static inline void free_at(void *pointer)
{
    void *memory;
    memcpy(&memory, pointer, sizeof memory);
    free(memory);
}

/* Ends the test as failed unless the condition holds. */
#define CHECK(condition) \
    ((condition) ? (void)0 : test_fail(__FILE__, __LINE__, "CHECK(%s)", #condition))
/* The same for two integers, and shows them. */
#define CHECK_EQ(a, b) test_equal(__FILE__, __LINE__, #a, #b, (long long)(a), (long long)(b))
/* The same for a text that must contain another. */
#define CHECK_STR(text, part) test_contains(__FILE__, __LINE__, #text, text, part)
/* The call returns that error, and its sentence (locus_error()) contains a text. */
#define REFUSED(call, rc, part) \
    (test_equal(__FILE__, __LINE__, #call, #rc, (call), (rc)), CHECK_STR(locus_error(), part))
/* Ends the test as skipped; the closing lines name it with this reason. */
#define SKIP(reason) test_skip(reason)

/* How long a test that repeats itself should go on: LOCUS_TEST_SECONDS, 5 unless told. `make soak`
 * asks for minutes; a test's time limit grows with it. */
int test_seconds(void);

_Noreturn void test_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void test_skip(const char *reason);
void test_equal(const char *file, int line, const char *a, const char *b, long long a_value,
                long long b_value);
void test_contains(const char *file, int line, const char *name, const char *text,
                   const char *part);

#ifdef TEST_WITH_CRITERION

#include <criterion/criterion.h>
#define TEST_TIMEOUT(suite, name, seconds) Test(suite, name, .timeout = (seconds))

#else

struct test {
    const char *suite, *name;
    void (*body)(void);
    int limit_s;
    struct test *next; /* the runner's */
};
void test_register(struct test *);

#define TEST_TIMEOUT(suite, name, seconds) \
    static void suite##__##name(void); \
    __attribute__((constructor)) static void suite##__##name##__register(void) \
    { \
        static struct test test = {#suite, #name, suite##__##name, (seconds), NULL}; \
        test_register(&test); \
    } \
    static void suite##__##name(void)

#endif
#endif
