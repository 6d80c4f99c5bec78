/*
 * utf8.h - is it text?
 *
 * Callers   any thread
 * Memory    none
 * Waiting   never
 * Life      none
 */
#ifndef LOCUS_BASE_UTF8_H
#define LOCUS_BASE_UTF8_H

#include <stdbool.h>

/* UTF-8, without control characters. */
bool utf8_is_text(const char *);

#endif
