#include "marks.h"

#include "fail.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint32_t node_named(struct network *n, const struct lines *l, struct field name,
                           bool has_new)
{
    if (name.length == 0) lines_fail(l, "has a node without a name");
    uint32_t node = has_new ? names_add(&n->names, name.text, name.length)
                            : names_find(&n->names, name.text, name.length);
    if (node == NAMES_NONE)
        lines_fail(l, "there is no node \"%.*s\" in the graph", lines_shown(name.length),
                   name.text);
    if (node >= NETWORK_NODES_MAX) lines_fail(l, "there are more than %d nodes", NETWORK_NODES_MAX);
    return node;
}

uint32_t marks_node_of_line(struct network *n, const struct lines *l, uint64_t line, bool has_new)
{
    char name[32];
    int length = snprintf(name, sizeof name, "%" PRIu64, line);
    return node_named(n, l, (struct field){name, (size_t)length}, has_new);
}

/* Several fields, of which the second is no index:value. */
static bool is_table(const struct lines *l)
{
    struct field f[2];
    return fields_split(l, f, 2) == 2 && !memchr(f[1].text, ':', f[1].length);
}

static bool is_heading(const struct network *n, const struct lines *l, struct field name)
{
    return l->number == 1 && !fields_is_number(name) &&
           names_find(&n->names, name.text, name.length) == NAMES_NONE;
}

struct marks_file {
    struct lines lines;
    bool has_format, is_table;
    uint64_t line; /* from 0, without comments */
};

static void read_line(struct network *n, struct marks_file *m, bool has_new, marks_use *use,
                      void *context)
{
    const struct lines *l = &m->lines;
    struct field f[1];
    uint64_t line = m->line++;
    if (!m->has_format) m->is_table = is_table(l);
    m->has_format = true;
    fields_split(l, f, 1);
    if (!m->is_table) {
        use(context, l, marks_node_of_line(n, l, line, has_new), f[0]);
    } else if (!is_heading(n, l, f[0])) {
        struct field pair[2];
        if (fields_split(l, pair, 2) < 2)
            lines_fail(l, "has one field: must have a node first and its word last");
        struct field word = fields_last(l);
        if (word.length == 0) lines_fail(l, "has nothing in its last field");
        use(context, l, node_named(n, l, f[0], has_new), word);
    }
}

void marks_read(struct network *n, const char *path, bool has_new, marks_use *use, void *context)
{
    struct marks_file m = {0};
    lines_open(&m.lines, path);
    while (lines_next(&m.lines))
        if (!fields_is_comment(&m.lines)) read_line(n, &m, has_new, use, context);
    lines_close(&m.lines);
    if (!m.has_format) fail("%s says nothing of any node", path);
}
