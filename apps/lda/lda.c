#include "lda.h"

#include "fail.h"
#include "gibbs.h"
#include "shelf.h"
#include "likeliest.h"
#include "quality.h"
#include "programs.h"
#include "rows.h"
#include "saved.h"
#include "markup.h"
#include "tensors.h"
#include "word_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the most frequent topics with their likeliest words: --picture ---- */

enum {
    TOPICS_SHOWN = 24,
    WORDS_SHOWN = 8,
    ACROSS = 4,
    LEFT = 20,
    TOP = 76,
    CELL_WIDTH = 240,
    HEAD = 24,
    LINE = 17,
    CELL_HEIGHT = HEAD + WORDS_SHOWN * LINE + 22,
    NAME_WIDTH = 96, /* words end here, bars begin */
    BAR_WIDTH = CELL_WIDTH - NAME_WIDTH - 30,
};

struct ranked {
    float total;
    size_t topic;
};

static int by_total(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->total < y->total || x->total > y->total) return x->total < y->total ? 1 : -1;
    return x->topic < y->topic ? -1 : 1;
}

/* Bars of a topic are as long as its words are likely, beside its likeliest one. */
static void put_word(FILE *f, const struct lda *l, uint32_t word, double share, double x, double y)
{
    char text[16];
    svg_text(f, x + NAME_WIDTH - 6, y, 12, "#111111", "end",
             likeliest_name(l, word, text, sizeof text));
    fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"11\" fill=\"#1f6fb4\"/>\n",
            x + NAME_WIDTH, y - 10, share * BAR_WIDTH);
}

static void put_topic(FILE *f, const struct lda *l, const struct likeliest *b, size_t topic,
                      size_t place)
{
    size_t column = place % ACROSS, line = place / ACROSS;
    double x = LEFT + (double)column * CELL_WIDTH, y = TOP + (double)line * CELL_HEIGHT;
    const struct top *list = b->list + topic * b->top;
    char head[64];
    double share = b->totals[topic] > 0 ? (double)(list[0].score / b->totals[topic]) : 0;
    snprintf(head, sizeof head, "topic %zu: %.0f tokens, first word %.1f %%", topic,
             (double)b->totals[topic], 100 * share);
    svg_text(f, x, y + 12, 11, "#555555", "start", head);
    for (size_t i = 0; i < b->top && list[i].score > 0; i++)
        put_word(f, l, list[i].number, (double)(list[i].score / list[0].score), x,
                 y + HEAD + (double)(i + 1) * LINE - 5);
}

static void lda_picture_write(const struct lda *l, struct word_rows *r)
{
    struct likeliest b;
    struct saving s;
    char title[64], subtitle[128];
    likeliest_find(&b, l, WORDS_SHOWN, r);
    struct ranked *order = take_memory(b.topics, sizeof *order);
    for (size_t k = 0; k < b.topics; k++) order[k] = (struct ranked){b.totals[k], k};
    qsort(order, b.topics, sizeof *order, by_total);
    size_t shown = b.topics < TOPICS_SHOWN ? b.topics : TOPICS_SHOWN;
    int rows = (int)((shown + ACROSS - 1) / ACROSS);
    snprintf(title, sizeof title, "%zu of %zu topics", shown, b.topics);
    snprintf(subtitle, sizeof subtitle,
             "the most frequent ones, and their likeliest words; %u documents, %" PRIu64 " sweeps",
             l->corpus.documents, l->options.common.epochs);
    svg_begin(&s, l->options.picture, LEFT + ACROSS * CELL_WIDTH, TOP + rows * CELL_HEIGHT, title,
              subtitle);
    for (size_t i = 0; i < shown; i++) put_topic(s.file, l, &b, order[i].topic, i);
    svg_end(&s);
    free(order);
    likeliest_fini(&b);
}

/* ---- options ---- */

static const char *const visits[] = {"rotation", "copies", NULL};
static const char *const samplers[] = {"tree", "plain", NULL};

static const char about[] =
    "Finds the topics of documents (latent Dirichlet allocation, collapsed Gibbs sampling), alone or on a cluster\n"
    "(locus run, mpirun, srun, ...), and says how well they predict words that were held back.";

static const char more[] =
    "examples:\n"
    "  locus-lda --data ap.dat --vocabulary vocab.txt --topics 100 --epochs 200 --top 10\n"
    "  locus-lda --data text --topics 50 --workers 2 --out topics.safetensors\n"
    "  locus run -n 4 locus-lda --data docword.txt --topics 1000 --technique relocate\n";

static void task_options(struct lda_options *o)
{
    const struct args_option options[] = {
        OPTION_SECTION("the task"),
        OPTION_MANY("--data", "PATH", &o->common.files, ARGS_INPUT,
                    "LDA-C, UCI docword, MatrixMarket, or text of a\ndocument a line"),
        format_offer(&o->common.format, 1U << FORMAT_TEXT | 1U << FORMAT_LDAC |
                                            1U << FORMAT_DOCWORD | 1U << FORMAT_MATRIX),
        OPTION_TEXT("--vocabulary", "PATH", &o->vocabulary, ARGS_INPUT,
                    "the words of all but text, one a line"),
        OPTION_TEXT(
            "--test", "FILE", &o->test, ARGS_INPUT,
            "documents in the same format: how well does half of\neach predict the other half, topics as learnt?"),
        OPTION_TEXT("--generate", "DxWxNxT", &o->generate, 0,
                    "instead of --data: D documents of N tokens, W words,\nT planted topics"),
        OPTION_REAL("--hold-back", "X", &o->held_back, 0, 0.9, ARGS_TASK,
                    "the share of the tokens that is tested with"),
        OPTION_COUNT("--topics", "N", &o->topics, 2, 100000, ARGS_TASK, "to find"),
        OPTION_REAL("--alpha", "X", &o->alpha, 1e-6, 1000, ARGS_TASK,
                    "what each topic has in each document beforehand"),
        OPTION_REAL("--beta", "X", &o->beta, 1e-6, 1000, ARGS_TASK,
                    "what each word has in each topic beforehand"),
        OPTION_COUNT("--learn-priors", "N", &o->learn_priors, 0, 1e6, ARGS_TASK,
                     "learn alpha and beta from the counts each N passes;\n0: they stay"),
        OPTION_COUNT("--top", "N", &o->top, 0, 50, 0, "print each topic's likeliest words"),
        OPTION_TEXT("--picture", "FILE", &o->picture, ARGS_OUTPUT,
                    "draw the most frequent topics and their likeliest\nwords there, as SVG"),
        OPTION_SECTION("training"),
        OPTION_CHOICE(
            "--visit", "NAME", &o->visit, visits, ARGS_TASK,
            "rotation: blocks of words go from worker to worker\ncopies: all workers have all their words, and learn of\nothers' changes in the background"),
        OPTION_COUNT(
            "--staleness", "N", &o->staleness, 0, LDA_STALENESS_MAX, ARGS_TASK,
            "a round may begin when all have ended the one N before\nthe last; 0: when all have ended the last"),
        OPTION_CHOICE(
            "--sampler", "NAME", &o->sampler, samplers, ARGS_TASK,
            "tree: in the topics that a document has\nplain: in all topics. Both are exact"),
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
    if (o->staleness > 0 && (o->visit == LDA_COPIES || o->common.is_baseline))
        fail_usage("--staleness is for blocks that rotate, with locus: leave --visit copies or "
                   "--baseline out");
    if (o->common.is_baseline && o->visit == LDA_COPIES && o->common.workers > 1)
        fail_usage("--visit copies with --baseline is for one worker: threads that share plain "
                   "arrays would lose each other's counts; leave --workers out");
    if (o->generate && o->test)
        fail_usage("--test is given with --generate: generated tokens are held back, see "
                   "--hold-back");
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
        corpus_load(&l->corpus, o->common.data, (enum format)o->common.format.is, o->vocabulary);
    } else {
        corpus_generate(&l->corpus, o->generate, o->common.seed);
    }
    if (o->test) corpus_load_test(&l->test, o->test, &l->corpus);
}

static struct settings_digest digest(const void *program)
{
    const struct lda *l = program;
    return (struct settings_digest){corpus_digest(&l->corpus),
                                    l->options.test ? corpus_digest(&l->test) : 0};
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

static const char *const formats[] = {[FORMAT_TEXT] = "plain text, ",
                                      [FORMAT_LDAC] = "LDA-C, ",
                                      [FORMAT_DOCWORD] = "docword, ",
                                      [FORMAT_MATRIX] = "MatrixMarket, "};

static void start(const void *program, const struct pool *pool)
{
    const struct lda *l = program;
    const struct lda_options *o = &l->options;
    const struct corpus *c = &l->corpus;
    if (c->comments > 0)
        fprintf(stderr,
                "%s: %s: lines that begin with # or %% are comments, no documents: there are "
                "%" PRIu64 "\n",
                fail_program(), o->common.data, c->comments);
    if (l->test.unknown > 0)
        fprintf(stderr,
                "%s: %s: %" PRIu64 " of its %" PRIu64
                " tokens are of words that no document to train with has, and are left out\n",
                fail_program(), o->test, l->test.unknown,
                l->test.unknown + l->test.start[l->test.documents]);
    if (o->common.json) return;
    printf("%s: %s%u documents, %u words, %" PRIu64 " tokens, of which %g %% are held back\n",
           settings_source(&o->common), o->common.data ? formats[c->format] : "", c->documents,
           c->words, c->start[c->documents], 100 * o->held_back);
    printf("%" PRIu64 " topics, alpha %g, beta %g; %s, %s sampler\n", o->topics, o->alpha, o->beta,
           o->visit == LDA_ROTATION ? "blocks of words from worker to worker"
                                    : "copies of all words",
           o->sampler == LDA_TREE ? "tree" : "plain");
    settings_show_pool(&o->common, pool, false);
}

static void unload(void *program)
{
    struct lda *l = program;
    corpus_fini(&l->corpus);
    corpus_fini(&l->test);
}

/* ---- training ---- */

struct worker {
    struct shelf shelf;
    struct sampler sampler;
    struct word_rows rows;
    struct gibbs gibbs;
    float *topics, *orders; /* of the best model's tokens, where no checkpoint is to have them */
};

/* Of a checkpoint's figures. */
enum { BEST_ALPHA = CHECKPOINTS_FIGURES - 4, BEST_BETA, ALPHA, BETA };

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
    const double *priors = w->progress.figures;
    if (goes_on && l->options.learn_priors > 0)
        sampler_set_priors(&own->sampler, priors[ALPHA], priors[BETA]);
    gibbs_open(&own->gibbs, l, m, &own->shelf, &own->sampler, &own->rows, goes_on);
}

static void learn_priors(struct training_worker *w)
{
    const struct lda *l = w->program;
    struct worker *own = w->state;
    uint64_t each = l->options.learn_priors;
    if (each == 0 || (w->progress.epochs + 1) % each != 0) return;
    priors_learn(l, &own->sampler, &own->rows);
    gibbs_renew(&own->gibbs);
}

/* A sweep. More: the first worker's seconds. */
static bool step(struct training_worker *w, struct training_sums *sums)
{
    struct worker *own = w->state;
    double began = meter_now();
    sampler_begin(&own->sampler, w->progress.epochs);
    sums->loss = gibbs_sweep(&own->gibbs);
    learn_priors(w);
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
    w->progress.figures[ALPHA] = own->sampler.alpha;
    w->progress.figures[BETA] = own->sampler.beta;
    topic_rows_write(&own->shelf, w->member, LDA_TOKENS);
}

/* ---- how good it is ---- */

static void say_quality(const struct lda *l, const struct quality *q, const struct sampler *s)
{
    bool is_learned = l->options.learn_priors > 0;
    bool is_held = q->perplexity > 0, is_new = q->new_perplexity > 0;
    char head[64];
    const struct figure figures[] = {
        {.name = "log_likelihood", .value = q->likelihood},
        {is_held ? "perplexity " : NULL, 8, 1, .name = is_held ? "perplexity" : NULL,
         .curve = is_held ? "Perplexity" : NULL, .value = q->perplexity},
        {is_new ? "of new documents " : NULL, 8, 1, .name = is_new ? "new_perplexity" : NULL,
         .value = q->new_perplexity},
        {is_learned ? "alpha " : NULL, 0, 4, .name = is_learned ? "alpha" : NULL,
         .value = s->alpha},
        {is_learned ? "beta " : NULL, 0, 5, .name = is_learned ? "beta" : NULL, .value = s->beta},
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
    if (training_is_first(w)) say_quality(l, &q, &own->sampler);
    return q.perplexity > 0 ? -q.perplexity : -q.new_perplexity;
}

static void end(struct training_worker *w)
{
    validate(w);
}

static bool chooses(const void *program)
{
    const struct lda *l = program;
    return l->options.common.patience > 0 && (l->options.held_back > 0 || l->options.test);
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
    w->progress.figures[BEST_ALPHA] = own->sampler.alpha;
    w->progress.figures[BEST_BETA] = own->sampler.beta;
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
    sampler_set_priors(&own->sampler, w->progress.figures[BEST_ALPHA],
                       w->progress.figures[BEST_BETA]);
    if (l->options.common.checkpoints.folder)
        topic_rows_read(&own->shelf, w->member, LDA_BEST_TOKENS);
    else
        shelf_read(&own->shelf, own->topics, own->orders);
}

static void say_topics(const struct lda *l, struct word_rows *r)
{
    struct likeliest b;
    double *npmi = take_memory(r->topics, sizeof *npmi), sum = 0, count = 0;
    likeliest_find(&b, l, l->options.top, r);
    coherence_npmi(&l->corpus, &b, npmi);
    likeliest_say(l, &b, npmi);
    for (size_t k = 0; k < r->topics; k++) {
        if (!isnan(npmi[k])) sum += npmi[k];
        count += !isnan(npmi[k]);
    }
    const struct figure mean = {"NPMI ", 0, 4, .name = "npmi", .value = sum / count};
    figures_say(l->options.common.json, "coherence", "coherence", &mean, 1);
    likeliest_fini(&b);
    free(npmi);
}

static void save_model(const struct lda *l, struct pool_member *m, const struct sampler *s,
                       struct word_rows *r)
{
    const struct names *names = &l->corpus.names;
    float *totals = take_memory(r->topics, sizeof *totals);
    struct tensors t;
    word_rows_read(r, LDA_TOPICS, totals);
    tensors_open(&t, l->options.common.out);
    tensors_note(&t, "model", "lda");
    tensors_note_number(&t, "alpha", s->alpha);
    tensors_note_number(&t, "beta", s->beta);
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
    if (l->options.picture) lda_picture_write(l, rows);
    if (l->options.common.out) save_model(l, w->member, &own->sampler, rows);
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
                                           .predict = &lda_predict_kind,
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
