#include "digest.h"
#include "evaluate.h"
#include "fail.h"
#include "pace.h"
#include "plain.h"
#include "programs.h"
#include "rows.h"
#include "saved.h"
#include "tensors.h"
#include "warm.h"
#include "step.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The task comes first. */
struct program {
    struct task task;
    struct evaluation evaluation;
};

/* ---- options ---- */

enum { DIM_MAX = 4096, DIM_RESCAL_MAX = 512 };

static const char *const models[] = {"complex", "rescal", "distmult", "transe", "rotate", NULL};
static const char *const losses[] = {"logistic", "softmax", NULL};

static const char about[] =
    "Trains embeddings of a knowledge graph, alone or on a cluster (locus run, mpirun, srun, ...), and says how well\n"
    "they predict facts that were held back.";

static const char more[] =
    "examples:\n"
    "  locus-kge --data graph --dim 256 --out model.safetensors\n"
    "  locus prepare kge /usr/share/wordnet graph     WordNet (Debian package wordnet-base)\n"
    "  locus run -n 4 locus-kge --data graph --json\n";

static void own_options(struct options *o)
{
    const struct args_option options[] = {
        OPTION_SECTION("the task"),
        OPTION_TEXT(
            "--data", "FOLDER", &o->common.data, ARGS_INPUT,
            "with train.txt, valid.txt and test.txt: lines of head,\nrelation and tail, with tabs between"),
        OPTION_CHOICE("--model", "NAME", &o->model, models, ARGS_TASK,
                      "complex, rescal, distmult, transe or rotate"),
        OPTION_COUNT(
            "--dim", "N", &o->dim, 1, DIM_MAX, ARGS_TASK,
            "floats of an embedding (complex, rotate: two for\neach number), optimizer state not included"),
        OPTION_FLAG("--reciprocal", &o->is_reciprocal, ARGS_TASK,
                    "a second embedding of each relation, for\nquestions for subjects"),
        OPTION_SECTION("training"),
        OPTION_COUNT(
            "--negatives", "N", &o->negatives, 0, 1e6, ARGS_TASK,
            "sampled subjects, and as many objects, for a batch;\n0: all entities but the answer (1-N scoring, 1vsAll)"),
        settings_sampling(&o->common),
        OPTION_COUNT("--batch", "N", &o->batch, 1, 1e6, ARGS_TASK, "facts of a worker's step"),
        OPTION_REAL("--lr", "X", &o->rate, 0, 100, ARGS_TASK, "learning rate of AdaGrad"),
        OPTION_CHOICE("--loss", "NAME", &o->loss, losses, ARGS_TASK,
                      "logistic, or softmax over the samples"),
        OPTION_REAL(
            "--reg", "X", &o->regularization, 0, 1000, ARGS_TASK,
            "weight of the cubed norm (N3) of the embeddings\nin a fact; transe, rotate: 0 unless it is given"),
        OPTION_REAL("--init", "X", &o->init, 0, 10, ARGS_TASK,
                    "standard deviation of the first values"),
    };
    args_add(&o->common.list, options, sizeof options / sizeof *options);
}

static struct settings *options(void *program)
{
    struct options *o = &((struct task *)program)->options;
    *o = (struct options){.dim = 128,
                          .negatives = 500,
                          .batch = 512,
                          .rate = 0.1,
                          .regularization = 0.05,
                          .init = 0.01,
                          .loss = LOSS_SOFTMAX};
    settings_init(&o->common, SETTINGS_EPOCHS | SETTINGS_FULL | SETTINGS_HOT | SETTINGS_BOUNDS |
                                  SETTINGS_PATIENCE | SETTINGS_RATE);
    o->common.epochs = 30;
    own_options(o);
    settings_options(&o->common);
    return &o->common;
}

static void check(void *program)
{
    struct options *o = &((struct task *)program)->options;
    const struct model m = {.kind = (enum model_kind)o->model};
    if (o->negatives == 0 && args_has("--sampling"))
        fail_usage("--negatives 0 takes all entities and draws none: leave out --sampling");
    settings_check_source(&o->common, "the graph");
    /* A norm that is small keeps entities from being far from each other. */
    if (model_is_distance(&m) && !args_has("--reg")) o->regularization = 0;
    if (o->init <= 0) fail_usage("--init 0 learns nothing: all gradients are 0 then");
    if (model_is_complex(&m) && o->dim % 2 != 0)
        fail_usage("--dim %d is odd: complex numbers are two floats each", (int)o->dim);
    if (o->model == MODEL_RESCAL && o->dim > DIM_RESCAL_MAX)
        fail_usage("--dim %d is more than %d: RESCAL's relations are matrices of that size",
                   (int)o->dim, DIM_RESCAL_MAX);
}

/* ---- the data ---- */

static void name_files(struct options *o)
{
    static char paths[GRAPH_SPLITS][PATH_MAX];
    for (unsigned i = 0; i < GRAPH_SPLITS; i++) {
        graph_file(o->common.data, (enum graph_split)i, paths[i]);
        o->common.inputs[i] = paths[i];
    }
}

/* Rows of another model may be as long, and mean something else. */
static void check_source_model(const struct options *o)
{
    struct saved s;
    if (!o->common.from) return;
    saved_open(&s, o->common.from);
    const char *saved = saved_note(&s, "model");
    for (int i = 0; saved && models[i]; i++)
        if (i != o->model && strcmp(saved, models[i]) == 0)
            saved_fail(&s, "is a model of --model %s, not %s (--from)", saved, models[o->model]);
    saved_close(&s);
}

static void load(void *program)
{
    struct task *t = program;
    struct options *o = &t->options;
    check_source_model(o);
    graph_load(&t->graph, o->common.data);
    name_files(o);
    filter_init(&t->filter, &t->graph);
    t->model = (struct model){.kind = (enum model_kind)o->model,
                              .is_reciprocal = o->is_reciprocal,
                              .dim = o->dim,
                              .entities = t->graph.entities.count,
                              .relations = t->graph.relations.count};
}

static struct settings_digest digest(const void *program)
{
    const struct task *t = program;
    return (struct settings_digest){graph_digest(&t->graph, GRAPH_TRAIN, GRAPH_VALID),
                                    graph_digest(&t->graph, GRAPH_VALID, GRAPH_SPLITS)};
}

static size_t tables(void *program, struct locus_table *tables)
{
    const struct task *t = program;
    const struct model *m = &t->model;
    double rate = t->options.rate;
    tables[0] = training_adagrad("entities", m->entities, m->dim, rate);
    tables[1] =
        training_adagrad("relations", model_relation_rows(m), model_relation_floats(m), rate);
    return 2;
}

/* Negative samples are drawn among all entities alike. */
static void open_distribution(struct task *t, const struct pool *pool)
{
    if (!pace_signals_ahead(pool) || task_takes_all(t)) return;
    must(locus_distribution_uniform(pool->node, 0, t->model.entities,
                                    (enum locus_conformity)t->options.common.sampling, 0,
                                    &t->distribution),
         "registering the negative samples");
    must(locus_distribution_seed(t->distribution, t->options.common.seed),
         "seeding the negative samples");
}

static void ready(void *program, struct training *t)
{
    struct program *p = program;
    uint64_t workers = (uint64_t)t->pool->size * t->pool->workers;
    open_distribution(&p->task, t->pool);
    evaluation_init(&p->evaluation, &p->task);
    t->examples = p->task.graph.splits[GRAPH_TRAIN].count;
    t->is_unjudged = p->task.graph.splits[GRAPH_VALID].count == 0;
    t->parts_max = t->examples / workers / p->task.options.batch;
}

static const char *model_name(const struct task *t)
{
    static const char *const names[] = {"ComplEx", "RESCAL", "DistMult", "TransE", "RotatE"};
    return names[t->model.kind];
}

static void start(const void *program, const struct pool *pool)
{
    const struct task *t = program;
    const struct options *o = &t->options;
    for (int split = GRAPH_VALID; split < GRAPH_SPLITS; split++) {
        const struct facts *f = &t->graph.splits[split];
        if (f->unknown > 0)
            fprintf(stderr,
                    "%s: %zu of the %zu %s facts have an entity that no fact to train with has\n",
                    fail_program(), f->unknown, f->count,
                    graph_split_name((enum graph_split)split));
    }
    if (o->common.json) return;
    printf("%s: %u entities, %u relation%s; %zu facts to train on, %zu valid, %zu test\n",
           o->common.data, t->model.entities, t->model.relations, plain_s(t->model.relations),
           t->graph.splits[GRAPH_TRAIN].count, t->graph.splits[GRAPH_VALID].count,
           t->graph.splits[GRAPH_TEST].count);
    printf("%s, %" PRIu64 " floats; %s over ", model_name(t), o->dim,
           o->loss == LOSS_SOFTMAX ? "softmax" : "logistic loss");
    if (task_takes_all(t))
        printf("all entities");
    else
        printf("%" PRIu64 " negative%s of each side a batch", o->negatives, plain_s(o->negatives));
    printf("; batches of %" PRIu64 "\n", o->batch);
    settings_show_pool(&o->common, pool, true);
}

static void unload(void *program)
{
    struct program *p = program;
    evaluation_fini(&p->evaluation);
    locus_distribution_free(p->task.distribution);
    filter_fini(&p->task.filter);
    graph_fini(&p->task.graph);
}

/* ---- training ---- */

struct worker {
    struct feed feed;
    struct step step;
};

struct first_values {
    const struct options *options;
    const struct pool_table *table;
};

/* Uniform with the wanted standard deviation; the same for a key whatever the cluster. Phases are
 * those of the whole circle. */
static void draw_row(const void *first_values, uint64_t row, float *values)
{
    const struct first_values *f = first_values;
    const struct options *o = f->options;
    bool is_phase = o->model == MODEL_ROTATE && f->table->first > 0;
    rng_fill(o->common.seed, UINT64_C(1) << 40 | (f->table->first + row),
             is_phase ? M_PI / sqrt(3) : o->init, values, f->table->length);
}

static void init_table(struct pool_member *m, const struct task *t, size_t table)
{
    const struct warm_part parts[] = {
        {"entities", "entity_names", 0, t->model.dim},
        {"relations", "relation_names", 0, model_relation_floats(&t->model)}};
    warm_init(m, table, t->options.common.from, &parts[table], 1,
              table == 0 ? &t->graph.entities : &t->graph.relations, draw_row,
              &(struct first_values){.options = &t->options, .table = &m->pool->tables[table]});
}

/* By the facts to train with: what is sampled is equally likely for all. */
static void count_uses(const void *program, uint64_t *count)
{
    const struct task *t = program;
    const struct facts *facts = &t->graph.splits[GRAPH_TRAIN];
    for (size_t i = 0; i < facts->count; i++) {
        count[task_entity_key(facts->list[i].subject)]++;
        count[task_entity_key(facts->list[i].object)]++;
        for (int side = 0; side < 2; side++)
            count[task_relation_key(t, model_relation_row(&t->model,
                                                          side ? MODEL_SUBJECTS : MODEL_OBJECTS,
                                                          facts->list[i].relation))]++;
    }
}

static void begin(struct training_worker *w, bool goes_on)
{
    const struct task *t = w->program;
    struct worker *own = w->state;
    uint64_t parts = w->training->checkpoints.parts;
    for (size_t i = 0; i < 2 && !goes_on; i++) init_table(w->member, t, i);
    training_keep_hot(w, (size_t)t->model.entities + model_relation_rows(&t->model), count_uses);
    pool_quiesce(w->member);
    feed_open(&own->feed, t, w->member, &w->progress, parts);
    step_open(&own->step, t, w->member);
    w->total = own->feed.count / parts;
    w->clocks = (PACE_CLOCKS + parts - 1) / parts;
}

static bool step(struct training_worker *w, struct training_sums *sums)
{
    struct worker *own = w->state;
    if (own->feed.count == 0) return true;
    const struct batch *b = feed_next(&own->feed);
    sums->examples += b->facts;
    sums->loss += step_train(&own->step, b);
    sums->done += b->facts;
    world_computed(WORLD_TRAINED, b->facts);
    return b->is_last;
}

static void flush(struct training_worker *w)
{
    params_flush(&((struct worker *)w->state)->step.params);
}

static void report(void *program, const struct training_epoch *e)
{
    struct program *p = program;
    double loss = e->examples > 0 ? e->loss / e->examples : 0,
           gflops = step_operations(&p->task) * (e->examples / e->seconds) * 1e-9;
    const struct figure figures[] = {
        {"loss ", 8, 4, .name = "loss", .curve = "Loss of a fact", .value = loss},
        {"", 0, 1, " GFLOP/s", .name = "gflops", .value = gflops},
    };
    training_say_epoch(e, figures, 2);
}

/* ---- how good it is ---- */

enum { VIEW_FIGURES = 5, VIEWS = 4, NAME_BYTES = 32 };

/* Figures of one view, named for JSON; people are told those of the first. */
static size_t add_view(struct figure *to, char (*names)[NAME_BYTES], const char *view,
                       struct quality q)
{
    bool is_told = !*view;
    const struct figure all[VIEW_FIGURES] = {
        {"MRR ", 0, 4, .name = "mrr", .value = q.mrr},
        {"MR ", 0, 1, .name = "mr", .value = q.mr},
        {"hits@1 ", 0, 4, .name = "hits@1", .value = q.hits1},
        {"hits@3 ", 0, 4, .name = "hits@3", .value = q.hits3},
        {"hits@10 ", 0, 4, .name = "hits@10", .value = q.hits10}};
    for (size_t i = 0; i < VIEW_FIGURES; i++) {
        snprintf(names[i], NAME_BYTES, "%s%s", view, all[i].name);
        to[i] = all[i];
        to[i].name = names[i];
        if (!is_told) to[i].label = NULL;
    }
    return VIEW_FIGURES;
}

static void say_quality(const struct task *t, enum graph_split split,
                        const struct quality_counts *counts, double seconds)
{
    static const struct {
        const char *name;
        int side;
        enum quality_kind kind;
    } views[VIEWS] = {{"", MODEL_SIDES, QUALITY_FILTERED},
                      {"raw_", MODEL_SIDES, QUALITY_RAW},
                      {"subject_", MODEL_SUBJECTS, QUALITY_FILTERED},
                      {"object_", MODEL_OBJECTS, QUALITY_FILTERED}};
    char head[64], names[VIEWS][VIEW_FIGURES][NAME_BYTES];
    struct figure all[VIEWS * VIEW_FIGURES + 2] = {
        {.name = "split", .text = graph_split_name(split)}};
    size_t n = 1;
    for (size_t i = 0; i < VIEWS; i++)
        n += add_view(all + n, names[i], views[i].name,
                      evaluate_quality(counts, views[i].side, views[i].kind));
    all[1].curve = split == GRAPH_VALID ? "MRR, valid" : "MRR, test";
    all[n++] = (struct figure)FIGURE_TOOK(seconds);
    snprintf(head, sizeof head, "%-5s    ", graph_split_name(split));
    figures_say(t->options.common.json, "eval", head, all, n);
}

static double judge_by(struct training_worker *w, enum graph_split split)
{
    struct program *p = w->program;
    double began = meter_now();
    struct quality_counts counts;
    evaluate(&p->evaluation, w->member, split, &counts);
    if (training_is_first(w)) say_quality(&p->task, split, &counts, meter_now() - began);
    return evaluate_quality(&counts, MODEL_SIDES, QUALITY_FILTERED).mrr;
}

static bool chooses(const void *program)
{
    const struct task *t = program;
    return t->options.common.patience > 0 && t->graph.splits[GRAPH_VALID].count > 0;
}

static double validate(struct training_worker *w)
{
    return judge_by(w, GRAPH_VALID);
}

static void parameters(const void *program, size_t floats[TRAINING_MODEL_TABLES])
{
    const struct model *m = &((const struct task *)program)->model;
    floats[0] = m->dim;
    floats[1] = model_relation_floats(m);
}

static void rest(struct training_worker *w)
{
    struct worker *own = w->state;
    step_close(&own->step);
    feed_close(&own->feed);
}

static void end(struct training_worker *w)
{
    rest(w);
    judge_by(w, GRAPH_VALID);
    judge_by(w, GRAPH_TEST);
}

/* With reciprocal relations the second rows follow all the first. */
static void save_model(const struct task *task, struct pool_member *m)
{
    const struct model *model = &task->model;
    struct tensors t;
    tensors_open(&t, task->options.common.out);
    tensors_note(&t, "model", models[model->kind]);
    tensors_note_count(&t, "dim", model->dim);
    tensors_note(&t, "reciprocal", model->is_reciprocal ? "true" : "false");
    tensors_note(&t, "data", task->options.common.data);
    tensors_declare(&t, "entities", TENSORS_F32, model->entities, model->dim);
    tensors_declare(&t, "relations", TENSORS_F32, model_relation_rows(model),
                    model_relation_floats(model));
    tensors_declare_names(&t, "entity_names", &task->graph.entities);
    tensors_declare_names(&t, "relation_names", &task->graph.relations);
    tensors_begin(&t);
    rows_save(m, 0, 0, model->dim, &t);
    rows_save(m, 1, 0, model_relation_floats(model), &t);
    tensors_write_names(&t, &task->graph.entities);
    tensors_write_names(&t, &task->graph.relations);
    tensors_close(&t);
}

static void save(struct training_worker *w)
{
    const struct program *p = w->program;
    if (p->task.options.common.out) save_model(&p->task, w->member);
}

const struct training_kind kge_training = {.name = "locus-kge",
                                           .about = about,
                                           .more = more,
                                           .unit = "facts",
                                           .rate = "Facts trained a second",
                                           .program_bytes = sizeof(struct program),
                                           .worker_bytes = sizeof(struct worker),
                                           .heeds_ahead = true,
                                           TRAINING_JOB,
                                           TRAINING_LOOP,
                                           .flush = flush,
                                           .chooses = chooses,
                                           .validate = validate,
                                           .parameters = parameters,
                                           .rest = rest};
