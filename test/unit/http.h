/*
 * http.h - asks a server of this machine over HTTP, as anybody would: for tests of what a node
 * tells of itself.
 */
#ifndef LOCUS_TEST_HTTP_H
#define LOCUS_TEST_HTTP_H

#include <stdbool.h>
#include <stddef.h>

struct http_answer {
    int status;   /* 0: the connection ended without an answer */
    char *text;   /* the whole answer; free() it */
    char *body;   /* in it */
    size_t bytes; /* of the body */
};

/* A connection to the port on loopback. */
int http_connect(unsigned port);
/* Sends `request` as it stands and reads to the end of the connection, which is closed. */
struct http_answer http_talk(int fd, const char *request);
/* GET of that path, which is read to the end. */
struct http_answer http_get(unsigned port, const char *path);
/* The same; the status must be `status`, and the body contain `part`. */
void http_expect(unsigned port, const char *path, int status, const char *part);
/* Does anybody take connections there? */
bool http_listens(unsigned port);
/* Of a socket that listens. */
unsigned http_port_of(int fd);

#endif
