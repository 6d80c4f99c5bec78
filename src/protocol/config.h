/*
 * config.h - the fields of struct locus_config, a row of a table each: what a field may be, what
 * stands for 0, which variable is read where it is not given, and whether it must be equal on all
 * nodes. A field that may be anything on any node needs no row. Tables, rank and size are no such
 * rows: their rules are about several fields.
 *
 * Memory    constants; what variables say is the environment's
 * Waiting   never
 * Life      none
 */
#ifndef LOCUS_PROTOCOL_CONFIG_H
#define LOCUS_PROTOCOL_CONFIG_H

#include "locus.h"

enum config_kind {
    CONFIG_COUNT,
    CONFIG_TECHNIQUE,
    CONFIG_SECONDS,
    CONFIG_FINGERPRINT,
    CONFIG_TEXT
};

struct config_field {
    const char *name; /* in sentences */
    size_t offset, bytes;
    enum config_kind kind;
    bool is_equal;        /* on all nodes */
    unsigned least, most; /* of a count */
    double standard;      /* of seconds: for 0 */
    const char *variable; /* of a text or of seconds: where it is NULL or 0 */
};

/* Sets what is not given, and checks the rest: -EINVAL names the field and its value. */
int config_complete(struct locus_config *);
/* The variables that stand for fields; NULL after the last one. */
const char *config_variable(size_t i);

/* What must be equal on all nodes, a number each. */
const struct config_field *config_equal(size_t i); /* NULL after the last one */
uint64_t config_value(const struct config_field *, const struct locus_config *);
/* As a sentence has it. */
void config_show(const struct config_field *, uint64_t value, char *text, size_t capacity);

#endif
