/* Opens the layouts at one row length and times every setting. */
#include "layout.h"

#include "../common/machine.h"
#include "../common/must.h"

#include <inttypes.h>
#include <stdlib.h>

static void lanes_open(struct bench *b, uint32_t length)
{
    for (unsigned i = 0; i < b->teams[b->team_count - 1]; i++) {
        b->lanes[i].keys = must_alloc(b->sequence * sizeof *b->lanes[i].keys);
        b->lanes[i].batch = must_alloc(BATCH * length * sizeof(float));
    }
}

static void lanes_close(struct bench *b)
{
    for (unsigned i = 0; i < b->teams[b->team_count - 1]; i++) {
        free(b->lanes[i].keys);
        free(b->lanes[i].batch);
    }
}

/* What the process grows by while the rows come, minus their values, is what a layout keeps beside
 * them. */
static void layout_open(struct bench *b, unsigned length, unsigned layout)
{
    const struct layout *l = layouts[layout];
    uint64_t rows = rows_of(b, lengths[length]);
    size_t before = machine_resident_bytes();
    b->rows[layout] = l->open(rows, lengths[length]);
    if (b->rows[layout] == NULL) {
        fprintf(stderr,
                "layout: no memory for %" PRIu64 " rows of %" PRIu32
                " floats; --quick needs less\n",
                rows, lengths[length]);
        exit(1);
    }
    double grown = (double)machine_resident_bytes() - (double)before;
    b->bytes_beside[length][layout] = grown / (double)rows -
                                      lengths[length] * (double)sizeof(float);
    if (layout != ARRAY) prove_layout(l, b->rows[layout], lengths[length]);
}

static void layout_close(struct bench *b, unsigned layout)
{
    if (b->rows[layout] != NULL) layouts[layout]->close(b->rows[layout]);
    b->rows[layout] = NULL;
}

static void draw_keys(struct bench *b, unsigned length, unsigned choice)
{
    for (unsigned i = 0; i < b->teams[b->team_count - 1]; i++)
        keys_fill(b->lanes[i].keys, b->sequence, (enum key_choice)choice,
                  rows_of(b, lengths[length]), 1 + i);
    b->sequence_at = 0;
}

/* Ones, so that pushed values stay small numbers, whatever was pulled into the buffer before. */
static void batches_reset(struct bench *b, uint32_t length)
{
    for (unsigned i = 0; i < b->teams[b->team_count - 1]; i++) {
        for (size_t j = 0; j < BATCH * (size_t)length; j++) b->lanes[i].batch[j] = 1;
    }
}

struct turn {
    struct lane *lanes;
    layout_work *work;
    void *rows;
    size_t at;             /* where the keys begin in each lane's sequence */
    size_t warm_up, timed; /* keys */
};

static void warm_up(void *context, unsigned lane)
{
    const struct turn *t = context;
    const struct lane *l = &t->lanes[lane];
    t->work(t->rows, l->keys + t->at, t->warm_up, l->batch);
}

static void work(void *context, unsigned lane)
{
    const struct turn *t = context;
    const struct lane *l = &t->lanes[lane];
    t->work(t->rows, l->keys + t->at + t->warm_up, t->timed, l->batch);
}

/* The index of a part of each lane's sequence that was not used just now. */
static size_t next_keys(struct bench *b, size_t keys)
{
    if (b->sequence_at + keys > b->sequence) b->sequence_at = 0;
    size_t at = b->sequence_at;
    b->sequence_at += keys;
    return at;
}

/* Nanoseconds a key, on each of the threads. Half as many keys first: the step before left other
 * rows in the caches. */
static double time_step(struct bench *b, unsigned length, unsigned threads, unsigned operation,
                        unsigned layout)
{
    size_t keys = keys_of_step(b, lengths[length]);
    struct turn t = {.lanes = b->lanes,
                     .work = layouts[layout]->work[operation],
                     .rows = b->rows[layout],
                     .warm_up = keys / 2 / BATCH * BATCH,
                     .timed = keys};
    t.at = next_keys(b, t.warm_up + t.timed);
    batches_reset(b, lengths[length]);
    return team_time(threads, warm_up, work, &t) / (double)keys;
}

static struct spread ratio_of(const struct bench *b, const struct cell *c, const struct cell *other)
{
    double ratios[SPREAD_MAX];
    if (!other->measured) return (struct spread){0};
    for (unsigned r = 0; r < b->repetitions; r++) ratios[r] = c->ns[r] / other->ns[r];
    return spread_of(ratios, b->repetitions);
}

static void conclude(const struct bench *b, struct cell *cells)
{
    for (unsigned layout = 0; layout < LAYOUTS; layout++) {
        struct cell *c = &cells[layout];
        if (!c->measured) continue;
        c->time = spread_of(c->ns, b->repetitions);
        c->to_array = ratio_of(b, c, &cells[ARRAY]);
        c->to_word = ratio_of(b, c, &cells[WORD]);
    }
}

static void measure_turn(struct bench *b, unsigned length, unsigned choice, unsigned team,
                         unsigned operation, unsigned repetition)
{
    for (unsigned i = 0; i < LAYOUTS; i++) {
        /* Another one begins each time, and every second time they come in reverse, so that none
         * always follows the same. */
        unsigned layout = (i + repetition) % LAYOUTS;
        if (repetition % 2) layout = LAYOUTS - 1 - layout;
        if (!cell_selected(b, length, choice, team, operation, layout)) continue;
        struct cell *c = &b->cells[length][choice][team][operation][layout];
        c->ns[repetition] = time_step(b, length, b->teams[team], operation, layout);
        c->measured = true;
    }
}

static void measure_setting(struct bench *b, unsigned length, unsigned choice, unsigned team)
{
    for (unsigned repetition = 0; repetition < b->repetitions; repetition++) {
        for (unsigned operation = 0; operation < OPERATIONS; operation++)
            measure_turn(b, length, choice, team, operation, repetition);
    }
    for (unsigned operation = 0; operation < OPERATIONS; operation++)
        conclude(b, b->cells[length][choice][team][operation]);
}

static void measure_choice(struct bench *b, unsigned length, unsigned choice)
{
    draw_keys(b, length, choice);
    for (unsigned team = 0; team < b->team_count; team++) {
        if (!setting_selected(b, length, choice, team)) continue;
        measure_setting(b, length, choice, team);
        report_setting(b, length, choice, team);
    }
}

void measure_length(struct bench *b, unsigned length)
{
    lanes_open(b, lengths[length]);
    for (unsigned layout = 0; layout < LAYOUTS; layout++) {
        if (layout_selected(b, length, layout)) layout_open(b, length, layout);
    }
    for (unsigned choice = 0; choice < CHOICES; choice++) measure_choice(b, length, choice);
    for (unsigned layout = 0; layout < LAYOUTS; layout++) layout_close(b, layout);
    lanes_close(b);
}
