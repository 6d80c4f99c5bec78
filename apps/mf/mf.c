#include "mf.h"

#include "coordinates.h"
#include "fail.h"
#include "factors.h"
#include "meter.h"
#include "pace.h"
#include "programs.h"
#include "ranking.h"
#include "rows.h"
#include "tensors.h"
#include "vec.h"
#include "warm.h"
#include "ratings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- options ---- */

static const char *const visits[] = {"columns", "blocks", NULL};

static const char *const methods[] = {"sgd", "cd", NULL};

static const char *const adagrads[] = {"coordinate", "row", NULL};

static const char about[] =
    "Factorizes a matrix of which some cells are known (ratings), alone or on a cluster (locus run, mpirun, srun, ...),\n"
    "and says how well the factors predict cells that were held back.";

static const char more[] =
    "examples:\n"
    "  locus-mf --data ratings.tsv --bias --out factors.safetensors\n"
    "  locus prepare mf ratings.csv - | locus-mf --data -\n"
    "  locus run -n 4 locus-mf --data ratings.tsv --visit blocks --technique relocate\n";

static void task_options(struct mf_options *o)
{
    const struct args_option options[] = {
        OPTION_SECTION("the task"),
        OPTION_TEXT("--data", "FILE", &o->common.data, ARGS_INPUT,
                    "lines of row, column and value, with tabs between"),
        OPTION_TEXT("--test", "FILE", &o->test, ARGS_INPUT | ARGS_HOLDS_BACK,
                    "cells to test with, likewise"),
        OPTION_COUNT(
            "--implicit", "N", &o->implicit, 0, RATINGS_ABSENT_MAX, ARGS_TASK,
            "cells count as 1, whatever their values, and for\neach of them N that are not there, drawn at random, as\n0. Tests are then of the --best (10, unless given)"),
        OPTION_REAL("--hold-back", "X", &o->held_back, 0, 0.9, ARGS_HOLDS_BACK,
                    "without --test: the share of the cells that is\ntested with"),
        OPTION_TEXT("--write", "FOLDER", &o->write, 0,
                    "write the cells to train with, and to test with, there"),
        OPTION_COUNT("--rank", "N", &o->rank, 1, 10000, ARGS_TASK,
                     "floats of a factor, optimizer state not included"),
        OPTION_FLAG("--bias", &o->has_bias, ARGS_TASK, "a bias of each row and each column"),
    };
    args_add(&o->common.list, options, sizeof options / sizeof *options);
}

static void training_options(struct mf_options *o)
{
    const struct args_option options[] = {
        OPTION_SECTION("training"),
        OPTION_CHOICE(
            "--method", "NAME", &o->method, methods, ARGS_TASK,
            "sgd: AdaGrad, cell by cell\ncd: coordinate descent, all rows and then all columns;\nwithout --visit, --batch, --lr, --schedule and --bias"),
        OPTION_CHOICE(
            "--visit", "NAME", &o->visit, visits, ARGS_TASK,
            "columns: cells by column, in random order\nblocks: blocks of columns go from worker to worker"),
        OPTION_COUNT("--batch", "N", &o->batch, 1, 1e5, ARGS_TASK, "cells of a worker's step"),
        OPTION_REAL(
            "--lr", "X", &o->rate, 0, 100, ARGS_TASK,
            "learning rate of AdaGrad; if not given, with --data\ntimes the root of the ratings' standard deviation"),
        OPTION_CHOICE(
            "--adagrad", "NAME", &o->adagrad, adagrads, ARGS_TASK,
            "row: a learning rate for each factor\ncoordinate: for each of its floats: twice the memory"),
        OPTION_REAL(
            "--reg", "X", &o->regularization, 0, 1000, ARGS_TASK,
            "weight of the squared norm, for each cell; with cd\nin all; if not given, with --data and sgd times\ntwice the deviation"),
        OPTION_REAL(
            "--init", "X", &o->init, 0, 10, ARGS_TASK,
            "standard deviation of the first products; if not\ngiven, with --data and sgd times that of the ratings"),
        OPTION_COUNT("--best", "N", &o->best, 0, 10000, ARGS_NODES,
                     "test the N best columns of a row, too: precision, NDCG"),
    };
    args_add(&o->common.list, options, sizeof options / sizeof *options);
}

static struct settings *options(void *program)
{
    struct mf_options *o = &((struct mf *)program)->options;
    *o = (struct mf_options){.rank = 100,
                             .batch = 128,
                             .rate = 0.05,
                             .regularization = 0.02,
                             .init = 0.1,
                             .adagrad = MF_BY_ROW,
                             .held_back = 0.1};
    settings_init(&o->common, SETTINGS_EPOCHS | SETTINGS_FULL | SETTINGS_HOT | SETTINGS_BOUNDS |
                                  SETTINGS_PATIENCE | SETTINGS_RATE);
    task_options(o);
    training_options(o);
    settings_options(&o->common);
    return &o->common;
}

static void check(void *program)
{
    struct mf_options *o = &((struct mf *)program)->options;
    if (o->implicit > 0 && o->best == 0) {
        if (args_has("--best"))
            fail_usage("--implicit is tested by the best columns alone: --best must be 1 or more");
        o->best = 10;
    }
    settings_check_source(&o->common, "the ratings");
    args_excludes("--hold-back", "--test");
    static const char *const of_sgd[] = {"--bias",    "--visit",    "--batch", "--lr",
                                         "--adagrad", "--schedule", NULL};
    for (int i = 0; o->method == MF_COORDINATES && of_sgd[i]; i++)
        if (args_has(of_sgd[i])) fail_usage("--method cd has no %s: leave it out", of_sgd[i]);
    if (o->method == MF_COORDINATES && settings_is_bounded(&o->common))
        fail_usage("--method cd bounds no staleness, its phases meet: choose another --technique");
}

/* ---- the data ---- */

/* Defaults are for ratings whose deviation is 1 and which are nearly without noise: of others what
 * they are worth in theirs, and twice the regularization. So what is learned does not depend on what
 * ratings are measured in. */
static void set_defaults(struct mf_options *o, double deviation)
{
    if (o->method == MF_COORDINATES || deviation <= 0) return;
    if (!args_has("--lr")) o->rate *= sqrt(deviation);
    if (!args_has("--reg")) o->regularization *= 2 * deviation;
    if (!args_has("--init")) o->init *= deviation;
}

static void load(void *program)
{
    struct mf *f = program;
    struct mf_options *o = &f->options;
    ratings_init(&f->ratings);
    f->ratings.is_implicit = o->implicit > 0;
    ratings_load(&f->ratings, o->common.data, o->test, o->held_back, o->common.seed,
                 (unsigned)o->common.workers);
    if (o->implicit > 0) ratings_add_absent(&f->ratings, o->implicit, o->common.seed);
    set_defaults(o, f->ratings.deviation);
}

static struct settings_digest digest(const void *program)
{
    const struct ratings *r = &((const struct mf *)program)->ratings;
    return (struct settings_digest){ratings_digest(r, 0, r->train),
                                    ratings_digest(r, r->train, r->train + r->test)};
}

static size_t tables(void *program, struct locus_table *tables)
{
    const struct mf *f = program;
    tables[MF_ROWS] = training_table("rows", f->ratings.rows, mf_row_floats(f));
    tables[MF_COLS] = training_table("columns", f->ratings.columns, mf_row_floats(f));
    return 2;
}

static void ready(void *program, struct training *t)
{
    const struct mf *f = program;
    t->examples = f->ratings.train;
    t->is_unjudged = f->ratings.test == 0;
    if (t->is_unjudged && f->options.best > 0 && args_has("--best"))
        fail_usage("--best has no cells to test with: leave it out");
    if (f->options.method == MF_COORDINATES) t->sweeps = "epochs";
    /* With blocks, workers meet within an epoch: all of them train it to its end. */
    t->is_whole = t->sweeps || f->options.visit == MF_BLOCKS;
}

static void start(const void *program, const struct pool *pool)
{
    const struct mf *f = program;
    const struct mf_options *o = &f->options;
    if (f->ratings.unknown > 0)
        fprintf(stderr,
                "%s: %zu of the %zu cells of %s have a row or a column without any to train "
                "with\n",
                fail_program(), f->ratings.unknown, f->ratings.test, o->test);
    if (f->ratings.is_tested_again)
        fprintf(stderr, "%s: %s has the cells to train with: its error is not that of new ones\n",
                fail_program(), o->test);
    if (o->write) ratings_write(&f->ratings, o->write);
    if (o->common.json) return;
    printf("%s: %u rows, %u columns; %zu cells to train with, %zu to test with; mean %.4f\n",
           o->common.data, f->ratings.rows, f->ratings.columns, f->ratings.train, f->ratings.test,
           f->ratings.mean);
    if (o->method == MF_COORDINATES)
        printf("rank %" PRIu64 "; coordinate descent, regularization %g\n", o->rank,
               o->regularization);
    else
        printf("rank %" PRIu64 "%s; AdaGrad%s, rate %g, regularization %g; %s\n", o->rank,
               o->has_bias ? " and biases" : "", o->adagrad == MF_BY_ROW ? " by row" : "", o->rate,
               o->regularization,
               o->visit == MF_BLOCKS ? "blocks of columns from worker to worker"
                                     : "column by column");
    settings_show_pool(&o->common, pool, false);
}

static void unload(void *program)
{
    ratings_fini(&((struct mf *)program)->ratings);
}

/* ---- the model ---- */

float mf_predict(const struct mf *f, const float *row, const float *column)
{
    size_t rank = f->options.rank;
    float product = vec_best()->dot(row, column, rank);
    float biases = f->options.has_bias ? row[rank] + column[rank] : 0;
    return (float)f->ratings.mean + biases + product;
}

struct first_values {
    const struct mf *mf;
    enum mf_table table;
};

/* Uniform; products of two factors have the wanted standard deviation. The same for a factor
 * whatever the cluster. Biases and sums of squares begin at 0, and so does what nothing is learned
 * about. */
static void draw_factor(const void *first_values, uint64_t row, float *values)
{
    const struct first_values *f = first_values;
    const struct mf_options *o = &f->mf->options;
    if (!f->mf->ratings.has_cells[f->table][row]) return;
    double deviation = sqrt(o->init) * pow((double)o->rank, -0.25);
    rng_fill(o->common.seed, (UINT64_C(1) + f->table) << 40 | row, deviation, values, o->rank);
}

static void init_table(struct pool_member *m, const struct mf *f, enum mf_table table)
{
    const size_t rank = f->options.rank;
    const struct warm_part parts[][2] = {
        {{"rows", "row_names", 0, rank}, {"row_biases", NULL, rank, 1}},
        {{"columns", "column_names", 0, rank}, {"column_biases", NULL, rank, 1}}};
    warm_init(m, table, f->options.common.from, parts[table], 1 + (size_t)f->options.has_bias,
              table == MF_ROWS ? &f->ratings.row_names : &f->ratings.column_names, draw_factor,
              &(struct first_values){.mf = f, .table = table});
}

/* A key is accessed once for each rating of its row or column. */
static void count_uses(const void *program, uint64_t *count)
{
    const struct mf *f = program;
    for (size_t i = 0; i < f->ratings.train; i++) {
        count[mf_row_key(f->ratings.list[i].row)]++;
        count[mf_column_key(f, f->ratings.list[i].column)]++;
    }
}

/* ---- training ---- */

struct worker {
    struct visit visit;
    struct factors step;
    struct coordinates coordinates; /* instead, with --method cd */
    bool has_said;                  /* that cells are left out */
};

static void begin(struct training_worker *t, bool goes_on)
{
    const struct mf *f = t->program;
    struct pool_member *m = t->member;
    struct worker *own = t->state;
    for (enum mf_table i = MF_ROWS; i <= MF_COLS && !goes_on; i++) init_table(m, f, i);
    training_keep_hot(t, (size_t)f->ratings.rows + f->ratings.columns, count_uses);
    pool_quiesce(m);
    if (t->training->sweeps) {
        coordinates_open(&own->coordinates, f, m);
    } else {
        visit_open(&own->visit, f, m, t->progress.epochs);
        factors_open(&own->step, f, m);
    }
    bool has_blocks = f->options.visit == MF_BLOCKS;
    t->total = has_blocks ? own->visit.blocks : own->visit.count;
    t->clocks = has_blocks ? own->visit.blocks : 0;
    /* Sorting out the cells is not part of the first epoch. */
    pool_quiesce(m);
}

/* By coordinate descent: a whole epoch. */
static bool sweep(struct training_worker *t, struct training_sums *sums)
{
    struct worker *own = t->state;
    coordinates_sweep(&own->coordinates, &sums->loss, &sums->more);
    if (training_is_first(t)) sums->examples = (double)t->training->examples;
    return true;
}

static bool step(struct training_worker *t, struct training_sums *sums)
{
    struct worker *own = t->state;
    if (t->training->sweeps) return sweep(t, sums);
    const struct visit_batch *b = visit_next(&own->visit);
    sums->examples += b->cells;
    sums->loss += factors_train(&own->step, &own->visit, b);
    sums->done += t->clocks ? b->ends_block : b->cells;
    world_computed(WORLD_TRAINED, b->cells);
    return b->is_last;
}

static void flush(struct training_worker *t)
{
    if (!t->training->sweeps) draft_flush(&((struct worker *)t->state)->step.draft);
}

static void report(void *program, const struct training_epoch *e)
{
    const struct mf *f = program;
    double loss = e->examples > 0 ? e->loss / e->examples : 0,
           objective = e->loss + f->options.regularization * e->more;
    const struct figure figures[] = {
        {"RMSE ", 8, 4, .curve = "RMSE of the cells trained with", .value = sqrt(loss)},
        {.name = "loss", .value = loss},
        {"objective ", .digits = -9, .name = "objective", .value = objective},
    };
    training_say_epoch(e, figures, f->options.method == MF_COORDINATES && objective > 0 ? 3 : 2);
}

static bool chooses(const void *program)
{
    const struct mf *f = program;
    return f->options.common.patience > 0 && f->ratings.test > 0;
}

static void parameters(const void *program, size_t floats[TRAINING_MODEL_TABLES])
{
    floats[MF_ROWS] = floats[MF_COLS] = mf_parameters(program);
}

static double validate(struct training_worker *t)
{
    const struct mf *f = t->program;
    struct worker *own = t->state;
    if (f->ratings.test == 0) return 0;
    size_t best = f->options.best;
    double began = meter_now();
    struct rmse r = rmse_of_test(f, t->member);
    struct ranking k = {0};
    bool has_ratings = f->options.implicit == 0;
    if (best > 0) k = ranking_of_test(f, t->member, best);
    const struct figure figures[] = {
        {.name = "split", .text = "test"},
        {has_ratings ? "RMSE " : NULL, 8, 4, .name = has_ratings ? "rmse" : NULL,
         .curve = has_ratings ? "RMSE of the test cells" : NULL, .value = r.rmse},
        {has_ratings ? "MAE " : NULL, 0, 4, .name = has_ratings ? "mae" : NULL, .value = r.mae},
        {best ? "precision " : NULL, 0, 4, .name = best ? "precision" : NULL, .value = k.precision},
        {best ? "NDCG " : NULL, 0, 4, .name = best ? "ndcg" : NULL, .value = k.ndcg},
        FIGURE_TOOK(meter_now() - began),
    };
    if (training_is_first(t)) figures_say(f->options.common.json, "eval", "test     ", figures, 6);
    if (training_is_first(t) && k.left_out > 0 && !own->has_said)
        fprintf(stderr,
                "%s: %.0f of the %zu cells to test with are trained with, too: precision and NDCG "
                "leave them out; give each pair once\n",
                fail_program(), k.left_out, f->ratings.test);
    own->has_said = true;
    return has_ratings ? -r.rmse : k.ndcg;
}

/* What is reached without learning anything: each cell is the mean of those to train with. */
static void say_trivial(const struct mf *f)
{
    const struct ratings *r = &f->ratings;
    double squares = 0;
    if (r->test == 0 || f->options.implicit > 0) return;
    for (size_t i = r->train; i < r->train + r->test; i++) {
        double error = (double)r->list[i].value - r->mean;
        squares += error * error;
    }
    const struct figure figure = {"RMSE ",
                                  8,
                                  4,
                                  " of the mean alone",
                                  .name = "rmse_of_mean",
                                  .value = sqrt(squares / (double)r->test)};
    figures_say(f->options.common.json, "trivial", "         ", &figure, 1);
}

static void rest(struct training_worker *t)
{
    struct worker *own = t->state;
    if (t->training->sweeps) {
        coordinates_close(&own->coordinates);
    } else {
        factors_close(&own->step);
        visit_close(&own->visit);
    }
}

static void end(struct training_worker *t)
{
    rest(t);
    pool_quiesce(t->member);
    validate(t);
    if (training_is_first(t)) say_trivial(t->program);
}

static void note(struct tensors *t, const struct mf *mf)
{
    tensors_note(t, "model", "factors");
    tensors_note_count(t, "rank", mf->options.rank);
    tensors_note_number(t, "mean", mf->ratings.mean);
    tensors_note(t, "method", methods[mf->options.method]);
    tensors_note_count(t, "implicit", mf->options.implicit);
    tensors_note_number(t, "regularization", mf->options.regularization);
    tensors_note(t, "data", mf->options.common.data);
}

static void save(struct training_worker *t)
{
    const struct mf *mf = t->program;
    struct pool_member *m = t->member;
    const struct ratings *r = &mf->ratings;
    const struct names *rows = &r->row_names, *columns = &r->column_names;
    bool has_bias = mf->options.has_bias;
    size_t rank = mf->options.rank;
    struct tensors f;
    if (!mf->options.common.out) return;
    tensors_open(&f, mf->options.common.out);
    note(&f, mf);
    tensors_declare(&f, "rows", TENSORS_F32, r->rows, rank);
    tensors_declare(&f, "columns", TENSORS_F32, r->columns, rank);
    if (has_bias) tensors_declare(&f, "row_biases", TENSORS_F32, r->rows, 0);
    if (has_bias) tensors_declare(&f, "column_biases", TENSORS_F32, r->columns, 0);
    tensors_declare_names(&f, "row_names", rows);
    tensors_declare_names(&f, "column_names", columns);
    tensors_begin(&f);
    rows_save(m, MF_ROWS, 0, rank, &f);
    rows_save(m, MF_COLS, 0, rank, &f);
    if (has_bias) rows_save(m, MF_ROWS, rank, 1, &f);
    if (has_bias) rows_save(m, MF_COLS, rank, 1, &f);
    tensors_write_names(&f, rows);
    tensors_write_names(&f, columns);
    tensors_close(&f);
}

const struct training_kind mf_training = {.name = "locus-mf",
                                          .about = about,
                                          .more = more,
                                          .unit = "cells",
                                          .rate = "Cells trained a second",
                                          .program_bytes = sizeof(struct mf),
                                          .worker_bytes = sizeof(struct worker),
                                          .heeds_ahead = true,
                                          TRAINING_JOB,
                                          TRAINING_LOOP,
                                          .flush = flush,
                                          .chooses = chooses,
                                          .validate = validate,
                                          .parameters = parameters,
                                          .rest = rest};
