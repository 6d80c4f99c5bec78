/*
 * output.h - what one node prints, shown in whole lines with its rank before them: "[2] epoch 1".
 *
 * Memory    one line of at most OUTPUT_LINE_MAX bytes; longer ones are shown in pieces
 * Waiting   as long as the terminal does; when a signal asks us to end, a second longer, then the
 *           rest is lost
 * Life      output_init, output_pump until it returns false, output_fini
 */
#ifndef LOCUS_RUN_OUTPUT_H
#define LOCUS_RUN_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

enum { OUTPUT_LINE_MAX = 8192, OUTPUT_PREFIX_MAX = 32 };

struct output {
    int from; /* not blocking; -1: none, or ended */
    int to;
    char prefix[OUTPUT_PREFIX_MAX];
    size_t prefix_bytes, have;
    bool was_shown_by_return;
    bool is_given_up; /* nobody takes what is to be shown: it is lost */
    int failure;      /* errno: why it could not be written */
    char *line;       /* prefix and line */
};

/* How the output of `to` is to look. */
struct output_style {
    bool is_coloured;
    int digits; /* of the largest rank */
};

/* Takes `from` over. False: no memory. */
bool output_init(struct output *, int from, int to, unsigned rank, const struct output_style *);
/* Shows what has come. False when no more will: then the last line is complete, too. */
bool output_pump(struct output *);
/* Is there something to show now, or the end? */
bool output_has_more(const struct output *);
void output_fini(struct output *);

#endif
