#include "ratings_read.h"

#include "fail.h"
#include "line_parts.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROW, COLUMN, VALUE, FIELDS };

static const char form[] = "row TAB column TAB value";

/* What a thread makes of a part of the file. Names have numbers of the part. */
struct made {
    struct rating *list;
    size_t count, capacity;
    struct names row_names, column_names;
    uint32_t *numbers; /* of its names in the file */
};

struct file {
    struct ratings *ratings;
    size_t *counter;
};

/* False: the value is no float. */
static bool cell_of(const struct ratings *r, const struct field *field, struct names *rows,
                    struct names *columns, struct rating *to)
{
    double value;
    if (!lines_number(field[VALUE].text, field[VALUE].length, &value) ||
        fabs(value) > (double)FLT_MAX)
        return false;
    to->value = r->is_implicit ? 1 : (float)value;
    to->row = names_add(rows, field[ROW].text, field[ROW].length);
    to->column = names_add(columns, field[COLUMN].text, field[COLUMN].length);
    return true;
}

static void forget_names(struct names *n)
{
    if (n->count == 0) return;
    names_fini(n);
    names_init(n);
}

static bool read_part(const void *file, void *made, struct lines *part)
{
    const struct file *f = file;
    struct made *m = made;
    struct field field[FIELDS];
    m->count = 0;
    forget_names(&m->row_names);
    forget_names(&m->column_names);
    while (lines_step(part)) {
        m->list = make_room(m->list, m->count, &m->capacity, sizeof *m->list, "ratings");
        if (lines_fault(part) || !lines_fields(part, field, FIELDS) ||
            !cell_of(f->ratings, field, &m->row_names, &m->column_names, &m->list[m->count++]))
            return false;
    }
    return true;
}

/* Their numbers in the file, in the order in which they come in the part: the file's. */
static void number_names(uint32_t *numbers, const struct names *of_part, struct names *all)
{
    for (uint32_t i = 0; i < of_part->count; i++) {
        const char *name = names_get(of_part, i);
        numbers[i] = names_add(all, name, strlen(name));
    }
}

static void take_made(struct file *f, struct made *m)
{
    struct ratings *r = f->ratings;
    size_t names = (size_t)m->row_names.count + m->column_names.count;
    uint32_t *rows = resize_memory(m->numbers, names + 1, sizeof *rows, "names");
    m->numbers = rows;
    uint32_t *columns = rows + m->row_names.count;
    number_names(rows, &m->row_names, &r->row_names);
    number_names(columns, &m->column_names, &r->column_names);
    struct rating *to = ratings_capacity(r, m->count);
    for (size_t i = 0; i < m->count; i++) {
        to[i] = m->list[i];
        to[i].row = rows[to[i].row];
        to[i].column = columns[to[i].column];
    }
    *f->counter += m->count;
}

static void take_part(void *file, void *made, struct lines *part, bool is_read)
{
    struct file *f = file;
    struct ratings *r = f->ratings;
    struct field field[FIELDS];
    if (is_read) {
        take_made(f, made);
        return;
    }
    while (lines_next(part)) {
        lines_take_fields(part, field, FIELDS);
        if (!cell_of(r, field, &r->row_names, &r->column_names, ratings_capacity(r, 1)))
            lines_take_float(part, field[VALUE], "value");
        ++*f->counter;
    }
}

static void made_init(struct made *m)
{
    names_init(&m->row_names);
    names_init(&m->column_names);
}

static void made_fini(struct made *m)
{
    free(m->list);
    free(m->numbers);
    names_fini(&m->row_names);
    names_fini(&m->column_names);
}

void ratings_read(struct ratings *r, const char *path, size_t *counter, unsigned threads)
{
    unsigned count = line_parts_count(threads);
    struct made *made = take_memory(count, sizeof *made);
    void **each = take_memory(count, sizeof *each);
    struct lines l;
    for (unsigned i = 0; i < count; i++) {
        made_init(&made[i]);
        each[i] = &made[i];
    }
    lines_open(&l, path, form);
    line_parts_run(&l, &(struct line_parts){.threads = threads,
                                            .bytes = LINE_PARTS_BYTES,
                                            .context = &(struct file){r, counter},
                                            .made = each,
                                            .read = read_part,
                                            .take = take_part});
    lines_close(&l);
    for (unsigned i = 0; i < count; i++) made_fini(&made[i]);
    free(each);
    free(made);
}
