/*
 * markup.h - texts of users in SVG and HTML.
 *
 * Callers   one thread for each file
 * Memory    none
 * Waiting   for the file
 */
#ifndef APPS_MARKUP_H
#define APPS_MARKUP_H

#include <stdio.h>

/* As it stands in an element or in an attribute. What XML cannot have in any way, which is what is
 * no UTF-8 and most control characters, becomes U+FFFD. */
void markup_text(FILE *, const char *text);

#endif
