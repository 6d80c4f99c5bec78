#include "output.h"

#include "signals.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COLOURS = 6, FIRST_COLOUR = 31, LOOK_MS = 100, TIMEOUT_MS = 1000 };

static void make_prefix(struct output *o, unsigned rank, const struct output_style *s)
{
    int n;
    if (s->is_coloured)
        n = snprintf(o->prefix, sizeof o->prefix, "\033[%um[%*u]\033[0m ",
                     FIRST_COLOUR + rank % COLOURS, s->digits, rank);
    else
        n = snprintf(o->prefix, sizeof o->prefix, "[%*u] ", s->digits, rank);
    o->prefix_bytes = (size_t)n;
}

bool output_init(struct output *o, int from, int to, unsigned rank, const struct output_style *s)
{
    *o = (struct output){
        .from = from, .to = to, .line = malloc(OUTPUT_PREFIX_MAX + OUTPUT_LINE_MAX + 1)};
    if (!o->line) return false;
    make_prefix(o, rank, s);
    memcpy(o->line, o->prefix, o->prefix_bytes);
    return true;
}

void output_fini(struct output *o)
{
    if (o->from >= 0) close(o->from);
    free(o->line);
}

/* False: it is broken, or has no room although we are to end. A terminal that was stopped (Ctrl-S)
 * must not keep us. */
static bool await_room(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    for (int timeout_ms = TIMEOUT_MS; timeout_ms > 0;) {
        int n = poll(&p, 1, LOOK_MS);
        if (n > 0) return true;
        if (n < 0 && errno != EINTR) return false;
        if (signals_want_end()) timeout_ms -= LOOK_MS;
    }
    return false;
}

/* That a node has ended interrupts us, too, and must lose nothing. */
static void write_all(struct output *o, const char *bytes, size_t length)
{
    while (length > 0 && !o->is_given_up) {
        o->is_given_up = !await_room(o->to);
        ssize_t n = o->is_given_up ? 0 : write(o->to, bytes, length);
        if (n < 0 && errno != EINTR && errno != EAGAIN) {
            o->failure = errno;
            o->is_given_up = true;
        }
        if (n <= 0) continue;
        bytes += n;
        length -= (size_t)n;
    }
}

static void show_line(struct output *o)
{
    size_t length = o->prefix_bytes + o->have;
    o->line[length++] = '\n';
    write_all(o, o->line, length);
    o->have = 0;
}

/* A line ends with \n or \r\n; with \r, too: progress bars then show as lines. */
static void take_byte(struct output *o, char c)
{
    bool was_shown = o->was_shown_by_return;
    o->was_shown_by_return = false;
    if (c == '\n') {
        if (!was_shown) show_line(o);
    } else if (c == '\r') {
        o->was_shown_by_return = o->have > 0;
        if (o->have) show_line(o);
    } else {
        o->line[o->prefix_bytes + o->have++] = c;
        if (o->have == OUTPUT_LINE_MAX) show_line(o);
    }
}

static void take(struct output *o, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) take_byte(o, bytes[i]);
}

bool output_has_more(const struct output *o)
{
    struct pollfd p = {.fd = o->from, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

static bool end(struct output *o)
{
    if (o->have) show_line(o);
    close(o->from);
    o->from = -1;
    return false;
}

bool output_pump(struct output *o)
{
    char bytes[4096];
    ssize_t n = read(o->from, bytes, sizeof bytes);
    if (n > 0) take(o, bytes, (size_t)n);
    if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR))) return true;
    return end(o); /* of a pseudo-terminal with EIO */
}
