#include "scrape.h"

#include "clock.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* "host:port", "[host]:port", ":port", "port". No host: this one, whichever loopback it has. */
static bool split(const char *address, unsigned more, char host[SCRAPE_ADDRESS_MAX], char port[8])
{
    const char *colon = strrchr(address, ':'), *number = colon ? colon + 1 : address;
    size_t n = colon ? (size_t)(colon - address) : 0;
    char *end;
    unsigned long value = strtoul(number, &end, 10);
    if (*number < '0' || *number > '9' || *end || value + more < 1 || value + more > 65535)
        return false;
    if (n >= 2 && *address == '[' && address[n - 1] == ']') {
        address++;
        n -= 2;
    }
    bool is_any = (n == 7 && memcmp(address, "0.0.0.0", 7) == 0) ||
                  (n == 2 && memcmp(address, "::", 2) == 0) ||
                  (n == 9 && memcmp(address, "localhost", 9) == 0);
    snprintf(port, 8, "%lu", value + more);
    return snprintf(host, SCRAPE_ADDRESS_MAX, "%.*s", is_any ? 0 : (int)n, address) <
           SCRAPE_ADDRESS_MAX;
}

static int dial(const char *host, const char *port, const char **why)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    const struct timeval timeout = {.tv_sec = SCRAPE_TIMEOUT_S};
    struct addrinfo *a;
    int rc = getaddrinfo(*host ? host : NULL, port, &hints, &a);
    *why = rc ? gai_strerror(rc) : NULL;
    if (rc) return -1;
    int fd = -1;
    for (const struct addrinfo *at = a; at && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0) {
            setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
            setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
        }
        if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) == 0) break;
        *why = errno == EINPROGRESS ? "it does not take the connection" : strerror(errno);
        if (fd >= 0) close(fd);
        fd = -1;
    }
    freeaddrinfo(a);
    return fd;
}

/* To the end of the connection; NULL: it is not all, or too much, or not in time. */
static char *read_all(int fd)
{
    size_t have = 0, capacity = 65536;
    double until_s = clock_s() + SCRAPE_TIMEOUT_S;
    char *text = malloc(capacity);
    ssize_t n = 1;
    while (text && n > 0 && capacity <= SCRAPE_BYTES_MAX && clock_s() < until_s) {
        do n = read(fd, text + have, capacity - 1 - have);
        while (n < 0 && errno == EINTR);
        if (n > 0) have += (size_t)n;
        if (have + 1 < capacity) continue;
        char *more = realloc(text, capacity *= 2);
        if (!more) free(text);
        text = more;
    }
    if (text) text[have] = '\0';
    if (text && n == 0) return text;
    free(text);
    return NULL;
}

void scrape_name(const char *address, unsigned more, char name[SCRAPE_NAME_MAX])
{
    char host[SCRAPE_ADDRESS_MAX], port[8];
    if (split(address, more, host, port))
        snprintf(name, SCRAPE_NAME_MAX, strchr(host, ':') ? "[%s]:%s" : "%s:%s",
                 *host ? host : "127.0.0.1", port);
    else
        snprintf(name, SCRAPE_NAME_MAX, "%s", address);
}

/* The whole answer, header included; NULL with a reason. */
static char *ask(const char *address, unsigned more, const char *path, const char **why)
{
    char host[SCRAPE_ADDRESS_MAX], port[8], request[SCRAPE_PATH_MAX + 32];
    int n = snprintf(request, sizeof request, "GET %s HTTP/1.0\r\n\r\n", path);
    *why = "it is no HOST:PORT";
    if (n < 0 || (size_t)n >= sizeof request || !split(address, more, host, port)) return NULL;
    int fd = dial(host, port, why);
    if (fd < 0) return NULL;
    bool is_said = send(fd, request, (size_t)n, MSG_NOSIGNAL) == n;
    char *text = is_said ? read_all(fd) : NULL;
    if (!text) *why = "it took the connection, and said nothing in time, or too much";
    close(fd);
    return text;
}

static void fail_answer(struct scrape_answer *a, char *text, const char *name, const char *body)
{
    int length = (int)strcspn(body, "\r\n");
    /* What was asked is at fault, and not who answers. */
    if (a->status >= 400 && a->status < 500 && length)
        snprintf(a->why, sizeof a->why, "%.*s", length, body);
    else if (a->status && length)
        snprintf(a->why, sizeof a->why, "%s: %.*s (HTTP status %u)", name, length, body, a->status);
    else if (a->status)
        snprintf(a->why, sizeof a->why, "%s answers with HTTP status %u", name, a->status);
    else
        snprintf(a->why, sizeof a->why, "what answers at %s is no server of metrics", name);
    free(text);
}

bool scrape_path(const char *address, unsigned more, const char *path, struct scrape_answer *a)
{
    char name[SCRAPE_NAME_MAX];
    const char *why;
    char *text = ask(address, more, path, &why);
    scrape_name(address, more, name);
    *a = (struct scrape_answer){0};
    if (!text) {
        snprintf(a->why, sizeof a->why, "nobody answers at %s: %s", name, why);
        return false;
    }
    char *body = strstr(text, "\r\n\r\n");
    if (!body || sscanf(text, "HTTP/%*u.%*u %3u ", &a->status) != 1) a->status = 0;
    body = body ? body + 4 : text;
    if (a->status != 200) {
        fail_answer(a, text, name, body);
        return false;
    }
    memmove(text, body, strlen(body) + 1);
    a->text = text;
    return true;
}

bool scrape_read(const char *address, unsigned more, struct scrape_answer *a)
{
    if (!scrape_path(address, more, "/metrics", a)) return false;
    if (strstr(a->text, "\nlocus_nodes{")) return true;
    char name[SCRAPE_NAME_MAX];
    scrape_name(address, more, name);
    snprintf(a->why, sizeof a->why, "what answers at %s is no node of locus", name);
    free(a->text);
    a->text = NULL;
    return false;
}

/* Samples of that name go on with a label or the value. */
static const char *next_sample(const char *line, const char *begin, double *value)
{
    size_t n = strlen(begin);
    while (line && (line = strchr(line, '\n'))) {
        line++;
        if (strncmp(line, begin, n) != 0 || !strchr("{ ", line[n])) continue;
        const char *space = strchr(line + n, ' ');
        if (!space) return NULL;
        *value = strtod(space, NULL);
        return line;
    }
    return NULL;
}

double scrape_sum(const char *text, const char *begin)
{
    double sum = 0, value;
    while ((text = next_sample(text, begin, &value))) sum += value;
    return sum;
}

double scrape_max(const char *text, const char *begin)
{
    double most = 0, value;
    while ((text = next_sample(text, begin, &value)))
        if (value > most) most = value;
    return most;
}

const char *scrape_next(const char *at, const char *name, struct scrape_sample *out)
{
    at = next_sample(at, name, &out->value);
    if (!at) return NULL;
    const char *from = at + strlen(name) + 1,
               *end = at[strlen(name)] == '{' ? strchr(from, '}') : from;
    snprintf(out->labels, sizeof out->labels, "%.*s", end ? (int)(end - from) : 0, from);
    return at;
}
