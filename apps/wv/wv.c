#include "wv.h"

#include "digest.h"
#include "fail.h"
#include "json.h"
#include "judge.h"
#include "lines.h"
#include "pace.h"
#include "plain.h"
#include "programs.h"
#include "rows.h"
#include "run_log.h"
#include "skipgram.h"
#include "tensors.h"
#include "warm.h"
#include "windows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- options ---- */

static const char *const optimizers[] = {"sgd", "adagrad", NULL};

static const char about[] =
    "Trains word vectors (skip-gram with negative sampling, as word2vec does), alone or on a cluster (locus run,\n"
    "mpirun, srun, ...), and says how well they answer analogies and agree with people on similarity.";

static const char more[] =
    "examples:\n"
    "  locus-wv --data novels.txt --text vectors.txt\n"
    "  locus-wv --data novels.txt --analogies questions-words.txt --similarity wordsim353.txt\n"
    "  locus run -n 4 locus-wv --data novels.txt --out vectors.safetensors --json\n";

static void task_options(struct wv_options *o)
{
    const struct args_option options[] = {
        OPTION_SECTION("the task"),
        OPTION_TEXT(
            "--data", "FILE", &o->common.data, ARGS_INPUT,
            "a text: words with white space between them; the\nend of a line ends a sentence"),
        OPTION_COUNT("--dim", "N", &o->dim, 1, 4096, ARGS_TASK,
                     "floats of a vector, optimizer state not included"),
        OPTION_COUNT("--window", "N", &o->window, 1, 100, ARGS_TASK,
                     "words to either side, at most; each window is 1\nto N words wide"),
        OPTION_COUNT("--min-count", "N", &o->min_count, 1, 1e9, 0,
                     "leave out words that occur less often"),
        OPTION_REAL("--subsample", "X", &o->subsample, 0, 1, ARGS_TASK,
                    "thin out words of a higher frequency than that;\n0: none"),
        OPTION_SECTION("training"),
        OPTION_COUNT("--negatives", "N", &o->negatives, 1, 1000, ARGS_TASK,
                     "sampled words for each pair"),
        settings_sampling(&o->common),
        OPTION_CHOICE(
            "--optimizer", "NAME", &o->optimizer, optimizers, ARGS_TASK,
            "sgd, with --schedule linear as in the original, or\nadagrad, with constant unless told"),
        OPTION_REAL("--lr", "X", &o->rate, 0, 100, ARGS_TASK,
                    "learning rate; 0: 0.025, with adagrad 0.1"),
        OPTION_COUNT("--batch", "N", &o->batch, 1, 10000, ARGS_TASK,
                     "words in the middle of a window, of a worker's step"),
    };
    args_add(&o->common.list, options, sizeof options / sizeof *options);
}

static void result_options(struct wv_options *o)
{
    const struct args_option options[] = {
        OPTION_SECTION("results"),
        OPTION_TEXT(
            "--analogies", "FILE", &o->analogies, ARGS_INPUT,
            "questions as in questions-words: \": section\",\nthen lines of four of the 30,000 most frequent words"),
        OPTION_TEXT("--similarity", "FILE", &o->similarity, ARGS_INPUT,
                    "lines of two words and people's rating"),
        OPTION_TEXT("--text", "PATH", &o->text, ARGS_OUTPUT,
                    "write the vectors as word2vec's text"),
    };
    args_add(&o->common.list, options, sizeof options / sizeof *options);
}

/* The manager draws a step's negatives together. */
static void check_negatives(const struct wv_options *o)
{
    double most = (double)o->batch * 2 * (double)o->window * (double)o->negatives;
    if (most > LOCUS_SAMPLE_KEYS_MAX)
        fail_usage(
            "--batch %zu, --window %zu and --negatives %zu make up to %.0f negatives in a step, more than %d: use "
            "smaller batches",
            (size_t)o->batch, (size_t)o->window, (size_t)o->negatives, most, LOCUS_SAMPLE_KEYS_MAX);
}

static struct settings *options(void *program)
{
    struct wv_options *o = &((struct wv *)program)->options;
    /* A smaller batch has many more clocks to a text, and rows that two nodes want then move back
     * and forth between them. */
    *o = (struct wv_options){
        .dim = 100, .window = 5, .min_count = 5, .negatives = 5, .batch = 64, .subsample = 1e-3};
    settings_init(&o->common,
                  SETTINGS_EPOCHS | SETTINGS_FULL | SETTINGS_HOT | SETTINGS_BOUNDS | SETTINGS_RATE);
    o->common.epochs = 5;
    o->common.schedule = "linear"; /* of sgd */
    task_options(o);
    settings_options(&o->common);
    result_options(o);
    return &o->common;
}

static void check(void *program)
{
    struct wv_options *o = &((struct wv *)program)->options;
    settings_check_source(&o->common, "the text");
    check_negatives(o);
    if (o->optimizer == WV_ADAGRAD && !args_has("--schedule")) o->common.schedule = "constant";
    if (o->rate <= 0) o->rate = o->optimizer == WV_ADAGRAD ? 0.1 : 0.025;
}

/* ---- the data ---- */

static void load(void *program)
{
    struct wv *w = program;
    const struct wv_options *o = &w->options;
    vocabulary_load(&w->vocabulary, o->common.data, o->min_count, o->common.from);
}

static struct settings_digest digest(const void *program)
{
    const struct wv *w = program;
    const struct wv_options *o = &w->options;
    uint64_t judged = o->analogies ? lines_digest(o->analogies, DIGEST_FIRST) : DIGEST_FIRST;
    if (o->similarity) judged = lines_digest(o->similarity, ~judged);
    return (struct settings_digest){vocabulary_digest(&w->vocabulary), judged};
}

static size_t tables(void *program, struct locus_table *tables)
{
    const struct wv *w = program;
    tables[WV_INPUTS] = training_table("inputs", w->vocabulary.words.count, wv_length(w));
    tables[WV_OUTPUTS] = training_table("outputs", w->vocabulary.words.count, wv_length(w));
    return 2;
}

static void open_negatives(struct wv *w, const struct pool *pool)
{
    uint32_t words = w->vocabulary.words.count;
    double *weights = vocabulary_weights(&w->vocabulary);
    if (pace_signals_ahead(pool)) {
        must(locus_distribution_weighted(pool->node, wv_output_key(w, 0), weights, words,
                                         (enum locus_conformity)w->options.common.sampling, 0,
                                         &w->distribution),
             "registering the negative samples");
        must(locus_distribution_seed(w->distribution, w->options.common.seed),
             "seeding the negative samples");
    } else {
        noise_init(&w->noise, weights, words);
    }
    free(weights);
}

static void ready(void *program, struct training *t)
{
    struct wv *w = program;
    open_negatives(w, t->pool);
    w->judge = take_memory(1, sizeof *w->judge);
    judge_init(w->judge, w);
    t->examples = w->vocabulary.total;
    t->is_unjudged = !judge_has_work(w->judge);
}

static void start(const void *program, const struct pool *pool)
{
    const struct wv *w = program;
    const struct wv_options *o = &w->options;
    const struct vocabulary *v = &w->vocabulary;
    if (o->common.json) return;
    printf("%s: %" PRIu64 " words; %u different ones occur %" PRIu64
           " time%s or more%s, together %" PRIu64 " times\n",
           o->common.data, v->read, v->words.count - v->kept, o->min_count, plain_s(o->min_count),
           o->common.from ? " or are the model's" : "", v->total);
    if (v->kept > 0)
        printf("%u word%s of the model that the text has not stay%s as before\n", v->kept,
               plain_s(v->kept), v->kept == 1 ? "s" : "");
    printf("skip-gram, %" PRIu64 " floats, window %" PRIu64 ", %" PRIu64
           " negative%s of each pair, subsampling %g; %s, "
           "rate %g\n",
           o->dim, o->window, o->negatives, plain_s(o->negatives), o->subsample,
           o->optimizer == WV_ADAGRAD ? "AdaGrad" : "SGD", o->rate);
    settings_show_pool(&o->common, pool, true);
}

static void unload(void *program)
{
    struct wv *w = program;
    judge_fini(w->judge);
    free(w->judge);
    locus_distribution_free(w->distribution);
    noise_fini(&w->noise);
    vocabulary_fini(&w->vocabulary);
}

/* ---- training ---- */

struct worker {
    struct windows windows;
    struct skipgram step;
};

/* Uniform within 1 / dim of 0: twice as far as in the original program; of a short text vectors
 * then learn more (lab/programs/wv.md). The same for a word whatever the cluster. */
static void draw_input(const void *wv, uint64_t row, float *values)
{
    const struct wv *w = wv;
    struct rng rng;
    rng_init(&rng, w->options.common.seed, UINT64_C(1) << 40 | row);
    for (uint64_t i = 0; i < w->options.dim; i++)
        values[i] = (float)((2 * rng_real(&rng) - 1) / (double)w->options.dim);
}

void wv_first_rows(struct pool_member *m, const struct wv *w)
{
    const struct warm_part parts[] = {{"inputs", "word_names", 0, w->options.dim},
                                      {"outputs", "word_names", 0, w->options.dim}};
    /* Zeros are written: a view of a row that never was goes on to show zeros when the row is
     * changed. */
    for (size_t i = WV_INPUTS; i <= WV_OUTPUTS; i++)
        warm_init(m, i, w->options.common.from, &parts[i], 1, &w->vocabulary.words,
                  i == WV_INPUTS ? draw_input : NULL, w);
}

/* A word's two rows, by how often it occurs. */
static void count_uses(const void *program, uint64_t *count)
{
    const struct wv *w = program;
    for (uint32_t i = 0; i < w->vocabulary.words.count; i++)
        count[wv_input_key(i)] = count[wv_output_key(w, i)] = w->vocabulary.counts[i];
}

static void begin(struct training_worker *t, bool goes_on)
{
    const struct wv *w = t->program;
    struct worker *own = t->state;
    if (!goes_on) wv_first_rows(t->member, w);
    training_keep_hot(t, 2 * (size_t)w->vocabulary.words.count, count_uses);
    pool_quiesce(t->member);
    windows_open(&own->windows, w, t->member, t->progress.epochs);
    skipgram_open(&own->step, w, t->member);
    t->total = w->vocabulary.total / t->member->total;
}

static bool step(struct training_worker *t, struct training_sums *sums)
{
    struct worker *own = t->state;
    const struct window_batch *b = windows_next(&own->windows);
    sums->examples += (double)b->words;
    sums->more += (double)b->pairs;
    sums->loss += skipgram_train(&own->step, b);
    sums->done += b->words;
    world_computed(WORLD_TRAINED, b->pairs);
    return b->is_last;
}

static void flush(struct training_worker *t)
{
    draft_flush(&((struct worker *)t->state)->step.draft);
}

static void report(void *program, const struct training_epoch *e)
{
    const struct wv *w = program;
    if (e->is_whole && e->examples != (double)w->vocabulary.total)
        lines_fail_changed(w->options.common.data);
    if (e->is_whole && e->more == 0)
        fail(
            "no word has another one near: one word a line, or --subsample %g, leaves nothing to learn from",
            w->options.subsample);
    double loss = e->more > 0 ? e->loss / e->more : 0;
    const struct figure figures[] = {
        {"loss ", 8, 4, .curve = "Loss of a pair", .value = loss},
        {"", 9, 0, " pairs/s", .name = "pairs_per_second", .value = e->more / e->seconds},
        {.name = "loss", .value = loss},
    };
    training_say_epoch(e, figures, sizeof figures / sizeof *figures);
}

/* ---- how good it is ---- */

/* No number when there is nothing to have a share of. */
static double share(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : NAN;
}

/* "12.34 %", or what is said instead. */
static const char *percent(char *text, size_t capacity, double part)
{
    if (isnan(part)) return "-";
    snprintf(text, capacity, "%.2f %%", 100 * part);
    return text;
}

static void report_section(bool json, const char *name, uint64_t correct, uint64_t answerable,
                           uint64_t asked)
{
    char text[32];
    if (!json) {
        plain_print("  %-30s %8s   %6" PRIu64 " of %6" PRIu64 " answerable, of %6" PRIu64 "\n",
                    name, percent(text, sizeof text, share(correct, answerable)), correct,
                    answerable, asked);
        return;
    }
    struct json j;
    json_begin(&j, "section");
    json_text(&j, "section", name);
    json_number(&j, "accuracy", share(correct, answerable));
    json_count(&j, "correct", correct);
    json_count(&j, "answerable", answerable);
    json_count(&j, "questions", asked);
    json_end(&j);
}

static void report_analogies(const struct judge *judge, const struct verdict *v)
{
    const struct analogies *a = &judge->analogies;
    bool json = judge->wv->options.common.json;
    uint64_t correct = 0;
    for (uint32_t i = 0; i < a->sections.count; i++) {
        report_section(json, names_get(&a->sections, i), v->correct[i], a->answerable[i],
                       a->asked[i]);
        correct += v->correct[i];
    }
    run_log_point("Analogies, share right", share(correct, a->count));
    if (!json) {
        char text[32];
        printf("analogies   %s: %" PRIu64 " of %zu answerable, of %zu   (%.1f s)\n",
               percent(text, sizeof text, share(correct, a->count)), correct, a->count, a->total,
               v->seconds);
        return;
    }
    struct json j;
    json_begin(&j, "eval");
    json_text(&j, "task", "analogies");
    json_number(&j, "accuracy", share(correct, a->count));
    json_count(&j, "correct", correct);
    json_count(&j, "answerable", a->count);
    json_count(&j, "questions", a->total);
    json_number(&j, "seconds", v->seconds);
    json_end(&j);
}

static void report_similarity(const struct judge *judge, const struct verdict *v)
{
    const struct similarities *s = &judge->similarities;
    run_log_point("Similarity, Spearman", v->similarity);
    if (!judge->wv->options.common.json) {
        if (isnan(v->similarity))
            printf("similarity  not defined   (%zu of %zu pairs answerable)\n", s->count, s->total);
        else
            printf("similarity  Spearman %.4f   (%zu of %zu pairs answerable)\n", v->similarity,
                   s->count, s->total);
        return;
    }
    struct json j;
    json_begin(&j, "eval");
    json_text(&j, "task", "similarity");
    json_number(&j, "spearman", v->similarity);
    json_count(&j, "answerable", s->count);
    json_count(&j, "questions", s->total);
    json_end(&j);
}

static void evaluate(struct training_worker *t)
{
    struct judge *judge = ((struct wv *)t->program)->judge;
    if (!judge_has_work(judge)) return;
    struct verdict v = judge_all(judge, t->member);
    if (training_is_first(t) && judge->wv->options.analogies) report_analogies(judge, &v);
    if (training_is_first(t) && judge->wv->options.similarity) report_similarity(judge, &v);
    if (training_is_first(t)) fflush(stdout);
    free(v.correct);
}

static void rest(struct training_worker *t)
{
    struct worker *own = t->state;
    skipgram_close(&own->step);
    windows_close(&own->windows);
}

static void end(struct training_worker *t)
{
    rest(t);
    pool_quiesce(t->member);
    evaluate(t);
}

static void save_model(const struct wv *w, struct pool_member *m, const char *path)
{
    const struct names *n = &w->vocabulary.words;
    size_t dim = w->options.dim;
    struct tensors t;
    tensors_open(&t, path);
    tensors_note(&t, "model", "skip-gram");
    tensors_note_count(&t, "dim", dim);
    tensors_note(&t, "data", w->options.common.data);
    tensors_declare(&t, "inputs", TENSORS_F32, n->count, dim);
    tensors_declare(&t, "outputs", TENSORS_F32, n->count, dim);
    tensors_declare_names(&t, "word_names", n);
    tensors_begin(&t);
    rows_save(m, WV_INPUTS, 0, dim, &t);
    rows_save(m, WV_OUTPUTS, 0, dim, &t);
    tensors_write_names(&t, n);
    tensors_close(&t);
}

struct words_file {
    const struct names *words;
    size_t dim;
    FILE *file;
};

/* Of another program's model (--from) a word may have blanks. */
static void put_line(void *file, uint64_t row, const float *values)
{
    const struct words_file *t = file;
    for (const char *c = names_get(t->words, (uint32_t)row); *c; c++)
        putc(*c == ' ' ? '_' : *c, t->file);
    for (size_t i = 0; i < t->dim; i++) fprintf(t->file, " %.6g", (double)values[i]);
    putc('\n', t->file);
}

/* As word2vec does. */
static void save_text(const struct wv *w, struct pool_member *m, const char *path)
{
    const struct names *words = &w->vocabulary.words;
    struct saving saving;
    saving_open(&saving, path);
    struct words_file t = {words, w->options.dim, saving.file};
    fprintf(t.file, "%" PRIu32 " %zu\n", words->count, t.dim);
    rows_visit(m, WV_INPUTS, 0, words->count, put_line, &t);
    saving_close(&saving);
}

static void save(struct training_worker *t)
{
    const struct wv *w = t->program;
    const struct wv_options *o = &w->options;
    if (o->common.out) save_model(w, t->member, o->common.out);
    if (o->text) save_text(w, t->member, o->text);
}

const struct training_kind wv_training = {.name = "locus-wv",
                                          .about = about,
                                          .more = more,
                                          .unit = "words",
                                          .rate = "Words trained a second",
                                          .program_bytes = sizeof(struct wv),
                                          .worker_bytes = sizeof(struct worker),
                                          .heeds_ahead = true,
                                          TRAINING_JOB,
                                          TRAINING_LOOP,
                                          .flush = flush,
                                          .evaluate = evaluate,
                                          .rest = rest};
