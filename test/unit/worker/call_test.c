#include "worker/call.h"

#include "pair.h"

#include "locus.h"

#include <math.h>
#include <stdio.h>

enum { ROWS = 10 };

/* The first one that is out of range, wherever it stands. */
TEST_ON_NODE(call, check_names_the_first_key_out_of_range, ROWS, 1)
{
    float values[4];
    for (size_t at = 0; at < 4; at++) {
        locus_key keys[4] = {0, ROWS - 1, 3, 4};
        char position[32];
        snprintf(position, sizeof position, "(position %zu)", at);
        CHECK_EQ(call_check("locus_pull", "values", w, keys, 4, values), 0);
        keys[at] = ROWS;
        keys[3] = at < 3 ? UINT64_MAX : ROWS; /* a later one does not count */
        REFUSED(call_check("locus_pull", "values", w, keys, 4, values), -EINVAL,
                "locus_pull: key 10 ");
        CHECK_STR(locus_error(), position);
        CHECK_STR(locus_error(), "valid keys are 0 to 9");
    }
}

TEST(call, errors_of_sections_and_memory_have_sentences)
{
    REFUSED(call_in_section("locus_pull"), -EDEADLK,
            "locus_pull: would wait inside a read section: call locus_read_end()");
    REFUSED(call_no_slot("locus_set"), -ENOMEM, "locus_set: no memory for a row");
}

/* ---- what is refused changes nothing ---- */

enum { FLOATS = 3 * ROWS, LENGTH = 2 };

/* Three tables of ROWS each: of sums, of Adam, and of 16 bits. */
static const struct locus_table tables[] = {
    {.rows = ROWS, .length = LENGTH},
    {.rows = ROWS, .length = LENGTH, .optimizer = LOCUS_ADAM, .rule = {.rate = 0.1F}},
    {.rows = ROWS, .length = LENGTH, .element = LOCUS_BF16},
};
enum { TABLES = 3, KEYS = TABLES * ROWS, ADAM = ROWS, BF16 = 2 * ROWS };

/* All that a call could change, but for what shards do meanwhile: of each key whether it is here, and
 * the bits of its row and state. */
struct seen {
    uint32_t bits[KEYS][1 + 3 * LENGTH];
    uint64_t counters[16];
};

static struct seen see(const struct pair *p)
{
    struct seen seen = {.counters = {0}};
    locus *n = p->node[0];
    const locus_worker *w = p->worker[0];
    struct locus_stats s = stats_of(n);
    const uint64_t counters[] = {s.pulled_local,
                                 s.pulled_replica,
                                 s.pulled_remote,
                                 s.pushed_local,
                                 s.pushed_replica,
                                 s.pushed_remote,
                                 s.bounds_waited,
                                 s.intents_signaled,
                                 s.intents_late,
                                 w->samples.drawn,
                                 n->waiting_keys,
                                 n->distributions,
                                 n->store.optimizer[1].steps,
                                 (uint64_t)w->clock,
                                 (uint64_t)w->progress,
                                 collective_open_count(&n->collective)};
    static_assert(sizeof counters == sizeof seen.counters, "each has its place");
    memcpy(seen.counters, counters, sizeof counters);
    for (locus_key key = 0; key < KEYS; key++) {
        float row[3 * LENGTH] = {0};
        seen.bits[key][0] = row_read_as(store_row_ref(&n->store, key), row, ROW_WITH_STATE) >= 0;
        memcpy(seen.bits[key] + 1, row, sizeof row);
    }
    return seen;
}

static void check_same(const struct pair *p, const struct seen *before, int rc, int wanted,
                       const char *call)
{
    struct seen after = see(p);
    if (rc != wanted) test_fail(__FILE__, __LINE__, "%s is %d, not %d", call, rc, wanted);
    if (memcmp(&after, before, sizeof after) != 0)
        test_fail(__FILE__, __LINE__, "%s changes it", call);
}
#define CHANGES_NOTHING(wanted, call) check_same(p, &before, call, wanted, #call)

/* Of one node, with what is here and what is not. */
struct refused {
    struct pair *pair;
    locus *n;
    locus_worker *w;
    locus_key here[2], gone[2], step[2], bad[2]; /* the second one is at fault */
    locus_distribution *d, *other;
    locus_loader *loader;
    float values[FLOATS], result[FLOATS];
};

static void double_it(void *context, float *row, uint32_t length)
{
    (void)context;
    for (uint32_t i = 0; i < length; i++) row[i] *= 2;
}

static void no_gradient(void *context, const float *values, float *gradient, uint32_t length)
{
    (void)context, (void)values;
    for (uint32_t i = 0; i < length; i++) gradient[i] = 1;
}

static void refuse_rows(const struct pair *p, struct refused *r)
{
    const struct seen before = see(p);
    locus_ticket t;
    float *v = r->values, *got = r->result;
    locus_worker *w = r->w;
    const locus_key *step = r->step, *bad = r->bad;
    CHANGES_NOTHING(-EINVAL, locus_push(w, step, 1, NULL));
    CHANGES_NOTHING(-EINVAL, locus_push(w, step, 2, NULL));
    CHANGES_NOTHING(-EINVAL, locus_push(w, NULL, 2, v));
    CHANGES_NOTHING(-EINVAL, locus_push(w, bad, 2, v));
    CHANGES_NOTHING(-EINVAL, locus_push(w, step, SIZE_MAX, v));
    CHANGES_NOTHING(-EINVAL, locus_push_async(w, step, 2, NULL, &t));
    CHANGES_NOTHING(-EINVAL, locus_push_async(w, step, 2, v, NULL));
    CHANGES_NOTHING(-EINVAL, locus_push_async(w, bad, 2, v, &t));
    CHANGES_NOTHING(-EINVAL, locus_set(w, step, 2, NULL));
    CHANGES_NOTHING(-EINVAL, locus_set(w, bad, 2, v));
    CHANGES_NOTHING(-EINVAL, locus_set_async(w, bad, 2, v, &t));
    CHANGES_NOTHING(-EINVAL, locus_set_state(w, bad, 2, v));
    CHANGES_NOTHING(-EINVAL, locus_pull(w, bad, 2, got));
    CHANGES_NOTHING(-EINVAL, locus_pull(w, step, 2, NULL));
    CHANGES_NOTHING(-EINVAL, locus_pull_state(w, bad, 2, got));
    CHANGES_NOTHING(-EINVAL, locus_pull_async(w, bad, 2, got, &t));
    CHANGES_NOTHING(-EINVAL, locus_localize(w, bad, 2));
    CHANGES_NOTHING(-EINVAL, locus_localize_async(w, bad, 2, &t));
    CHANGES_NOTHING(-EAGAIN, locus_pull_local(w, r->gone[1], got));
    CHANGES_NOTHING(-EINVAL, locus_pull_local(w, KEYS, got));
    CHANGES_NOTHING(-EINVAL, locus_change_local(w, r->here[0], NULL, NULL));
    CHANGES_NOTHING(-EINVAL, locus_change_local(w, step[0], double_it, NULL));
    CHANGES_NOTHING(-EAGAIN, locus_change_local(w, r->gone[1], double_it, NULL));
    CHANGES_NOTHING(-EINVAL, locus_step_local(w, r->here[0], no_gradient, NULL));
    CHANGES_NOTHING(-EINVAL, locus_step_local(w, step[0], NULL, NULL));
    CHANGES_NOTHING(-EAGAIN, locus_step_local(w, r->gone[0], no_gradient, NULL));
    CHANGES_NOTHING(-EINVAL, locus_wait(w, 77));
    CHANGES_NOTHING(false, locus_done(w, 77));
}

static void refuse_plans(const struct pair *p, struct refused *r)
{
    const struct seen before = see(p);
    static const double weights[] = {1, -1};
    locus_worker *w = r->w;
    locus_distribution *none;
    locus_sample sample;
    uint64_t waiting = LOCUS_WAITING_KEYS_MAX;
    CHANGES_NOTHING(-EINVAL, locus_intent(w, r->here, 2, 5, 5));
    CHANGES_NOTHING(-EINVAL, locus_intent(w, r->bad, 2, 5, 6));
    CHANGES_NOTHING(-EINVAL, locus_intent(w, NULL, 2, 5, 6));
    CHANGES_NOTHING(-EINVAL, locus_unintend(w, r->bad, 2));
    CHANGES_NOTHING(-EINVAL, locus_loader_intent(r->loader, r->bad, 2, 5, 6));
    CHANGES_NOTHING(-EINVAL, locus_bound(w, -1));
    CHANGES_NOTHING(-EINVAL, locus_prepare_sample(w, r->d, 3, 5, 5, &sample));
    CHANGES_NOTHING(-EINVAL, locus_prepare_sample(w, r->d, ROWS + 1, 5, 6, &sample));
    CHANGES_NOTHING(-EINVAL, locus_prepare_sample(w, r->other, 3, 5, 6, &sample));
    CHANGES_NOTHING(-EINVAL, locus_loader_prepare_sample(r->loader, r->d, 3, 6, 5, &sample));
    CHANGES_NOTHING(-EINVAL, locus_pull_sample(w, 99, 1, r->here, NULL));
    CHANGES_NOTHING(-EINVAL, locus_finish_sample(w, 99));
    CHANGES_NOTHING(-EINVAL,
                    locus_distribution_weighted(r->n, 0, weights, 2, LOCUS_CONFORM, 0, &none));
    CHANGES_NOTHING(-EINVAL,
                    locus_distribution_uniform(r->n, 0, KEYS + 1, LOCUS_CONFORM, 0, &none));
    CHANGES_NOTHING(-EINVAL, locus_distribution_seed_worker(r->d, 1, 5));
    CHANGES_NOTHING(-EINVAL, locus_table_rate(r->n, 1, (double)NAN));
    CHANGES_NOTHING(-EINVAL, locus_table_rate(r->n, 0, 1));
    CHANGES_NOTHING(-EINVAL, locus_table_steps(r->n, 2, 9));
    CHANGES_NOTHING(-EINVAL, locus_use_threads(w, 0));
    CHANGES_NOTHING(-EINVAL, locus_sum(w, NULL, 1));
    CHANGES_NOTHING(-EINVAL, locus_checkpoint(w, NULL));
    CHANGES_NOTHING(-EINVAL, locus_checkpoint_with(w, "x", NULL, 1));
    CHANGES_NOTHING(-EINVAL, locus_restore(w, ""));
    CHANGES_NOTHING(-EBUSY, locus_worker_close(w)); /* its loader */
    CHANGES_NOTHING(-EBUSY, locus_close(r->n));
    CHANGES_NOTHING(-EBUSY, locus_worker_open(r->n, &w));
    waiting = __atomic_exchange_n(&r->n->waiting_keys, waiting, __ATOMIC_RELAXED);
    CHECK_EQ(locus_intent(r->w, r->here, 2, 500, 600), -ENOBUFS);
    __atomic_store_n(&r->n->waiting_keys, waiting, __ATOMIC_RELAXED);
    CHANGES_NOTHING(0, 0);
}

/* One key that is here, and one that is not. */
static void refuse_in_a_section(const struct pair *p, struct refused *r)
{
    const struct seen before = see(p);
    locus_worker *w = r->w;
    const float *rows[2];
    double sum = 1;
    float *v = r->values, *got = r->result;
    const locus_key mixed[] = {r->step[0], r->gone[0]};
    locus_read_begin(w);
    CHANGES_NOTHING(-EDEADLK, locus_push(w, mixed, 2, v));
    CHANGES_NOTHING(-EDEADLK, locus_push(w, r->gone, 1, v));
    CHANGES_NOTHING(-EDEADLK, locus_set(w, mixed, 2, v));
    CHANGES_NOTHING(-EDEADLK, locus_set(w, r->gone, 1, v));
    CHANGES_NOTHING(-EDEADLK, locus_set_state(w, mixed, 2, v));
    CHANGES_NOTHING(-EDEADLK, locus_pull(w, mixed, 2, got));
    CHANGES_NOTHING(-EDEADLK, locus_pull_state(w, mixed, 2, got));
    CHANGES_NOTHING(-EDEADLK, locus_read_rows(w, mixed, 2, got, rows));
    CHANGES_NOTHING(-EDEADLK, locus_localize(w, mixed, 2));
    CHANGES_NOTHING(-EDEADLK, locus_bound(w, 0));
    CHANGES_NOTHING(-EDEADLK, locus_barrier(w));
    CHANGES_NOTHING(-EDEADLK, locus_quiesce(w));
    CHANGES_NOTHING(-EDEADLK, locus_sum(w, &sum, 1));
    CHANGES_NOTHING(-EDEADLK, locus_checkpoint(w, "x"));
    CHANGES_NOTHING(-EDEADLK, locus_restore(w, "x"));
    CHANGES_NOTHING(-EDEADLK, locus_worker_close(w));
    locus_read_end(w);
}

TEST(call, refused_changes_neither_values_nor_state_nor_clocks_nor_counters)
{
    static struct refused r;
    struct pair p;
    pair_init(&p, tables, TABLES);
    pair_open(&p);
    r = (struct refused){.pair = &p, .n = p.node[0], .w = p.worker[0]};
    for (int i = 0; i < FLOATS; i++) r.values[i] = 1;
    r.here[0] = pair_key_of(&p, 0, 0);
    r.here[1] = pair_key_of(&p, 0, r.here[0] + 1);
    r.step[0] = pair_key_of(&p, 0, ADAM);
    r.step[1] = pair_key_of(&p, 0, BF16);
    r.gone[0] = pair_key_of(&p, 1, ADAM);
    r.gone[1] = pair_key_of(&p, 1, 0);
    r.bad[0] = r.step[0];
    r.bad[1] = KEYS;
    CHECK_EQ(locus_set(r.w, r.here, 2, r.values), 0);
    CHECK_EQ(locus_loader_open(r.w, &r.loader), 0);
    CHECK_EQ(
        locus_distribution_uniform(r.n, 0, ROWS, LOCUS_CONFORM, LOCUS_WITHOUT_REPLACEMENT, &r.d),
        0);
    CHECK_EQ(locus_distribution_uniform(p.node[1], 0, ROWS, LOCUS_CONFORM, 0, &r.other), 0);
    for (int i = 0; i < 3; i++) locus_advance_clock(r.w);
    refuse_rows(&p, &r);
    refuse_plans(&p, &r);
    refuse_in_a_section(&p, &r);
    CHECK_EQ(locus_push(r.w, r.step, 1, r.values), 0); /* the first step */
    CHECK_EQ(locus_pull(r.w, r.step, 1, r.result), 0);
    CHECK(fabsf(r.result[0] + 0.1F) < 1e-6F);
    CHECK_EQ(locus_loader_close(r.loader), 0);
    locus_distribution_free(r.d);
    locus_distribution_free(r.other);
    pair_end(&p);
}
