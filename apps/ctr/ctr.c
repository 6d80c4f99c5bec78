#include "ctr.h"

#include "click_batch.h"
#include "clicks_read.h"
#include "ctr_quality.h"
#include "dense.h"
#include "digest.h"
#include "fail.h"
#include "programs.h"
#include "tensors.h"
#include "plain.h"
#include "warm.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- options ---- */

static const char about[] =
    "Foretells clicks with Wide & Deep: a weight and a vector of each feature, and dense layers, trained with AdaGrad,\n"
    "alone or on a cluster (locus run, mpirun, srun, ...); and says how well on examples that were held back.";

static const char more[] =
    "examples:\n"
    "  locus-ctr --data train.libsvm --test test.libsvm --epochs 5\n"
    "  locus prepare ctr clicks.csv clicks.ffm && locus-ctr --data clicks.ffm --out model.safetensors\n"
    "  locus run -n 4 locus-ctr --data train.ffm --test test.ffm --epochs 1\n";

static void data_options(struct ctr_options *o)
{
    const struct args_option options[] = {
        OPTION_SECTION("the task"),
        OPTION_TEXT("--data", "FILE", &o->common.data, ARGS_INPUT, "examples: LIBSVM or LIBFFM"),
        OPTION_TEXT("--test", "FILE", &o->test, ARGS_INPUT | ARGS_HOLDS_BACK,
                    "examples to test with, likewise"),
        OPTION_TEXT("--weights", "FILE", &o->weights, ARGS_INPUT,
                    "as how many each example of --data counts: a number\na line"),
        OPTION_REAL("--hold-back", "X", &o->held_back, 0, 0.9, ARGS_TASK | ARGS_HOLDS_BACK,
                    "without --test: the share of the examples that is\ntested with"),
        OPTION_REAL(
            "--validate", "X", &o->validate, 0, 0.9, ARGS_TASK,
            "the share of the others that chooses the best epoch,\nwhose model is tested and saved; 0: the last one's"),
        OPTION_TEXT("--write", "FOLDER", &o->write, 0,
                    "write the examples to train with, to validate with, and\nto test with, there"),
    };
    args_add(&o->common.list, options, sizeof options / sizeof *options);
}

static void training_options(struct ctr_options *o)
{
    const struct args_option options[] = {
        OPTION_SECTION("training"),
        OPTION_COUNT("--dim", "N", &o->dim, 1, 1024, ARGS_TASK, "floats of a feature's vector"),
        OPTION_TEXT("--hidden", "N,N...", &o->hidden, ARGS_TASK, "units of the dense layers"),
        OPTION_COUNT("--batch", "N", &o->batch, 1, 65536, ARGS_TASK, "examples of a worker's step"),
        OPTION_REAL("--lr", "X", &o->rate, 0, 100, ARGS_TASK, "learning rate of AdaGrad"),
        OPTION_REAL("--reg", "X", &o->regularization, 0, 1000, ARGS_TASK,
                    "weight of the squared norm of the features in a batch"),
        OPTION_REAL("--init", "X", &o->init, 0, 10, ARGS_TASK,
                    "standard deviation of the first vectors"),
    };
    args_add(&o->common.list, options, sizeof options / sizeof *options);
}

static struct settings *options(void *program)
{
    struct ctr_options *o = &((struct ctr *)program)->options;
    *o = (struct ctr_options){.dim = 8,
                              .batch = 128,
                              .rate = 0.1,
                              .regularization = 1e-3,
                              .init = 0.05,
                              .held_back = 0.1,
                              .validate = 0.1,
                              .hidden = "64,32"};
    settings_init(&o->common, SETTINGS_EPOCHS | SETTINGS_FULL | SETTINGS_HOT | SETTINGS_PATIENCE |
                                  SETTINGS_RATE);
    o->common.epochs = 8;
    o->common.schedule = "linear,to=0.1"; /* with smaller steps the model comes to rest */
    o->common.eval_every = "1";
    data_options(o);
    training_options(o);
    settings_options(&o->common);
    return &o->common;
}

static void check(void *program)
{
    struct ctr_options *o = &((struct ctr *)program)->options;
    settings_check_source(&o->common, "the examples");
    args_excludes("--hold-back", "--test");
}

/* ---- the data ---- */

/* "64,32" */
static void plan_layers(struct ctr *c)
{
    const char *at = c->options.hidden;
    size_t inputs = c->fields * c->options.dim;
    for (int count = 0;; count++) {
        char *end;
        unsigned long units = *at >= '0' && *at <= '9' ? strtoul(at, &end, 10) : 0;
        if (units < 1 || units > 4096 || (*end && *end != ',') || count == CTR_HIDDEN_MAX)
            fail_usage("--hidden takes 1 to %d numbers from 1 to 4096, as 64,32, not \"%s\"",
                       CTR_HIDDEN_MAX, c->options.hidden);
        dense_plan_add(&c->plan, inputs, units, true);
        inputs = units;
        if (!*end) break;
        at = end + 1;
    }
    dense_plan_add(&c->plan, inputs, 1, false);
}

static void read_files(struct ctr *c)
{
    const struct ctr_options *o = &c->options;
    const struct clicks_source source = {
        .train = o->common.data, .test = o->test, .weights = o->weights};
    uint64_t train = clicks_read(&c->clicks, &source);
    const struct clicks_split split = {.train = train,
                                       .test = o->test ? 0 : o->held_back,
                                       .validate = o->validate,
                                       .seed = o->common.seed};
    clicks_finish(&c->clicks, &split);
    c->train = c->clicks.train;
    c->test = c->clicks.test;
    c->validate = c->clicks.validate;
    c->features = c->clicks.feature_count;
    c->fields = c->clicks.field_count;
}

static void load(void *program)
{
    struct ctr *c = program;
    clicks_init(&c->clicks);
    read_files(c);
    plan_layers(c);
}

/* The data to test with give features, too. */
static struct settings_digest digest(const void *program)
{
    const struct ctr *c = program;
    uint64_t parts[] = {clicks_digest(&c->clicks), c->train, c->test, c->fields};
    return (struct settings_digest){digest_add(DIGEST_FIRST, parts, sizeof parts), 0};
}

static size_t tables(void *program, struct locus_table *tables)
{
    const struct ctr *c = program;
    double rate = c->options.rate;
    tables[CTR_FEATURES] = training_adagrad("features", c->features, ctr_parameters(c), rate);
    tables[CTR_LAYERS] = training_adagrad("layers", c->plan.rows, c->plan.length, rate);
    tables[CTR_SCORES] = training_table("scores", ctr_score_rows(c), CTR_SCORES_OF_ROW);
    return CTR_TABLES;
}

static void ready(void *program, struct training *t)
{
    const struct ctr *c = program;
    t->examples = c->train;
    t->is_unjudged = c->test + c->validate == 0;
}

/* `split`: "valid" or "test". `epoch` 0: of none. */
static void say_quality(const struct ctr *c, const char *split, double epoch,
                        const struct ctr_quality *q)
{
    char head[16];
    bool has_epoch = epoch > 0;
    const struct figure figures[] = {
        {.name = "split", .text = split},
        {.name = has_epoch ? "epoch" : NULL, .value = epoch},
        {"log loss ", 8, 5, .value = q->log_loss},
        {"AUC ", 0, 5, .name = "auc", .curve = *split == 't' ? "AUC, test" : "AUC, valid",
         .value = q->auc},
        {.name = "log_loss", .value = q->log_loss},
        {"calibration ", 0, 3, .name = "calibration", .value = q->calibration},
        {"error ", 0, 4, .name = "calibration_error", .value = q->calibration_error},
        {has_epoch ? "epoch " : NULL, .digits = -6, .value = epoch},
        {q->seconds > 0 ? "(" : NULL, 0, 1, " s)", .name = "seconds", .value = q->seconds},
    };
    snprintf(head, sizeof head, "%-7s  ", split);
    figures_say(c->options.common.json, "eval", head, figures, sizeof figures / sizeof *figures);
}

/* What is said to be so likely, and how often it comes. */
static void say_bins(const struct ctr *c, const struct ctr_quality *q)
{
    for (int i = 0; i < CTR_BINS; i++) {
        const struct ctr_bin *bin = &q->bins[i];
        double from = (double)i / CTR_BINS, predicted = bin->foretold / bin->examples;
        const struct figure figures[] = {
            {"from ", 0, 1, .name = "from", .value = from},
            {"predicted ", 0, 4, .name = "predicted", .value = predicted},
            {"observed ", 0, 4, .name = "observed", .value = bin->came / bin->examples},
            {"examples ", 0, 0, .name = "examples", .value = bin->examples},
        };
        if (bin->examples > 0) figures_say(c->options.common.json, "bin", "bin    ", figures, 4);
    }
}

static void describe(const struct ctr *c, const struct pool *pool)
{
    const struct ctr_options *o = &c->options;
    printf("%s: %" PRIu64 " features in %" PRIu32 " field%s; %" PRIu64
           " examples to train with, %" PRIu64 " to validate with, %" PRIu64 " to test with\n",
           c->options.common.data, c->features, c->fields, plain_s(c->fields), c->train,
           c->validate, c->test);
    printf("vectors of %" PRIu64 ", layers of %s, %" PRIu64
           " dense weights; AdaGrad, rate %g, batches of %" PRIu64 "\n",
           o->dim, o->hidden, dense_plan_weights(&c->plan), o->rate, o->batch);
    settings_show_pool(&o->common, pool, false);
}

static void start(const void *program, const struct pool *pool)
{
    const struct ctr *c = program;
    if (c->options.write) clicks_write(&c->clicks, c->options.write);
    if (!c->options.common.json) describe(c, pool);
}

static void unload(void *program)
{
    struct ctr *c = program;
    clicks_fini(&c->clicks);
}

/* ---- training ---- */

struct worker {
    struct click_feed feed;
    struct wide_deep step;
};

/* Uniform; weights and sums of squares begin at 0. The same for a feature whatever the cluster. */
static void draw_feature(const void *ctr, uint64_t row, float *values)
{
    const struct ctr_options *o = &((const struct ctr *)ctr)->options;
    rng_fill(o->common.seed, UINT64_C(1) << 40 | row, o->init, values + 1, o->dim);
}

/* A key is accessed once for each batch that has the feature: about once for each example, where
 * it is rare, and in every batch where it is hot. */
static void count_uses(const void *program, uint64_t *count)
{
    const struct ctr *c = program;
    for (uint64_t i = 0; i < c->train; i++) {
        struct click click = clicks_get(&c->clicks, i);
        for (uint32_t j = 0; j < click.count; j++) count[click.feature[j]]++;
    }
}

static void init_model(const struct ctr *c, struct pool_member *m)
{
    const struct settings *o = &c->options.common;
    const struct warm_part parts[] = {{"wide", "features", 0, 1},
                                      {"vectors", NULL, 1, c->options.dim}};
    warm_init(m, CTR_FEATURES, o->from, parts, 2, &c->clicks.names, draw_feature, c);
    dense_rows_init(&c->plan, m, CTR_LAYERS, o->seed, o->from, 0);
}

static void begin(struct training_worker *w, bool goes_on)
{
    const struct ctr *c = w->program;
    struct pool_member *m = w->member;
    struct worker *own = w->state;
    size_t batch = c->options.batch;
    if (!goes_on) init_model(c, m);
    pool_quiesce(m);
    if (m->index == 0) dense_rows_keep(&c->plan, m, CTR_LAYERS);
    training_keep_hot(w, c->features, count_uses);
    pool_quiesce(m);
    click_feed_open(&own->feed, c, m, w->progress.epochs);
    wide_deep_open(&own->step, c, m, batch > CTR_SCORES_OF_ROW ? batch : CTR_SCORES_OF_ROW);
    w->total = own->feed.count;
    pool_quiesce(m);
}

static bool step(struct training_worker *w, struct training_sums *sums)
{
    struct worker *own = w->state;
    const struct click_batch *b = click_feed_next(&own->feed);
    sums->examples += b->examples;
    sums->loss += wide_deep_train(&own->step, b);
    sums->more += b->weights;
    sums->done += b->examples;
    world_computed(WORLD_TRAINED, b->examples);
    return b->is_last;
}

static void flush(struct training_worker *w)
{
    wide_deep_flush(&((struct worker *)w->state)->step);
}

static void report(void *program, const struct training_epoch *e)
{
    double loss = e->more > 0 ? e->loss / e->more : 0;
    const struct figure figure = {
        "log loss ", 8, 5, .name = "loss", .curve = "Log loss of an example", .value = loss};
    (void)program;
    training_say_epoch(e, &figure, 1);
}

/* ---- how good it is ---- */

static bool chooses(const void *program)
{
    const struct ctr *c = program;
    return c->validate > 0 && every_is_ever(&c->options.common.evaluates);
}

static double validate(struct training_worker *w)
{
    const struct ctr *c = w->program;
    struct wide_deep *model = &((struct worker *)w->state)->step;
    struct ctr_quality q = ctr_quality_take(c, w->member, model, c->train + c->test, c->validate);
    if (training_is_first(w)) say_quality(c, "valid", training_epochs(w), &q);
    return -q.log_loss;
}

static void parameters(const void *program, size_t floats[TRAINING_MODEL_TABLES])
{
    const struct ctr *c = program;
    floats[CTR_FEATURES] = ctr_parameters(c);
    floats[CTR_LAYERS] = c->plan.length;
}

static struct ctr_quality test(struct training_worker *w, double epoch)
{
    const struct ctr *c = w->program;
    struct wide_deep *model = &((struct worker *)w->state)->step;
    struct ctr_quality q = {0};
    if (c->test == 0) return q;
    q = ctr_quality_take(c, w->member, model, c->train, c->test);
    if (training_is_first(w)) say_quality(c, "test", epoch, &q);
    return q;
}

/* Without examples to validate with nothing is chosen, and the test says how training goes. */
static void evaluate(struct training_worker *w)
{
    test(w, training_epochs(w));
}

/* The share of clicks, and how much all count together. */
static double rate_of(const struct ctr *c, uint64_t first, uint64_t count, double *weights)
{
    double clicks = 0;
    *weights = 0;
    for (uint64_t i = first; i < first + count; i++) {
        struct click click = clicks_get(&c->clicks, i);
        *weights += (double)click.weight;
        clicks += click.is_click ? (double)click.weight : 0;
    }
    return clicks / *weights;
}

/* What is reached without learning anything: each is as likely as those to train with. */
static void say_trivial(const struct ctr *c)
{
    double weights;
    if (c->test == 0) return;
    double rate = rate_of(c, 0, c->train, &weights), came = rate_of(c, c->train, c->test, &weights),
           loss = -came * log(rate) - (1 - came) * log(1 - rate);
    const struct figure figure = {
        "log loss ",  8, 5, " of the rate of clicks alone", .name = "log_loss_of_rate",
        .value = loss};
    figures_say(c->options.common.json, "trivial", "         ", &figure, 1);
}

static void rest(struct training_worker *w)
{
    struct worker *own = w->state;
    wide_deep_close(&own->step);
    click_feed_close(&own->feed);
}

/* What is tested is what is saved. */
static void end(struct training_worker *w)
{
    struct ctr_quality q = test(w, training_epoch_of(w));
    if (training_is_first(w)) say_trivial(w->program);
    if (training_is_first(w)) say_bins(w->program, &q);
    rest(w);
}

static void save(struct training_worker *w)
{
    const struct ctr *c = w->program;
    struct pool_member *m = w->member;
    const struct names *names = &c->clicks.names;
    struct tensors t;
    if (!c->options.common.out) return;
    tensors_open(&t, c->options.common.out);
    tensors_note(&t, "model", "wide & deep");
    tensors_note_count(&t, "dim", c->options.dim);
    tensors_note_count(&t, "fields", c->fields);
    tensors_note(&t, "data", c->options.common.data);
    tensors_declare(&t, "wide", TENSORS_F32, c->features, 0);
    tensors_declare(&t, "vectors", TENSORS_F32, c->features, c->options.dim);
    dense_file_declare(&c->plan, 0, &t);
    tensors_declare_names(&t, "features", names);
    tensors_begin(&t);
    rows_save(m, CTR_FEATURES, 0, 1, &t);
    rows_save(m, CTR_FEATURES, 1, c->options.dim, &t);
    dense_file_write(&c->plan, m, CTR_LAYERS, &t);
    tensors_write_names(&t, names);
    tensors_close(&t);
}

const struct training_kind ctr_training = {.name = "locus-ctr",
                                           .about = about,
                                           .more = more,
                                           .unit = "examples",
                                           .rate = "Examples trained a second",
                                           .program_bytes = sizeof(struct ctr),
                                           .worker_bytes = sizeof(struct worker),
                                           TRAINING_JOB,
                                           TRAINING_LOOP,
                                           .flush = flush,
                                           .chooses = chooses,
                                           .validate = validate,
                                           .parameters = parameters,
                                           .evaluate = evaluate,
                                           .rest = rest};
