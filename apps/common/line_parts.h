/*
 * line_parts.h - the rest of a text file in parts of whole lines. Several threads read parts at the
 * same time, and the caller takes them in the file's order, so the result is that of one thread.
 *
 * The thread that reads a part does not know the lines before it, not even how many there are, and
 * reports nothing. It leaves a part in which a line is wrong, or depends on earlier lines. Then the
 * caller, when it takes that part, reads it line by line, and names file and line in its error. So
 * the error is always about the file's first wrong line, in the same words.
 *
 * Callers   one thread, which reads, too; `read` is called by all of them
 * Memory    what is made of line_parts_count() parts, the caller's, again and again
 * Waiting   for the disk, and for the thread that reads the next part
 * Life      of a call
 */
#ifndef APPS_LINE_PARTS_H
#define APPS_LINE_PARTS_H

#include "lines.h"

enum { LINE_PARTS_BYTES = 1 << 20 };

struct line_parts {
    unsigned threads; /* the caller's is one of them; with one alone, nothing is read ahead */
    size_t bytes;     /* of a part, or as many more as its last line has */
    void *context;
    void **made; /* line_parts_count() of them */
    /* Makes something of the part's lines, which are text; `number` means nothing. False: not. */
    bool (*read)(const void *context, void *made, struct lines *part);
    /* Takes it. Unless it was read: reads the lines, which `part` begins with. */
    void (*take)(void *context, void *made, struct lines *part, bool is_read);
};

/* How many parts may be read, or be made something of, at once. */
static inline unsigned line_parts_count(unsigned threads)
{
    return threads > 1 ? 2 * threads : 1;
}

/* All lines that are left. */
void line_parts_run(struct lines *, const struct line_parts *);

#endif
