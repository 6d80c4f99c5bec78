#include "gibbs.h"

#include "fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One and the staleness for each worker; few workers have two, so that copies of the totals are not
 * old. */
uint32_t gibbs_blocks(const struct lda *l, const struct pool_member *m)
{
    enum { FEW = 4 };
    if (m->total == 1) return 1;
    uint32_t each = (uint32_t)l->options.staleness + 1;
    uint32_t blocks = (each == 1 && m->total < FEW ? 2 : each) * m->total;
    if (l->corpus.words < blocks)
        fail("%u words cannot be divided into %u blocks for %u workers: use fewer", l->corpus.words,
             blocks, m->total);
    return blocks;
}

/* ---- life ---- */

static void count_word(void *shelf, uint32_t word, float *row)
{
    const struct shelf_tokens *t = &((const struct shelf *)shelf)->train;
    for (uint64_t i = t->start[word]; i < t->start[word + 1]; i++) row[t->topic[i]]++;
}

/* Baselines one after the other: there nothing is added atomically. */
static void count_all(struct gibbs *g)
{
    const struct shelf *s = g->shelf;
    for (unsigned i = 0; i < g->member->pool->workers; i++) {
        if (!g->member->worker) pool_meet_here(g->member);
        if (i == g->member->index)
            word_rows_visit(g->rows, s->words, s->block_start[s->blocks], count_word, g->shelf);
    }
    memset(g->totals, 0, g->sampler->topics * sizeof *g->totals);
    for (uint64_t t = 0; t < s->tokens; t++) g->totals[s->train.topic[t]]++;
    word_rows_add(g->rows, LDA_TOPICS, g->totals);
}

static void intend(const struct gibbs *g, uint32_t block, locus_clock start, locus_clock end)
{
    const struct shelf *s = g->shelf;
    uint32_t first = s->block_start[block], count = s->block_start[block + 1] - first;
    locus_key *keys = take_memory((size_t)count + 1, sizeof *keys);
    for (uint32_t i = 0; i < count; i++) keys[i] = s->words[first + i];
    must_intend(locus_intent(g->member->worker, keys, count, start, end));
    free(keys);
}

/* Which block this worker has in the round after those that were asked for. */
static uint32_t next_block(struct gibbs *g)
{
    must(locus_schedule_next(g->schedule, g->parts), "scheduling");
    locus_schedule_done(g->schedule);
    return (uint32_t)g->parts[g->member->place].variable;
}

static void open_schedule(struct gibbs *g)
{
    struct locus_schedule_config c;
    locus_schedule_config_init(&c);
    c.order = LOCUS_ROTATION;
    c.variables = g->shelf->blocks;
    c.workers = g->member->total;
    must(locus_schedule_new(&c, &g->schedule), "making a schedule");
    g->parts = take_memory(c.workers, sizeof *g->parts);
    g->block = next_block(g);
}

/* The totals are wanted by all, all the time. */
static void intend_totals(const struct gibbs *g)
{
    locus_key key = lda_total_key(g->lda, LDA_TOPICS);
    must(locus_intent(g->member->worker, &key, 1, g->clock, LOCUS_FOREVER), "intent");
}

void gibbs_open(struct gibbs *g, const struct lda *l, struct pool_member *m, struct shelf *shelf,
                struct sampler *sampler, struct word_rows *rows, bool are_counted)
{
    *g = (struct gibbs){.lda = l, .member = m, .shelf = shelf, .sampler = sampler, .rows = rows};
    g->totals = take_memory(sampler->topics, sizeof *g->totals);
    open_schedule(g);
    if (m->worker) {
        g->clock = locus_current_clock(m->worker);
        intend_totals(g);
        intend(g, g->block, g->clock, g->clock + 1);
    }
    if (!are_counted) count_all(g);
    pool_quiesce(g->member);
    word_rows_read(g->rows, LDA_TOPICS, g->totals);
    sampler_set_totals(g->sampler, g->totals);
}

void gibbs_close(struct gibbs *g)
{
    locus_schedule_free(g->schedule);
    free(g->parts);
    free(g->totals);
    *g = (struct gibbs){0};
}

/* ---- a round ---- */

static void draw_word(void *sampler, uint32_t word, float *row)
{
    const struct sampler *s = sampler;
    const uint64_t *start = s->shelf->train.start;
    sampler_draw_word(sampler, word, row);
    world_computed(WORLD_TRAINED, start[word + 1] - start[word]);
}

static void visit(struct gibbs *g, uint32_t block)
{
    const uint32_t *start = g->shelf->block_start + block;
    word_rows_visit(g->rows, g->shelf->words + start[0], start[1] - start[0], draw_word,
                    g->sampler);
}

/* Adds what this worker has changed. */
static void add_totals(struct gibbs *g)
{
    size_t topics = g->sampler->topics;
    float *changes = take_memory(topics, sizeof *changes);
    for (size_t k = 0; k < topics; k++) changes[k] = (float)g->sampler->totals[k] - g->totals[k];
    word_rows_add(g->rows, LDA_TOPICS, changes);
    free(changes);
}

/* Returns how far this worker's copy was from what there is now. */
static double renew_totals(struct gibbs *g)
{
    double distance = 0;
    word_rows_read(g->rows, LDA_TOPICS, g->totals);
    for (size_t k = 0; k < g->sampler->topics; k++)
        distance += fabs((double)g->totals[k] - g->sampler->totals[k]);
    sampler_set_totals(g->sampler, g->totals);
    return distance;
}

/* Returns how far the copy of the totals was from the truth; 0 where nobody knows that, for others
 * go on. */
static double do_round(struct gibbs *g, bool is_last)
{
    uint32_t block = g->block;
    uint64_t staleness = g->lda->options.staleness;
    locus_worker *w = g->member->worker;
    g->block = next_block(g);
    if (w) intend(g, g->block, g->clock + 1, g->clock + 2);
    visit(g, block);
    add_totals(g);
    if (w) g->clock = locus_advance_clock(w);
    if (staleness == 0 || is_last) {
        pool_quiesce(g->member);
        return renew_totals(g);
    }
    must(locus_bound(w, (locus_clock)staleness), "waiting for the other workers");
    renew_totals(g);
    return 0;
}

double gibbs_sweep(struct gibbs *g)
{
    uint32_t rounds = g->shelf->blocks;
    uint32_t known = g->lda->options.staleness > 0 ? 1 : rounds;
    double tokens = (double)g->lda->corpus.start[g->lda->corpus.documents], distance = 0;
    for (uint32_t i = 0; i < rounds; i++) distance += do_round(g, i + 1 == rounds);
    return distance / tokens / known;
}
