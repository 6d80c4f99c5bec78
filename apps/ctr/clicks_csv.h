/*
 * clicks_csv.h - reads examples from separated fields: clicks_read.h says what becomes a feature.
 *
 * Memory    8 bytes a value of columns of numbers, while it reads
 * Waiting   for the disk
 */
#ifndef CTR_CLICKS_CSV_H
#define CTR_CLICKS_CSV_H

#include "clicks_read.h"
#include "lines.h"

/* Returns how many examples are to train with. */
uint64_t clicks_read_csv(struct clicks *, const struct clicks_source *);

/* A feature by its name, for the example that is read; is_training: it may be new. */
void clicks_add_named(struct clicks *, const struct clicks_source *, bool is_training,
                      const char *name, size_t length, uint32_t field);

/* 1 is a click, 0 and -1 are none; others end the program. */
bool clicks_label(const struct lines *, struct field);

#endif
