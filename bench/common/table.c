#include "table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct table table_new(const char *columns)
{
    return (struct table){.columns = columns};
}

void table_header(struct table *t, const char *const *names)
{
    for (size_t i = 0; i < strlen(t->columns); i++) table_add(t, "%s", names[i]);
}

void table_add(struct table *t, const char *format, ...)
{
    if (t->count == t->capacity) {
        t->capacity = t->capacity ? 2 * t->capacity : 64;
        t->cells = realloc(t->cells, t->capacity * sizeof *t->cells);
        if (t->cells == NULL) abort();
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(t->cells[t->count++], TABLE_CELL, format, arguments);
    va_end(arguments);
}

void table_add_if(struct table *t, bool known, const char *format, double value)
{
    char text[TABLE_CELL] = "-";
    if (known) snprintf(text, sizeof text, format, value);
    table_add(t, "%s", text);
}

/* Characters, not bytes: the continuation bytes of UTF-8 take no place. */
static int width_of(const char *text)
{
    int width = 0;
    for (; *text != '\0'; text++) width += (*text & 0xc0) != 0x80;
    return width;
}

static int column_width(const struct table *t, size_t column, size_t columns)
{
    int width = 0;
    for (size_t i = column; i < t->count; i += columns) {
        int w = width_of(t->cells[i]);
        if (w > width) width = w;
    }
    return width;
}

static void print_cell(const struct table *t, size_t cell, size_t columns, bool last, FILE *out)
{
    size_t column = cell % columns;
    const char *text = t->cells[cell];
    int pad = column_width(t, column, columns) - width_of(text);
    const char *gap = column ? "  " : "";
    if (t->columns[column] == 'r') {
        fprintf(out, "%s%*s%s", gap, pad, "", text);
    } else {
        fprintf(out, "%s%s%*s", gap, text, last ? 0 : pad, "");
    }
}

static void print_underline(const struct table *t, size_t columns, FILE *out)
{
    for (size_t c = 0; c < columns; c++) {
        int width = column_width(t, c, columns);
        if (c > 0 && width > 0) fputs("  ", out);
        for (; width > 0; width--) fputc('-', out);
    }
    fputc('\n', out);
}

/* How many cells of the row to print, so that no line ends in blanks. */
static size_t filled_cells(const struct table *t, size_t row, size_t columns)
{
    while (columns > 0 && t->cells[row + columns - 1][0] == '\0') columns--;
    return columns;
}

/* No gap below the header or another gap. */
void table_gap(struct table *t)
{
    size_t columns = strlen(t->columns);
    if (t->count <= columns || filled_cells(t, t->count - columns, columns) == 0) return;
    for (size_t i = 0; i < columns; i++) table_add(t, "%s", "");
}

void table_print(struct table *t, FILE *out)
{
    size_t columns = strlen(t->columns);
    assert(columns > 0);
    for (size_t row = 0; t->count > columns && row + columns <= t->count; row += columns) {
        size_t filled = filled_cells(t, row, columns);
        for (size_t i = row; i < row + filled; i++)
            print_cell(t, i, columns, i + 1 == row + filled, out);
        fputc('\n', out);
        if (row == 0) print_underline(t, columns, out);
    }
    free(t->cells);
    *t = (struct table){.columns = t->columns};
}
