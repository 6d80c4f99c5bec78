/*
 * table.h - what `locus top` shows: lines of text, for a terminal or a file, or JSON.
 *
 * Memory    the caller's
 * Waiting   for stdout
 */
#ifndef LOCUS_TOP_TABLE_H
#define LOCUS_TOP_TABLE_H

#include "look.h"

enum { TABLE_LINE_MAX = 256 };

/* Columns by which rows can be put in order: their numbers, from 0. */
enum table_order {
    TABLE_RANK,
    TABLE_ACCESSES,
    TABLE_REMOTE,
    TABLE_SENT,
    TABLE_SHARDS,
    TABLE_STALENESS,
    TABLE_LATE,
    TABLE_ORDERS
};

void table_sort(struct look *, enum table_order);
const char *table_order_name(enum table_order);
/* 1234567 is 1.23M, in at most six characters. */
void table_shorten(double value, char text[16]);
void table_head(char line[TABLE_LINE_MAX]);
void table_row(const struct look_row *, char line[TABLE_LINE_MAX]);
/* How the members have changed, as the first node knows that answers; false: they have not. */
bool table_changes(const struct look *, char line[TABLE_LINE_MAX]);
/* An object each, {"event":"node",...}. */
void table_json(const struct look *);

#endif
