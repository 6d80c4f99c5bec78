/*
 * httpd.h - a small HTTP server, on a thread of its own, that answers GET of a few paths with
 * texts. All calls of libmicrohttpd are in httpd.c.
 *
 * No client can do harm. There are at most HTTPD_CONNECTIONS_MAX connections, each with
 * HTTPD_CONNECTION_BYTES for its request. A connection that is idle for HTTPD_IDLE_S is closed.
 * When three quarters of them are in use, a new one replaces the oldest, so slow clients keep no
 * other client out. Bodies of requests are not read.
 *
 * Memory    HTTPD_CONNECTIONS_MAX * (HTTPD_CONNECTION_BYTES and the text under way, of at most
 *           HTTPD_REPLY_BYTES_MAX)
 * Waiting   httpd_close waits for the thread, and so for an answer that is being made
 * Life      httpd_listen, httpd_open, httpd_close
 */
#ifndef LOCUS_OBSERVE_HTTPD_H
#define LOCUS_OBSERVE_HTTPD_H

#include <stdbool.h>
#include <stddef.h>

enum {
    HTTPD_CONNECTIONS_MAX = 32,
    HTTPD_CONNECTION_BYTES = 16384,
    HTTPD_REPLY_BYTES_MAX = 4 << 20,
    HTTPD_IDLE_S = 10,
};

struct httpd;

/* Listens at "host:port", ":port" or "port"; without a host, on loopback. `more` is added to a port
 * that is not 0. `what` names the setting. 0, or a negative errno with the sentence in
 * locus_error(). */
int httpd_listen(const char *what, const char *address, unsigned more, int *fd);

/* A request while it is being answered; and the value of its argument `name`, NULL: there is
 * none. */
struct httpd_request;
const char *httpd_argument(const struct httpd_request *, const char *name);

/* {0} has no text yet. A text that is longer than it may be, or finds no memory, fails as a whole. */
struct httpd_reply {
    char *text;
    size_t length, capacity;
    bool failed;
    unsigned status; /* of HTTP */
};
/* Adds to the text, at most some hundred characters; numbers as notation.h says. */
void httpd_put(struct httpd_reply *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* How a path is answered: on the server's thread, one request at a time, with status 200 unless
 * `answer` says otherwise; with 500 if there is no text. NULL as `answer` ends a list. */
struct httpd_path {
    const char *path, *type;
    void (*answer)(void *context, const struct httpd_request *, struct httpd_reply *);
};

/* Takes fd over, even on failure. 0, or a negative errno with the sentence. The paths must stay
 * valid. */
int httpd_open(int fd, const struct httpd_path *, void *context, struct httpd **out);
/* No answer is made during or after this call. NULL is allowed. */
void httpd_close(struct httpd *);

#endif
