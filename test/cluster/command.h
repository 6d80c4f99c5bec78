/*
 * command.h - shell commands, `locus run` above all, as a user would type them: with files for what
 * they print.
 *
 *     struct command c;
 *     command_start(&c, COMMAND_FILES, "%s run -n 2 -- %s", locus_path(), program);
 *     command_await(&c, &c.out, "ready");
 *     command_signal(&c, SIGTERM);
 *     CHECK_EQ(command_wait(&c), 128 + SIGTERM);
 *     CHECK_EQ(command_left(&c), 0);
 *
 * Each command has a mark in its environment, which whatever it starts inherits, so that what it
 * leaves behind can be found. Whatever a test waits for comes within HANG_S, or the test fails.
 */
#ifndef LOCUS_TEST_COMMAND_H
#define LOCUS_TEST_COMMAND_H

#include "process.h"

enum { COMMAND_TEXT_MAX = 1 << 16, COMMAND_MARK_BYTES = 64 };

enum command_kind { COMMAND_FILES /* stdin is empty; stdout and stderr are files */ };

/* What was printed so far. */
struct printed {
    int fd;
    char text[COMMAND_TEXT_MAX];
    size_t length;
};

struct command {
    pid_t pid;
    struct printed out, err;
    char mark[COMMAND_MARK_BYTES];
};

/* Executed by sh, so begin with "exec" when signals are meant for the program. */
void command_start(struct command *, enum command_kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Until `printed`, one of the command's, contains the text. */
void command_await(struct command *, struct printed *, const char *text);
void command_signal(const struct command *, int signal);
/* The exit status as a shell shows it, 128 + signal when a signal ended it; all that was printed is
 * there then. */
int command_wait(struct command *);
/* The same for one that is short. */
int command_run(struct command *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same, and the test fails if its status is not 0. */
void command_must(struct command *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* How many processes with the command's mark are alive. They are given a moment to end, `seconds`
 * at most. */
int command_left(const struct command *, double seconds);
/* Calls `visit` with each. */
void command_for_each(const struct command *, void (*visit)(void *context, pid_t), void *context);

/* Of this build. */
const char *locus_path(void);
/* A file of the repository, by its path from the top. Valid until it is called again. */
const char *source_path(const char *file);
/* "program --role NAME", to which one argument must be added: this test program in a role. */
const char *role_command(const char *role);

#endif
