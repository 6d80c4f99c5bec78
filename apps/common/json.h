/*
 * json.h - JSON objects, one a line, each written in one piece as soon as it is complete: events on
 * stdout, or lines of another style in another file.
 *
 *     struct json j;
 *     json_begin(&j, "epoch");
 *     json_number(&j, "loss", loss);
 *     json_end(&j);
 *
 * Without a struct (NULL) every call does nothing, so callers need not ask whether JSON was wanted.
 *
 * Callers   one thread at a time
 * Memory    a line's, from json_begin() to json_end()
 * Waiting   for the file
 */
#ifndef APPS_JSON_H
#define APPS_JSON_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_ESCAPED_BYTES = 8 };

/* How the lines of a program look. */
struct json_style {
    const char *first;         /* the name of the first member: "event" */
    const char *comma, *colon; /* with the blanks behind them */
    int digits;                /* of numbers that are not counts */
};

struct json {
    FILE *line; /* whose bytes are `text` */
    char *text;
    size_t length;
    const struct json_style *style;
    FILE *file;
};

/* {"event":"EVENT", for stdout */
void json_begin(struct json *, const char *event);
/* The same in a style of its own, for a file. */
void json_begin_in(struct json *, const struct json_style *, FILE *, const char *value);
void json_text(struct json *, const char *name, const char *value);
void json_number(struct json *, const char *name, double value); /* null when it is not finite */
void json_count(struct json *, const char *name, uint64_t value);
/* "NAME":[...], each as json_number() has it. */
void json_numbers(struct json *, const char *name, const double *values, size_t count);
/* Closes the object and prints the line. */
void json_end(struct json *);

/* Writes the first character of the text, which is not empty, as it stands in a JSON text, into
 * JSON_ESCAPED_BYTES; what is no UTF-8 becomes U+FFFD. Returns the text behind it. */
const char *json_escape(const char *text, char *escaped);

#endif
