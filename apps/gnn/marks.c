#include "marks.h"

#include "fail.h"
#include "fields.h"
#include "libsvm.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint32_t node_named(struct network *n, const struct lines *l, struct field name,
                           bool has_new)
{
    lines_check_name(l, name, "node");
    uint32_t node = has_new && !n->is_matrix ? names_add(&n->names, name.text, name.length)
                                             : names_find(&n->names, name.text, name.length);
    if (node == NAMES_NONE)
        lines_fail(l, "there is no node \"%.*s\" in the graph%s", lines_shown(name.length),
                   name.text, n->is_matrix ? ", whose rows are numbered from 1" : "");
    if (node >= NETWORK_NODES_MAX) lines_fail(l, "there are more than %d nodes", NETWORK_NODES_MAX);
    return node;
}

/* ---- lines that are nodes ---- */

static struct field number_text(char *text, size_t bytes, uint64_t number)
{
    int length = snprintf(text, bytes, "%" PRIu64, number);
    return (struct field){text, (size_t)length};
}

/* Was the node there before? */
static bool has_node(const struct marks_lines *m, uint64_t number)
{
    char text[32];
    struct field name = number_text(text, sizeof text, number);
    return names_find(&m->network->names, name.text, name.length) < m->before;
}

void marks_lines_begin(struct marks_lines *m, const struct lines *l)
{
    const struct names *names = &m->network->names;
    uint64_t number;
    m->before = names->count;
    m->behind = l->next;
    for (uint32_t i = 0; i < names->count; i++) {
        const char *name = names_get(names, i);
        if (!field_whole((struct field){name, strlen(name)}, 0, UINT32_MAX, &number))
            fail(
                "%s has a line for each of the nodes 0, 1, ..., and the graph has others: \"%.60s\". "
                "Give lines of a node and its word",
                l->path, name);
        if (number > m->last) m->last = number;
    }
}

static uint64_t blank_lines(const char *from, const char *to)
{
    uint64_t count = 0;
    bool is_blank = true;
    for (const char *at = from; at < to; at++) {
        count += *at == '\n' && is_blank;
        is_blank = *at == '\n' || (is_blank && (lines_is_blank(*at) || *at == '\r'));
    }
    return count;
}

uint32_t marks_lines_node(struct marks_lines *m, const struct lines *l)
{
    char text[32];
    uint64_t blank = blank_lines(m->behind, l->text);
    if (blank > 0 && (m->count == 0 || !m->has_blank))
        lines_fail(l, "stands behind a blank line, which may be for a node or not: take it out%s",
                   m->has_blank ? ", or write -1 there" : "");
    m->count += blank;
    m->behind = l->next;
    struct field name = number_text(text, sizeof text, m->count++ + m->network->is_matrix);
    return node_named(m->network, l, name, m->has_new);
}

/* Whether the nodes begin with 0 or with 1 is seen where they end. Where lines are missing, they may
 * be any. */
void marks_lines_end(const struct marks_lines *m, const struct lines *l)
{
    bool is_matrix = m->network->is_matrix;
    if (m->count == 0) return;
    if (!is_matrix && !has_node(m, 0) && (!has_node(m, m->count - 1) || has_node(m, m->count)))
        fail("%s has %" PRIu64 " lines, for the nodes from 0 on, and the graph has no node 0: if "
             "its nodes begin with 1, begin with a line of -1",
             l->path, m->count);
    if (m->count < m->last + !is_matrix)
        fail("%s has %" PRIu64 " lines, for the nodes from %d on, and the graph has node %" PRIu64
             ": a node of which it says nothing has a line, of -1",
             l->path, m->count, is_matrix, m->last);
}

/* ---- LIBSVM ---- */

static bool is_libsvm(const char *path)
{
    struct lines l;
    bool has_pairs = false;
    lines_open(&l, path);
    while (!has_pairs && lines_next_data(&l)) {
        struct field word;
        const char *at = l.text;
        lines_word(&l, &at, &word);
        if (!lines_word(&l, &at, &word)) continue;
        if (!libsvm_is_line(&l)) break;
        has_pairs = true;
    }
    lines_close(&l);
    return has_pairs;
}

static void read_libsvm(struct marks_lines *m, const char *path, marks_use *use, void *context)
{
    struct libsvm s;
    libsvm_open(&s, path);
    marks_lines_begin(m, &s.lines);
    while (libsvm_next(&s)) use(context, &s.lines, marks_lines_node(m, &s.lines), s.label);
    marks_lines_end(m, &s.lines);
    libsvm_close(&s);
}

/* ---- separated fields, and a word a line ---- */

/* Of the first of these names that the heading has. */
static size_t column_of(const struct fields *f, const char *const *names, size_t otherwise)
{
    for (; *names; names++) {
        size_t column = fields_column(f, *names, false);
        if (column != FIELDS_NONE) return column;
    }
    return otherwise;
}

struct table {
    struct fields fields;
    size_t node, word; /* columns */
    bool is_last;      /* the words' is, for no heading names it */
};

static void open_table(struct table *t, const struct network *n, const char *path, bool is_split)
{
    static const char *const nodes[] = {"node", "nodeid", "id", NULL},
                             *const classes[] = {"class", "label", "labels", NULL},
                             *const purposes[] = {"split", "purpose", NULL};
    struct fields *f = &t->fields;
    fields_open(f, path, &(struct fields_wanted){.least = 1, .known = &n->names});
    size_t columns = f->form.columns - f->form.hidden;
    t->node = column_of(f, nodes, FIELDS_NONE);
    t->word = column_of(f, is_split ? purposes : classes, FIELDS_NONE);
    if (is_split && t->word == FIELDS_NONE) t->word = column_of(f, classes, FIELDS_NONE);
    if (f->name && columns > 2 && t->node == FIELDS_NONE && t->word == FIELDS_NONE)
        fail("%s: its heading does not tell which columns are the nodes and their words: name them "
             "node and %s, or put # before it, if they are the first and the last",
             path, is_split ? "split" : "class");
    if (t->node == FIELDS_NONE) t->node = 0;
    t->is_last = t->word == FIELDS_NONE;
    if (t->is_last) t->word = columns > 0 ? columns - 1 : 0;
    struct fields said;
    if (fields_said(f, &said) &&
        (column_of(&said, nodes, t->node) != t->node ||
         column_of(&said, is_split ? purposes : classes, t->word) != t->word))
        fields_fail_said(f);
    if (columns > 1 && t->node == t->word)
        fail("%s: nodes and their words are in one column by its heading: name them node and class",
             path);
}

static bool is_binary(struct field f)
{
    double number;
    if (field_is_word(f, "true") || field_is_word(f, "false")) return true;
    return lines_number(f.text, f.length, &number) && (number == 0 || number == 1);
}

/* Where no heading names the words, they are the last of more than two columns, behind the nodes:
 * numbers of rows may stand before them, words have blanks in them, or be a column each. */
static void check_columns(const struct network *n, const char *path, bool is_split)
{
    struct table t;
    struct fields *f = &t.fields;
    struct names seconds;
    uint32_t rows = 0;
    bool is_table = true, are_nodes = true, has_blanks = false;
    open_table(&t, n, path, is_split);
    names_init(&seconds);
    while (t.is_last && t.word > 1 && fields_next(f)) {
        struct field x = f->field[1];
        rows++;
        are_nodes = are_nodes && names_find(&n->names, x.text, x.length) != NAMES_NONE &&
                    names_add(&seconds, x.text, x.length) + 1 == rows;
        for (size_t i = 0; i < f->count; i++)
            is_table = is_table && (i == t.node || is_binary(f->field[i]));
    }
    for (size_t i = 1; rows > 0 && i < t.word; i++)
        has_blanks = has_blanks || (!f->name && !*f->form.separator && f->kind[i] == FIELDS_WORDS);
    bool counts = f->counts_rows && are_nodes;
    fields_close(f);
    names_fini(&seconds);
    if (rows > 0 && (is_table || counts || has_blanks))
        fail("%s has %s: give it a heading that calls the columns node and %s%s", path,
             is_table ? "nothing but 0 and 1 behind the nodes"
             : counts ? "numbers of its rows in its first column, and nodes in its second"
                      : "words before the last",
             is_split ? "split" : "class", has_blanks ? ", or tabs between them" : "");
}

/* Where MatrixMarket has the graph and another program the table, they may count otherwise: 0
 * tells, and so does the number of nodes. */
static bool begins_with_0(const struct network *n, const char *path, bool is_split)
{
    struct table t;
    uint64_t number;
    bool has_zero = false, has_last = false;
    open_table(&t, n, path, is_split);
    while (fields_next(&t.fields)) {
        if (!field_whole(t.fields.field[t.node], 0, n->names.count, &number)) continue;
        has_zero = has_zero || number == 0;
        has_last = has_last || number == n->names.count;
    }
    fields_close(&t.fields);
    if (has_zero == has_last)
        fail("%s may number the nodes from 0 or from 1: it has %s of 0 and %" PRIu32
             ". Give one of them a line, with -1 if it has no word",
             path, has_zero ? "both" : "neither", n->names.count);
    return has_zero;
}

/* Commas make fields where all lines have them. */
static void check_alone(const struct lines *l, struct field word)
{
    for (const char *s = ",;|"; *s; s++)
        if (*l->text != '"' && memchr(word.text, *s, word.length))
            lines_fail(l, "has \"%c\" in it, and other lines have none: quote it, or complete them",
                       *s);
}

static uint32_t node_of_table(struct network *n, const struct lines *l, struct field name,
                              bool is_from_0, bool has_new)
{
    char text[32];
    uint64_t number;
    if (is_from_0 && field_whole(name, 0, n->names.count, &number))
        name = number_text(text, sizeof text, number + 1);
    return node_named(n, l, name, has_new);
}

/* Of names. */
struct numbers {
    uint64_t least, most;
    bool has_words;
};

static void note_number(struct numbers *of, struct field name)
{
    uint64_t number;
    if (!field_whole(name, 0, UINT64_C(1) << 52, &number)) {
        of->has_words = true;
        return;
    }
    if (number < of->least) of->least = number;
    if (number > of->most) of->most = number;
}

/* Is the table another program's, which begins with another number than the graph's? */
static void check_first(const struct network *n, uint32_t before, const struct numbers *table,
                        const char *path)
{
    struct numbers graph = {.least = UINT64_MAX};
    for (uint32_t i = 0; i < before; i++) {
        const char *name = names_get(&n->names, i);
        note_number(&graph, (struct field){name, strlen(name)});
    }
    bool has_words = graph.has_words || table->has_words;
    bool is_later = table->least == graph.least + 1 && table->most == graph.most + 1;
    bool is_earlier = table->least + 1 == graph.least && table->most + 1 == graph.most;
    if (!has_words && (is_later || is_earlier))
        fail("%s numbers nodes from %" PRIu64 " to %" PRIu64 ", and the graph from %" PRIu64
             " to %" PRIu64 ": begin both alike; or, if they are the same nodes, give node %" PRIu64
             " a line, with -1 if it has no word",
             path, table->least, table->most, graph.least, graph.most,
             is_later ? graph.least : graph.most);
}

static void read_table(struct marks_lines *m, const char *path, marks_use *use, void *context)
{
    struct network *n = m->network;
    struct table t;
    struct fields *f = &t.fields;
    struct numbers named = {.least = UINT64_MAX};
    uint32_t known = 0, before = n->names.count;
    check_columns(n, path, !m->has_new);
    open_table(&t, n, path, !m->has_new);
    bool is_list = f->form.columns - f->form.hidden == 1;
    bool is_from_0 = !is_list && n->is_matrix && begins_with_0(n, path, !m->has_new);
    if (is_list) marks_lines_begin(m, &f->lines);
    while (fields_next(f)) {
        struct field word = f->field[t.word];
        if (is_list) check_alone(&f->lines, word);
        uint32_t node = is_list
                            ? marks_lines_node(m, &f->lines)
                            : node_of_table(n, &f->lines, f->field[t.node], is_from_0, m->has_new);
        known += node < before;
        if (!is_list) note_number(&named, f->field[t.node]);
        if (!fields_is_missing(f, t.word, word)) use(context, &f->lines, node, word);
    }
    if (is_list) marks_lines_end(m, &f->lines);
    fields_close(f);
    if (known == 0) fail("%s says nothing of any node of the graph", path);
    if (!is_list && !n->is_matrix) check_first(n, before, &named, path);
}

void marks_read(struct network *n, const char *path, bool has_new, marks_use *use, void *context)
{
    struct marks_lines m = {.network = n, .has_new = has_new};
    uint32_t before = n->names.count;
    if (is_libsvm(path)) {
        read_libsvm(&m, path, use, context);
    } else {
        m.has_blank = true;
        read_table(&m, path, use, context);
    }
    n->added += n->names.count - before;
}
