/*
 * marks.h - a file that says one word of each node: its class, or what it is for.
 *
 * Three formats, which the first line tells apart:
 *   a table        fields with tabs, commas or semicolons between them, or several words: the name
 *                  of a node first, its word last; a heading in the first line is passed over
 *   LIBSVM         the word, then index:value; the first line is about the node named 0, and so on
 *   a word a line  likewise
 *
 * Callers   labels.c
 * Memory    none
 * Waiting   for the disk. What is malformed ends the program, with file and line
 */
#ifndef GNN_MARKS_H
#define GNN_MARKS_H

#include "fields.h"
#include "network.h"

/* `word` is not empty. */
typedef void marks_use(void *context, const struct lines *, uint32_t node, struct field word);

/* Nodes that have no edges are added to the network when `has_new`; else they are refused. */
void marks_read(struct network *, const char *path, bool has_new, marks_use *, void *context);

/* The node of a line whose nodes are counted from 0. */
uint32_t marks_node_of_line(struct network *, const struct lines *, uint64_t line, bool has_new);

#endif
