#include "observe/httpd.h"

#include "base/error.h"
#include "base/notation.h"
#include "net/address.h"
#include "net/forked.h"
#include "locus.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CROWDED = HTTPD_CONNECTIONS_MAX / 4 * 3, ADDRESS_BYTES = 300 };

struct httpd {
    struct MHD_Daemon *daemon;
    int listener;
    const struct httpd_path *path;
    void *context;
    /* The daemon's thread: open connections in the order in which they came, 0 where one ended. */
    int fd[HTTPD_CONNECTIONS_MAX + 1];
    uint64_t came[HTTPD_CONNECTIONS_MAX + 1], arrivals;
};

/* ---- listening ---- */

/* "9400" is ":9400" is "127.0.0.1:9400", or at another loopback. */
static bool complete_address(const char *address, const char *loopback, char out[ADDRESS_BYTES])
{
    bool is_port = *address && address[strspn(address, "0123456789")] == '\0';
    int n = snprintf(out, ADDRESS_BYTES, "%s%s%s", is_port || *address == ':' ? loopback : "",
                     is_port ? ":" : "", address);
    return n < ADDRESS_BYTES;
}

static int listen_at(const char *what, const char *address, const char *loopback, unsigned more,
                     int *fd)
{
    char whole[ADDRESS_BYTES];
    struct addrinfo *list;
    struct address at;
    if (!complete_address(address, loopback, whole))
        return error_set(-EINVAL, "%s is longer than %d characters: write host:port", what,
                         ADDRESS_BYTES);
    int rc = address_resolve(what, whole, AI_PASSIVE, AF_UNSPEC, &list);
    if (rc) return rc;
    at = address_from(list->ai_addr);
    freeaddrinfo(list);
    unsigned port = address_port(&at);
    if (port + more > 65535)
        return error_set(-EINVAL,
                         "%s is \"%.100s\": this node would listen at port %u, above 65535", what,
                         address, port + more);
    if (port) address_set_port(&at, port + more);
    rc = address_bind(&at, fd);
    return rc ? error_set(rc,
                          "%s is \"%.100s\": this node cannot listen there, at its port + %u: %s; "
                          "choose another address, or unset it",
                          what, address, more, locus_strerror(rc))
              : 0;
}

/* A host may have IPv6 alone. */
int httpd_listen(const char *what, const char *address, unsigned more, int *fd)
{
    const char *colon = strchr(address, ':');
    bool has_host = colon && colon > address;
    int rc = listen_at(what, address, "127.0.0.1", more, fd);
    bool is_elsewhere = rc == -EADDRNOTAVAIL || rc == -EAFNOSUPPORT;
    return is_elsewhere && !has_host ? listen_at(what, address, "[::1]", more, fd) : rc;
}

/* ---- connections ---- */

static int socket_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *i =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return i ? i->connect_fd : -1;
}

/* Shuts the oldest down; the daemon soon tells of its end. */
static void make_room(struct httpd *d)
{
    unsigned open = 0, oldest = 0;
    for (unsigned i = 0; i <= HTTPD_CONNECTIONS_MAX; i++) {
        if (!d->came[i]) continue;
        open++;
        if (!d->came[oldest] || d->came[i] < d->came[oldest]) oldest = i;
    }
    if (open < CROWDED) return;
    shutdown(d->fd[oldest], SHUT_RDWR);
    d->came[oldest] = 0;
}

static void note_connection(void *server, struct MHD_Connection *connection, void **place,
                            enum MHD_ConnectionNotificationCode code)
{
    struct httpd *d = server;
    unsigned i = 0;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        forked_unregister(socket_of(connection));
        uint64_t *came = *place;
        if (came && socket_of(connection) == d->fd[came - d->came]) *came = 0;
        return;
    }
    make_room(d);
    while (i < HTTPD_CONNECTIONS_MAX && d->came[i]) i++;
    d->came[i] = ++d->arrivals;
    d->fd[i] = socket_of(connection);
    if (d->fd[i] >= 0) forked_register(d->fd[i]);
    *place = &d->came[i];
}

/* ---- answers ---- */

static bool has_room(struct httpd_reply *r, size_t more)
{
    enum { FIRST = 16384 };
    size_t capacity = r->capacity ? r->capacity : FIRST;
    while (capacity < r->length + more) capacity *= 2;
    if (capacity == r->capacity) return true;
    char *text = capacity <= HTTPD_REPLY_BYTES_MAX ? realloc(r->text, capacity) : NULL;
    if (!text) return false;
    r->text = text;
    r->capacity = capacity;
    return true;
}

void httpd_put(struct httpd_reply *r, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int n = notation_format(line, sizeof line, format, arguments);
    va_end(arguments);
    if (n < 0 || (size_t)n >= sizeof line || !has_room(r, (size_t)n + 1)) r->failed = true;
    if (r->failed) return;
    memcpy(r->text + r->length, line, (size_t)n + 1);
    r->length += (size_t)n;
}

/* Takes the response over. RFC 9110, 15.5.6: who is refused is told what is not. */
static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status,
                             struct MHD_Response *response, const char *type)
{
    if (!response) return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    enum MHD_Result rc = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return rc;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, const char *text)
{
    return reply(
        connection, status,
        MHD_create_response_from_buffer(strlen(text), (void *)(size_t)text, MHD_RESPMEM_PERSISTENT),
        "text/plain");
}

struct httpd_request {
    struct MHD_Connection *connection;
};

const char *httpd_argument(const struct httpd_request *r, const char *name)
{
    return MHD_lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, name);
}

static enum MHD_Result answer(void *server, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *body,
                              size_t *body_bytes, void **request)
{
    struct httpd *d = server;
    const struct httpd_path *p = d->path;
    const struct httpd_request r = {connection};
    struct httpd_reply made = {.status = MHD_HTTP_OK};
    (void)version;
    (void)body;
    (void)request;
    if (*body_bytes) return MHD_NO;
    /* the server of itself leaves out the body of an answer to HEAD */
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
    while (p->answer && strcmp(p->path, url) != 0) p++;
    if (!p->answer) return refuse(connection, MHD_HTTP_NOT_FOUND, "no such path: try /metrics\n");
    p->answer(d->context, &r, &made);
    if (made.failed || !made.text) {
        free(made.text);
        return refuse(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "no memory\n");
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer(made.length, made.text, MHD_RESPMEM_MUST_FREE);
    if (!response) free(made.text);
    return reply(connection, made.status, response, p->type);
}

int httpd_open(int fd, const struct httpd_path *path, void *context, struct httpd **out)
{
    struct httpd *d = calloc(1, sizeof *d);
    *out = NULL;
    if (!d) {
        forked_end(fd);
        return error_set(-ENOMEM, "no memory for the server of metrics");
    }
    d->path = path;
    d->context = context;
    d->listener = fd;
    /* Without MHD_USE_ERROR_LOG malformed requests are not logged. */
    d->daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC, 0,
                                 NULL, NULL, answer, d, MHD_OPTION_LISTEN_SOCKET, fd,
                                 MHD_OPTION_CONNECTION_LIMIT, (unsigned)HTTPD_CONNECTIONS_MAX,
                                 MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTPD_CONNECTION_BYTES,
                                 MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTPD_IDLE_S,
                                 MHD_OPTION_NOTIFY_CONNECTION, note_connection, d, MHD_OPTION_END);
    if (!d->daemon) {
        forked_end(fd);
        free(d);
        return error_set(-EAGAIN, "no thread for the server of metrics (ulimit -u)");
    }
    *out = d;
    return 0;
}

void httpd_close(struct httpd *d)
{
    if (!d) return;
    forked_unregister(d->listener); /* the daemon closes it */
    MHD_stop_daemon(d->daemon);
    free(d);
}
