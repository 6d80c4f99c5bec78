/*
 * fields.h - the fields of a line of text, as files about graphs have them: between them stand
 * tabs, commas or semicolons, whichever the line has first, else blanks, however many.
 *
 * Callers   parsers
 * Memory    fields point into the line
 * Waiting   never
 */
#ifndef GNN_FIELDS_H
#define GNN_FIELDS_H

#include "lines.h"

#include <stdbool.h>
#include <stddef.h>

/* Empty, or begins with % or #. */
bool fields_is_comment(const struct lines *);
/* The first `max` fields, each without the quotation marks around it; returns how many there are,
 * at most `max`. */
size_t fields_split(const struct lines *, struct field *, size_t max);
/* The last one. */
struct field fields_last(const struct lines *);
/* Digits only. */
bool fields_is_number(struct field);

#endif
