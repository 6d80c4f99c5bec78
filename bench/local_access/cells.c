/* Times the steps of one setting. */
#include "bench.h"

struct turn {
    struct bench *bench;
    lane_work *work;
    size_t at;             /* where the keys begin in each lane's sequence */
    size_t warm_up, timed; /* keys */
};

static void warm_up(void *context, unsigned lane)
{
    struct turn *t = context;
    struct lane *l = &t->bench->lanes[lane];
    t->work(l, l->keys + t->at, t->warm_up);
}

static void work(void *context, unsigned lane)
{
    struct turn *t = context;
    struct lane *l = &t->bench->lanes[lane];
    t->work(l, l->keys + t->at + t->warm_up, t->timed);
}

/* Nanoseconds a key, on each of the threads. */
static double time_step(struct bench *b, const struct step *s, unsigned threads, size_t keys)
{
    /* Half as many keys first, 32 MB of rows and more: the step before left other rows in the
     * caches. */
    struct turn t = {
        .bench = b, .work = s->work, .warm_up = keys / 2 / BATCH * BATCH, .timed = keys};
    t.at = next_keys(b, t.warm_up + t.timed);
    for (unsigned i = 0; i < threads; i++) b->lanes[i].per_call = s->per_call;
    double ns = team_time(threads, warm_up, work, &t);
    for (unsigned i = 0; i < threads; i++) must(b->lanes[i].rc, s->name);
    return ns / (double)keys;
}

void setting_measure(struct bench *b, unsigned length, enum key_choice choice, unsigned team)
{
    struct cell *cells = b->cells[length][choice][team];
    unsigned threads = b->teams[team];
    for (unsigned r = 0; r < b->run.repetitions; r++) {
        for (unsigned i = 0; i < STEPS; i++) {
            enum step_id s = (enum step_id)run_turn(r, i, STEPS);
            if (!cell_selected(b, length, choice, team, s)) continue;
            batches_reset(b);
            cells[s].ns[r] = time_step(b, &steps[s], threads, keys_of_step(b, lengths[length]));
            cells[s].digest += digest_take(b, threads);
            cells[s].measured = true;
        }
    }
}
