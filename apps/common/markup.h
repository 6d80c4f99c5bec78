/*
 * markup.h - texts of users in SVG and HTML; and what all pictures begin with: svg_begin(), the
 * caller's own lines to the file, svg_end().
 *
 * Callers   one thread for each file
 * Memory    none
 * Waiting   for the file. A picture that cannot be written ends the program with a sentence
 */
#ifndef APPS_MARKUP_H
#define APPS_MARKUP_H

#include "saving.h"

#include <stdio.h>

/* As it stands in an element or in an attribute. What XML cannot have in any way, which is what is
 * no UTF-8 and most control characters, becomes U+FFFD. */
void markup_text(FILE *, const char *text);

void svg_begin(struct saving *, const char *path, int width, int height, const char *title,
               const char *subtitle);
/* `anchor` is start, middle or end. Any bytes, as markup_text(). */
void svg_text(FILE *, double x, double y, int size, const char *colour, const char *anchor,
              const char *text);
void svg_end(struct saving *);

#endif
