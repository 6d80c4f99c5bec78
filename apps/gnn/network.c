#include "network.h"

#include "digest.h"
#include "fail.h"
#include "fields.h"
#include "matrix_market.h"
#include "rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void network_init(struct network *n)
{
    *n = (struct network){0};
    names_init(&n->names);
}

void network_fini(struct network *n)
{
    names_fini(&n->names);
    free(n->start);
    free(n->neighbour);
    free(n->weight);
    free(n->strength);
    free(n->edges);
    free(n->edge_weight);
    *n = (struct network){0};
}

void network_add(struct network *n, uint32_t from, uint32_t to)
{
    n->edges = make_room(n->edges, n->count, &n->capacity, sizeof *n->edges, "edges");
    n->edges[n->count++] = (struct network_edge){from, to};
}

/* Of the edge that was added last. Products of sums of such are floats. */
static void weigh(struct network *n, const struct lines *l, double weight)
{
    if (weight < 1e-9 || weight > 1e9)
        lines_fail(l, "its weight, %g, must be from 1e-9 to 1e9 (--weights)", weight);
    n->edge_weight = make_room(n->edge_weight, n->count - 1, &n->weight_capacity,
                               sizeof *n->edge_weight, "edges");
    n->edge_weight[n->count - 1] = (float)weight;
}

/* ---- a file ---- */

static const struct fields_wanted edge_fields = {.least = 2, .is_loose = true};

/* What they look like. */
struct edge_rows {
    size_t count, fewest, most; /* how many; fields of one */
    bool is_number;             /* are all their columns, as far as they were looked at? */
};

/* Programs write edges as lists and with arrows, too. */
static void check_node(const struct lines *l, struct field f)
{
    static const char brackets[] = "([{", closing[] = ")]}";
    lines_check_name(l, f, "node");
    const char *bracket = strchr(brackets, *f.text);
    bool is_open = bracket && !memchr(f.text, closing[bracket - brackets], f.length);
    size_t marks = 0;
    while (marks < f.length && strchr("-=<>", f.text[marks])) marks++;
    if (is_open || marks == f.length)
        lines_fail(l, "\"%.*s\" is no node: an edge is two nodes, without brackets or arrows",
                   lines_shown(f.length), f.text);
}

static uint32_t node_of(struct network *n, const struct lines *l, struct field f)
{
    check_node(l, f);
    uint32_t node = names_add(&n->names, f.text, f.length);
    if (node >= NETWORK_NODES_MAX) lines_fail(l, "there are more than %d nodes", NETWORK_NODES_MAX);
    return node;
}

/* Attributes in braces are no fields. */
static bool has_more(const struct fields *f)
{
    const struct lines *l = &f->lines;
    const char *end = l->text + l->length, *last = f->field[1].text + f->field[1].length;
    while (end > l->text && lines_is_blank(end[-1])) end--;
    bool is_text = last > l->text && last < end; /* else it was in quotation marks */
    return f->count > 2 || (is_text && end[-1] == '}' && end[-2] != '{');
}

/* Where the nodes are: the first two columns, unless the heading says others. */
static void find_columns(const struct fields *f, size_t *from, size_t *to)
{
    struct fields said;
    if (fields_ends(f, from, to)) return;
    if (fields_said(f, &said) && fields_ends(&said, from, to) && (*from != 0 || *to != 1))
        fields_fail_said(f);
    if (f->name && f->form.columns - f->form.hidden > 2)
        fail("%s: its heading does not tell which columns are the nodes: name them source and "
             "target, or put # before it, if they are the first two",
             f->lines.path);
    *from = 0;
    *to = 1;
}

/* A list of neighbours has other nodes where an edge has attributes, and lines of all lengths. A
 * table of all nodes with all has as many columns as rows; one of ends has two rows. */
static void check_lists(const struct network *n, const char *path, const struct edge_rows *r)
{
    struct fields f;
    bool are_nodes = r->most > 2 && r->fewest < r->most;
    bool is_table = r->fewest == r->most && (r->most == r->count || r->count == 2);
    if (r->is_number && r->most > 3 && is_table)
        fail("%s has %zu rows and %zu columns: is it a table of all nodes, or of ends? Give a row "
             "an edge",
             path, r->count, r->most);
    fields_open(&f, path, &edge_fields);
    while (are_nodes && fields_next(&f))
        for (size_t i = 2; are_nodes && i < f.count; i++)
            are_nodes = names_find(&n->names, f.field[i].text, f.field[i].length) != NAMES_NONE;
    fields_close(&f);
    if (are_nodes)
        fail("%s has other nodes behind the first two of its rows, as lists of neighbours have: "
             "give a row an edge",
             path);
}

/* Numbers of rows may stand before the nodes, and the kind of an edge between them. */
static void check_ends(const struct network *n, const char *path)
{
    enum { FROM = 1, TO = 2 };
    struct fields f;
    uint8_t *is = take_memory(n->names.count, 1);
    uint32_t previous = NAMES_NONE;
    bool are_shared = false, has_first = false, has_nodes = false, are_alike = true,
         are_weights = false;
    double weight;
    for (size_t i = 0; i < n->count; i++) {
        is[n->edges[i].from] |= FROM;
        is[n->edges[i].to] |= TO;
    }
    for (uint32_t v = 0; v < n->names.count; v++) are_shared = are_shared || is[v] == (FROM | TO);
    fields_open(&f, path, &edge_fields);
    while (fields_next(&f)) {
        if (f.count < 3) continue;
        struct field x = f.field[2];
        uint32_t third = names_find(&n->names, x.text, x.length);
        are_weights = are_weights ||
                      (lines_number(x.text, x.length, &weight) && memchr(x.text, '.', x.length));
        are_alike = are_alike && (previous == NAMES_NONE || third == previous);
        previous = third;
        if (third == NAMES_NONE) continue;
        has_nodes = true;
        has_first = has_first || is[third] & FROM;
    }
    bool counts = f.counts_rows && has_nodes && !are_alike && !are_weights,
         is_between = has_first && !are_shared;
    fields_close(&f);
    free(is);
    if (counts || is_between)
        fail("%s has %s, and nodes of the graph in its third column: give it a heading that calls "
             "the nodes source and target",
             path,
             counts ? "numbers of its rows in its first column"
                    : "no node of its first column in its second");
}

/* The third, unless the heading says another. */
static size_t weight_column(const struct fields *f, size_t from, size_t to)
{
    size_t column = fields_column(f, "weight", false);
    if (column != FIELDS_NONE) return column;
    size_t columns = f->form.columns - f->form.hidden;
    if (columns < 3 || (f->name && columns > 3) || from + to != 1)
        fail("%s has no column of weights behind the nodes, or one that its heading calls weight "
             "(--weights)",
             f->lines.path);
    return 2;
}

static struct field node_in(const struct fields *f, size_t column)
{
    struct field x = f->field[column];
    if (fields_is_missing(f, column, x))
        lines_fail(&f->lines, "the node is %s", x.length ? "missing" : "empty");
    return x;
}

static void load_fields(struct network *n, const char *path)
{
    struct fields f;
    struct edge_rows rows = {.fewest = SIZE_MAX};
    size_t from, to, weight = FIELDS_NONE;
    fields_open(&f, path, &edge_fields);
    find_columns(&f, &from, &to);
    if (n->is_weighted) weight = weight_column(&f, from, to);
    rows.is_number = !f.name;
    for (size_t i = 0; f.kind && i < f.form.columns; i++)
        rows.is_number = rows.is_number && f.kind[i] == FIELDS_NUMBERS;
    while (fields_next(&f)) {
        if (f.count <= from || f.count <= to)
            lines_fail(&f.lines, "has %zu fields; nodes are in the columns %zu and %zu", f.count,
                       from + 1, to + 1);
        n->has_more = n->has_more || has_more(&f);
        uint32_t first = node_of(n, &f.lines, node_in(&f, from));
        network_add(n, first, node_of(n, &f.lines, node_in(&f, to)));
        if (n->is_weighted && f.count <= weight) lines_fail(&f.lines, "has no weight (--weights)");
        if (n->is_weighted)
            weigh(n, &f.lines, lines_take_number(&f.lines, f.field[weight], "weight"));
        if (f.count < rows.fewest) rows.fewest = f.count;
        if (f.count > rows.most) rows.most = f.count;
        rows.count++;
    }
    bool has_heading = f.name != NULL;
    fields_close(&f);
    if (!has_heading && n->has_more) {
        check_lists(n, path, &rows);
        check_ends(n, path);
    }
}

/* A row is a node, named by its number. */
static void load_matrix(struct network *n, const char *path)
{
    enum { ALWAYS = 1 << 16, OF_AN_EDGE = 256 };
    struct matrix_market m;
    struct matrix_market_cell cell;
    matrix_market_open(&m, path, (n->is_weighted ? 0 : MATRIX_PATTERN) | MATRIX_SYMMETRIC);
    if (m.rows != m.columns)
        lines_fail(&m.lines,
                   "has %u rows and %u columns: a graph's matrix has a row and a column "
                   "for each node",
                   m.rows, m.columns);
    if (m.rows > ALWAYS && m.rows / OF_AN_EDGE > m.cells)
        lines_fail(&m.lines, "has %u rows, and only %" PRIu64 " edges: number nodes without gaps",
                   m.rows, m.cells);
    while (matrix_market_next(&m, &cell)) {
        if (cell.value != 0) network_add(n, cell.row, cell.column);
        if (cell.value != 0 && n->is_weighted) weigh(n, &m.lines, cell.value);
        n->has_more = n->has_more || (cell.value != 0 && cell.value != 1);
    }
    for (uint32_t i = 1; i <= m.rows; i++) {
        char name[16];
        int length = snprintf(name, sizeof name, "%" PRIu32, i);
        names_add(&n->names, name, (size_t)length);
    }
    matrix_market_close(&m);
    n->is_matrix = true;
}

void network_load(struct network *n, const char *path)
{
    if (matrix_market_is(path))
        load_matrix(n, path);
    else
        load_fields(n, path);
    if (n->count == 0) fail("%s has no edges", path);
}

/* ---- neighbours ---- */

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int by_link(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void place_edges(struct network *n)
{
    for (size_t i = 0; i < n->count; i++) {
        struct network_edge e = n->edges[i];
        if (e.from == e.to) continue;
        uint64_t at[2] = {n->start[e.from + 1]++, n->start[e.to + 1]++};
        n->neighbour[at[0]] = e.to;
        n->neighbour[at[1]] = e.from;
        for (int k = 0; n->weight && k < 2; k++) n->weight[at[k]] = n->edge_weight[i];
    }
}

/* By number, and with their weights, which are above 0: so their bits ascend as they do. */
static void sort_links(struct network *n, uint64_t first, size_t count, uint64_t *room)
{
    if (!n->weight) {
        qsort(n->neighbour + first, count, sizeof *n->neighbour, by_number);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &n->weight[first + i], sizeof bits);
        room[i] = (uint64_t)n->neighbour[first + i] << 32 | bits;
    }
    qsort(room, count, sizeof *room, by_link);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = (uint32_t)room[i];
        memcpy(&n->weight[first + i], &bits, sizeof bits);
        n->neighbour[first + i] = (uint32_t)(room[i] >> 32);
    }
}

/* An edge that is said twice has one weight. */
static void check_double(const struct network *n, uint32_t node, uint64_t kept, uint64_t other)
{
    if (network_weight(n, kept) < network_weight(n, other))
        fail("the edge between %s and %s has two weights, %g and %g: edges have no direction",
             names_get(&n->names, node), names_get(&n->names, n->neighbour[kept]),
             (double)network_weight(n, kept), (double)network_weight(n, other));
}

/* Sorts each node's neighbours, and moves them up to where there is no gap. */
static void remove_doubles(struct network *n)
{
    uint64_t first = 0, kept = 0;
    uint64_t most = 1;
    for (uint32_t v = 0; v < n->nodes; v++)
        if (n->start[v + 1] - n->start[v] > most) most = n->start[v + 1] - n->start[v];
    uint64_t *room = take_memory(most, sizeof *room);
    for (uint32_t v = 0; v < n->nodes; v++) {
        uint64_t end = n->start[v + 1];
        sort_links(n, first, end - first, room);
        uint64_t own = kept;
        for (uint64_t i = first; i < end; i++) {
            if (kept > own && n->neighbour[kept - 1] == n->neighbour[i]) {
                check_double(n, v, kept - 1, i);
                continue;
            }
            if (n->weight) n->weight[kept] = n->weight[i];
            n->neighbour[kept++] = n->neighbour[i];
        }
        first = end;
        n->start[v + 1] = kept;
    }
    free(room);
}

static void add_up(struct network *n)
{
    n->strength = take_memory(n->nodes, sizeof *n->strength);
    for (uint32_t v = 0; v < n->nodes; v++) {
        double sum = 0;
        for (uint64_t i = n->start[v]; i < n->start[v + 1]; i++) sum += (double)n->weight[i];
        n->strength[v] = (float)sum;
    }
}

void network_finish(struct network *n)
{
    if (n->names.count > 0) n->nodes = n->names.count;
    n->start = take_memory((size_t)n->nodes + 2, sizeof *n->start);
    /* Counted two places on: after placing, start[v + 1] is the end of v's. */
    for (size_t i = 0; i < n->count; i++) {
        if (n->edges[i].from == n->edges[i].to) continue;
        n->start[n->edges[i].from + 2]++;
        n->start[n->edges[i].to + 2]++;
    }
    for (uint32_t v = 0; v < n->nodes; v++) n->start[v + 2] += n->start[v + 1];
    n->neighbour = take_memory(n->start[n->nodes + 1] + 1, sizeof *n->neighbour);
    if (n->is_weighted) n->weight = take_memory(n->start[n->nodes + 1] + 1, sizeof *n->weight);
    place_edges(n);
    remove_doubles(n);
    if (n->is_weighted) add_up(n);
    free(n->edges);
    free(n->edge_weight);
    n->edges = NULL;
    n->edge_weight = NULL;
    n->count = n->capacity = n->weight_capacity = 0;
    if (n->start[n->nodes] == 0) fail("the graph has no edge between different nodes");
}

uint64_t network_digest(const struct network *n)
{
    uint64_t digest = digest_add(DIGEST_FIRST, &n->nodes, sizeof n->nodes);
    for (uint32_t v = 0; v <= n->nodes; v++) digest = rng_mix(digest ^ n->start[v]);
    for (uint64_t i = 0; i < n->start[n->nodes]; i++) digest = rng_mix(digest ^ n->neighbour[i]);
    if (n->weight) digest = digest_add(digest, n->weight, n->start[n->nodes] * sizeof *n->weight);
    return names_digest(&n->names, n->names.count, digest);
}
