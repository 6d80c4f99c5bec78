/*
 * command.h - shell commands as a user would type them: stdin is empty, stdout and stderr are files.
 *
 *     static struct command c;
 *     CHECK_EQ(command_run(&c, "%s checkpoint verify %s", locus_path(), folder), 1);
 *     CHECK_STR(c.out.text, "is damaged");
 *
 * Each ends within HANG_S, or the test fails.
 */
#ifndef LOCUS_TEST_COMMAND_H
#define LOCUS_TEST_COMMAND_H

#include "process.h"

enum { COMMAND_LINE_MAX = 1 << 12, COMMAND_TEXT_MAX = 1 << 16 };

struct printed {
    int fd;
    char text[COMMAND_TEXT_MAX];
};

struct command {
    char line[COMMAND_LINE_MAX];
    pid_t pid;
    struct printed out, err; /* what was printed, when it has ended */
};

/* Executed by sh, so begin with "exec" when signals are meant for the program. */
void command_start(struct command *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void command_signal(const struct command *, int signal);
/* The exit status as a shell shows it, 128 + signal when a signal ended it; all that was printed is
 * there then. */
int command_wait(struct command *);
/* The same for one that is short. */
int command_run(struct command *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same, and the test fails if its status is not 0. */
void command_must(struct command *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Of this build. */
const char *locus_path(void);
/* A file of the repository, by its path from the top. Valid until it is called again. */
const char *source_path(const char *file);
/* "program --role NAME", to which one argument must be added: this test program in a role. */
const char *role_command(const char *role);

#endif
