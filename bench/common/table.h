/*
 * table.h - prints aligned tables.
 *
 *     struct table t = table_new("lrr");             one letter a column: left or right
 *     table_header(&t, (const char *const[]){"operation", "ns", "x floor"});
 *     table_add(&t, "pull"); table_add(&t, "%.1f", 12.3); table_add(&t, "%.2fx", 1.1);
 *     table_print(&t, stdout);                       also frees it
 *
 * The first row is the header; a table of a header alone is not printed.
 */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { TABLE_CELL = 96 };

struct table {
    const char *columns;
    char (*cells)[TABLE_CELL];
    size_t count, capacity;
};

struct table table_new(const char *columns);
/* The first row: a name for each column. */
void table_header(struct table *t, const char *const *names);
void table_add(struct table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "-" when not known */
void table_add_if(struct table *t, bool known, const char *format, double value);
/* an empty line between two rows */
void table_gap(struct table *t);
void table_print(struct table *t, FILE *out);

#endif
