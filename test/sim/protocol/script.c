#include "script.h"

#include <string.h>

const char *script_kind_name(enum script_kind k)
{
    static const char *const name[] = {
        "pull",     "push",   "set",           "localize", "pull_local", "view",  "wait",
        "wait_all", "sleep",  "barrier",       "quiesce",  "break",      "leave", "lose",
        "lose too", "join",   "hold",          "stop",     "intent",     "clock", "bound",
        "keep",     "unkeep", "must be local", "is over",  "sample",     "reload"};
    return name[k];
}

static unsigned between(struct dice *d, unsigned low, unsigned high)
{
    return low + dice_below(d, high - low + 1);
}

static unsigned all_workers(const struct script *s)
{
    return s->nodes * s->workers;
}

static struct script_step *add(struct script *s, unsigned worker, enum script_kind kind)
{
    static struct script_step none;
    if (s->count == SCRIPT_STEPS_MAX) return &none;
    struct script_step *step = &s->step[s->count++];
    *step = (struct script_step){.kind = (uint8_t)kind, .worker = (uint8_t)worker};
    return step;
}

static struct script_step *add_key(struct script *s, unsigned worker, enum script_kind kind,
                                   unsigned key, bool async)
{
    struct script_step *step = add(s, worker, kind);
    step->async = async;
    step->n = 1;
    step->key[0] = (uint8_t)key;
    return step;
}

static void add_sleep(struct script *s, struct dice *d, unsigned worker, unsigned low,
                      unsigned high)
{
    add(s, worker, STEP_SLEEP)->amount = dice_below(d, 1u << between(d, low, high));
}

/* A push, a pull or a set, the less often the later. */
static enum script_kind draw_access(struct dice *d, unsigned pushes, unsigned pulls)
{
    return dice_below(d, pushes) ? STEP_PUSH : dice_below(d, pulls) ? STEP_PULL : STEP_SET;
}

static void draw_size(struct script *s, struct dice *d, unsigned nodes, unsigned keys_max)
{
    s->nodes = nodes ? nodes : between(d, 2, 5);
    s->shards = dice_below(d, 3) ? 1 : between(d, 1, 3);
    s->workers = s->nodes > 4 ? 1 : between(d, 1, s->nodes > 3 ? 2 : 3);
    s->keys = between(d, 1, keys_max);
    s->has_sets = dice_below(d, 2);
    s->acts_immediately = dice_below(d, 4) == 0;
}

/* What a worker of a stress script likes to do. */
struct weights {
    unsigned pull, push, set, localize, local, view, wait, all, sleep, intent, clock;
    unsigned async_of_4, keys_max;
};

/* Intents only where they have an effect. */
static bool heeds_intents(const struct script *s)
{
    return s->technique != LOCUS_STATIC && s->technique != LOCUS_FULL_REPLICATION;
}

static void draw_weights(const struct script *s, struct weights *w, struct dice *d)
{
    *w = (struct weights){
        .pull = between(d, 1, 6),
        .push = between(d, 1, 8),
        .set = between(d, 0, 3),
        .localize = between(d, 0, 6),
        .local = between(d, 0, 1),
        .view = between(d, 0, 1),
        .wait = between(d, 0, 3),
        .all = between(d, 0, 1),
        .sleep = between(d, 0, 2),
        .intent = heeds_intents(s) ? between(d, 0, 5) : 0,
        .clock = heeds_intents(s) ? between(d, 0, 5) : 0,
        .async_of_4 = between(d, 0, 4),
        .keys_max = dice_below(d, 2) ? 1 : between(d, 1, SCRIPT_KEYS_MAX),
    };
}

static enum script_kind draw_kind(const struct weights *w, struct dice *d)
{
    const unsigned weight[] = {w->pull, w->push, w->set,   w->localize, w->local, w->view,
                               w->wait, w->all,  w->sleep, w->intent,   w->clock};
    static const enum script_kind kind[] = {STEP_PULL,       STEP_PUSH,   STEP_SET,  STEP_LOCALIZE,
                                            STEP_PULL_LOCAL, STEP_VIEW,   STEP_WAIT, STEP_ALL,
                                            STEP_SLEEP,      STEP_INTENT, STEP_CLOCK};
    unsigned sum = 0, i = 0;
    for (unsigned k = 0; k < sizeof weight / sizeof *weight; k++) sum += weight[k];
    unsigned at = dice_below(d, sum);
    while (at >= weight[i]) at -= weight[i++];
    return kind[i];
}

static void add_drawn(struct script *s, struct dice *d, const struct weights *w, unsigned worker)
{
    struct script_step *step = add(s, worker, draw_kind(w, d));
    step->async = dice_below(d, 4) < w->async_of_4;
    step->amount = dice_below(d, 1u << between(d, 4, 16));
    step->n = (uint8_t)(dice_below(d, 3) ? 1 : between(d, 1, w->keys_max));
    for (unsigned i = 0; i < step->n; i++) step->key[i] = (uint8_t)dice_below(d, s->keys);
    if (step->kind != STEP_INTENT) return;
    step->amount = dice_below(d, 3) ? 0 : dice_below(d, 8);
    step->clocks = (uint8_t)between(d, 1, 4);
}

static void write_stress(struct script *s, struct dice *d)
{
    struct weights w;
    draw_weights(s, &w, d);
    unsigned operations = between(d, 3, 40);
    for (unsigned i = 0; i < operations; i++)
        for (unsigned worker = 0; worker < all_workers(s); worker++) add_drawn(s, d, &w, worker);
}

/* Barriers between phases of stress: what was done before is seen by all after. */
static void write_phases(struct script *s, struct dice *d)
{
    struct weights w;
    for (unsigned phase = 0, phases = between(d, 2, 4); phase < phases; phase++) {
        draw_weights(s, &w, d);
        unsigned operations = between(d, 1, 8);
        for (unsigned i = 0; i < operations; i++)
            for (unsigned worker = 0; worker < all_workers(s); worker++)
                add_drawn(s, d, &w, worker);
        enum script_kind meeting = dice_below(d, 2) ? STEP_BARRIER : STEP_QUIESCE;
        for (unsigned worker = 0; worker < all_workers(s); worker++) {
            add(s, worker, meeting)->amount = phase;
            for (unsigned key = 0; key < s->keys && dice_below(d, 2); key++)
                add_key(s, worker, STEP_PULL, key, false);
        }
    }
}

/* All nodes take the same keys, in turn: every row is on its way all the time. */
static void write_circle(struct script *s, struct dice *d)
{
    unsigned rounds = between(d, 3, 20);
    for (unsigned i = 0; i < rounds; i++)
        for (unsigned worker = 0; worker < all_workers(s); worker++) {
            unsigned key = dice_below(d, s->keys);
            add_key(s, worker, STEP_LOCALIZE, key, dice_below(d, 2));
            if (dice_below(d, 2)) add_key(s, worker, STEP_PUSH, key, dice_below(d, 2));
            if (dice_below(d, 3) == 0) add_key(s, worker, STEP_PULL, key, dice_below(d, 2));
        }
}

/* A row wanders while some node does not look; then that node asks by what it knew. */
static void write_chain(struct script *s, struct dice *d)
{
    unsigned workers = all_workers(s), late = dice_below(d, workers);
    for (unsigned round = 0, rounds = between(d, 1, 4); round < rounds; round++) {
        unsigned key = dice_below(d, s->keys), walks = between(d, 1, 6);
        add_key(s, late, STEP_PULL, key, false);
        for (unsigned i = 0; i < walks; i++) {
            unsigned worker = dice_below(d, workers);
            if (worker == late) continue;
            add_sleep(s, d, worker, 4, 17);
            add_key(s, worker, STEP_LOCALIZE, key, false);
            add_key(s, worker, STEP_PUSH, key, dice_below(d, 2));
        }
        add_sleep(s, d, late, 8, 18);
        add_key(s, late, dice_below(d, 2) ? STEP_PUSH : STEP_LOCALIZE, key, dice_below(d, 2));
        add_key(s, late, STEP_PULL, key, false);
    }
}

/* One node takes the row while the others are at it with all they have. */
static void write_race(struct script *s, struct dice *d)
{
    unsigned workers = all_workers(s);
    for (unsigned round = 0, rounds = between(d, 1, 6); round < rounds; round++) {
        unsigned key = dice_below(d, s->keys), taker = dice_below(d, workers);
        unsigned pause = dice_below(d, 1u << between(d, 4, 14));
        for (unsigned worker = 0; worker < workers; worker++) {
            if (worker == taker) {
                add(s, worker, STEP_SLEEP)->amount = pause;
                add_key(s, worker, STEP_LOCALIZE, key, dice_below(d, 2));
            }
            for (unsigned i = 0, n = between(d, 1, 6); i < n; i++)
                add_key(s, worker, draw_access(d, 3, 2), key, true);
            if (dice_below(d, 2)) add(s, worker, STEP_ALL);
        }
    }
}

/* Two localize the same key at once, workers of one node or of two, and use it. */
static void write_twins(struct script *s, struct dice *d)
{
    unsigned workers = all_workers(s);
    for (unsigned round = 0, rounds = between(d, 1, 8); round < rounds; round++) {
        unsigned key = dice_below(d, s->keys);
        unsigned twin[2] = {dice_below(d, workers), dice_below(d, workers)};
        for (unsigned i = 0; i < 2; i++) {
            add_key(s, twin[i], STEP_LOCALIZE, key, true);
            add_key(s, twin[i], dice_below(d, 2) ? STEP_PUSH : STEP_PULL, key, dice_below(d, 2));
            if (dice_below(d, 2)) add_key(s, twin[i], STEP_LOCALIZE, key, dice_below(d, 2));
            add(s, twin[i], dice_below(d, 2) ? STEP_ALL : STEP_WAIT);
        }
    }
}

static void add_intent(struct script *s, struct dice *d, unsigned worker, unsigned key,
                       unsigned ahead, unsigned clocks)
{
    struct script_step *step = add_key(s, worker, STEP_INTENT, key, dice_below(d, 2));
    step->amount = ahead;
    step->clocks = (uint8_t)clocks;
}

static void add_access(struct script *s, struct dice *d, unsigned worker, unsigned key)
{
    add_key(s, worker, draw_access(d, 3, 3), key, dice_below(d, 3) == 0);
}

/* Intents of all nodes on few keys begin and end all the time, with accesses in between: replicas
 * are made, moved to and dropped while updates are under way. */
static void write_intents(struct script *s, struct dice *d)
{
    for (unsigned i = 0, n = between(d, 3, 16); i < n; i++)
        for (unsigned worker = 0; worker < all_workers(s); worker++) {
            unsigned key = dice_below(d, s->keys);
            if (dice_below(d, 2)) add_intent(s, d, worker, key, dice_below(d, 2), between(d, 1, 3));
            if (dice_below(d, 3) == 0) add_sleep(s, d, worker, 4, 16);
            for (unsigned k = 0, m = dice_below(d, 4); k < m; k++) add_access(s, d, worker, key);
            if (dice_below(d, 6) == 0) add_key(s, worker, STEP_LOCALIZE, key, dice_below(d, 2));
            if (dice_below(d, 2)) add(s, worker, STEP_CLOCK);
        }
}

/* All hold replicas of few rows for long, and everybody adds all the time: rounds, refreshes and
 * writes in place meet. */
static void write_shared(struct script *s, struct dice *d)
{
    for (unsigned worker = 0; worker < all_workers(s); worker++)
        for (unsigned key = 0; key < s->keys; key++) add_intent(s, d, worker, key, 0, 200);
    for (unsigned i = 0, n = between(d, 5, 40); i < n; i++)
        for (unsigned worker = 0; worker < all_workers(s); worker++) {
            unsigned key = dice_below(d, s->keys);
            add_key(s, worker, draw_access(d, 6, 2), key, false);
            if (dice_below(d, 2)) add_sleep(s, d, worker, 4, 14);
        }
}

/* Nodes keep keys and take that back, among intents of the same keys, localizes and changes. */
static void write_kept(struct script *s, struct dice *d)
{
    for (unsigned i = 0, n = between(d, 3, 16); i < n; i++)
        for (unsigned worker = 0; worker < all_workers(s); worker++) {
            unsigned key = dice_below(d, s->keys), what = dice_below(d, 10);
            if (what < 3) {
                struct script_step *step = add_key(s, worker, STEP_KEEP, key, dice_below(d, 2));
                step->amount = dice_below(d, 3) ? 0 : dice_below(d, 4);
            }
            if (what == 3) add_key(s, worker, STEP_UNKEEP, key, false);
            if (what == 4) add_key(s, worker, STEP_LOCALIZE, key, dice_below(d, 2));
            if (what == 5) add_intent(s, d, worker, key, dice_below(d, 2), between(d, 1, 3));
            if (dice_below(d, 3) == 0) add_sleep(s, d, worker, 4, 16);
            for (unsigned k = 0, m = dice_below(d, 4); k < m; k++) add_access(s, d, worker, key);
            if (dice_below(d, 2)) add(s, worker, STEP_CLOCK);
        }
}

/* A step of somebody's is that the links between two nodes break; not one that others wait for. */
static void add_break(struct script *s, struct dice *d)
{
    unsigned worker = dice_below(d, all_workers(s));
    struct script_step *victim = &s->step[dice_below(d, s->count)];
    if (victim->kind == STEP_CLOCK || victim->kind == STEP_BARRIER) return;
    unsigned node = worker / s->workers;
    *victim = (struct script_step){.kind = STEP_BREAK,
                                   .worker = (uint8_t)worker,
                                   .amount = (node + 1 + dice_below(d, s->nodes - 1)) % s->nodes};
}

/* Steps of a worker, at most. */
enum { OF_A_CLOCK = 11 };

static void add_accesses_of_a_clock(struct script *s, struct dice *d, unsigned worker)
{
    unsigned key = dice_below(d, s->keys);
    if (dice_below(d, 2)) add_intent(s, d, worker, key, dice_below(d, 2), between(d, 1, 3));
    if (dice_below(d, 6) == 0) add_key(s, worker, STEP_KEEP, key, false);
    if (dice_below(d, 8) == 0) add_key(s, worker, STEP_UNKEEP, key, false);
    if (dice_below(d, 8) == 0) add_key(s, worker, STEP_LOCALIZE, key, dice_below(d, 2));
    if (dice_below(d, 4) == 0) add_sleep(s, d, worker, 4, 17);
    for (unsigned k = 0, m = between(d, 1, 3); k < m; k++)
        add_key(s, worker, dice_below(d, 3) ? STEP_PUSH : STEP_PULL, dice_below(d, s->keys),
                dice_below(d, 2));
}

/* All workers pass as many clocks, each some way ahead of the others at most, and change and read a
 * few keys by every technique's means. Who does nothing for long holds the others up; one may only
 * advance its clock, which no shard hears of by the way. */
static void write_bounds(struct script *s, struct dice *d)
{
    unsigned staleness = dice_below(d, 4), often = between(d, 1, 3), workers = all_workers(s);
    unsigned idle = dice_below(d, 3) ? workers : dice_below(d, workers);
    s->has_sets = false;
    unsigned clocks = between(d, 2, 10), most = SCRIPT_STEPS_MAX / workers / OF_A_CLOCK - 1;
    for (unsigned i = 0; i < clocks && i < most; i++)
        for (unsigned worker = 0; worker < workers; worker++) {
            if (worker != idle)
                add_accesses_of_a_clock(s, d, worker);
            else
                add_sleep(s, d, worker, 4, 17);
            add(s, worker, STEP_CLOCK);
            if (worker == idle) continue;
            if (i % often == 0) add(s, worker, STEP_BOUND)->amount = staleness;
            add_key(s, worker, STEP_PULL, dice_below(d, s->keys), false);
        }
    for (unsigned worker = 0; worker < workers; worker++) add(s, worker, STEP_BARRIER);
    if (dice_below(d, 6) == 0) add_break(s, d); /* who waits is told */
}

/* One after the other has intent: the row must go from node to node, or be shared where they
 * overlap. */
static void write_relay(struct script *s, struct dice *d)
{
    unsigned workers = all_workers(s);
    for (unsigned i = 0, n = between(d, 4, 20); i < n; i++) {
        unsigned worker = dice_below(d, workers), key = dice_below(d, s->keys);
        add_sleep(s, d, worker, 6, 17);
        add_intent(s, d, worker, key, 0, 1);
        for (unsigned k = 0, m = between(d, 1, 4); k < m; k++)
            add_key(s, worker, dice_below(d, 3) ? STEP_PUSH : STEP_PULL, key, dice_below(d, 2));
        add_sleep(s, d, worker, 4, 16);
        add(s, worker, STEP_CLOCK);
    }
}

/* Intents are signaled long before their start: then nothing goes to another node. Some are extended
 * while they are active, by a loader that closes then, or while the shard does nothing; and none is
 * kept for longer than was said. */
static void write_early(struct script *s, struct dice *d)
{
    enum { LONG_NS = 200000000 };
    bool replicates = heeds_intents(s) && s->technique != LOCUS_RELOCATE;
    for (unsigned i = 0, n = between(d, 2, 8); i < n; i++)
        for (unsigned worker = 0; worker < all_workers(s); worker++) {
            unsigned keys[2] = {dice_below(d, s->keys), dice_below(d, s->keys)},
                     clocks = between(d, 1, 3);
            if (dice_below(d, 6) == 0) add(s, worker, STEP_STOP)->amount = LONG_NS / 8;
            for (unsigned k = 0; k < 2; k++) add_intent(s, d, worker, keys[k], 1, clocks);
            if (dice_below(d, 2)) {
                for (unsigned k = 0; k < 2; k++) add_intent(s, d, worker, keys[k], 1, clocks + 2);
                for (unsigned k = dice_below(d, 3); k > 0; k--) add(s, worker, STEP_CLOCK);
            }
            if (dice_below(d, 3) == 0) add(s, worker, STEP_RELOAD);
            add(s, worker, STEP_SLEEP)->amount = LONG_NS;
            if (dice_below(d, 2))
                add_key(s, worker, STEP_OVER, dice_below(d, s->keys), false)->amount = 100;
            add(s, worker, STEP_CLOCK);
            for (unsigned k = 0; k < 2; k++) {
                add_key(s, worker, dice_below(d, 2) ? STEP_PUSH : STEP_PULL, keys[k], false);
                if (replicates) add_key(s, worker, STEP_LOCAL, keys[k], false);
            }
        }
}

/* Rows come and go, and their slots have other tenants, while some workers look at them in
 * place. */
static void write_views(struct script *s, struct dice *d)
{
    unsigned workers = all_workers(s);
    s->keys = between(d, 3, 8);
    for (unsigned i = 0, n = between(d, 4, 16); i < n; i++)
        for (unsigned worker = 0; worker < workers; worker++) {
            unsigned key = dice_below(d, s->keys);
            if (dice_below(d, 2)) add_key(s, worker, STEP_PUSH, key, dice_below(d, 2));
            struct script_step *step =
                add_key(s, worker, dice_below(d, 3) ? STEP_LOCALIZE : STEP_VIEW, key, true);
            step->amount = dice_below(d, 256);
            for (; step->n < 3; step->n++) step->key[step->n] = (uint8_t)dice_below(d, s->keys);
        }
}

/* Stress in which the links between two nodes break. */
static void write_loss(struct script *s, struct dice *d)
{
    write_stress(s, d);
    add_break(s, d);
}

/* Does somebody else wait for it? */
static bool is_awaited(const struct script_step *step)
{
    return step->kind == STEP_CLOCK || step->kind == STEP_BARRIER || step->kind == STEP_QUIESCE;
}

/* Nodes fall silent: what they send to another one is late, or their shards
 * stop for a while. */
static void write_silence(struct script *s, struct dice *d)
{
    static void (*const of[])(struct script *, struct dice *) = {
        write_kept, write_intents, write_shared, write_stress, write_bounds};
    of[dice_below(d, sizeof of / sizeof *of)](s, d);
    unsigned log = between(d, 13, 18);
    if (log == 18) log = 22; /* so long that workers have copies */
    for (unsigned i = 0; i < s->count; i++) {
        struct script_step *step = &s->step[i];
        if (step->kind == STEP_PUSH && dice_below(d, 2)) step->kind = STEP_PULL;
        if (is_awaited(step) || dice_below(d, 8)) continue;
        unsigned node = step->worker / s->workers;
        *step = (struct script_step){
            .kind = dice_below(d, 3) ? STEP_HOLD : STEP_STOP,
            .worker = step->worker,
            .peer = (uint8_t)((node + 1 + dice_below(d, s->nodes - 1)) % s->nodes),
            .amount = dice_below(d, 1u << between(d, log, log + 3))};
    }
}

/* Nodes are lost, one after the other, and the others go on. */
static void write_survive(struct script *s, struct dice *d)
{
    static void (*const of[])(struct script *, struct dice *) = {
        write_stress, write_phases, write_intents, write_shared, write_relay,
        write_circle, write_chain,  write_race,    write_twins,  write_kept,
        write_bounds, write_views,  write_silence};
    of[dice_below(d, sizeof of / sizeof *of)](s, d);
    s->survives = true;
    for (unsigned i = 0; i < s->count; i++)
        if (s->step[i].kind == STEP_BREAK || (!is_awaited(&s->step[i]) && dice_below(d, 24) == 0))
            s->step[i] = (struct script_step){
                .kind = STEP_SAMPLE, .worker = s->step[i].worker, .amount = dice_below(d, 8)};
    for (unsigned n = between(d, 1, s->nodes > 2 ? 2 : 1); n > 0; n--) {
        struct script_step *step = &s->step[dice_below(d, s->count)];
        if (is_awaited(step)) continue;
        if (dice_below(d, 3) == 0) {
            *step = (struct script_step){.kind = STEP_LEAVE, .worker = step->worker};
            continue;
        }
        *step = (struct script_step){.kind = STEP_LOSE,
                                     .worker = step->worker,
                                     .peer = (uint8_t)between(d, 1, s->nodes - 1),
                                     .amount = dice_below(d, 1u << between(d, 0, 8))};
    }
}

static struct script_step *some_step(struct script *s, struct dice *d, unsigned from,
                                     unsigned not_of)
{
    for (unsigned tries = 0; tries < 16 && from < s->count; tries++) {
        struct script_step *step = &s->step[between(d, from, s->count - 1)];
        if (!is_awaited(step) && step->kind != STEP_LOSE && step->worker / s->workers != not_of)
            return step;
    }
    return NULL;
}

/* Those that are lost come back; some of them, or others, are lost once more. */
static void write_join(struct script *s, struct dice *d)
{
    write_survive(s, d);
    for (unsigned i = 0, changes = 0; i < s->count && changes < 4; i++) {
        if (s->step[i].kind != STEP_LOSE) continue;
        unsigned node = s->step[i].peer;
        struct script_step *step = some_step(s, d, i + 1, node);
        changes++;
        if (!step) continue;
        *step =
            (struct script_step){.kind = STEP_JOIN, .worker = step->worker, .peer = (uint8_t)node};
        step = dice_below(d, 2) ? some_step(s, d, (unsigned)(step - s->step) + 1, s->nodes) : NULL;
        if (!step) continue;
        *step = (struct script_step){
            .kind = STEP_LOSE,
            .worker = step->worker,
            .peer = (uint8_t)(dice_below(d, 2) ? node : between(d, 1, s->nodes - 1)),
            .amount = dice_below(d, 1u << between(d, 0, 8))};
    }
}

static bool is_change(const struct script_step *step)
{
    return step->kind == STEP_LOSE || step->kind == STEP_LEAVE || step->kind == STEP_JOIN;
}

/* Of half the seeds: nodes are lost while an earlier change is repaired. */
static void add_losses_meanwhile(struct script *s, struct dice *d)
{
    unsigned changes = 0;
    for (unsigned i = 0; i < s->count; i++)
        if (is_change(&s->step[i])) changes = i;
    if (changes == 0 || dice_below(d, 2)) return;
    for (unsigned n = between(d, 1, 3); n > 0; n--) {
        struct script_step *step = &s->step[dice_below(d, changes)];
        if (is_awaited(step) || is_change(step)) continue;
        *step = (struct script_step){.kind = STEP_LOSE_TOO,
                                     .worker = step->worker,
                                     .peer = (uint8_t)between(d, 1, s->nodes - 1),
                                     .amount = dice_below(d, 1u << between(d, 0, 7))};
    }
}

static const struct {
    const char *name;
    void (*write)(struct script *, struct dice *);
    unsigned keys_max;
} scripts[] = {
    {"stress", write_stress, 6},   {"phases", write_phases, 6},   {"circle", write_circle, 3},
    {"chain", write_chain, 3},     {"intents", write_intents, 4}, {"shared", write_shared, 2},
    {"relay", write_relay, 3},     {"early", write_early, 5},     {"race", write_race, 2},
    {"twins", write_twins, 2},     {"views", write_views, 8},     {"loss", write_loss, 6},
    {"kept", write_kept, 3},       {"bounds", write_bounds, 3},   {"silence", write_silence, 3},
    {"survive", write_survive, 6}, {"join", write_join, 6},
};

const char *const script_names[SCRIPTS] = {
    "stress", "phases", "intents", "shared", "relay",  "early",   "circle",  "chain", "race",
    "twins",  "views",  "loss",    "kept",   "bounds", "silence", "survive", "join"};

bool script_write(struct script *s, const char *name, unsigned nodes,
                  enum locus_technique technique, struct dice d)
{
    for (unsigned i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        if (strcmp(scripts[i].name, name) != 0) continue;
        memset(s, 0, sizeof *s);
        s->technique = technique;
        draw_size(s, &d, nodes, scripts[i].keys_max);
        scripts[i].write(s, &d);
        if (s->survives) add_losses_meanwhile(s, &d);
        return true;
    }
    return false;
}
