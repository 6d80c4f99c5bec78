/*
 * utf8.h - is it text?
 *
 * Callers   any thread
 * Memory    none
 * Waiting   never
 */
#ifndef APPS_UTF8_H
#define APPS_UTF8_H

#include <stddef.h>

/* How many bytes the character at the beginning of the text, which is not empty, has; 0: it is no
 * UTF-8. */
size_t utf8_length(const char *text);

#endif
