/* The loop of all training programs: which hooks are called when, and what is summed up. */
#include "ending.h"
#include "test.h"
#include "training.h"

#include <math.h>
#include <stdio.h>
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

#define STEPS_SAID "step step step flush examples=6 more=3 whole=1: "
#define LINE_SAID(number, loss) \
    "epoch   " number "   loss " loss "      1.00 s           6 things/s\n"
#define EPOCH_SAID(number, loss) STEPS_SAID LINE_SAID(number, loss)
#define VALIDATED "validate "
#define BEST_SAID(epoch) "the model is that of epoch " epoch ", which was validated best\n"

TEST(training, hooks_are_called_in_order_and_figures_summed_over_all_workers)
{
    says(&(struct job){.settings = {.epochs = 2, .evaluates = {.epochs = 1}}},
         "begin " EPOCH_SAID("1", "0.50") "evaluate " EPOCH_SAID("2", "1.50") "end save close ");
    says(&(struct job){.until = 1}, "begin end save close "); /* no epochs */
    /* a sweep is one step */
    says(&(struct job){.settings = {.epochs = 1}, .sweeps = "sweeps"},
         "begin step flush examples=2 more=1 whole=1: "
         "epoch   1   loss 0.50      1.00 s           2 things/s\nend save close ");
}

/* The very first step of two workers is half as long. */
TEST(training, rates_follow_the_schedule_through_all_epochs)
{
    static const char sums[] = "flush examples=6 more=3 whole=1: ";
    char wanted[512];
    struct job j = {.settings = {.epochs = 2}, .says_rates = true};
    rate_parse(&j.settings.rate, "linear");
    snprintf(
        wanted, sizeof wanted,
        "begin step 0.500 step 0.833 step 0.667 %s%sstep 0.500 step 0.333 step 0.167 %s%send save close ",
        sums, LINE_SAID("1", "0.50"), sums, LINE_SAID("2", "1.50"));
    says(&j, wanted);
}

/* LOCUS_STEP_TIME. */
TEST(training, an_example_takes_as_much_longer_as_it_is_told)
{
    double began = world_now();
    world_slow(1e-5);
    world_computed(WORLD_TRAINED, 200);
    world_slow(0);
    CHECK(world_now() - began >= 200e-5);
}

TEST(training, patience_ends_it_with_the_model_validated_best)
{
    static const char four[] = "begin " EPOCH_SAID("1", "0.50") VALIDATED EPOCH_SAID("2", "1.50")
        VALIDATED EPOCH_SAID("3", "2.50") VALIDATED EPOCH_SAID("4", "3.50")
            VALIDATED BEST_SAID("2") "end model=2 of 2 save close ";
    static const char behind[] = "begin " EPOCH_SAID("6", "5.50") VALIDATED EPOCH_SAID("7", "6.50")
        VALIDATED BEST_SAID("2") "end model=0 of 2 save close ";
    static const char last[] = "begin " EPOCH_SAID("1", "0.50") EPOCH_SAID("2", "1.50")
        VALIDATED EPOCH_SAID("3", "2.50") VALIDATED BEST_SAID("3") "end model=3 of 3 save close ";
    says(&(struct job){.settings = {.epochs = 8, .evaluates = {.epochs = 1}, .patience = 2},
                       .quality = {1, 3, 2, 3}},
         four);
    /* It counts evaluations, as behind a checkpoint of a run that did not choose. */
    says(&(struct job){.settings = {.epochs = 8, .evaluates = {.epochs = 1}, .patience = 2},
                       .quality = {2},
                       .from = {.epochs = 5, .figures = {2, 3}}},
         behind);
    /* The last model is compared whatever the distance. */
    says(&(struct job){.settings = {.epochs = 3, .evaluates = {.epochs = 2}}, .quality = {1, 2}},
         last);
}

/* All workers meet between two of its steps; the worker that did fewer of them waits. */
TEST(training, evaluates_within_an_epoch)
{
    says(&(struct job){.settings = {.epochs = 1, .evaluates = {.examples = 2}}},
         "begin flush step flush within   epoch 0.333333\nevaluate flush step flush within   "
         "epoch 0.666667\nevaluate flush step flush examples=6 more=3 whole=1: " LINE_SAID(
             "1", "0.50") "end save close ");
}

/* What is said of some runs, beside other things. */
TEST(training, models_within_an_epoch_are_compared_once)
{
    static const struct {
        struct job job;
        const char *said, *also;
    } cases[] = {
        {{.settings = {.epochs = 8, .evaluates = {.examples = 2}, .patience = 2},
          .quality = {1, 3, 2, 2}},
         "within   epoch 1.33333\nvalidate examples=2 more=1 whole=0: epoch   2",
         "which was validated best: fewer epochs do\nend model=0.666667 of 0.666667 save close "},
        /* a step is longer than the distance */
        {{.settings = {.epochs = 1, .evaluates = {.examples = 0.5}, .patience = 1},
          .quality = {1, 2, 3, 4}},
         BEST_SAID("1"),
         ""},
        /* a run that goes on from the last one would have lost its patience */
        {{.settings = {.epochs = 1, .evaluates = {.examples = 1}, .patience = 1},
          .quality = {1, 2, 3, 4},
          .is_early = true},
         BEST_SAID("0.5") "end model=1 of 0.5 ",
         ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ends_with(run, &cases[i].job, 0, cases[i].said);
        ends_with(run, &cases[i].job, 0, cases[i].also);
    }
}

TEST(training, unjudged_training_says_nothing_of_evaluations)
{
    char said[1024];
    const struct job j = {.settings = {.epochs = 1, .evaluates = {.examples = 2}},
                          .is_unjudged = true};
    CHECK_EQ(ending_of(run, &j, said, sizeof said), 0);
    CHECK_STR(said, "examples=6 more=3 whole=1");
    CHECK(!strstr(said, "within") && !strstr(said, "evaluate"));
}

TEST(training, a_loss_that_is_no_number_ends_it_with_the_best_model_so_far)
{
    char said[1024];
    const struct job none = {.settings = {.epochs = 3}, .until = 2},
                     j = {.settings = {.epochs = 8, .evaluates = {.epochs = 1}},
                          .until = 3,
                          .quality = {2, 1}};
    ends_with(run, &none, 1, "the loss is no number any more in epoch 2: choose a smaller --lr");
    CHECK_EQ(ending_of(run, &j, said, sizeof said), 0);
    CHECK_STR(said, "the loss is no number any more in epoch 3: choose a smaller --lr; the model "
                    "is that of epoch 1\n");
    CHECK_STR(said,
              "which was validated best: fewer epochs do\nend model=1 of 1 save close diverged ");
    CHECK(strstr(said, "epoch   3") == NULL);
}
