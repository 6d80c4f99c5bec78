/* Many nodes step one row: a store for each, and messages between them in any order, as the protocol
 * has them. Records, rows and their states arrive late, together, or by a relocation. */
#include "store/row.h"

#include "sampling/random.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* More floats than a row has: the compiler does not know its length. */
enum { LENGTH = 3, STORED_MAX = 40, PENDING_MAX = 4 };

struct node {
    struct store store;
    struct mover mover;
    struct row_ref row;
    unsigned pending; /* records on their way to the owner, in order */
    uint32_t floats[PENDING_MAX];
    float record[PENDING_MAX][STORED_MAX];
};

struct nodes {
    unsigned count, owner;
    struct random random;
    const struct row_type *type;
    struct locus_rule rule;
    struct node *node;
};

static unsigned below(struct nodes *c, unsigned n)
{
    return (unsigned)(random_next(&c->random) % n);
}

static void open_nodes(struct nodes *c, unsigned count, struct locus_table table, uint64_t seed)
{
    *c = (struct nodes){.count = count, .type = row_type_kept(table.optimizer, table.element)};
    random_init(&c->random, seed, 0, 0);
    table.rows = 64;
    table.length = LENGTH;
    c->rule = row_type_rule(&table);
    size_t bytes = (count * sizeof *c->node + 127) / 128 * 128;
    c->node = aligned_alloc(128, bytes);
    CHECK(c->node != NULL);
    memset(c->node, 0, bytes);
    for (unsigned i = 0; i < count; i++) {
        struct node *n = &c->node[i];
        const struct store_config config = {.tables = &table,
                                            .table_count = 1,
                                            .shards = 1,
                                            .nodes = count,
                                            .rank = i,
                                            .replicates = true};
        CHECK_EQ(store_open(&n->store, &config), 0);
        mover_init(&n->mover, &n->store);
        n->row = store_row_ref(&n->store, 0);
        if (row_ref_is_home(n->row))
            c->owner = i;
        else
            CHECK_EQ(row_replicate(n->row, NULL), 0);
    }
}

static void close_nodes(struct nodes *c)
{
    for (unsigned i = 0; i < c->count; i++) {
        mover_fini(&c->node[i].mover);
        store_fini(&c->node[i].store);
    }
    free(c->node);
}

static void step_at(struct nodes *c, unsigned i, const float *gradient)
{
    optimizer_begin_step(c->node[i].store.optimizer);
    CHECK_EQ(row_add(c->node[i].row, gradient), i != c->owner);
}

static void send_record(struct nodes *c, unsigned i)
{
    struct node *n = &c->node[i];
    if (i == c->owner || !row_is_dirty(n->row) || n->pending == PENDING_MAX) return;
    n->floats[n->pending] = row_collect(n->row, n->record[n->pending]);
    n->pending++;
}

static void merge_at_owner(struct nodes *c, unsigned i)
{
    struct node *n = &c->node[i];
    if (n->pending == 0) return;
    const float *first = n->record[0];
    struct row_ref main = c->node[c->owner].row;
    if (n->floats[0] == row_type_record(c->type, LENGTH))
        CHECK_EQ(row_write(main, first, ROW_MERGE), 0);
    else
        CHECK_EQ(row_step(main, first, (struct row_step){first[LENGTH], first[LENGTH + 1]}), 0);
    n->pending--;
    memmove(n->record[0], n->record[1], n->pending * sizeof *n->record);
    memmove(n->floats, n->floats + 1, n->pending * sizeof *n->floats);
}

/* Not while a record is on its way: it would hide what it has (replica.c). */
static void refresh(struct nodes *c, unsigned i)
{
    float row[STORED_MAX];
    directory_word w;
    if (i == c->owner || c->node[i].pending > 0) return;
    row_read_version(c->node[c->owner].row, row, &w);
    CHECK_EQ(row_ensure_replica(c->node[i].row), 0);
    row_refresh(c->node[i].row, row);
}

static void relocate(struct nodes *c, unsigned to)
{
    struct node *from = &c->node[c->owner];
    float row[STORED_MAX];
    bool written;
    if (to == c->owner || c->node[to].pending > 0) return;
    CHECK_EQ(row_take(&from->mover, from->row, row, &written, directory_elsewhere(to, 1)), 0);
    CHECK_EQ(row_promote(&c->node[to].mover, c->node[to].row, written ? row : NULL), 0);
    CHECK_EQ(row_replicate(from->row, written ? row : NULL), 0);
    c->owner = to;
}

static void quiesce(struct nodes *c)
{
    for (unsigned i = 0; i < c->count; i++) {
        while (c->node[i].pending > 0) merge_at_owner(c, i);
        send_record(c, i);
        merge_at_owner(c, i);
    }
    for (unsigned i = 0; i < c->count; i++) refresh(c, i);
}

static void anything(struct nodes *c)
{
    unsigned i = below(c, c->count);
    switch (below(c, 5)) {
    case 0: send_record(c, i); break;
    case 1: merge_at_owner(c, i); break;
    case 2: refresh(c, i); break;
    case 3: relocate(c, i); break;
    default: break;
    }
}

/* Of k steps of gradient 1 with constants of 1/2, exact in floats. */
static float state_after(enum locus_optimizer o, unsigned k)
{
    if (o == LOCUS_ADAGRAD || o == LOCUS_ROW_ADAGRAD) return (float)k;
    return o == LOCUS_MOMENTUM ? 2 - ldexpf(2, -(int)k) : 1 - ldexpf(1, -(int)k);
}

/* Sums and SGD of such steps are integers, exact in values of either kind. */
static float value_after(enum locus_optimizer o, unsigned k)
{
    return o == LOCUS_NO_OPTIMIZER ? (float)k : -(float)k;
}

static void check_state(struct nodes *c, enum locus_optimizer o, unsigned k)
{
    quiesce(c);
    for (unsigned i = 0; i < c->count; i++) {
        float row[STORED_MAX];
        CHECK(row_read_as(c->node[i].row, row, ROW_WITH_STATE) >= 0);
        for (size_t f = LENGTH; f < row_type_stored(c->type, LENGTH); f++)
            if (row[f] != state_after(o, k))
                test_fail(__FILE__, __LINE__, "optimizer %d, node %u: state %g after %u steps",
                          (int)o, i, (double)row[f], k);
        for (size_t f = 0; f < LENGTH && o <= LOCUS_SGD; f++)
            if (row[f] != value_after(o, k))
                test_fail(__FILE__, __LINE__, "optimizer %d, node %u: value %g after %u steps",
                          (int)o, i, (double)row[f], k);
    }
}

static const float one[LENGTH] = {1, 1, 1};

/* All copies are alike. */
static void check_length_of_one_step(struct nodes *c)
{
    unsigned i = (c->owner + 1) % c->count;
    bool is_short = c->type->gradient && !c->node[i].store.optimizer->bf16;
    step_at(c, i, one);
    send_record(c, i);
    CHECK_EQ(c->node[i].floats[0],
             is_short ? LENGTH + OPTIMIZER_STEP_FLOATS : row_type_record(c->type, LENGTH));
}

static void check_closed_form(enum locus_optimizer o, enum locus_element element, uint64_t seed)
{
    struct locus_table table = {
        .optimizer = o, .rule = row_type_kept(o, LOCUS_BF16)->usual, .element = element};
    CLOSED_BY(close_nodes) struct nodes c;
    if (o == LOCUS_SGD) table.rule.rate = 1;
    if (table.rule.momentum != 0) table.rule.momentum = 0.5f;
    if (table.rule.beta1 != 0) table.rule.beta1 = table.rule.beta2 = 0.5f;
    open_nodes(&c, 2 + (unsigned)(seed % 5), table, seed);
    for (unsigned k = 1; k <= 20; k++) {
        step_at(&c, below(&c, c.count), one);
        for (int i = 0; i < 4; i++) anything(&c);
        if (below(&c, 8) == 0) check_state(&c, o, k);
    }
    check_state(&c, o, 20);
    check_length_of_one_step(&c);
    check_state(&c, o, 21);
}

TEST(nodes, state_is_that_of_all_steps_of_all_nodes_one_after_the_other)
{
    for (enum locus_optimizer o = LOCUS_NO_OPTIMIZER; o < row_types; o++)
        for (uint64_t seed = 1; seed <= 8; seed++) {
            if (o != LOCUS_NO_OPTIMIZER) check_closed_form(o, LOCUS_F32, seed);
            check_closed_form(o, LOCUS_BF16, seed);
        }
}

/* A quadratic. The rate falls by what `steps` steps of
 * all nodes between two exchanges can overshoot by, to nothing. */
static void check_quadratic(unsigned count, unsigned steps, uint64_t seed)
{
    const struct locus_table table = {.optimizer = LOCUS_ADAM};
    CLOSED_BY(close_nodes) struct nodes c;
    float rate = 0.1f, row[STORED_MAX] = {0};
    open_nodes(&c, count, table, seed);
    for (int round = 0; round < 73; round++, rate *= 0.8f) {
        for (unsigned i = 0; i < count; i++) {
            optimizer_set_rate(c.node[i].store.optimizer, rate);
            for (unsigned s = 0; s < steps; s++) {
                float gradient[LENGTH];
                CHECK(row_read(c.node[i].row, row) >= 0);
                for (int f = 0; f < LENGTH; f++) gradient[f] = row[f] - (float)(f - 1);
                step_at(&c, i, gradient);
            }
            send_record(&c, i);
        }
        for (unsigned i = 0; i < count / 2; i++) anything(&c);
        quiesce(&c);
    }
    for (unsigned i = 0; i < count; i++) {
        CHECK(row_read(c.node[i].row, row) >= 0);
        for (int f = 0; f < LENGTH; f++)
            if (!(fabsf(row[f] - (float)(f - 1)) < 1e-3f))
                test_fail(__FILE__, __LINE__, "%u nodes, %u steps: value %g instead of %d", count,
                          steps, (double)row[f], f - 1);
    }
}

TEST(nodes, adam_of_up_to_64_nodes_finds_the_optimum)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        check_quadratic(1, 20, seed);
        check_quadratic(8, 20, seed);
        check_quadratic(8, 200, seed);
        check_quadratic(64, 20, seed);
    }
    check_quadratic(64, 200, 4);
}
