#include "ending.h"

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int ending_of(void (*body)(const void *context), const void *context, char *said, size_t capacity)
{
    int ends[2], status;
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
