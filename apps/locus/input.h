/*
 * input.h - what is typed, carried to rank 0's program: a terminal's input can be read by the
 * process group in its foreground only, which is ours and not the program's.
 *
 * Memory    what the pipe had no room for
 * Waiting   never
 * Life      input_open, input_close
 */
#ifndef LOCUS_RUN_INPUT_H
#define LOCUS_RUN_INPUT_H

#include <poll.h>
#include <stddef.h>

struct input {
    int to; /* -1: closed */
    size_t length;
    char bytes[4096]; /* that `to` had no room for */
};

/* The program's end of the pipe, for the caller to close; -1 with errno. */
int input_open(struct input *);
void input_close(struct input *);
/* What to wait for: two entries, -1 for nothing. `timeout_s` becomes less when it cannot be waited
 * for: while others are in the terminal's foreground. */
void input_prepare(const struct input *, struct pollfd polled[2], double *timeout_s);
void input_pump(struct input *, const struct pollfd polled[2]);

#endif
