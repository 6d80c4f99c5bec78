/*
 * text_looks.h - what the lines of a text look like: one that may as well be another format is none,
 * and is refused. apps/common/FORMATS.md has the rules.
 *
 * Callers   the reader, a line after the other, then once
 * Memory    none of its own; the check takes 4 bytes a word
 * Waiting   never. What is refused ends the program with a sentence
 */
#ifndef LDA_TEXT_LOOKS_H
#define LDA_TEXT_LOOKS_H

#include "corpus.h"
#include "lines.h"

/* Begins with zeros. */
struct text_looks {
    bool has_letters, has_letters_behind; /* in the first line; in any other */
    size_t shortest, longest;             /* line, in words */
    size_t fewest_tabs, most_tabs;        /* in a line */
    uint64_t lines;
    uint64_t counted, others; /* words behind the first of a line: as word:count, or not */
    uint64_t fields, marks; /* lines with separators within their first or last word, or with marks
                                 at their ends, as JSON has them */
    uint64_t in_turn;       /* lines of a word, a number and so on */
    uint64_t in_order;      /* lines that begin with the number behind that of the line before */
    double number;          /* of the last line */
};

void text_looks_note(struct text_looks *, const struct lines *);
/* All lines of the file, which are the documents, were noted. */
void text_looks_check(const struct text_looks *, const struct corpus *, const char *path);

#endif
