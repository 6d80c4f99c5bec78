#include "ending.h"

#include "common/folder.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int ending_of(void (*body)(const void *context), const void *context, char *said, size_t capacity)
{
    int ends[2], status;
    folder_begin();
    CHECK_EQ(pipe(ends), 0);
    fflush(stdout);
    fflush(stderr);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        body(context);
        fflush(stdout);
        _exit(0);
    }
    close(ends[1]);
    size_t have = 0;
    ssize_t n;
    while (have < capacity - 1 && (n = read(ends[0], said + have, capacity - 1 - have)) > 0)
        have += (size_t)n;
    said[have] = '\0';
    close(ends[0]);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

void ends_with(void (*body)(const void *context), const void *context, int status, const char *part)
{
    char said[8192];
    int got = ending_of(body, context, said, sizeof said);
    CHECK_STR(said, part);
    CHECK_EQ(got, status);
}

void ends_each(void (*body)(const void *text), int status, const char *const (*cases)[2],
               size_t count)
{
    char said[8192];
    for (size_t i = 0; i < count; i++) {
        int got = ending_of(body, cases[i][0], said, sizeof said);
        if (got != status || !strstr(said, cases[i][1]))
            test_fail(__FILE__, __LINE__, "%s: ended with %d and said: %s, not: %s", cases[i][0],
                      got, said, cases[i][1]);
    }
}
