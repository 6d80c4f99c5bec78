#include "evaluate.h"

#include "fail.h"
#include "matrix.h"
#include "rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    QUESTIONS = 128,       /* ranked together: both sides of half as many facts */
    CHUNK = 2048,          /* entities scored together: the scores stay in the second cache */
    PULL_ROWS = 256,       /* rows of entities in a call */
    PULL_FLOATS = 1 << 18, /* of relations, about */
};

_Static_assert(CHUNK % VEC_PANEL_MAX == 0 && PULL_ROWS % VEC_PANEL_MAX == 0,
               "blocks begin where panels do");

void evaluation_init(struct evaluation *e, const struct task *t)
{
    const struct model *m = &t->model;
    *e = (struct evaluation){.task = t};
    e->entities = take_memory(matrix_panels(m->dim, m->entities), sizeof(float));
    e->relations = take_memory(model_relation_rows(m) * model_relation_floats(m), sizeof(float));
    if (model_is_distance(m)) e->offsets = take_memory(m->entities, sizeof(float));
}

void evaluation_fini(struct evaluation *e)
{
    free(e->entities);
    free(e->relations);
    free(e->offsets);
    *e = (struct evaluation){0};
}

/* ---- the model's rows ---- */

/* Those of so many rows, one after the other. */
static void keep_entities(void *evaluation, uint64_t row, size_t count, const float *values)
{
    struct evaluation *e = evaluation;
    const float *starts[PULL_ROWS];
    size_t dim = e->task->model.dim;
    for (size_t i = 0; i < count; i++) {
        starts[i] = values + i * dim;
        if (e->offsets) e->offsets[row + i] = -vec_best()->dot(starts[i], starts[i], dim) / 2;
    }
    matrix_pack_turned_part(e->entities, starts, dim, (uint32_t)row, count);
}

static void keep_relations(void *evaluation, uint64_t row, size_t count, const float *values)
{
    struct evaluation *e = evaluation;
    size_t floats = model_relation_floats(&e->task->model);
    memcpy(e->relations + row * floats, values, count * floats * sizeof *values);
}

void evaluation_fill(struct evaluation *e, const float *entities, const float *relations)
{
    uint32_t all = e->task->model.entities;
    for (uint32_t first = 0; first < all; first += PULL_ROWS)
        keep_entities(e, first, all - first < PULL_ROWS ? all - first : PULL_ROWS,
                      entities + first * e->task->model.dim);
    keep_relations(e, 0, model_relation_rows(&e->task->model), relations);
}

/* Rows of one table, `block` at a time; this worker takes its part of the node's blocks. */
static void pull_table(struct evaluation *e, struct pool_member *m, size_t table, size_t block,
                       rows_use_block *keep)
{
    const struct pool_table *t = &m->pool->tables[table];
    uint64_t first, end;
    pool_share((t->rows + block - 1) / block, m->index, m->pool->workers, &first, &end);
    rows_visit_blocks(m, table, first * block, end * block < t->rows ? end * block : t->rows, block,
                      keep, e);
}

static void pull_model(struct evaluation *e, struct pool_member *m)
{
    size_t relations = PULL_FLOATS / model_relation_floats(&e->task->model);
    pull_table(e, m, 0, PULL_ROWS, keep_entities);
    pull_table(e, m, 1, relations ? relations : 1, keep_relations);
}

/* ---- ranking ---- */

struct question {
    enum model_side side;
    uint32_t given, relation, answer;
    float score; /* of the answer */
    const struct fact *known;
    size_t known_count, known_at;
    uint64_t greater, equal, known_greater, known_equal;
};

/* Of two answers the one with the greater q'a - |a|^2 / 2 is nearer to q: nothing else ranks them. */
static void add_offsets(const struct evaluation *e, float *scores, size_t first, size_t count)
{
    if (e->offsets) vec_best()->add(scores, e->offsets + first, count);
}

/* The same arithmetic as for all others, so that equal embeddings have equal scores. */
static float score_of(const struct evaluation *e, const float *query, uint32_t entity)
{
    float scores[VEC_PANEL_MAX];
    size_t dim = e->task->model.dim, first = entity - entity % VEC_PANEL_MAX,
           left = e->task->model.entities - first,
           count = left < VEC_PANEL_MAX ? left : VEC_PANEL_MAX;
    matrix_multiply_part(scores, VEC_PANEL_MAX, query, dim, 1, e->entities, 1, first, count, dim,
                         0);
    add_offsets(e, scores, first, count);
    return scores[entity - first];
}

static void prepare(const struct evaluation *e, struct question *q, float *query, float *given,
                    struct fact fact, enum model_side side)
{
    const struct model *m = &e->task->model;
    *q = (struct question){.side = side,
                           .given = side == MODEL_OBJECTS ? fact.subject : fact.object,
                           .relation = fact.relation,
                           .answer = side == MODEL_OBJECTS ? fact.object : fact.subject};
    matrix_unpack_column(given, e->entities, m->dim, q->given);
    size_t row = model_relation_row(m, side, fact.relation);
    model_query(m, side, query, given, e->relations + row * model_relation_floats(m));
    q->score = score_of(e, query, q->answer);
    enum filter_side of = side == MODEL_OBJECTS ? FILTER_OBJECTS : FILTER_SUBJECTS;
    q->known = filter_answers(&e->task->filter, of, q->given, q->relation, &q->known_count);
}

/* Counts a chunk of entities, and the known answers in it, the true one among them. */
static void count_chunk(struct question *q, const float *scores, uint32_t first, size_t count)
{
    size_t equal = 0;
    q->greater += vec_best()->count_greater(scores, count, q->score, &equal);
    q->equal += equal;
    for (; q->known_at < q->known_count && q->known[q->known_at].object < first + count;
         q->known_at++) {
        float score = scores[q->known[q->known_at].object - first];
        q->known_greater += score > q->score;
        q->known_equal += score == q->score;
    }
}

static void add_rank(double rank, struct quality_sums *sums)
{
    sums->questions++;
    sums->reciprocals += 1 / rank;
    sums->ranks += rank;
    sums->hits1 += rank <= 1;
    sums->hits3 += rank <= 3;
    sums->hits10 += rank <= 10;
}

/* Among so many others. */
static double rank_of(const struct question *q, uint64_t others, uint64_t greater, uint64_t equal)
{
    return 1 + (isfinite(q->score) ? (double)greater + (double)equal / 2 : (double)others);
}

static void add_question(const struct evaluation *e, const struct question *q,
                         struct quality_counts *counts)
{
    struct quality_sums *of = counts->of[q->side];
    uint32_t all = e->task->model.entities;
    add_rank(
        rank_of(q, all - q->known_count, q->greater - q->known_greater, q->equal - q->known_equal),
        &of[QUALITY_FILTERED]);
    add_rank(rank_of(q, all - 1, q->greater, q->equal - 1), &of[QUALITY_RAW]);
}

static void rank_block(const struct evaluation *e, const struct fact *facts, size_t count,
                       struct question *questions, float *queries, float *scores,
                       struct quality_counts *counts)
{
    size_t dim = e->task->model.dim, n = 0;
    uint32_t all = e->task->model.entities;
    for (size_t i = 0; i < count; i++) {
        for (int side = 0; side < MODEL_SIDES; side++, n++)
            prepare(e, &questions[n], queries + n * dim, scores, facts[i], (enum model_side)side);
    }
    for (uint32_t first = 0; first < all; first += CHUNK) {
        size_t chunk = all - first < CHUNK ? all - first : CHUNK;
        matrix_multiply_part(scores, CHUNK, queries, dim, 1, e->entities, n, first, chunk, dim, 0);
        for (size_t i = 0; i < n; i++) {
            add_offsets(e, scores + i * CHUNK, first, chunk);
            count_chunk(&questions[i], scores + i * CHUNK, first, chunk);
        }
    }
    for (size_t i = 0; i < n; i++) add_question(e, &questions[i], counts);
}

void evaluation_rank(const struct evaluation *e, enum graph_split split, size_t first, size_t end,
                     struct quality_counts *counts)
{
    const struct fact *facts = e->task->graph.splits[split].list;
    struct question *questions = take_memory(QUESTIONS, sizeof *questions);
    float *queries = take_memory(QUESTIONS * e->task->model.dim, sizeof *queries);
    float *scores = take_memory((size_t)QUESTIONS * CHUNK, sizeof *scores);
    const size_t block = QUESTIONS / MODEL_SIDES;
    for (size_t at = first; at < end; at += block)
        rank_block(e, facts + at, end - at < block ? end - at : block, questions, queries, scores,
                   counts);
    free(questions);
    free(queries);
    free(scores);
}

/* ---- together ---- */

void evaluate(struct evaluation *e, struct pool_member *m, enum graph_split split,
              struct quality_counts *counts)
{
    uint64_t first, end;
    *counts = (struct quality_counts){0};
    pool_quiesce(m);
    pull_model(e, m);
    pool_meet_here(m);
    pool_share(e->task->graph.splits[split].count, m->place, m->total, &first, &end);
    evaluation_rank(e, split, first, end, counts);
    pool_sum(m, &counts->of[0][0].questions, sizeof *counts / sizeof(double));
}

struct quality evaluate_quality(const struct quality_counts *counts, int side,
                                enum quality_kind kind)
{
    struct quality q = {0};
    for (int i = 0; i < MODEL_SIDES; i++) {
        const struct quality_sums *s = &counts->of[i][kind];
        if (side != MODEL_SIDES && side != i) continue;
        q.questions += s->questions;
        q.mrr += s->reciprocals;
        q.mr += s->ranks;
        q.hits1 += s->hits1;
        q.hits3 += s->hits3;
        q.hits10 += s->hits10;
    }
    double *const of_all[] = {&q.mrr, &q.mr, &q.hits1, &q.hits3, &q.hits10};
    for (size_t i = 0; i < sizeof of_all / sizeof *of_all; i++) *of_all[i] /= q.questions;
    return q;
}
