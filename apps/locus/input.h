/*
 * input.h - what is typed, or comes from a pipe, carried to rank 0's keeper: for when rank 0 cannot
 * inherit our stdin. A terminal's can be read by the process group in its foreground only, which is
 * ours and not the program's; and another host does not have it.
 *
 * Memory    one frame
 * Waiting   never
 */
#ifndef LOCUS_RUN_INPUT_H
#define LOCUS_RUN_INPUT_H

#include "control.h"

#include <poll.h>

struct input {
    bool is_open;
    int to; /* rank 0's control stream */
    size_t length;
    char frame[CONTROL_HEADER + CONTROL_INPUT_MAX]; /* that `to` had no room for */
};

void input_open(struct input *, int to);
/* What to wait for: two entries, -1 for nothing. `timeout_s` becomes less when it cannot be waited
 * for: while others are in the terminal's foreground. */
void input_prepare(const struct input *, struct pollfd polled[2], double *timeout_s);
void input_pump(struct input *, const struct pollfd polled[2]);

#endif
