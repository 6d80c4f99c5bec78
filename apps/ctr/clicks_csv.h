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

enum { CLICKS_NUMBER_BYTES = 32 };
/* Numbers that are equal have the same text, which may be in `text`. */
struct field clicks_same_text(struct field, char text[CLICKS_NUMBER_BYTES]);

/* The labels of the file to train with, and of the one that is read. */
struct clicks_labels {
    const struct clicks_source *source;
    struct names trained; /* with --positive */
    uint64_t count, clicks;
    bool has_zero, has_minus; /* without */
};
void clicks_labels_init(struct clicks_labels *, const struct clicks_source *);
void clicks_labels_fini(struct clicks_labels *);
/* The label --positive is a click; without it 1 is one, and 0 or -1 is none, whichever a file has.
 * Others end the program, as does one to test with that was not trained with. */
bool clicks_label(struct clicks_labels *, const struct lines *, struct field);
/* At the end of a file: has it examples, and, to train with, clicks and others? */
void clicks_labels_end(struct clicks_labels *, const char *path);

#endif
