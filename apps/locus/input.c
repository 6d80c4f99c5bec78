#include "input.h"

#include <errno.h>
#include <unistd.h>

static const double FOREGROUND_S = 0.25; /* how often to look whether we are in it again */

void input_open(struct input *in, int to)
{
    *in = (struct input){.is_open = true, .to = to};
}

/* Reading our terminal from its background would stop us. What is no terminal, or not ours, has no
 * foreground. */
static bool may_read(void)
{
    pid_t foreground = tcgetpgrp(STDIN_FILENO);
    return foreground < 0 || foreground == getpgrp();
}

void input_prepare(const struct input *in, struct pollfd polled[2], double *timeout_s)
{
    polled[0] = (struct pollfd){.fd = -1, .events = POLLIN};
    polled[1] = (struct pollfd){.fd = -1, .events = POLLOUT};
    if (!in->is_open) return;
    if (in->length)
        polled[1].fd = in->to;
    else if (may_read())
        polled[0].fd = STDIN_FILENO;
    else if (*timeout_s > FOREGROUND_S)
        *timeout_s = FOREGROUND_S;
}

/* Such a frame is written whole or not at all. */
static void write_frame(struct input *in)
{
    ssize_t n = write(in->to, in->frame, in->length);
    bool is_last = in->frame[4] == (char)CONTROL_INPUT_END;
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    in->length = 0;
    if (n < 0 || is_last) in->is_open = false;
}

static void read_some(struct input *in)
{
    char bytes[CONTROL_INPUT_MAX];
    ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n > 0)
        in->length = control_frame(in->frame, CONTROL_INPUT, bytes, (size_t)n);
    else
        in->length = control_frame(in->frame, CONTROL_INPUT_END, "", 0);
    write_frame(in);
}

void input_pump(struct input *in, const struct pollfd polled[2])
{
    if (!in->is_open) return;
    if (polled[1].fd >= 0 && polled[1].revents) write_frame(in);
    if (polled[0].fd >= 0 && polled[0].revents) read_some(in);
}
