#include "lda.h"

#include "fail.h"
#include "gibbs.h"
#include "shelf.h"
#include "likeliest.h"
#include "quality.h"
#include "programs.h"
#include "rows.h"
#include "saved.h"
#include "tensors.h"
#include "word_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- options ---- */

static const char about[] =
    "Finds the topics of documents (latent Dirichlet allocation, collapsed Gibbs sampling), alone or on a cluster\n"
    "(locus run, mpirun, srun, ...), and says how well they predict words that were held back.";

static const char more[] =
    "examples:\n"
    "  locus-lda --data documents.txt --vocabulary vocabulary.txt --topics 100 --epochs 200 --top 10\n"
    "  locus-lda --data documents.txt --topics 50 --workers 2 --out topics.safetensors\n"
    "  locus run -n 4 locus-lda --data docword.txt --topics 1000 --technique relocate\n";

static void task_options(struct lda_options *o)
{
    const struct args_option options[] = {
        OPTION_SECTION("the task"),
        OPTION_TEXT(
            "--data", "PATH", &o->common.data, ARGS_INPUT,
            "documents: LDA-C (a line is how many words, then\nword:count ..., from 0), or UCI docword"),
        OPTION_TEXT("--vocabulary", "PATH", &o->vocabulary, ARGS_INPUT, "the words, one a line"),
        OPTION_TEXT("--generate", "DxWxNxT", &o->generate, 0,
                    "instead of --data: D documents of N tokens, W words,\nT planted topics"),
        OPTION_REAL("--hold-back", "X", &o->held_back, 0, 0.9, ARGS_TASK,
                    "the share of the tokens that is tested with"),
        OPTION_COUNT("--topics", "N", &o->topics, 2, 100000, ARGS_TASK, "to find"),
        OPTION_REAL("--alpha", "X", &o->alpha, 1e-6, 1000, ARGS_TASK,
                    "what each topic has in each document beforehand"),
        OPTION_REAL("--beta", "X", &o->beta, 1e-6, 1000, ARGS_TASK,
                    "what each word has in each topic beforehand"),
        OPTION_COUNT("--top", "N", &o->top, 0, 50, 0, "print each topic's likeliest words"),
        OPTION_SECTION("training"),
        OPTION_COUNT(
            "--staleness", "N", &o->staleness, 0, LDA_STALENESS_MAX, ARGS_TASK,
            "a round may begin when all have ended the one N before\nthe last; 0: when all have ended the last"),
    };
    args_add(&o->common.list, options, sizeof options / sizeof *options);
}

static struct settings *options(void *program)
{
    struct lda_options *o = &((struct lda *)program)->options;
    *o = (struct lda_options){.topics = 100, .alpha = 0.5, .beta = 0.01, .held_back = 0.1};
    settings_init(&o->common, SETTINGS_EPOCHS | SETTINGS_FULL | SETTINGS_PATIENCE);
    o->common.epochs = 200;
    task_options(o);
    settings_options(&o->common);
    return &o->common;
}

static void check(void *program)
{
    struct lda_options *o = &((struct lda *)program)->options;
    settings_check_source(&o->common, "the documents", "--generate", o->generate);
    if (o->staleness > 0 && o->common.is_baseline)
        fail_usage("--staleness is for rows that locus manages: leave --baseline out");
    if (o->generate && o->vocabulary)
        fail_usage("--vocabulary is given with --generate: generated words have no names");
}

/* ---- the data ---- */

/* --from: the model's, unless the option is given. */
static void take_prior(const struct saved *s, const char *option, double *prior)
{
    const char *name = option + 2;
    if (args_has(option) || !saved_note(s, name)) return;
    *prior = saved_number(s, name);
    if (*prior <= 0) saved_fail(s, "%s is %g, and must be above 0 (--from)", name, *prior);
}

static void take_priors(struct lda_options *o)
{
    struct saved s;
    saved_open(&s, o->common.from);
    take_prior(&s, "--alpha", &o->alpha);
    take_prior(&s, "--beta", &o->beta);
    saved_close(&s);
}

static void load(void *program)
{
    struct lda *l = program;
    struct lda_options *o = &l->options;
    if (o->common.from) take_priors(o);
    if (o->common.data) {
        corpus_load(&l->corpus, o->common.data, o->vocabulary);
    } else {
        corpus_generate(&l->corpus, o->generate, o->common.seed);
    }
}

static struct settings_digest digest(const void *program)
{
    return (struct settings_digest){corpus_digest(&((const struct lda *)program)->corpus), 0};
}

static size_t tables(void *program, struct locus_table *tables)
{
    const struct lda *l = program;
    static const char *const of_tokens[] = {"tokens", "orders", "best tokens", "best orders"};
    uint64_t topics = l->options.topics, rows = topic_rows_count(l);
    tables[LDA_WORDS] = training_table("words", l->corpus.words, topics);
    tables[LDA_TOTALS] = training_table("totals", LDA_TOTAL_ROWS, topics);
    for (int i = LDA_TOKENS; i < LDA_TABLES; i++)
        tables[i] = training_table(of_tokens[i - LDA_TOKENS], rows, topics);
    return l->options.common.checkpoints.folder ? LDA_TABLES : LDA_TOKENS;
}

static void ready(void *program, struct training *t)
{
    const struct corpus *c = &((const struct lda *)program)->corpus;
    t->examples = c->start[c->documents];
    t->sweeps = "sweeps";
    t->is_whole = true;
}

static void start(const void *program, const struct pool *pool)
{
    const struct lda *l = program;
    const struct lda_options *o = &l->options;
    const struct corpus *c = &l->corpus;
    if (o->common.json) return;
    const char *form = c->is_docword ? "docword, " : "LDA-C, ";
    printf("%s: %s%u documents, %u words, %" PRIu64 " tokens, of which %g %% are held back\n",
           settings_source(&o->common), o->common.data ? form : "", c->documents, c->words,
           c->start[c->documents], 100 * o->held_back);
    printf("%" PRIu64 " topics, alpha %g, beta %g\n", o->topics, o->alpha, o->beta);
    settings_show_pool(&o->common, pool, false);
}

static void unload(void *program)
{
    corpus_fini(&((struct lda *)program)->corpus);
}

/* ---- training ---- */

struct worker {
    struct shelf shelf;
    struct sampler sampler;
    struct word_rows rows;
    struct gibbs gibbs;
    float *topics, *orders; /* of the best model's tokens, where no checkpoint is to have them */
};

static void begin(struct training_worker *w, bool goes_on)
{
    const struct lda *l = w->program;
    struct pool_member *m = w->member;
    struct worker *own = w->state;
    shelf_open(&own->shelf, l, m->place, m->total, gibbs_blocks(l, m));
    if (l->options.common.from && !goes_on)
        lda_warm(&own->shelf, l->options.common.from, m->place == 0);
    sampler_open(&own->sampler, &own->shelf, m->place);
    word_rows_open(&own->rows, l, m);
    if (goes_on) topic_rows_read(&own->shelf, m, LDA_TOKENS);
    pool_quiesce(m);
    gibbs_open(&own->gibbs, l, m, &own->shelf, &own->sampler, &own->rows, goes_on);
}

/* A sweep. More: the first worker's seconds. */
static bool step(struct training_worker *w, struct training_sums *sums)
{
    struct worker *own = w->state;
    double began = meter_now();
    sampler_begin(&own->sampler, w->progress.epochs);
    sums->loss = gibbs_sweep(&own->gibbs);
    sums->examples = (double)own->shelf.tokens;
    if (training_is_first(w)) sums->more = meter_now() - began;
    return true;
}

static void report(void *program, const struct training_epoch *e)
{
    const struct lda *l = program;
    const struct pool *pool = e->training->pool;
    double seconds = e->more, rate = e->examples / seconds,
           error = e->loss / (pool->workers * (unsigned)pool->size);
    char head[32];
    const struct figure figures[] = {
        {.name = "epoch", .value = (double)e->number},
        {.name = "seconds", .value = seconds},
        {.name = "examples_per_second", .value = rate},
        {"s-error ", 7, 5, .name = "s_error", .curve = "S-error", .value = error},
        {"", 7, 3, " s", .value = seconds},
        {"", 10, 0, " tokens/s", .curve = "Tokens sampled a second", .value = rate},
    };
    snprintf(head, sizeof head, "sweep %4" PRIu64, e->number);
    figures_say(l->options.common.json, "epoch", head, figures, sizeof figures / sizeof *figures);
}

static void write_topics(struct training_worker *w)
{
    struct worker *own = w->state;
    topic_rows_write(&own->shelf, w->member, LDA_TOKENS);
}

/* ---- how good it is ---- */

static void say_quality(const struct lda *l, const struct quality *q)
{
    bool is_held = q->perplexity > 0;
    char head[64];
    const struct figure figures[] = {
        {.name = "log_likelihood", .value = q->likelihood},
        {is_held ? "perplexity " : NULL, 8, 1, .name = is_held ? "perplexity" : NULL,
         .curve = is_held ? "Perplexity" : NULL, .value = q->perplexity},
        FIGURE_TOOK(q->seconds),
    };
    snprintf(head, sizeof head, "log p(w, z) %9.4f a token", q->likelihood);
    figures_say(l->options.common.json, "eval", head, figures, sizeof figures / sizeof *figures);
}

/* The counts are checked whenever the topics are judged. */
static double validate(struct training_worker *w)
{
    const struct lda *l = w->program;
    struct worker *own = w->state;
    quality_check(l, &own->shelf, &own->rows);
    struct quality q = quality_of(l, &own->sampler, &own->rows);
    if (training_is_first(w)) say_quality(l, &q);
    return -q.perplexity;
}

static void end(struct training_worker *w)
{
    validate(w);
}

static bool chooses(const void *program)
{
    const struct lda *l = program;
    return l->options.common.patience > 0 && l->options.held_back > 0;
}

static void parameters(const void *program, size_t floats[TRAINING_MODEL_TABLES])
{
    floats[LDA_WORDS] = floats[LDA_TOTALS] = ((const struct lda *)program)->options.topics;
}

/* The counts are those of the topics that its tokens had then. */
static void keep(struct training_worker *w)
{
    const struct lda *l = w->program;
    struct worker *own = w->state;
    const struct shelf *s = &own->shelf;
    if (l->options.common.checkpoints.folder) {
        topic_rows_write(s, w->member, LDA_BEST_TOKENS);
        return;
    }
    uint64_t tokens = l->corpus.start[s->first + s->documents] - l->corpus.start[s->first];
    if (!own->topics) own->topics = take_memory(tokens, sizeof *own->topics);
    if (!own->orders) own->orders = take_memory(tokens, sizeof *own->orders);
    shelf_write(s, own->topics, own->orders);
}

static void take(struct training_worker *w)
{
    const struct lda *l = w->program;
    struct worker *own = w->state;
    if (l->options.common.checkpoints.folder)
        topic_rows_read(&own->shelf, w->member, LDA_BEST_TOKENS);
    else
        shelf_read(&own->shelf, own->topics, own->orders);
}

static void say_topics(const struct lda *l, struct word_rows *r)
{
    struct likeliest b;
    likeliest_find(&b, l, l->options.top, r);
    likeliest_say(l, &b);
    likeliest_fini(&b);
}

static void save_model(const struct lda *l, struct pool_member *m, struct word_rows *r)
{
    const struct names *names = &l->corpus.names;
    float *totals = take_memory(r->topics, sizeof *totals);
    struct tensors t;
    word_rows_read(r, LDA_TOPICS, totals);
    tensors_open(&t, l->options.common.out);
    tensors_note(&t, "model", "lda");
    tensors_note_number(&t, "alpha", l->options.alpha);
    tensors_note_number(&t, "beta", l->options.beta);
    tensors_declare(&t, "word_topics", TENSORS_F32, l->corpus.words, r->topics);
    tensors_declare(&t, "topic_totals", TENSORS_F32, r->topics, 0);
    tensors_declare_names(&t, "words", names);
    tensors_begin(&t);
    rows_save(m, LDA_WORDS, 0, r->topics, &t);
    tensors_write(&t, totals, r->topics * sizeof *totals);
    tensors_write_names(&t, names);
    tensors_close(&t);
    free(totals);
}

static void save(struct training_worker *w)
{
    const struct lda *l = w->program;
    struct worker *own = w->state;
    struct word_rows *rows = &own->rows;
    if (l->options.top > 0) say_topics(l, rows);
    if (l->options.common.out) save_model(l, w->member, rows);
}

static void close_all(struct training_worker *w)
{
    struct worker *own = w->state;
    gibbs_close(&own->gibbs);
    word_rows_close(&own->rows);
    sampler_close(&own->sampler);
    shelf_close(&own->shelf);
    free(own->topics);
    free(own->orders);
}

const struct training_kind lda_training = {.name = "locus-lda",
                                           .about = about,
                                           .more = more,
                                           .unit = "tokens",
                                           .program_bytes = sizeof(struct lda),
                                           .worker_bytes = sizeof(struct worker),
                                           TRAINING_JOB,
                                           TRAINING_LOOP,
                                           .chooses = chooses,
                                           .validate = validate,
                                           .parameters = parameters,
                                           .keep = keep,
                                           .take = take,
                                           .checkpoint = write_topics,
                                           .close = close_all};
