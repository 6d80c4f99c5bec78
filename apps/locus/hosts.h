/*
 * hosts.h - the file of `locus run --hosts`: a line for each host,
 *
 *     host [address] [slots]        # and comments
 *
 * `host` is what ssh takes: a name, user@name, or one of ssh's configuration. `address` is where
 * the other nodes reach it: a name, an IPv4 or an IPv6 address; without one it is the name. `slots`
 * is the number of nodes there, 1 unless told; "slots=4" is the same as "4". Ranks follow the order
 * of the lines.
 *
 * Memory    its own
 * Waiting   for the file
 * Life      hosts_read, hosts_free
 */
#ifndef LOCUS_RUN_HOSTS_H
#define LOCUS_RUN_HOSTS_H

#include <stdbool.h>
#include <stddef.h>

enum { HOST_NAME_BYTES = 256, HOSTS_MAX = 4096 };

struct host {
    char name[HOST_NAME_BYTES];
    char address[HOST_NAME_BYTES]; /* as given, or the name without its user */
    bool has_address;              /* given */
    unsigned slots;
};

struct hosts {
    struct host *host;
    size_t count;
    unsigned slots; /* together */
};

/* 0, or STATUS_USAGE with a sentence that names file and line. */
int hosts_read(struct hosts *, const char *path);
void hosts_free(struct hosts *);
/* The host of a rank below `slots`. */
const struct host *hosts_of_rank(const struct hosts *, unsigned rank);

#endif
