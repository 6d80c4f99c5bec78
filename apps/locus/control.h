/*
 * control.h - what the launcher tells a keeper (keeper.c): a stream of frames, one way. Its end
 * means: end the node.
 *
 *     frame = 4 bytes: length of the body, little-endian; 1 byte: kind; body
 *
 * First CONTROL_HELLO, then what describes the program, in any order, then CONTROL_START; then
 * input and beats. Bodies are texts without a 0 at the end, but for input, which is any bytes.
 *
 * Memory    the writer's grows with what is put; a reader's is CONTROL_BODY_MAX, allocated once
 * Waiting   never
 */
#ifndef LOCUS_RUN_CONTROL_H
#define LOCUS_RUN_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

enum control_kind {
    CONTROL_HELLO = 'h',     /* CONTROL_VERSION: both sides must be of one release */
    CONTROL_RANK = 'r',      /* for sentences */
    CONTROL_DIRECTORY = 'd', /* where to run; without it, where the keeper is */
    CONTROL_VARIABLE = 'v',  /* "NAME=VALUE"; any number */
    CONTROL_ARGUMENT = 'a',  /* of the program, itself the first */
    CONTROL_GRACE = 'g',     /* seconds from SIGTERM to SIGKILL */
    /* seconds without a frame after which the launcher is taken for dead */
    CONTROL_SILENCE = 'q',
    CONTROL_PIPE = 'p', /* input will come */
    CONTROL_START = 's',
    CONTROL_INPUT = 'i',
    CONTROL_INPUT_END = 'e',
    CONTROL_BEAT = 'b',
};

#define CONTROL_VERSION "locus control 1"
enum {
    CONTROL_HEADER = 5,
    CONTROL_BODY_MAX = 1 << 17, /* longer than the kernel lets an argument be */
    CONTROL_TEXT_MAX = 1 << 20, /* all that describes a program: what a pipe can hold */
    CONTROL_INPUT_MAX = 2048,   /* such a frame goes into a pipe whole or not at all */
};

/* ---- writing ---- */

struct control_text {
    char *bytes; /* malloc */
    size_t length, capacity;
    bool failed; /* something was too long, or there was no memory */
};
void control_put(struct control_text *, enum control_kind, const char *body);
/* One frame into memory of the caller's: CONTROL_HEADER + length bytes. Returns their number. */
size_t control_frame(char *frame, enum control_kind, const char *body, size_t length);

/* ---- reading ---- */

struct control_reader {
    int fd;
    char *bytes; /* malloc: a frame and a 0 behind it */
    size_t have, from;
};
bool control_reader_init(struct control_reader *, int fd);
void control_reader_fini(struct control_reader *);
/* Reads what is there. 1, 0 at the end, or -1 with errno; EAGAIN and EINTR count as 1. */
int control_read(struct control_reader *);
/* The next frame that is complete, its body with a 0 behind, valid until the next call of either.
 * 1, 0 for none yet, -1: it makes no sense. */
int control_next(struct control_reader *, enum control_kind *, char **body, size_t *length);

#endif
