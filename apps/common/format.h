/*
 * format.h - what formats of data are called: --format of each program that reads several. Without
 * it they are found by what is in the files.
 *
 * Callers   main(), before args_parse() and after
 * Memory    the caller's
 * Waiting   never
 */
#ifndef APPS_FORMAT_H
#define APPS_FORMAT_H

#include "args.h"

enum format {
    FORMAT_AUTO,
    FORMAT_CSV, /* rows of fields, whatever is between them */
    FORMAT_LIBSVM,
    FORMAT_CRITEO,
    FORMAT_TEXT,
    FORMAT_LDAC,
    FORMAT_DOCWORD, /* from here on a head says how much there is */
    FORMAT_MATRIX,
    FORMATS
};
extern const char *const format_names[FORMATS];

struct format_option {
    int is;
    const char *names[FORMATS + 1]; /* "": not offered */
    char help[80];
};

/* The option, with those of which the bit is set. */
struct args_option format_offer(struct format_option *, unsigned formats);
/* Another one than was found ends the program. */
void format_check(const struct format_option *, const char *path, enum format found);

#endif
