#include "lda_options.h"

#include "fail.h"

static const char *const visits[] = {"rotation", "copies", NULL};
static const char *const samplers[] = {"tree", "plain", NULL};

static const char about[] =
    "Finds the topics of documents (latent Dirichlet allocation, collapsed Gibbs sampling), alone or on a cluster\n"
    "(locus run, mpirun, srun, ...), and says how well they foretell words that were held back.";

static const char more[] =
    "examples:\n"
    "  locus-lda --data ap.dat --vocabulary vocab.txt --topics 100 --epochs 200 --top 10\n"
    "  locus-lda --data text --topics 50 --workers 2 --out topics.safetensors\n"
    "  locus run -n 4 locus-lda --data docword.txt --topics 1000 --technique relocate\n";

static void task_options(struct lda_options *o, struct args_list *list)
{
    const struct args_option options[] = {
        {.kind = ARGS_SECTION, .help = "the task"},
        settings_data(&o->common,
                      "LDA-C, UCI docword, MatrixMarket, or text of a\ndocument a line"),
        {.name = "--vocabulary",
         .argument = "PATH",
         .kind = ARGS_TEXT,
         .target = &o->vocabulary,
         .help = "the words of all but text, one a line"},
        {.name = "--test",
         .argument = "FILE",
         .kind = ARGS_TEXT,
         .target = &o->test,
         .help =
             "documents in the same format: how well does half of\neach foretell the other half, topics as learnt?"},
        {.name = "--generate",
         .argument = "DxWxNxT",
         .kind = ARGS_TEXT,
         .target = &o->generate,
         .help = "instead of --data: D documents of N tokens, W words,\nT planted topics"},
        {.name = "--hold-back",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->held_back,
         .max = 0.9,
         .help = "the share of the tokens that is tested with"},
        {.name = "--topics",
         .argument = "N",
         .kind = ARGS_COUNT,
         .target = &o->topics,
         .min = 2,
         .max = 100000,
         .help = "to find"},
        {.name = "--alpha",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->alpha,
         .min = 1e-6,
         .max = 1000,
         .help = "what each topic has in each document beforehand"},
        {.name = "--beta",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->beta,
         .min = 1e-6,
         .max = 1000,
         .help = "what each word has in each topic beforehand"},
        {.name = "--top",
         .argument = "N",
         .kind = ARGS_COUNT,
         .target = &o->top,
         .max = 50,
         .help = "print each topic's likeliest words"},
        {.name = "--picture",
         .argument = "FILE",
         .kind = ARGS_TEXT,
         .target = &o->picture,
         .help = "draw the most frequent topics and their likeliest\nwords there, as SVG"},
        {.kind = ARGS_SECTION, .help = "training"},
        {.name = "--visit",
         .argument = "NAME",
         .kind = ARGS_CHOICE,
         .target = &o->visit,
         .choices = visits,
         .help =
             "rotation: blocks of words go from worker to worker\ncopies: all workers have all their words, and learn of\nothers' changes in the background"},
        {.name = "--staleness",
         .argument = "N",
         .kind = ARGS_COUNT,
         .target = &o->staleness,
         .max = LDA_STALENESS_MAX,
         .help =
             "a round may begin when all have ended the one N before\nthe last; 0: when all have ended the last"},
        {.name = "--sampler",
         .argument = "NAME",
         .kind = ARGS_CHOICE,
         .target = &o->sampler,
         .choices = samplers,
         .help = "tree: in the topics that a document has\nplain: in all topics. Both are exact"},
        settings_eval_every(&o->common, "test each N passes, besides at the end"),
    };
    args_add(list, options, sizeof options / sizeof *options);
}

void lda_options(struct lda_options *o, int argc, char **argv)
{
    struct args_list list = {0};
    *o = (struct lda_options){.topics = 100, .alpha = 0.5, .beta = 0.01, .held_back = 0.1};
    settings_init(&o->common, SETTINGS_EPOCHS | SETTINGS_FULL);
    o->common.epochs = 200;
    task_options(o, &list);
    settings_options(&o->common, &list);
    checkpoints_options(&o->common.checkpoints, &list);
    settings_parse(&list, "locus-lda", about, more, argc, argv);
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
    settings_check(&o->common);
}
