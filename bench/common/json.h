/*
 * json.h - one JSON object a line, for programs that compare runs.
 *
 * Every call does nothing when the file is NULL, so callers need not ask whether JSON was wanted.
 */
#ifndef BENCH_JSON_H
#define BENCH_JSON_H

#include "spread.h"

#include <stdint.h>
#include <stdio.h>

/* NULL for `path` NULL; stdout for "-". Ends the program with a sentence when the file cannot be
 * written. */
FILE *json_open(const char *path);
void json_close(FILE *f);

void json_begin(FILE *f, const char *benchmark);
void json_text(FILE *f, const char *name, const char *value);
void json_number(FILE *f, const char *name, double value);
void json_count(FILE *f, const char *name, uint64_t value);
/* NAME_median, NAME_mad, NAME_min, NAME_max */
void json_spread(FILE *f, const char *name, struct spread s);
void json_end(FILE *f);

#endif
