/*
 * names.h - numbers for names: each new name gets the next number, from 0.
 *
 * Callers   one thread while names are added; any thread afterwards
 * Memory    grows by itself
 * Waiting   never
 */
#ifndef APPS_NAMES_H
#define APPS_NAMES_H

#include <stddef.h>
#include <stdint.h>

#define NAMES_NONE UINT32_MAX

struct names {
    char *text; /* all names, each with a zero byte behind it */
    size_t text_length, text_capacity;
    uint64_t *starts; /* of each name in `text` */
    uint32_t count, capacity;
    uint32_t *slots; /* open addressing; NAMES_NONE: free */
    uint32_t slot_count;
};

void names_init(struct names *);
void names_fini(struct names *);
/* The number of the name, which need not end with a zero byte. */
uint32_t names_add(struct names *, const char *name, size_t length);
/* The same, or NAMES_NONE. */
uint32_t names_find(const struct names *, const char *name, size_t length);
/* Goes on from a digest (digest.h) with the first `count` of them: data that differ in names alone
 * are others, whose model would be named wrongly. */
uint64_t names_digest(const struct names *, uint32_t count, uint64_t digest);
const char *names_get(const struct names *, uint32_t number);

#endif
