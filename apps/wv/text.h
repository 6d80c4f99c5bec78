/*
 * text.h - the words of a piece of a text file, one after the other. Words have white space between
 * them; the end of a line ends a sentence.
 *
 * Callers   one thread for each struct
 * Memory    the file is mapped, not held: words point into it
 * Waiting   for the disk
 */
#ifndef WV_TEXT_H
#define WV_TEXT_H

#include "lines.h"

enum text_event { TEXT_WORD, TEXT_LINE, TEXT_END };
enum { TEXT_WORD_MAX = 1024 };

struct text {
    struct lines file;
    const char *first, *at, *end;
    const char *word; /* after TEXT_WORD */
    size_t length;
};

/* The piece numbered `place` of `places`; pieces begin and end between words. Gives up when the
 * file cannot be read. `path` is kept by reference. */
void text_open(struct text *, const char *path, unsigned place, unsigned places);
/* Gives up, with file and line, at a word of more than TEXT_WORD_MAX bytes or with a zero byte:
 * that is no text. */
enum text_event text_next(struct text *);
void text_rewind(struct text *);
void text_close(struct text *);

#endif
