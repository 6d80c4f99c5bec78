/*
 * httpd.h - a small HTTP server, on a thread of its own, that answers GET of a few paths with
 * texts. All calls of libmicrohttpd are in httpd.c.
 *
 * No client can do harm. At most HTTPD_CONNECTIONS_MAX connections are held, each with
 * HTTPD_CONNECTION_BYTES for its request. One that is idle for HTTPD_IDLE_S ends. When three
 * quarters of them are taken, the oldest makes room for the next, so that slow clients keep nobody
 * out. Bodies of requests are not read.
 *
 * Callers   metrics.c
 * Memory    HTTPD_CONNECTIONS_MAX * (HTTPD_CONNECTION_BYTES and the text under way)
 * Waiting   httpd_close waits for the thread, and so for an answer that is being made
 * Life      httpd_listen, httpd_open, httpd_close
 */
#ifndef LOCUS_HTTPD_H
#define LOCUS_HTTPD_H

#include <stddef.h>

enum {
    HTTPD_CONNECTIONS_MAX = 32,
    HTTPD_CONNECTION_BYTES = 16384,
    HTTPD_IDLE_S = 10,
};

struct httpd;

/* "host:port", ":port" or "port", and `more` is added to a port that is not 0; without a host on
 * loopback. `what` names the setting. 0, or a negative errno with the sentence in locus_error(). */
int httpd_listen(const char *what, const char *address, unsigned more, int *fd);

/* A request, while it is answered; and the value of its argument `name`, NULL: it has none. */
struct httpd_request;
const char *httpd_argument(const struct httpd_request *, const char *name);

/* The text is from malloc, or NULL: there is none (status 500). */
struct httpd_reply {
    char *text;
    size_t length;
    unsigned status; /* of HTTP: 200 unless told */
};

/* How a path is answered: on the server's thread, one request at a time. A list ends with NULL as
 * `answer`. */
struct httpd_path {
    const char *path, *type;
    void (*answer)(void *context, const struct httpd_request *, struct httpd_reply *);
};

/* Takes fd over, also when it fails. 0, or a negative errno with the sentence. The paths stay
 * valid. */
int httpd_open(int fd, const struct httpd_path *, void *context, struct httpd **out);
/* No answer is made during or after this call. NULL is allowed. */
void httpd_close(struct httpd *);

#endif
