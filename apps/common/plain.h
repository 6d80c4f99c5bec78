/*
 * plain.h - texts of others (peers, files, the network) as they may be shown: nothing in them can
 * move a terminal's cursor, change its title or answer in the user's name.
 *
 * Callers   any thread; whatever prints what this program has not written itself
 * Memory    the caller's
 * Waiting   plain_print for stdout
 * Life      none
 */
#ifndef APPS_PLAIN_H
#define APPS_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many bytes the character at the beginning of the text, which is not empty, has; 0: it is no
 * UTF-8. */
size_t utf8_length(const char *text);

/* Is the character of UTF-8 at the beginning, of so many bytes, one of control: of ASCII, or U+0080
 * to U+009F, which some terminals obey, too? */
bool plain_is_control(const char *text, size_t length);
/* A copy, of as much as there is room for, in which control characters but the end of a line, and
 * bytes that are no UTF-8, are written as \x1b. */
void plain_copy(char *to, size_t capacity, const char *from);
/* Of a word that is counted: "s", or "" behind a single one. */
const char *plain_s(uint64_t count);
/* printf(), of which all is shown so. */
void plain_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
