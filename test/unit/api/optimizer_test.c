/* Tables with optimizers: what calls make of them, against rows of the test's own. What a step is,
 * row_steps_test.c checks. */
#include "one_node.h"
#include "store/row_type.h"

#include <math.h>
#include <string.h>

enum { ROWS = 40, LENGTH = 7, PLAIN = 10, STORED_MAX = 3 * LENGTH + 1, CALL = 12, ROUNDS = 30 };

/* A plain table, and behind it one with the optimizer. */
struct model {
    const struct row_type *type;
    struct locus_rule rule;
    size_t stored;
    uint64_t steps;
    float rate, row[ROWS][STORED_MAX];
    locus *node;
    locus_worker *worker;
};

static void open_model(struct model *m, enum locus_optimizer o, unsigned workers)
{
    const struct locus_table tables[] = {{.name = "plain", .rows = PLAIN, .length = LENGTH},
                                         {.rows = ROWS, .length = LENGTH, .optimizer = o}};
    *m = (struct model){.type = row_type_of(o), .rule = row_type_rule(&tables[1])};
    m->stored = row_type_stored(m->type, LENGTH);
    m->rate = m->rule.rate;
    m->node = node_of(tables, 2, workers, workers); /* with one shard, steps go by no word */
    m->worker = worker_of(m->node);
}

static struct row_step step_of(const struct model *m)
{
    float factor = m->type->factor ? m->type->factor(&m->rule, m->steps) : 1;
    return (struct row_step){m->rate, m->rate * factor};
}

static float gradient_of(uint64_t round, size_t i)
{
    return (float)((round * 7 + i * 13) % 17) / 4 - 2;
}

static bool is_equal(const float *a, const float *b, size_t n)
{
    bool equal = true;
    for (size_t i = 0; i < n; i++) equal &= a[i] == b[i];
    return equal;
}

static void check_rows(const struct model *m)
{
    float values[LENGTH], stored[STORED_MAX + 1];
    for (locus_key row = 0; row < ROWS; row++) {
        locus_key key = PLAIN + row;
        CHECK_EQ(locus_pull(m->worker, &key, 1, values), 0);
        CHECK(is_equal(values, m->row[row], LENGTH));
        CHECK_EQ(locus_pull_local(m->worker, key, values), 0);
        CHECK(is_equal(values, m->row[row], LENGTH));
        locus_read_begin(m->worker);
        CHECK(is_equal(locus_view(m->worker, key), m->row[row], LENGTH));
        locus_read_end(m->worker);
        stored[m->stored] = 99;
        CHECK_EQ(locus_pull_state(m->worker, &key, 1, stored), 0);
        CHECK(is_equal(stored, m->row[row], m->stored));
        CHECK(stored[m->stored] == 99);
    }
}

/* Some keys twice, and one of the other table in between. */
static void push_some(struct model *m, uint64_t round)
{
    locus_key keys[CALL];
    float gradient[CALL][LENGTH];
    locus_ticket ticket = 0;
    m->steps++;
    for (size_t i = 0; i < CALL; i++) {
        size_t row = (round * 5 + i % 8) % ROWS;
        for (size_t f = 0; f < LENGTH; f++) gradient[i][f] = gradient_of(round + i, f);
        keys[i] = i == 5 ? round % PLAIN : PLAIN + row;
        if (i != 5) m->type->step(&m->rule, step_of(m), m->row[row], gradient[i], LENGTH, NULL);
    }
    if (round % 2)
        CHECK_EQ(locus_push(m->worker, keys, CALL, gradient[0]), 0);
    else
        CHECK_EQ(locus_push_async(m->worker, keys, CALL, gradient[0], &ticket), 0);
    CHECK_EQ(locus_wait(m->worker, ticket), 0);
}

static void push_one(struct model *m, uint64_t round)
{
    float gradient[LENGTH];
    locus_key row = round % ROWS, key = PLAIN + row;
    for (size_t f = 0; f < LENGTH; f++) gradient[f] = gradient_of(round, f);
    m->steps++;
    m->type->step(&m->rule, step_of(m), m->row[row], gradient, LENGTH, NULL);
    CHECK_EQ(locus_push(m->worker, &key, 1, gradient), 0);
}

/* The gradient of a quadratic, from what is there. */
static void half_of(void *calls, const float *values, float *gradient, uint32_t length)
{
    for (uint32_t f = 0; f < length; f++) gradient[f] = values[f] / 2 + (float)f;
    ++*(int *)calls;
}

static void step_in_place(struct model *m, uint64_t round)
{
    float gradient[LENGTH];
    locus_key row = round * 3 % ROWS;
    int calls = 0;
    half_of(&calls, m->row[row], gradient, LENGTH);
    m->steps++;
    m->type->step(&m->rule, step_of(m), m->row[row], gradient, LENGTH, NULL);
    CHECK_EQ(locus_step_local(m->worker, PLAIN + row, half_of, &calls), 0);
    CHECK_EQ(calls, 2);
}

static void set_some(struct model *m, uint64_t round)
{
    float given[STORED_MAX] = {0};
    locus_key row = round * 11 % ROWS, other = (row + 1) % ROWS, key = PLAIN + row;
    for (size_t f = 0; f < m->stored; f++) given[f] = 1 + (float)(f + round);
    memset(m->row[row], 0, sizeof m->row[row]);
    memcpy(m->row[row], given, LENGTH * sizeof *given);
    CHECK_EQ(locus_set(m->worker, &key, 1, given), 0);
    memcpy(m->row[other], given, m->stored * sizeof *given);
    key = PLAIN + other;
    CHECK_EQ(locus_set_state(m->worker, &key, 1, given), 0);
    m->rate = 0.01f * (float)round;
    CHECK_EQ(locus_table_rate(m->node, 1, (double)m->rate), 0);
    m->steps = round % 3 ? round * round : UINT64_C(1) << 40;
    CHECK_EQ(locus_table_steps(m->node, 1, m->steps), 0);
}

static void check_plain(struct model *m)
{
    float values[PLAIN][LENGTH], sum[PLAIN][LENGTH] = {{0}};
    locus_key keys[PLAIN];
    for (uint64_t round = 0; round < ROUNDS; round++)
        for (size_t f = 0; f < LENGTH; f++) sum[round % PLAIN][f] += gradient_of(round + 5, f);
    for (locus_key k = 0; k < PLAIN; k++) keys[k] = k;
    CHECK_EQ(locus_pull_state(m->worker, keys, PLAIN, values[0]), 0);
    CHECK(is_equal(values[0], sum[0], sizeof sum / sizeof **sum));
}

static void check_optimizer(enum locus_optimizer o, unsigned workers)
{
    CLOSED_BY(free_at) struct model *m = malloc(sizeof *m);
    CHECK(m != NULL);
    open_model(m, o, workers);
    CHECK_EQ(locus_length(m->node, PLAIN), LENGTH);
    CHECK_EQ(locus_state_length(m->node, PLAIN), m->stored);
    CHECK_EQ(locus_state_length(m->node, 0), LENGTH);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        push_some(m, round);
        push_one(m, round);
        step_in_place(m, round);
        if (round % 8 == 7) set_some(m, round);
        check_rows(m);
    }
    check_plain(m);
    close_both(m->node, m->worker);
}

TEST(optimizer, calls_step_rows_in_order)
{
    for (enum locus_optimizer o = LOCUS_SGD; o < row_types; o++)
        for (unsigned workers = 1; workers <= 2; workers++) check_optimizer(o, workers);
}

static void add_one(void *context, float *row, uint32_t length)
{
    (void)context;
    for (uint32_t i = 0; i < length; i++) row[i] += 1;
}

TEST(optimizer, calls_refuse_the_other_kind_of_table)
{
    struct model m;
    int calls = 0;
    open_model(&m, LOCUS_ADAM, 1);
    locus_worker *w = m.worker;
    REFUSED(locus_change_local(w, PLAIN, add_one, NULL), -EINVAL,
            "has an optimizer: call locus_step_local");
    REFUSED(locus_step_local(w, 0, half_of, &calls), -EINVAL,
            "has no optimizer: call locus_change_local");
    REFUSED(locus_step_local(w, PLAIN, NULL, &calls), -EINVAL, "`gradient` is NULL");
    CHECK_EQ(calls, 0);
    REFUSED(locus_table_rate(m.node, 0, 0.1), -EINVAL, "table 0 has no optimizer");
    REFUSED(locus_table_rate(m.node, 2, 0.1), -EINVAL, "table 2 does not exist");
    REFUSED(locus_table_steps(m.node, 0, 1), -EINVAL,
            "locus_table_steps: table 0 has no optimizer");
    const double wrong[] = {-1, (double)NAN, (double)INFINITY, 1e39};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        REFUSED(locus_table_rate(m.node, 1, wrong[i]), -EINVAL, "must be 0 or above, and finite");
    check_rows(&m);
    close_both(m.node, w);
}

TEST(optimizer, open_refuses_wrong_rules)
{
    static const struct {
        struct locus_table table;
        const char *sentence;
    } wrong[] = {
        {{.rows = 1, .length = 1, .optimizer = (enum locus_optimizer)9},
         "table 0 has optimizer 9: there is none with that number"},
        {{.rows = 1, .length = 1, .rule = {.rate = 1}},
         "table 0 has rule.rate 1, which LOCUS_NO_OPTIMIZER does not use: set it to 0"},
        {{.rows = 1, .length = 1, .optimizer = LOCUS_SGD, .rule = {.momentum = 0.5f}},
         "rule.momentum 0.5, which LOCUS_SGD does not use"},
        {{.rows = 1, .length = 1, .optimizer = LOCUS_ADAM, .rule = {.beta2 = 1}},
         "rule.beta2 1: must be above 0 and below 1"},
        {{.rows = 1, .length = 1, .optimizer = LOCUS_ADAM, .rule = {.rate = -1}},
         "rule.rate -1: must be above 0 and finite"},
        {{.rows = 1, .length = 1, .optimizer = LOCUS_ADAGRAD, .rule = {.epsilon = NAN}},
         "must be above 0 and finite"},
        {{.rows = 1, .length = LOCUS_LENGTH_MAX / 2, .optimizer = LOCUS_ADAM},
         "table 0 has rows of 524288 floats and with LOCUS_ADAM 1572865: must be at most 1048576"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct locus_config c;
        locus *n;
        locus_config_init(&c);
        c.tables = &wrong[i].table;
        c.table_count = 1;
        REFUSED(locus_open(&c, &n), -EINVAL, wrong[i].sentence);
    }
}
