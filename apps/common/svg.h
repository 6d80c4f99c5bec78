/*
 * svg.h - what all pictures begin with, and their text.
 *
 * Callers   one thread
 * Memory    none
 * Waiting   for the disk. A file that cannot be written ends the program with a sentence
 * Life      svg_begin; svg_text and the caller's own lines to the file; svg_end
 */
#ifndef APPS_SVG_H
#define APPS_SVG_H

#include "saving.h"

void svg_begin(struct saving *, const char *path, int width, int height, const char *title,
               const char *subtitle);
/* `anchor` is start, middle or end. Any bytes: markup.h. */
void svg_text(FILE *, double x, double y, int size, const char *colour, const char *anchor,
              const char *text);
void svg_end(struct saving *);

#endif
