#include "control.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- writing ---- */

size_t control_frame(char *frame, enum control_kind kind, const char *body, size_t length)
{
    for (unsigned i = 0; i < 4; i++) frame[i] = (char)(unsigned char)(length >> 8 * i);
    frame[4] = (char)kind;
    if (length) memcpy(frame + CONTROL_HEADER, body, length);
    return CONTROL_HEADER + length;
}

static bool make_room(struct control_text *t, size_t more)
{
    if (t->length + more <= t->capacity) return true;
    size_t capacity = 2 * (t->length + more);
    char *bytes = realloc(t->bytes, capacity);
    if (!bytes) return false;
    t->bytes = bytes;
    t->capacity = capacity;
    return true;
}

void control_put(struct control_text *t, enum control_kind kind, const char *body)
{
    size_t length = strlen(body), more = CONTROL_HEADER + length;
    if (length > CONTROL_BODY_MAX || t->length + more > CONTROL_TEXT_MAX || !make_room(t, more))
        t->failed = true;
    else
        t->length += control_frame(t->bytes + t->length, kind, body, length);
}

/* ---- reading ---- */

enum { READER_BYTES = CONTROL_HEADER + CONTROL_BODY_MAX + 1 };

bool control_reader_init(struct control_reader *r, int fd)
{
    *r = (struct control_reader){.fd = fd, .bytes = malloc(READER_BYTES)};
    return r->bytes != NULL;
}

void control_reader_fini(struct control_reader *r)
{
    free(r->bytes);
}

int control_read(struct control_reader *r)
{
    memmove(r->bytes, r->bytes + r->from, r->have - r->from);
    r->have -= r->from;
    r->from = 0;
    ssize_t n = read(r->fd, r->bytes + r->have, READER_BYTES - 1 - r->have);
    if (n > 0) r->have += (size_t)n;
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 1;
    return n > 0 ? 1 : (int)n;
}

static size_t length_of(const char *header)
{
    size_t length = 0;
    for (unsigned i = 0; i < 4; i++) length |= (size_t)(unsigned char)header[i] << 8 * i;
    return length;
}

int control_next(struct control_reader *r, enum control_kind *kind, char **body, size_t *length)
{
    char *frame = r->bytes + r->from;
    size_t have = r->have - r->from;
    if (have < CONTROL_HEADER) return 0;
    *length = length_of(frame);
    if (*length > CONTROL_BODY_MAX) return -1;
    if (have < CONTROL_HEADER + *length) return 0;
    *kind = (enum control_kind)(unsigned char)frame[4];
    *body = frame;
    /* One to the left, over the header: so there is a byte for the 0 that belongs to no other
     * frame. */
    memmove(frame, frame + CONTROL_HEADER, *length);
    frame[*length] = '\0';
    r->from += CONTROL_HEADER + *length;
    return 1;
}
