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

static void task_options(struct lda_options *o)
{
    const struct args_option options[] = {
        OPTION_SECTION("the task"),
        OPTION_TEXT("--data", "PATH", &o->common.data, ARGS_INPUT,
                    "LDA-C, UCI docword, MatrixMarket, or text of a\ndocument a line"),
        OPTION_TEXT("--vocabulary", "PATH", &o->vocabulary, ARGS_INPUT,
                    "the words of all but text, one a line"),
        OPTION_TEXT(
            "--test", "FILE", &o->test, ARGS_INPUT,
            "documents in the same format: how well does half of\neach foretell the other half, topics as learnt?"),
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
        OPTION_COUNT("--eval-every", "N", &o->common.eval_every, 0, 1e6, ARGS_NODES,
                     "test each N passes, besides at the end"),
    };
    args_add(&o->common.list, options, sizeof options / sizeof *options);
}

void lda_options(struct lda_options *o, int argc, char **argv)
{
    *o = (struct lda_options){.topics = 100, .alpha = 0.5, .beta = 0.01, .held_back = 0.1};
    settings_init(&o->common, SETTINGS_EPOCHS | SETTINGS_FULL);
    o->common.epochs = 200;
    task_options(o);
    settings_options(&o->common);
    settings_parse(&o->common,
                   &(struct args_program){.name = "locus-lda", .about = about, .more = more}, argc,
                   argv);
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
