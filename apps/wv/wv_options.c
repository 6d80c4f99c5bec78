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

static void task_options(struct wv_options *o)
{
    const struct args_option options[] = {
        OPTION_SECTION("the task"),
        OPTION_TEXT(
            "--data", "PATH", &o->common.data, ARGS_INPUT,
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
        OPTION_FLAG("--shared-negatives", &o->is_shared, ARGS_TASK,
                    "the pairs of a window share theirs: faster"),
        settings_sampling(&o->common),
        OPTION_CHOICE("--optimizer", "NAME", &o->optimizer, optimizers, ARGS_TASK,
                      "sgd, whose rate falls to nothing as in the\noriginal, or adagrad"),
        OPTION_REAL("--lr", "X", &o->rate, 0, 100, ARGS_TASK,
                    "learning rate; 0: 0.025, with adagrad 0.1"),
        OPTION_COUNT("--batch", "N", &o->batch, 1, 10000, ARGS_TASK,
                     "words in the middle of a window, of a step"),
    };
    args_add(&o->common.list, options, sizeof options / sizeof *options);
}

static void result_options(struct wv_options *o)
{
    const struct args_option options[] = {
        OPTION_SECTION("results"),
        OPTION_TEXT("--analogies", "FILE", &o->analogies, ARGS_INPUT,
                    "questions as in questions-words: \": section\",\nthen lines of four words"),
        OPTION_COUNT("--analogy-words", "N", &o->analogy_words, 0, 1e9, ARGS_TASK,
                     "ask only about, and look only among, the N most\nfrequent words; 0: all"),
        OPTION_TEXT("--similarity", "FILE", &o->similarity, ARGS_INPUT,
                    "lines of two words and people's rating"),
        OPTION_COUNT("--eval-every", "N", &o->common.eval_every, 0, 1e6, ARGS_NODES,
                     "evaluate each N epochs, besides at the end"),
        OPTION_COUNT("--seconds", "N", &o->common.seconds, 0, 1e9, ARGS_NODES,
                     "end the training after that time, wherever it is;\n0: after the last epoch"),
        OPTION_TEXT("--text", "PATH", &o->text, ARGS_OUTPUT,
                    "write the vectors as word2vec's text"),
        OPTION_TEXT("--binary", "PATH", &o->binary, ARGS_OUTPUT,
                    "write them in word2vec's binary format"),
    };
    args_add(&o->common.list, options, sizeof options / sizeof *options);
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
    task_options(o);
    settings_options(&o->common);
    result_options(o);
    settings_parse(&o->common,
                   &(struct args_program){.name = "locus-wv", .about = about, .more = more}, argc,
                   argv);
    if (!o->common.data) fail_usage("--data is missing: the text to learn from");
    check_negatives(o);
    settings_check(&o->common);
    if (o->rate <= 0) o->rate = o->optimizer == WV_ADAGRAD ? 0.1 : 0.025;
}
