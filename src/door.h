/*
 * door.h - a small HTTP server, on a thread of its own, that answers GET of a few paths with texts.
 * All calls of libmicrohttpd are in door.c.
 *
 * No client can do harm. At most DOOR_CONNECTIONS_MAX connections are held, each with
 * DOOR_CONNECTION_BYTES for its request. One that is idle for DOOR_IDLE_S ends. When three quarters
 * of them are taken, the oldest makes room for the next, so that slow clients keep nobody out.
 * Bodies of requests are not read.
 *
 * Callers   metrics.c
 * Memory    DOOR_CONNECTIONS_MAX * (DOOR_CONNECTION_BYTES and the text under way)
 * Waiting   door_close waits for the thread, and so for an answer that is being made
 * Life      door_listen, door_open, door_close
 */
#ifndef LOCUS_DOOR_H
#define LOCUS_DOOR_H

#include <stddef.h>

enum {
    DOOR_CONNECTIONS_MAX = 32,
    DOOR_CONNECTION_BYTES = 16384,
    DOOR_IDLE_S = 10,
};

struct door;

/* "host:port", ":port" or "port", and `more` is added to a port that is not 0; without a host on
 * loopback. `what` names the setting. 0, or a negative errno with the sentence in locus_error(). */
int door_listen(const char *what, const char *address, unsigned more, int *fd);

/* A request, while it is answered; and the value of its argument `name`, NULL: it has none. */
struct door_request;
const char *door_argument(const struct door_request *, const char *name);

/* The text is from malloc, or NULL: there is none (status 500). */
struct door_reply {
    char *text;
    size_t length;
    unsigned status; /* of HTTP: 200 unless told */
};

/* How a path is answered: on the door's thread, one request at a time. A list ends with NULL as
 * `answer`. */
struct door_path {
    const char *path, *type;
    void (*answer)(void *context, const struct door_request *, struct door_reply *);
};

/* Takes fd over, also when it fails. 0, or a negative errno with the sentence. The paths stay valid.
 */
int door_open(int fd, const struct door_path *, void *context, struct door **out);
/* No answer is made during or after this call. NULL is allowed. */
void door_close(struct door *);

#endif
