/*
 * notation.h - numbers and names as machines write and read them, whatever locale the program that
 * uses the library has chosen: with a decimal point, and in ASCII. Sentences for people are written
 * by printf().
 *
 * Memory    static
 * Waiting   for the file
 * Life      none
 */
#ifndef LOCUS_BASE_NOTATION_H
#define LOCUS_BASE_NOTATION_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* vsnprintf() */
int notation_format(char *to, size_t capacity, const char *format, va_list)
    __attribute__((format(printf, 3, 0)));
/* fprintf() */
int notation_print(FILE *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* strtod() */
double notation_read(const char *text, char **end);
/* A name of the user's: what is no letter or digit might need quoting, and becomes '_'. */
void notation_name(FILE *, const char *name);
/* Is it UTF-8 without control characters? */
bool notation_is_text(const char *);

#endif
