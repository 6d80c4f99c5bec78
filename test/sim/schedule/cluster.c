/* Rows are arrays here. What is asynchronous happens at some later step, in its worker's order, as
 * the library's does; each call is a narrow place, before and behind. */
#include "schedule.h"

#include "scheduling/mail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    VARIABLES = 40,
    WORKERS_MAX = 4,
    SCHEDULERS_MAX = 3,
    WIDTH_MAX = 6,
    DEPTH_MAX = 3,
    WINDOW_MAX = 3,
    FIGURES = 2,
    EXTRA = 1,
    ROUNDS_MAX = 90,
    ROWS = VARIABLES + 3 * SCHEDULERS_MAX * (DEPTH_MAX + WINDOW_MAX),
    LENGTH_MAX = 2 + 3 * WIDTH_MAX,
    STEPS_MAX = 2000000,
};

enum { WRITING = 1, READING = 2 }; /* tickets */

struct locus_worker {
    locus_clock clock;
    bool is_open;
    struct {
        locus_key key;
        const float *values; /* the worker's, which it does not touch meanwhile */
    } sent[WINDOW_MAX + 1];  /* updates under way, the oldest first: pushes, and a sync */
    unsigned sent_count;
    /* What is being read, until somebody waits for it. */
    const locus_key *read_keys;
    float *read_values;
    size_t read_count;
    const struct locus_part *parts[ROUNDS_MAX];
    uint64_t begun, rounds; /* rounds that it has begun, and ended */
    bool is_done;
};

static struct {
    struct dice dice;
    struct locus_scheduler_config config;
    float rows[ROWS][LENGTH_MAX];
    uint32_t length[ROWS];
    struct locus_worker worker[WORKERS_MAX + SCHEDULERS_MAX];
    unsigned workers_open, round_count, done;
    locus_scheduler *scheduler[SCHEDULERS_MAX];
    /* Of each round, as the first worker saw it. */
    struct locus_part parts[ROUNDS_MAX][WIDTH_MAX];
    size_t counts[ROUNDS_MAX];
    unsigned seen[ROUNDS_MAX], ended[ROUNDS_MAX];
    unsigned times[VARIABLES];
    uint64_t asked; /* how often whether a variable fits */
} world;

/* ---- a library of arrays ---- */

static void deliver(struct locus_worker *w)
{
    if (w->sent_count == 0) return;
    float *row = world.rows[w->sent[0].key];
    for (uint32_t i = 0; i < world.length[w->sent[0].key]; i++) row[i] += w->sent[0].values[i];
    w->sent_count--;
    memmove(w->sent, w->sent + 1, w->sent_count * sizeof *w->sent);
}

static void deliver_all(struct locus_worker *w)
{
    while (w->sent_count > 0) deliver(w);
}

static void step(void)
{
    unsigned all = world.workers_open;
    locus_fiber_yield();
    if (all > 0 && dice_below(&world.dice, 3) == 0)
        deliver(&world.worker[dice_below(&world.dice, all)]);
}

int locus_pull(locus_worker *w, const locus_key *keys, size_t n, float *values)
{
    deliver_all(w);
    for (size_t i = 0; i < n; values += world.length[keys[i++]]) {
        step();
        memcpy(values, world.rows[keys[i]], world.length[keys[i]] * sizeof *values);
    }
    step();
    return 0;
}

int locus_set(locus_worker *w, const locus_key *keys, size_t n, const float *values)
{
    deliver_all(w);
    for (size_t i = 0; i < n; values += world.length[keys[i++]]) {
        step();
        memcpy(world.rows[keys[i]], values, world.length[keys[i]] * sizeof *values);
    }
    step();
    return 0;
}

int locus_push_async(locus_worker *w, const locus_key *keys, size_t n, const float *values,
                     locus_ticket *t)
{
    MUST(n == 1 && w->sent_count <= world.config.schedule.window,
         "more updates are under way than rounds have");
    w->sent[w->sent_count].key = keys[0];
    w->sent[w->sent_count++].values = values;
    *t = WRITING;
    step();
    return 0;
}

/* What it reads it reads when it is waited for, which is as late as can be. */
int locus_pull_async(locus_worker *w, const locus_key *keys, size_t n, float *values,
                     locus_ticket *t)
{
    MUST(w->read_count == 0, "more is asked for than is read");
    w->read_keys = keys;
    w->read_values = values;
    w->read_count = n;
    *t = READING;
    step();
    return 0;
}

int locus_wait(locus_worker *w, locus_ticket t)
{
    size_t n = w->read_count;
    if (t == READING && n > 0) {
        w->read_count = 0;
        return locus_pull(w, w->read_keys, n, w->read_values);
    }
    if (t) deliver_all(w);
    return 0;
}

int locus_localize(locus_worker *w, const locus_key *keys, size_t n)
{
    (void)w, (void)keys, (void)n;
    return 0;
}

int locus_intent(locus_worker *w, const locus_key *keys, size_t n, locus_clock start,
                 locus_clock end)
{
    MUST(start > w->clock && end == start + (int)world.config.schedule.window,
         "an intent for clocks %d to %d comes at clock %d", (int)start, (int)end, (int)w->clock);
    for (size_t i = 0; i < n; i++) MUST(keys[i] < VARIABLES, "an intent for no variable");
    return 0;
}

locus_clock locus_advance_clock(locus_worker *w)
{
    return ++w->clock;
}

locus_clock locus_current_clock(const locus_worker *w)
{
    return w->clock;
}

int locus_worker_open(locus *node, locus_worker **out)
{
    (void)node;
    *out = &world.worker[world.workers_open++];
    return 0;
}

int locus_worker_close(locus_worker *w)
{
    deliver_all(w);
    return 0;
}

int locus_worker_id(const locus_worker *w)
{
    return (int)(w - world.worker);
}

int locus_size(const locus *node)
{
    (void)node;
    return 1;
}

int locus_technique_of(const locus *node)
{
    (void)node;
    return LOCUS_ADAPTIVE;
}

uint64_t locus_keys(const locus *node)
{
    (void)node;
    return ROWS;
}

uint32_t locus_length(const locus *node, locus_key key)
{
    (void)node;
    return world.length[key];
}

/* ---- a worker ---- */

static bool depend(uint64_t a, uint64_t b)
{
    return a / 4 == b / 4;
}

static bool fits(void *context, uint64_t variable, const uint64_t *chosen, size_t count)
{
    world.asked++;
    (void)context;
    for (size_t i = 0; i < count; i++)
        if (depend(variable, chosen[i])) return false;
    return true;
}

/* Of one scheduler's rounds none that may be under way together has what depends. */
static void check_window(uint64_t round)
{
    const struct locus_scheduler_config *c = &world.config;
    uint64_t first = round + 1 > c->schedule.window ? round + 1 - c->schedule.window : 0;
    for (uint64_t r = first; r < round; r++)
        for (size_t i = 0; i < world.counts[round] && r % c->schedulers == round % c->schedulers;
             i++)
            for (size_t j = 0; j < world.counts[r]; j++)
                MUST(!depend(world.parts[round][i].variable, world.parts[r][j].variable),
                     "rounds %d and %d have variables %d and %d", (int)r, (int)round,
                     (int)world.parts[r][j].variable, (int)world.parts[round][i].variable);
}

/* The first who sees a round: it has nothing that is still in another one. */
static void begin_round(uint64_t round, const struct locus_part *parts, size_t count)
{
    memcpy(world.parts[round], parts, count * sizeof *parts);
    world.counts[round] = count;
    for (size_t i = 0; i < count; i++) {
        MUST(parts[i].variable < VARIABLES, "round %d has no variable", (int)round);
        MUST(parts[i].variable % world.config.schedulers == round % world.config.schedulers,
             "variable %d is another scheduler's", (int)parts[i].variable);
        world.times[parts[i].variable]++;
        for (size_t j = 0; j < i; j++)
            MUST(!depend(parts[i].variable, parts[j].variable), "round %d has variables %d and %d",
                 (int)round, (int)parts[i].variable, (int)parts[j].variable);
        for (uint64_t r = 0; r < round; r++)
            for (size_t j = 0;
                 j < world.counts[r] && world.ended[r] < world.config.schedule.workers; j++)
                MUST(parts[i].variable != world.parts[r][j].variable,
                     "variable %d is in round %d, and still in round %d", (int)parts[i].variable,
                     (int)round, (int)r);
    }
    check_window(round);
}

static void see_round(uint64_t round, const struct locus_part *parts, size_t count)
{
    bool may_be_empty = world.config.schedule.window > 1;
    MUST(count + may_be_empty > 0 && count <= world.config.schedule.width, "round %d has %d parts",
         (int)round, (int)count);
    if (world.seen[round]++ == 0) begin_round(round, parts, count);
    MUST(count == world.counts[round], "round %d has %d parts, and %d", (int)round, (int)count,
         (int)world.counts[round]);
    for (size_t i = 0; i < count; i++) {
        MUST(parts[i].variable == world.parts[round][i].variable &&
                 parts[i].worker == world.parts[round][i].worker,
             "workers see round %d with other parts", (int)round);
        MUST(parts[i].worker == parts[i].variable % world.config.schedule.workers,
             "variable %d is at worker %u", (int)parts[i].variable, parts[i].worker);
    }
}

/* Whole numbers, other ones for each worker, round and place: a sum has all of them once. */
static float partial(unsigned number, uint64_t round, size_t at)
{
    return (float)((number + 1) * (1 + round % 7 + at));
}

static void check_sums(uint64_t round, size_t floats, const float *sums)
{
    for (size_t i = 0; i < floats; i++) {
        float wanted = 0;
        for (unsigned w = 0; w < world.config.schedule.workers; w++) wanted += partial(w, round, i);
        MUST(sums[i] >= wanted && sums[i] <= wanted, "round %d has the sum %g, not %g", (int)round,
             (double)sums[i], (double)wanted);
    }
}

static void begin_own_round(unsigned number, locus_port *port)
{
    const struct locus_part *parts;
    float values[WIDTH_MAX * FIGURES + EXTRA];
    size_t count;
    struct locus_worker *w = &world.worker[number];
    uint64_t round = w->begun;
    MUST(locus_port_schedule(port, &parts, &count) == 0, "no round: %s", locus_error());
    MUST(w->clock == (locus_clock)round + 1, "round %d is at clock %d", (int)round, (int)w->clock);
    see_round(round, parts, count);
    w->parts[round] = parts;
    size_t floats = count * FIGURES + EXTRA;
    for (size_t i = 0; i < floats; i++) values[i] = partial(number, round, i);
    MUST(locus_port_push(port, values) == 0, "no push: %s", locus_error());
    w->begun++;
}

static void end_own_round(unsigned number, locus_port *port)
{
    float values[WIDTH_MAX * FIGURES + EXTRA] = {0};
    struct locus_worker *w = &world.worker[number];
    uint64_t round = w->rounds;
    const struct locus_part *parts = w->parts[round];
    size_t count = world.counts[round];
    MUST(locus_port_pull(port, values) == 0, "no pull: %s", locus_error());
    check_sums(round, count * FIGURES + EXTRA, values);
    for (size_t i = 0; i < count; i++) { /* what is no own part's is not read */
        MUST(parts[i].variable == world.parts[round][i].variable, "round %d has lost its parts",
             (int)round);
        values[i] = parts[i].variable == 5 ? 1e5F : 0;
        if (parts[i].worker != number) values[i] = 1e9F;
    }
    world.ended[round]++;
    MUST(locus_port_sync(port, values) == 0, "no sync: %s", locus_error());
    w->rounds++;
}

/* It goes ahead as far as the seed has it, and no further than the window. */
static void work_rounds(unsigned number, locus_port *port)
{
    const struct locus_part *parts;
    size_t count;
    struct locus_worker *w = &world.worker[number];
    uint64_t window = world.config.schedule.window;
    while (w->begun < world.round_count && w->begun - w->rounds < window &&
           (w->begun == w->rounds || dice_below(&world.dice, 4) > 0))
        begin_own_round(number, port);
    if (w->begun - w->rounds == window)
        MUST(locus_port_schedule(port, &parts, &count) == -EINVAL, "a round beyond the window");
    end_own_round(number, port);
}

static void be_worker(void *argument)
{
    unsigned number = (unsigned)(uintptr_t)argument;
    locus_port *port;
    int rc = locus_port_open((locus *)&world, &world.worker[number], &world.config, number, &port);
    MUST(rc == 0, "no port: %s", locus_error());
    while (world.worker[number].rounds < world.round_count) work_rounds(number, port);
    MUST(locus_port_close(port) == 0, "the port: %s", locus_error());
    world.done++;
}

/* ---- schedulers ---- */

static bool are_done(const void *unused)
{
    (void)unused;
    return world.done == world.config.schedule.workers;
}

static void be_closer(void *argument)
{
    unsigned number = (unsigned)(uintptr_t)argument;
    locus_fiber_wait(are_done, NULL);
    MUST(locus_scheduler_close(world.scheduler[number]) == 0, "a scheduler failed: %s",
         locus_error());
}

static void be_scheduler(void *argument)
{
    scheduler_run(world.scheduler[(uintptr_t)argument]);
}

static void configure(void)
{
    struct dice *d = &world.dice;
    struct locus_scheduler_config *c = &world.config;
    locus_scheduler_config_init(c);
    c->schedule.order = dice_below(d, 2) ? LOCUS_PRIORITY : LOCUS_ROUND_ROBIN;
    c->schedule.variables = VARIABLES;
    c->schedule.workers = 1 + dice_below(d, WORKERS_MAX);
    c->schedule.width = 1 + dice_below(d, WIDTH_MAX);
    c->schedule.fits = fits;
    c->schedule.seed = dice_throw(d);
    c->schedulers = 1 + dice_below(d, SCHEDULERS_MAX);
    c->depth = dice_below(d, DEPTH_MAX + 1);
    c->schedule.window = 1 + dice_below(d, 2) * dice_below(d, WINDOW_MAX);
    c->figures = FIGURES;
    c->extra = EXTRA;
    c->first = VARIABLES;
    c->variable_key = 0;
    world.round_count = ROUNDS_MAX / 3 + dice_below(d, ROUNDS_MAX * 2 / 3);
}

static void make_tables(void)
{
    struct locus_table tables[LOCUS_SCHEDULER_TABLES];
    locus_key key = 0;
    MUST(locus_scheduler_tables(&world.config, tables) == 0, "no tables: %s", locus_error());
    for (; key < VARIABLES; key++) world.length[key] = 1;
    for (int t = 0; t < LOCUS_SCHEDULER_TABLES; t++)
        for (uint64_t r = 0; r < tables[t].rows; r++) world.length[key++] = tables[t].length;
}

/* All had their turn once, where there were rounds enough; then, by priority, what changes comes
 * whenever it is free. */
static void check_turns(void)
{
    const struct locus_scheduler_config *c = &world.config;
    unsigned each = 0, turns = VARIABLES * 3 / c->schedule.width + 3 * c->schedulers;
    for (unsigned r = 0; r < world.round_count; r++) turns += world.counts[r] == 0;
    for (unsigned v = 0; v < VARIABLES; v++) each += world.times[v] > 0;
    if (world.round_count < turns) return;
    MUST(each == VARIABLES, "%u of %d variables have come in %u rounds", each, VARIABLES,
         world.round_count);
    unsigned own_window = (c->schedule.window + c->schedulers - 1) / c->schedulers;
    unsigned left = (world.round_count - turns) / c->schedulers / (2 * (c->depth + 1 + own_window));
    if (c->schedule.window == 1) left *= 2; /* all rounds have parts */
    if (c->schedule.order == LOCUS_PRIORITY)
        MUST(world.times[5] >= left, "what changes has come %u times, not %u", world.times[5],
             left);
}

/* Once a candidate for each round that begins or is done, not as often as there is time. */
static void check_asked(void)
{
    enum { CANDIDATES = 8 }; /* of each place of a round: waiting and new */
    const struct locus_scheduler_config *c = &world.config;
    unsigned ahead = c->schedulers * (c->depth + c->schedule.window + 1);
    uint64_t most = (uint64_t)CANDIDATES * c->schedule.width * 2 * (world.round_count + ahead);
    MUST(world.asked <= most, "the filter was asked %d times, not %d at most", (int)world.asked,
         (int)most);
}

void cluster_run(uint64_t seed)
{
    memset(&world, 0, sizeof world);
    world.dice.state = ~seed;
    configure();
    make_tables();
    fibers_begin((enum fibers_policy)(seed % FIBERS_POLICIES), seed);
    world.workers_open = world.config.schedule.workers;
    for (uintptr_t s = 0; s < world.config.schedulers; s++)
        MUST(locus_scheduler_open((locus *)&world, &world.config, (unsigned)s,
                                  &world.scheduler[s]) == 0,
             "no scheduler: %s", locus_error());
    for (uintptr_t w = 0; w < world.config.schedule.workers; w++) fibers_add(be_worker, (void *)w);
    for (uintptr_t s = 0; s < world.config.schedulers; s++) {
        fibers_add(be_scheduler, (void *)s);
        fibers_add(be_closer, (void *)s);
    }
    MUST(fibers_run(STEPS_MAX) == FIBERS_ENDED, "the rounds do not end: %u of %u workers are done",
         world.done, world.config.schedule.workers);
    check_turns();
    check_asked();
}
