/*
 * run_line.h - a line of what a run writes of itself: a JSON object, flat, of numbers and texts,
 * each name once. For lines that the library and json.h write; of others, whatever is found.
 *
 * Memory    none
 * Waiting   never
 */
#ifndef APPS_RUN_LINE_H
#define APPS_RUN_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* From { to }, with an end of line or without. */
bool run_line_is_whole(const char *line);
/* The finite number, the text behind that name. False: there is none, and *out is as before. A text
 * that is longer is cut. */
bool run_line_number(const char *line, const char *name, double *out);
bool run_line_text(const char *line, const char *name, char *out, size_t capacity);

#endif
