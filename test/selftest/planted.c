/* Tests that fail, hang, crash and skip on purpose: test/selftest.sh looks whether the runners can
 * tell. They are no part of the ordinary run. */
#include "test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(planted, a_true_check_passes)
{
    CHECK(1 + 1 == 2);
    CHECK_EQ(-1, -1);
    CHECK_STR("node 3 has failed", "node 3");
}

TEST(planted, a_false_check_ends_the_test)
{
    CHECK(1 + 1 == 3);
    printf("this line must not appear\n");
}

TEST(planted, unequal_integers_are_shown)
{
    CHECK_EQ(3 * 4, 13);
}

TEST(planted, a_missing_text_is_shown)
{
    CHECK_STR("node 3 has failed", "node 4");
}

static void *fail_elsewhere(void *unused)
{
    CHECK(unused != NULL);
    return NULL;
}

TEST(planted, a_false_check_in_a_thread_counts)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
}

TEST(planted, a_false_check_in_a_child_ends_the_child)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        CHECK(1 + 1 == 4);
        printf("this line must not appear\n");
        pause();
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

/* Out of the test's group, with the test's output open. */
TEST(planted, nobody_waits_for_a_child_that_goes_on)
{
    pid_t child = fork();
    if (child == 0) alarm(300), setsid();
    while (child == 0) pause();
}

TEST(planted, a_crash_counts)
{
    abort();
}

TEST(planted, an_early_exit_counts)
{
    exit(3);
}

TEST_TIMEOUT(planted, a_hang_is_ended, 1)
{
    pause();
}

TEST(planted, a_skip_has_a_reason)
{
    SKIP("there is no such device");
}

/* Only a build with AddressSanitizer sees the next one. */
TEST(planted, a_use_after_free_is_seen)
{
#ifdef LOCUS_ASAN
    char *volatile p = malloc(8); /* volatile, or the compiler sees it too */
    volatile char *volatile same = p;
    CHECK(p);
    free(p);
    same[0] = 1;
#else
    SKIP("built without AddressSanitizer");
#endif
}

TEST(planted, a_leak_is_seen)
{
#ifdef LOCUS_ASAN
    char *volatile p = malloc(100);
    CHECK(p);
    p = NULL;
    CHECK(!p);
#else
    SKIP("built without AddressSanitizer");
#endif
}
