/*
 * timeline.h - a picture of what nodes have traced, as SVG: of each key a lane for each node, over
 * time, as the page of `locus trace` shows it (docs/reference/run-files.md), but without its script.
 *
 * Memory    40 bytes a line of the trace
 * Waiting   for the file. Memory that is not there and a file that cannot be written end the
 *           program
 * Life      timeline_new, timeline_add for each line, timeline_write, timeline_free
 */
#ifndef LOCUS_RUN_TIMELINE_H
#define LOCUS_RUN_TIMELINE_H

#include <stdbool.h>

enum { TIMELINE_KEYS_MAX = 20 };

struct timeline;

struct timeline *timeline_new(unsigned nodes);
void timeline_free(struct timeline *);
/* Lines of other nodes than those are passed over. */
void timeline_add(struct timeline *, const char *line);
/* From so many milliseconds after the first event on, until so many. False: there is no key, or
 * more than TIMELINE_KEYS_MAX, or nothing lies between the two. */
bool timeline_write(struct timeline *, const char *path, double from_ms, double to_ms);

#endif
