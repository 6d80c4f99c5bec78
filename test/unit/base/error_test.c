#include "base/error.h"
#include "threads.h"
#include "locus.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(error, strerror_has_a_text_for_every_number)
{
    static const struct {
        int number;
        const char *text;
    } all[] = {{0, "success"},
               {-EINVAL, "Invalid argument"},
               {-ENOSYS, "not implemented"},
               {-EDEADLK, "deadlock"},
               {1, ""},
               {INT_MAX, ""},
               {-4095, ""},
               {-100000, ""},
               {INT_MIN, ""}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        CHECK_STR(locus_strerror(all[i].number), all[i].text);
        CHECK(locus_strerror(all[i].number)[0] != '\0');
    }
}

TEST(error, set_leaves_its_sentence_and_a_success_keeps_it)
{
    CHECK_EQ(strlen(locus_error()), 0);
    CHECK_EQ(error_set(-ERANGE, "%d is more than %s", 7, "six"), -ERANGE);
    CHECK_EQ(locus_close(NULL), 0);
    CHECK_EQ(strcmp(locus_error(), "7 is more than six"), 0);
    error_set(-EINVAL, "this failed: %s", locus_error());
    CHECK_EQ(strcmp(locus_error(), "this failed: 7 is more than six"), 0);
}

TEST(error, set_cuts_a_long_sentence)
{
    char text[5000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    error_set(-EINVAL, "begins, %s", text);
    CHECK_STR(locus_error(), "begins, xxx");
    CHECK(strlen(locus_error()) < sizeof text);
}

static void *fail_elsewhere(void *seen)
{
    *(size_t *)seen = strlen(locus_error());
    error_set(-EIO, "the other thread's");
    return NULL;
}

TEST(error, sentence_is_of_the_thread)
{
    size_t seen = 99;
    error_set(-EINVAL, "mine");
    threads_run(fail_elsewhere, &seen, 0, 1);
    CHECK_EQ(seen, 0);
    CHECK_EQ(strcmp(locus_error(), "mine"), 0);
}

static void violate(int output)
{
    dup2(output, STDERR_FILENO);
    signal(SIGABRT, SIG_DFL);
    INVARIANT(1 + 1 == 2, "arithmetic holds");
    INVARIANT(1 + 1 == 3, "one and one are not three");
    _exit(0);
}

TEST(error, invariant_violated_aborts_with_its_sentence)
{
    int ends[2], status;
    char text[4096] = "";
    CHECK_EQ(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) violate(ends[1]);
    close(ends[1]);
    size_t n = 0;
    for (ssize_t more; (more = read(ends[0], text + n, sizeof text - 1 - n)) > 0;)
        n += (size_t)more;
    CHECK_EQ(waitpid(child, &status, 0), child);
    /* a sanitizer may turn the signal into a status */
    CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
    CHECK_STR(text, "one and one are not three");
    CHECK(strstr(text, "arithmetic holds") == NULL);
}
