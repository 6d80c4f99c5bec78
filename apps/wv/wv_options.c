#include "wv_options.h"

#include "fail.h"

static const char *const optimizers[] = {"sgd", "adagrad", NULL};

static const char about[] =
    "Trains word vectors (skip-gram with negative sampling, as word2vec does), alone or on a cluster (locus run,\n"
    "mpirun, srun, ...), and says how well they answer analogies and agree with people on similarity.";

static const char more[] =
    "examples:\n"
    "  locus-wv --data novels.txt --text vectors.txt\n"
    "  locus-wv --data novels.txt --analogies questions-words.txt --similarity wordsim353.txt\n"
    "  locus run -n 4 locus-wv --data novels.txt --binary vectors.bin --json\n";

static void task_options(struct wv_options *o, struct args_list *list)
{
    const struct args_option options[] = {
        {.kind = ARGS_SECTION, .help = "the task"},
        settings_data(
            &o->common,
            "a text: words with white space between them; the\nend of a line ends a sentence"),
        {.name = "--dim",
         .argument = "N",
         .kind = ARGS_COUNT,
         .target = &o->dim,
         .min = 1,
         .max = 4096,
         .help = "floats of a vector, optimizer state not included"},
        {.name = "--window",
         .argument = "N",
         .kind = ARGS_COUNT,
         .target = &o->window,
         .min = 1,
         .max = 100,
         .help = "words to either side, at most; each window is 1\nto N words wide"},
        {.name = "--min-count",
         .argument = "N",
         .kind = ARGS_COUNT,
         .target = &o->min_count,
         .min = 1,
         .max = 1e9,
         .help = "leave out words that occur less often"},
        {.name = "--subsample",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->subsample,
         .min = 0,
         .max = 1,
         .help = "thin out words of a higher frequency than that;\n0: none"},
        {.kind = ARGS_SECTION, .help = "training"},
        {.name = "--negatives",
         .argument = "N",
         .kind = ARGS_COUNT,
         .target = &o->negatives,
         .min = 1,
         .max = 1000,
         .help = "sampled words for each pair"},
        {.name = "--shared-negatives",
         .kind = ARGS_FLAG,
         .target = &o->is_shared,
         .help = "the pairs of a window share theirs: faster"},
        settings_sampling(&o->common),
        {.name = "--optimizer",
         .argument = "NAME",
         .kind = ARGS_CHOICE,
         .target = &o->optimizer,
         .choices = optimizers,
         .help = "sgd, whose rate falls to nothing as in the\noriginal, or adagrad"},
        settings_rate(&o->rate, "learning rate; 0: 0.025, with adagrad 0.1"),
        settings_batch(&o->batch, 10000, "words in the middle of a window, of a step"),
    };
    args_add(list, options, sizeof options / sizeof *options);
}

static void result_options(struct wv_options *o, struct args_list *list)
{
    const struct args_option options[] = {
        {.kind = ARGS_SECTION, .help = "results"},
        {.name = "--analogies",
         .argument = "FILE",
         .kind = ARGS_TEXT,
         .target = &o->analogies,
         .help = "questions as in questions-words: \": section\",\nthen lines of four words"},
        {.name = "--analogy-words",
         .argument = "N",
         .kind = ARGS_COUNT,
         .target = &o->analogy_words,
         .max = 1e9,
         .help = "ask only about, and look only among, the N most\nfrequent words; 0: all"},
        {.name = "--similarity",
         .argument = "FILE",
         .kind = ARGS_TEXT,
         .target = &o->similarity,
         .help = "lines of two words and people's rating"},
        settings_eval_every(&o->common, "evaluate each N epochs, besides at the end"),
        settings_seconds(
            &o->common,
            "end the training after that time, wherever it is;\n0: after the last epoch"),
        {.name = "--text",
         .argument = "PATH",
         .kind = ARGS_TEXT,
         .target = &o->text,
         .help = "write the vectors as word2vec's text"},
        {.name = "--binary",
         .argument = "PATH",
         .kind = ARGS_TEXT,
         .target = &o->binary,
         .help = "write them in word2vec's binary format"},
    };
    args_add(list, options, sizeof options / sizeof *options);
}

/* The manager draws a step's negatives together. */
static void check_negatives(const struct wv_options *o)
{
    double uses = (double)o->batch * (o->is_shared ? 1 : 2 * (double)o->window),
           most = uses * (double)o->negatives;
    if (most > LOCUS_SAMPLE_KEYS_MAX)
        fail_usage(
            "--batch %zu, --window %zu and --negatives %zu make up to %.0f negatives in a step, more than %d: use "
            "smaller batches",
            (size_t)o->batch, (size_t)o->window, (size_t)o->negatives, most, LOCUS_SAMPLE_KEYS_MAX);
}

void wv_options(struct wv_options *o, int argc, char **argv)
{
    struct args_list list = {0};
    /* A smaller batch has many more clocks to a text, and rows that two nodes want then move back
     * and forth between them. */
    *o = (struct wv_options){.dim = 100,
                             .window = 5,
                             .min_count = 5,
                             .negatives = 5,
                             .batch = 64,
                             .analogy_words = 30000,
                             .subsample = 1e-3};
    settings_init(&o->common, SETTINGS_EPOCHS | SETTINGS_FULL | SETTINGS_HOT | SETTINGS_BOUNDS);
    o->common.epochs = 5;
    task_options(o, &list);
    settings_options(&o->common, &list);
    result_options(o, &list);
    checkpoints_options(&o->common.checkpoints, &list);
    settings_parse(&list, "locus-wv", about, more, argc, argv);
    if (!o->common.data) fail_usage("--data is missing: the text to learn from");
    check_negatives(o);
    settings_check(&o->common);
    if (o->rate <= 0) o->rate = o->optimizer == WV_ADAGRAD ? 0.1 : 0.025;
}
