/* Times each step in a setting, with every number of threads. */
#include "bench.h"

void cell_name(char *name, size_t capacity, const struct bench *b, unsigned shards, unsigned skew,
               unsigned place, unsigned step, unsigned team)
{
    snprintf(name, capacity, "%s %s %s shards=%u workers=%u", steps[step].name,
             key_choice_name((enum key_choice)skew), place_names[place], b->shards[shards],
             b->teams[team]);
}

/* One thread is what all are compared with. */
static bool is_selected(const struct bench *b, unsigned shards, unsigned skew, unsigned place,
                        unsigned step, unsigned team)
{
    for (unsigned t = team == 0 ? 0 : team; t < (team == 0 ? b->team_count : team + 1); t++) {
        char name[96];
        cell_name(name, sizeof name, b, shards, skew, place, step, t);
        if (run_selects(&b->run, name)) return true;
    }
    return false;
}

static bool step_selected(const struct bench *b, unsigned shards, unsigned step)
{
    for (unsigned skew = 0; skew < SKEWS; skew++)
        for (unsigned place = 0; place < PLACES; place++)
            if (is_selected(b, shards, skew, place, step, 0)) return true;
    return false;
}

bool shards_selected(const struct bench *b, unsigned shards)
{
    bool any = false;
    for (unsigned step = 0; step < STEPS; step++) any |= step_selected(b, shards, step);
    return any;
}

bool anything_selected(const struct bench *b)
{
    bool any = false;
    for (unsigned shards = 0; shards < b->shard_count; shards++) any |= shards_selected(b, shards);
    return any;
}

/* ---- one cell, once ---- */

struct turn {
    struct bench *bench;
    const struct step *step;
    enum place_choice place;
    size_t at, warm;
};

static void clear_batch(const struct bench *b, struct lane *l)
{
    for (size_t j = 0; j < (size_t)BATCH * b->length; j++) l->batch[j] = 1;
}

static void warm_up(void *turn, unsigned lane)
{
    struct turn *t = turn;
    struct lane *l = &t->bench->lanes[lane];
    place_lane(t->bench, t->place, lane);
    clear_batch(t->bench, l);
    t->step->work(l, l->keys + t->at, t->warm);
}

static void work(void *turn, unsigned lane)
{
    struct turn *t = turn;
    struct lane *l = &t->bench->lanes[lane];
    t->step->work(l, l->keys + t->at + t->warm, t->bench->keys);
}

static double time_step(struct bench *b, const struct step *s, enum place_choice place,
                        unsigned threads)
{
    struct turn t = {.bench = b, .step = s, .place = place, .warm = b->keys / 4 / BATCH * BATCH};
    t.at = next_keys(b, t.warm + b->keys);
    double ns = team_time(threads, warm_up, work, &t);
    place_nowhere(b);
    for (unsigned i = 0; i < threads; i++) must(b->lanes[i].rc, s->name);
    return ns / (double)b->keys / threads;
}

/* ---- a setting ---- */

static void conclude(const struct bench *b, struct cell (*cells)[TEAMS])
{
    for (unsigned step = 0; step < STEPS; step++)
        for (unsigned team = 0; team < b->team_count; team++) {
            struct cell *c = &cells[step][team];
            double inverse[SPREAD_MAX], alone[SPREAD_MAX];
            if (!c->measured) continue;
            for (unsigned r = 0; r < b->run.repetitions; r++) {
                inverse[r] = 1 / c->ns[r];
                alone[r] = 1 / cells[step][0].ns[r];
            }
            c->time = run_spread(&b->run, c->ns);
            c->gain = run_ratio(&b->run, inverse, alone);
        }
}

void setting_measure(struct bench *b, unsigned shards, unsigned skew, unsigned place)
{
    struct cell(*cells)[TEAMS] = b->cells[shards][skew][place];
    for (unsigned r = 0; r < b->run.repetitions; r++)
        for (unsigned team = 0; team < b->team_count; team++)
            for (unsigned i = 0; i < STEPS; i++) {
                unsigned step = run_turn(r, i, STEPS);
                if (!is_selected(b, shards, skew, place, step, team)) continue;
                struct cell *c = &cells[step][team];
                c->ns[r] = time_step(b, &steps[step], (enum place_choice)place, b->teams[team]);
                c->measured = true;
            }
    conclude(b, cells);
}
