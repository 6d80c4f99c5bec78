#include "visit.h"

#include "fail.h"
#include "pace.h"

#include <stdlib.h>
#include <string.h>

/* Cells that the loader is ahead, about; where there are other nodes, whose rows take their time to
 * come; and batches at least. */
enum { AHEAD_CELLS = 16384, AHEAD_CELLS_OF_SEVERAL = 32768, AHEAD_BATCHES = 4, INTENT_KEYS = 4096 };

/* An epoch's columns come in lots, a power of two of them, in each of which every node begins
 * elsewhere. A worker has so many columns and batches, about, between the beginnings of two nodes,
 * or there are fewer lots. */
enum { LOTS = 16, COLUMNS_BETWEEN = 2 * VISIT_LANES, BATCHES_BETWEEN = 4 };

/* Intents for rows last for the whole training. */
static const locus_clock TO_THE_END = INT64_C(1) << 60; /* and no longer, unlike LOCUS_FOREVER */

/* ---- who has which cells ---- */

void visit_cut(const uint64_t *weights, uint32_t count, uint32_t parts, uint32_t *bounds)
{
    uint64_t total = 0, sum = 0;
    for (uint32_t i = 0; i < count; i++) total += weights[i];
    uint32_t part = 0;
    bounds[0] = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += weights[i];
        /* A part ends where the sum comes nearest to its share. */
        while (part + 1 < parts &&
               2 * sum * parts >= (2 * (uint64_t)(part + 1) * total) + weights[i] * parts) {
            bounds[++part] = i;
        }
    }
    while (part < parts) bounds[++part] = count;
}

static uint32_t part_of(const uint32_t *bounds, uint32_t parts, uint32_t i)
{
    uint32_t part = 0;
    while (part + 1 < parts && i >= bounds[part + 1]) part++;
    return part;
}

/* Of the cells in rows first ... end - 1, how many there are in each column, or of all cells in
 * each row. */
static uint64_t *count_columns(const struct ratings *r, uint32_t first, uint32_t end)
{
    uint64_t *counts = take_memory(r->columns, sizeof *counts);
    for (size_t i = 0; i < r->train; i++) {
        if (r->list[i].row >= first && r->list[i].row < end) counts[r->list[i].column]++;
    }
    return counts;
}

static void cut_rows(const struct ratings *r, uint32_t parts, uint32_t *bounds)
{
    uint64_t *counts = take_memory(r->rows, sizeof *counts);
    for (size_t i = 0; i < r->train; i++) counts[r->list[i].row]++;
    visit_cut(counts, r->rows, parts, bounds);
    free(counts);
}

static void cut_columns(const struct ratings *r, uint32_t first_row, uint32_t end_row,
                        uint32_t parts, uint32_t *bounds)
{
    uint64_t *counts = count_columns(r, first_row, end_row);
    visit_cut(counts, r->columns, parts, bounds);
    free(counts);
}

struct share {
    uint32_t first_row, end_row, first_column, end_column;
};

/* The same lots on all nodes. */
static void cut_lots(struct visit *v, const struct pool_member *m)
{
    uint64_t nodes = pool_nodes(m), lots = LOTS;
    uint64_t columns = v->mf->ratings.columns / (v->has_own_rows ? 1 : m->pool->workers);
    uint64_t batches = v->mf->ratings.train / (m->total * v->mf->options.batch);
    while (lots > 1 &&
           (columns < COLUMNS_BETWEEN * nodes * lots || batches < BATCHES_BETWEEN * nodes * lots))
        lots /= 2;
    v->lot = UINT64_MAX / lots;
    v->offset = v->lot / nodes * pool_node(m);
}

/* Where each worker would have the cells of a batch and more in a column, the workers of a node
 * divide its rows; else its columns. What they do not divide travels from one processor's cache to
 * the other: a column, which a worker trains in a copy, once a batch for a quarter of its cells,
 * but a row with every cell. Workers that come to a column together each train a copy of it from
 * the same beginning: of so long a column those are little steps. On plain arrays there are no
 * copies. */
static bool divides_rows(const struct visit *v, const struct pool_member *m)
{
    const struct ratings *r = &v->mf->ratings;
    uint64_t cells = r->train / ((uint64_t)r->columns * m->total);
    return m->worker && m->pool->workers > 1 && cells >= v->mf->options.batch;
}

static struct share share_of(struct visit *v, const struct pool_member *m)
{
    const struct ratings *r = &v->mf->ratings;
    bool has_blocks = v->mf->options.visit == MF_BLOCKS;
    v->has_own_rows = has_blocks || divides_rows(v, m);
    uint32_t parts = v->has_own_rows ? m->total : pool_nodes(m);
    uint32_t own = v->has_own_rows ? m->place : pool_node(m);
    uint32_t *rows = take_memory(parts + 1, sizeof *rows),
             *columns = take_memory(m->total + 1, sizeof *columns);
    cut_rows(r, parts, rows);
    struct share s = {.first_row = rows[own], .end_row = rows[own + 1], .end_column = r->columns};
    v->blocks = has_blocks ? m->total : 1;
    v->place = m->place;
    if (!has_blocks) cut_lots(v, m);
    v->block_column = take_memory(v->blocks + 1, sizeof *v->block_column);
    if (has_blocks) {
        cut_columns(r, 0, r->rows, m->total, v->block_column);
    } else {
        v->block_column[1] = r->columns;
    }
    if (!v->has_own_rows) {
        cut_columns(r, s.first_row, s.end_row, m->pool->workers, columns);
        s.first_column = columns[m->index];
        s.end_column = columns[m->index + 1];
    }
    free(rows);
    free(columns);
    return s;
}

static bool has_cell(const struct share *s, const struct rating *x)
{
    return x->row >= s->first_row && x->row < s->end_row && x->column >= s->first_column &&
           x->column < s->end_column;
}

/* Columns ascend, and blocks are ranges of columns. */
static void take_cells(struct visit *v, const struct share *s)
{
    const struct ratings *r = &v->mf->ratings;
    size_t *at = take_memory((size_t)r->columns + 1, sizeof *at);
    for (size_t i = 0; i < r->train; i++) {
        if (!has_cell(s, &r->list[i])) continue;
        at[r->list[i].column + 1]++;
        v->count++;
    }
    v->cells = take_memory(v->count, sizeof *v->cells);
    v->groups = take_memory(r->columns, sizeof *v->groups);
    v->block_first = take_memory(v->blocks + 1, sizeof *v->block_first);
    for (uint32_t c = 0; c < r->columns; c++) {
        size_t cells = at[c + 1];
        at[c + 1] += at[c];
        if (cells == 0) continue;
        v->block_first[part_of(v->block_column, v->blocks, c) + 1]++;
        v->groups[v->group_count++] =
            (struct visit_group){.column = c, .first = at[c], .end = at[c] + cells};
    }
    for (uint32_t b = 0; b < v->blocks; b++) v->block_first[b + 1] += v->block_first[b];
    for (size_t i = 0; i < r->train; i++) {
        if (has_cell(s, &r->list[i])) v->cells[at[r->list[i].column]++] = r->list[i];
    }
    free(at);
}

static void announce_rows(const struct visit *v, const struct pool_member *m, const struct share *s)
{
    if (!pace_signals_ahead(m->pool)) return;
    bool *is_used = take_memory(v->mf->ratings.rows, sizeof *is_used);
    locus_key *keys = take_memory(INTENT_KEYS, sizeof *keys);
    size_t count = 0;
    for (size_t i = 0; i < v->count; i++) is_used[v->cells[i].row] = true;
    for (uint32_t row = s->first_row; row < s->end_row; row++) {
        if (is_used[row]) keys[count++] = mf_row_key(row);
        if (count == INTENT_KEYS || (count > 0 && row + 1 == s->end_row)) {
            must(locus_intent(m->worker, keys, count, 0, TO_THE_END), "intent");
            count = 0;
        }
    }
    free(is_used);
    free(keys);
}

/* ---- the loader's side ---- */

static uint32_t block_now(const struct visit *v)
{
    return (v->place + v->part) % v->blocks;
}

static int by_turn(const void *a, const void *b)
{
    const struct visit_group *x = a, *y = b;
    return x->turn != y->turn ? (x->turn < y->turn ? -1 : 1)
                              : (x->column > y->column) - (x->column < y->column);
}

/* Random, and the same for a worker that has cells in other columns; but within a lot every node
 * begins elsewhere. */
static uint64_t turn_of(const struct visit *v, uint32_t column)
{
    uint64_t epoch = rng_mix(v->mf->options.common.seed) + v->epochs;
    uint64_t turn = rng_mix(rng_mix(epoch) ^ column);
    return (turn & ~v->lot) | ((turn + v->offset) & v->lot);
}

static void order_groups(struct visit *v, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) v->groups[i].turn = turn_of(v, v->groups[i].column);
    qsort(v->groups + first, end - first, sizeof *v->groups, by_turn);
}

static void begin_part(struct visit *v, uint32_t part)
{
    v->part = part;
    uint32_t block = block_now(v);
    size_t first = v->block_first[block], end = v->block_first[block + 1];
    order_groups(v, first, end);
    v->group = first;
}

static bool has_group(const struct visit *v)
{
    return v->group < v->block_first[block_now(v) + 1];
}

static bool is_part_over(const struct visit *v)
{
    return v->open == 0 && !has_group(v);
}

/* A column's cells in the order of the data; which comes when follows from seed and epoch alone. */
static void begin_group(struct visit *v, struct visit_lane *l)
{
    const struct visit_group *g = l->group = &v->groups[v->group++];
    v->open++;
    l->at = g->first;
    l->place = VISIT_NOWHERE;
    rng_init(&l->rng, v->mf->options.common.seed,
             (v->epochs + 1) << 40 ^ rng_mix((uint64_t)v->place << 32 | g->column));
    memcpy(l->turns, v->cells + g->first, (g->end - g->first) * sizeof *l->turns);
}

/* A random one of those that are left, which comes to the front of them. */
static const struct rating *take_cell(struct visit_lane *l)
{
    const struct visit_group *g = l->group;
    size_t at = l->at++ - g->first, chosen = at + rng_below(&l->rng, g->end - g->first - at);
    struct rating kept = l->turns[chosen];
    l->turns[chosen] = l->turns[at];
    l->turns[at] = kept;
    return &l->turns[at];
}

/* The lane whose turn it is. */
static struct visit_lane *next_lane(struct visit *v)
{
    for (;;) {
        struct visit_lane *l = &v->lanes[v->lane++ % VISIT_LANES];
        if (!l->group && has_group(v)) begin_group(v, l);
        if (l->group) return l;
    }
}

static void add_cell(struct visit *v, struct visit_batch *b)
{
    struct visit_lane *l = next_lane(v);
    if (l->place == VISIT_NOWHERE) {
        l->place = b->columns++;
        b->keys[l->place] = mf_column_key(v->mf, l->group->column);
    }
    const struct rating *x = take_cell(l);
    /* Behind where the columns can be, for now. */
    b->keys[v->mf->options.batch + b->cells] = mf_row_key(x->row);
    b->column[b->cells] = l->place;
    b->values[b->cells++] = x->value;
    if (l->at < l->group->end) return;
    l->group = NULL;
    v->open--;
}

static void announce(const struct visit *v, locus_loader *loader, const struct visit_batch *b)
{
    const struct mf_options *o = &v->mf->options;
    locus_clock now = (locus_clock)v->batches;
    /* Where localize moves the blocks, an intent would take columns from a worker that is not
     * through with them. */
    if (o->visit == MF_BLOCKS && settings_technique(&o->common) == LOCUS_RELOCATE) return;
    must_intend(locus_loader_intent(loader, b->keys, b->columns, now, now + 1));
}

static bool begin_batch(struct visit *v, struct visit_batch *b)
{
    b->begins_block = false;
    if (!is_part_over(v)) return true;
    bool is_epoch = v->part + 1 == v->blocks;
    if (is_epoch && v->epochs == v->mf->options.common.epochs) return false;
    v->epochs += is_epoch;
    begin_part(v, is_epoch ? 0 : v->part + 1);
    b->begins_block = true;
    return true;
}

static bool fill(void *visit, locus_loader *loader, void *to)
{
    struct visit *v = visit;
    struct visit_batch *b = to;
    size_t capacity = v->mf->options.batch;
    if (!begin_batch(v, b)) return false;
    b->columns = b->cells = 0;
    b->block = block_now(v);
    for (uint32_t i = 0; i < VISIT_LANES; i++) v->lanes[i].place = VISIT_NOWHERE;
    while (b->cells < capacity && !is_part_over(v)) add_cell(v, b);
    memmove(b->keys + b->columns, b->keys + capacity, b->cells * sizeof *b->keys);
    b->ends_block = is_part_over(v);
    b->is_last = b->ends_block && v->part + 1 == v->blocks;
    world_computed(WORLD_PREPARED, b->cells);
    if (loader && !settings_is_bounded(&v->mf->options.common)) announce(v, loader, b);
    v->batches++;
    return true;
}

/* ---- memory ---- */

static struct visit_batch *batch_new(size_t cells)
{
    struct visit_batch *b = take_memory(1, sizeof *b);
    b->keys = take_memory(2 * cells, sizeof *b->keys);
    b->column = take_memory(cells, sizeof *b->column);
    b->values = take_memory(cells, sizeof *b->values);
    return b;
}

static size_t longest_group(const struct visit *v)
{
    size_t longest = 0;
    for (size_t i = 0; i < v->group_count; i++) {
        size_t cells = v->groups[i].end - v->groups[i].first;
        if (cells > longest) longest = cells;
    }
    return longest;
}

/* Where so many epochs are over. */
static void go_to(struct visit *v, uint64_t epochs)
{
    v->epochs = epochs;
    v->part = v->blocks - 1;
    v->group = v->block_first[block_now(v) + 1];
}

void visit_open(struct visit *v, const struct mf *f, struct pool_member *m, uint64_t epochs)
{
    size_t batch = f->options.batch;
    *v = (struct visit){.mf = f, .batches = pool_clock(m)};
    struct share s = share_of(v, m);
    take_cells(v, &s);
    announce_rows(v, m, &s);
    size_t longest = longest_group(v);
    for (uint32_t i = 0; i < VISIT_LANES; i++)
        v->lanes[i].turns = take_memory(longest, sizeof *v->lanes[i].turns);
    go_to(v, epochs);
    size_t ahead = (m->pool->size > 1 ? AHEAD_CELLS_OF_SEVERAL : AHEAD_CELLS) / batch;
    v->list_count = world_depth(ahead > AHEAD_BATCHES ? ahead : AHEAD_BATCHES);
    v->list = take_memory(v->list_count, sizeof *v->list);
    for (size_t i = 0; i < v->list_count; i++) v->list[i] = batch_new(batch);
    must(locus_feed_open(m->worker, fill, v, (void **)v->list, v->list_count, &v->feed),
         "opening a loader");
}

const struct visit_batch *visit_next(struct visit *v)
{
    return locus_feed_next(v->feed);
}

void visit_close(struct visit *v)
{
    must(locus_feed_close(v->feed), "closing a loader");
    for (size_t i = 0; i < v->list_count; i++) {
        free(v->list[i]->keys);
        free(v->list[i]->column);
        free(v->list[i]->values);
        free(v->list[i]);
    }
    free(v->list);
    free(v->cells);
    for (uint32_t i = 0; i < VISIT_LANES; i++) free(v->lanes[i].turns);
    free(v->groups);
    free(v->block_first);
    free(v->block_column);
    *v = (struct visit){0};
}
