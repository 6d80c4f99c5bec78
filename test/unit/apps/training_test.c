/* The loop of all training programs: which hooks are called when, and what is summed up. */
#include "ending.h"
#include "test.h"
#include "training.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 2, STEPS = 3 };

/* What a run is like. */
struct job {
    struct settings settings;
    uint64_t until; /* the epoch whose loss is no number */
    const char *sweeps;
    double quality[8];    /* of each validation; 0 in the first: nothing is chosen */
    struct progress from; /* 0 epochs: the beginning */
    bool says_rates, is_unjudged;
    bool is_early; /* all steps are over in half of the epoch */
};

struct own {
    int steps, validations;
};

/* The first worker says what happens. */
static void say(const struct training_worker *w, const char *what)
{
    if (training_is_first(w)) printf("%s ", what);
}

static void ready(void *program, struct training *t)
{
    const struct job *j = program;
    t->examples = STEPS * WORKERS;
    t->sweeps = j->sweeps;
    t->is_unjudged = j->is_unjudged;
    t->is_whole = j->sweeps != NULL;
}

static void begin(struct training_worker *w, bool goes_on)
{
    const struct job *j = w->program;
    if (j->from.epochs > 0) w->progress = j->from;
    w->total = j->is_early ? 2 * STEPS : STEPS;
    say(w, goes_on ? "goes-on" : "begin");
}

static bool step(struct training_worker *w, struct training_sums *sums)
{
    const struct job *j = w->program;
    struct own *own = w->state;
    say(w, "step");
    if (training_is_first(w) && j->says_rates) printf("%.3f ", w->member->rate);
    sums->done++;
    own->steps++;
    if (training_is_first(w)) /* the model is how many epochs it has had */
        w->member->pool->tables[0].values[0] = (float)own->steps / STEPS;
    sums->examples++;
    sums->loss += w->progress.epochs + 1 == j->until ? NAN : 0.5 + (double)w->progress.epochs;
    sums->more += w->member->place;
    return own->steps % STEPS == 0 || j->sweeps;
}

static void flush(struct training_worker *w)
{
    say(w, "flush");
}

static void report(void *program, const struct training_epoch *e)
{
    const struct figure figure = {"loss ", 0, 2, .name = "loss", .value = e->loss / e->examples};
    const struct training_epoch fixed = {
        .training = e->training, .number = e->number, .examples = e->examples, .seconds = 1};
    (void)program;
    printf("examples=%g more=%g whole=%d: ", e->examples, e->more, e->is_whole);
    training_say_epoch(&fixed, &figure, 1);
}

static double validate(struct training_worker *w)
{
    say(w, "validate");
    return ((const struct job *)w->program)->quality[((struct own *)w->state)->validations++];
}

static void evaluate(struct training_worker *w)
{
    say(w, "evaluate");
}

static void end(struct training_worker *w)
{
    say(w, "end");
    if (training_is_first(w) && w->training->kept)
        printf("model=%g of %g ", (double)w->member->pool->tables[0].values[0],
               training_epoch_of(w));
}

static void save(struct training_worker *w)
{
    say(w, "save");
}

static void close_all(struct training_worker *w)
{
    say(w, "close");
}

static const struct training_kind kind = {.name = "thing",
                                          .unit = "things",
                                          .worker_bytes = sizeof(struct own),
                                          .ready = ready,
                                          .begin = begin,
                                          .step = step,
                                          .flush = flush,
                                          .report = report,
                                          .validate = validate,
                                          .evaluate = evaluate,
                                          .end = end,
                                          .save = save,
                                          .close = close_all};

static void run(const void *job)
{
    struct job j = *(const struct job *)job;
    const struct locus_table tables[] = {{.name = "rows", .rows = 1, .length = 2},
                                         {.name = "more", .rows = 1, .length = 1},
                                         {.name = "best rows", .rows = 1, .length = 1},
                                         {.name = "best more", .rows = 1, .length = 1}};
    struct training t;
    CLOSED_BY(pool_close) struct pool pool;
    pool_open(&pool,
              &(struct pool_config){
                  .tables = tables, .table_count = 4, .workers = WORKERS, .is_baseline = true});
    training_open(&t, &kind, &j, &j.settings, &pool);
    t.kept = j.quality[0] > 0 ? 2 : 0;
    pool_run(&pool, training_work, &t);
    if (t.has_diverged) printf("diverged ");
}

static void says(const struct job *j, const char *wanted)
{
    char said[1024];
    CHECK_EQ(ending_of(run, j, said, sizeof said), 0);
    CHECK_STR(said, wanted);
    CHECK_EQ(strlen(said), strlen(wanted));
}

TEST(training, calls_the_hooks_in_order_and_sums_over_all_workers)
{
    says(&(struct job){.settings = {.epochs = 2, .evaluates = {.epochs = 1}}},
         "begin step step step flush examples=6 more=3 whole=1: "
         "epoch   1   loss 0.50      1.00 s           6 things/s\n"
         "evaluate step step step flush examples=6 more=3 whole=1: "
         "epoch   2   loss 1.50      1.00 s           6 things/s\n"
         "end save close ");
}

TEST(training, a_sweep_is_one_step)
{
    says(&(struct job){.settings = {.epochs = 1}, .sweeps = "sweeps"},
         "begin step flush examples=2 more=1 whole=1: "
         "epoch   1   loss 0.50      1.00 s           2 things/s\n"
         "end save close ");
}

TEST(training, without_epochs_there_is_the_end)
{
    says(&(struct job){.until = 1}, "begin end save close ");
}

/* The very first step of two workers is half as long. */
TEST(training, rates_follow_the_schedule_through_all_epochs)
{
    struct job j = {.settings = {.epochs = 2}, .says_rates = true};
    rate_parse(&j.settings.rate, "linear");
    says(&j, "begin step 0.500 step 0.833 step 0.667 flush examples=6 more=3 whole=1: "
             "epoch   1   loss 0.50      1.00 s           6 things/s\n"
             "step 0.500 step 0.333 step 0.167 flush examples=6 more=3 whole=1: "
             "epoch   2   loss 1.50      1.00 s           6 things/s\n"
             "end save close ");
}

/* --step-time. */
TEST(training, an_example_takes_as_much_longer_as_it_is_told)
{
    double began = world_now();
    world_slow(1e-5);
    world_computed(WORLD_TRAINED, 200);
    world_slow(0);
    CHECK(world_now() - began >= 200e-5);
}

TEST(training, a_loss_that_is_no_number_ends_it)
{
    const struct job j = {.settings = {.epochs = 3}, .until = 2};
    ends_with(run, &j, 1, "the loss is no number any more in epoch 2: choose a smaller --lr");
}

#define STEPS_SAID "step step step flush examples=6 more=3 whole=1: epoch   "
#define EPOCH_SAID(number, loss) \
    STEPS_SAID number "   loss " loss "      1.00 s           6 things/s\n"
#define BEST_SAID(epoch) "the model is that of epoch " epoch ", which was validated best\n"

TEST(training, ends_where_patience_does_with_the_best_model)
{
    says(
        &(struct job){.settings = {.epochs = 8, .evaluates = {.epochs = 1}, .patience = 2},
                      .quality = {1, 3, 2, 3}},
        "begin " EPOCH_SAID("1", "0.50") "validate " EPOCH_SAID("2", "1.50") "validate " EPOCH_SAID(
            "3", "2.50") "validate " EPOCH_SAID("4", "3.50") "validate " BEST_SAID("2") "end "
                                                                                        "model=2 "
                                                                                        "of 2 "
                                                                                        "save "
                                                                                        "close ");
}

/* As behind a checkpoint of a run that did not choose. */
TEST(training, patience_counts_evaluations_not_epochs)
{
    says(&(struct job){.settings = {.epochs = 8, .evaluates = {.epochs = 1}, .patience = 2},
                       .quality = {2},
                       .from = {.epochs = 5, .figures = {2, 3}}},
         "begin " EPOCH_SAID("6", "5.50") "validate " EPOCH_SAID("7", "6.50") "validate " BEST_SAID(
             "2") "end model=0 of 2 save close ");
}

TEST(training, the_last_model_is_compared_whatever_the_distance)
{
    says(&(struct job){.settings = {.epochs = 3, .evaluates = {.epochs = 2}}, .quality = {1, 2}},
         "begin " EPOCH_SAID("1", "0.50") EPOCH_SAID("2", "1.50") "validate " EPOCH_SAID(
             "3", "2.50") "validate " BEST_SAID("3") "end model=3 of 3 save close ");
}

/* All workers meet between two of its steps; the worker that did fewer of them waits. */
TEST(training, evaluates_within_an_epoch)
{
    const struct every each = {.examples = 2};
    says(
        &(struct job){.settings = {.epochs = 1, .evaluates = each}},
        "begin flush step flush within   epoch 0.333333\nevaluate flush step flush within   epoch "
        "0.666667\nevaluate flush step flush examples=6 more=3 whole=1: epoch   1   loss 0.50      "
        "1.00 s           6 things/s\nend save close ");
}

TEST(training, where_there_is_nothing_to_evaluate_by_nothing_is_said_of_it)
{
    char said[1024];
    const struct job j = {.settings = {.epochs = 1, .evaluates = {.examples = 2}},
                          .is_unjudged = true};
    CHECK_EQ(ending_of(run, &j, said, sizeof said), 0);
    CHECK_STR(said, "examples=6 more=3 whole=1");
    CHECK(!strstr(said, "within") && !strstr(said, "evaluate"));
}

TEST(training, patience_may_end_and_keeps_the_best_model_within_an_epoch)
{
    char said[1024];
    const struct job j = {.settings = {.epochs = 8, .evaluates = {.examples = 2}, .patience = 2},
                          .quality = {1, 3, 2, 2}};
    CHECK_EQ(ending_of(run, &j, said, sizeof said), 0);
    CHECK_STR(said, "within   epoch 1.33333\nvalidate examples=2 more=1 whole=0: epoch   2");
    CHECK_STR(said, BEST_SAID("0.666667") "end model=0.666667 of 0.666667 save close ");
}

/* A step is longer than the distance. */
TEST(training, a_model_is_not_compared_with_itself)
{
    char said[1024];
    const struct job j = {.settings = {.epochs = 1, .evaluates = {.examples = 0.5}, .patience = 1},
                          .quality = {1, 2, 3, 4}};
    CHECK_EQ(ending_of(run, &j, said, sizeof said), 0);
    CHECK_STR(said, BEST_SAID("1"));
}

/* A run that goes on from it would have lost its patience. */
TEST(training, the_last_model_is_not_compared_with_itself)
{
    char said[1024];
    const struct job j = {.settings = {.epochs = 1, .evaluates = {.examples = 1}, .patience = 1},
                          .quality = {1, 2, 3, 4},
                          .is_early = true};
    CHECK_EQ(ending_of(run, &j, said, sizeof said), 0);
    CHECK_STR(said, BEST_SAID("0.5") "end model=1 of 0.5 ");
}

TEST(training, what_diverges_ends_with_the_best_model_so_far)
{
    char said[1024];
    const struct job j = {
        .settings = {.epochs = 8, .evaluates = {.epochs = 1}}, .until = 3, .quality = {2, 1}};
    CHECK_EQ(ending_of(run, &j, said, sizeof said), 0);
    CHECK_STR(said,
              "the loss is no number any more in epoch 3: choose a smaller --lr; the model is "
              "that of epoch 1\n");
    CHECK_STR(said, BEST_SAID("1") "end model=1 of 1 save close diverged ");
    CHECK(strstr(said, "epoch   3") == NULL);
}
