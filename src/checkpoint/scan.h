/*
 * scan.h - reads JSON from its front to its end, and keeps of it what was asked for: whatever else
 * the text has costs no memory.
 *
 * Memory    the texts and numbers of one object at a time
 * Waiting   never
 * Life      scan_object for the whole, and within its arrays; scan_ends
 */
#ifndef LOCUS_CHECKPOINT_SCAN_H
#define LOCUS_CHECKPOINT_SCAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct scan {
    const char *at, *end;
    const char *wrong; /* NULL, or the first thing that was */
};

/* Reads an item of an array, or says in `wrong` why it cannot. */
typedef bool scan_item(void *context, struct scan *);

struct scan_member {
    const char *name;
    scan_item *item; /* NULL: it is a text or a number */
    json_t *value;   /* then; NULL: there is none, or something else */
    bool is_seen;
};

/* An object. Each member comes once at most; those of other names are passed over. */
bool scan_object(struct scan *, struct scan_member *, size_t count, void *context);
/* In any case, when the values were looked at. */
void scan_forget(struct scan_member *, size_t count);
/* Is nothing left? */
bool scan_ends(struct scan *);

#endif
