/*
 * marks.h - a file that says one word of each node: its class, or what it is for.
 *
 * Three formats:
 *   separated fields   the name of a node first and its word last, or where a heading says so
 *   LIBSVM             the word, then index:value; the first line is about the first node, and so
 *                      on
 *   a word a line      likewise; a blank line between two is about a node without a word
 *
 * The first node is the one named 0; where MatrixMarket has the graph, the one of the first row.
 * What may be about other nodes is refused.
 *
 * Memory    a row
 * Waiting   for the disk. What is malformed ends the program, with file and line
 */
#ifndef GNN_MARKS_H
#define GNN_MARKS_H

#include "lines.h"
#include "network.h"

/* `word` is not empty; in a column of numbers it is not missing. */
typedef void marks_use(void *context, const struct lines *, uint32_t node, struct field word);

/* Nodes that have no edges are added to the network when `has_new`; else they are refused. */
void marks_read(struct network *, const char *path, bool has_new, marks_use *, void *context);

/* Lines that are nodes, one after the other. */
struct marks_lines {
    struct network *network;
    uint64_t count;     /* of nodes so far */
    uint32_t before;    /* nodes of the graph, when it began */
    uint64_t last;      /* the largest number of one */
    bool has_new;       /* as above */
    bool has_blank;     /* blank lines between are nodes; else they are refused */
    const char *behind; /* the last line */
};

/* Before the first line. */
void marks_lines_begin(struct marks_lines *, const struct lines *);
/* Of the current one. */
uint32_t marks_lines_node(struct marks_lines *, const struct lines *);
/* After the last one. */
void marks_lines_end(const struct marks_lines *, const struct lines *);

#endif
