#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static const double FOREGROUND_S = 0.25; /* how often to look whether we are in it again */

int input_open(struct input *in)
{
    int ends[2];
    in->length = 0;
    if (pipe2(ends, O_CLOEXEC)) return -1;
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    in->to = ends[1];
    return ends[0];
}

void input_close(struct input *in)
{
    if (in->to >= 0) close(in->to);
    in->to = -1;
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
    if (in->to < 0) return;
    if (in->length)
        polled[1].fd = in->to;
    else if (may_read())
        polled[0].fd = STDIN_FILENO;
    else if (*timeout_s > FOREGROUND_S)
        *timeout_s = FOREGROUND_S;
}

static bool is_for_later(ssize_t n)
{
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static void write_some(struct input *in)
{
    ssize_t n = write(in->to, in->bytes, in->length);
    if (is_for_later(n)) return;
    if (n < 0) { /* the program does not want it */
        input_close(in);
        return;
    }
    in->length -= (size_t)n;
    memmove(in->bytes, in->bytes + n, in->length);
}

static void read_some(struct input *in)
{
    ssize_t n = read(STDIN_FILENO, in->bytes, sizeof in->bytes);
    if (is_for_later(n)) return;
    if (n <= 0) {
        input_close(in);
        return;
    }
    in->length = (size_t)n;
    write_some(in);
}

void input_pump(struct input *in, const struct pollfd polled[2])
{
    if (in->to < 0) return;
    if (polled[1].fd >= 0 && polled[1].revents) write_some(in);
    if (polled[0].fd >= 0 && polled[0].revents) read_some(in);
}
