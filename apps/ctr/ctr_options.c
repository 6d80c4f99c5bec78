#include "ctr_options.h"

#include "fail.h"

static const char *const formats[] = {"auto", "libsvm", "criteo", "csv", NULL};

static const char about[] =
    "Foretells clicks with Wide & Deep: a weight and a vector of each feature, and dense layers, trained with AdaGrad,\n"
    "alone or on a cluster (locus run, mpirun, srun, ...); and says how well on examples that were held back.";

static const char more[] =
    "examples:\n"
    "  locus-ctr --data train.libsvm --test test.libsvm --epochs 5\n"
    "  locus-ctr --data adult.data --test adult.test --positive '>50K'\n"
    "  locus-ctr --data criteo.tsv --hash 22 --epochs 1 --out model.safetensors\n"
    "  locus run -n 4 locus-ctr --zipf 26x10000000x4000000 --epochs 1\n";

static void data_options(struct ctr_options *o)
{
    const struct args_option options[] = {
        OPTION_SECTION("the task"),
        OPTION_TEXT("--data", "PATH", &o->common.data, ARGS_INPUT,
                    "LIBSVM or LIBFFM, Criteo's format, or CSV"),
        OPTION_TEXT("--test", "FILE", &o->test, ARGS_INPUT,
                    "examples to test with, in the same format"),
        OPTION_REAL("--hold-back", "X", &o->held_back, 0, 0.9, ARGS_TASK,
                    "without --test: the share of the examples that is\ntested with"),
        OPTION_REAL(
            "--validate", "X", &o->validate, 0, 0.9, ARGS_TASK,
            "the share of the others that chooses the best epoch,\nwhose model is tested and saved; 0: the last one's"),
        OPTION_CHOICE("--format", "NAME", &o->format, formats, 0, "auto, libsvm, criteo or csv"),
        OPTION_COUNT("--hash", "BITS", &o->hash_bits, 0, 30, 0,
                     "criteo, csv: features by a hash of so many bits;\n0: by a vocabulary"),
        OPTION_TEXT(
            "--label", "NAME", &o->label, 0,
            "csv: the label's column, by its name in the heading;\nwithout, it is the last"),
        OPTION_TEXT("--positive", "TEXT", &o->positive, 0,
                    "csv: the label of a click; without, 1 is one,\n0 and -1 are none"),
        OPTION_COUNT("--bins", "N", &o->bins, 2, 1000, 0, "csv: parts of a column of numbers"),
        OPTION_TEXT(
            "--zipf", "FxCxN", &o->zipf, ARGS_TASK,
            "instead of --data: N examples of F fields with C\ncategories by Zipf's law, and a planted model"),
        OPTION_REAL("--zipf-exponent", "X", &o->zipf_exponent, 0, 10, ARGS_TASK, "of the law"),
    };
    args_add(&o->common.list, options, sizeof options / sizeof *options);
}

static void training_options(struct ctr_options *o)
{
    const struct args_option options[] = {
        OPTION_SECTION("training"),
        OPTION_COUNT("--dim", "N", &o->dim, 1, 1024, ARGS_TASK, "floats of a feature's vector"),
        OPTION_TEXT("--hidden", "N,N...", &o->hidden, ARGS_TASK, "units of the dense layers"),
        OPTION_COUNT("--batch", "N", &o->batch, 1, 65536, ARGS_TASK, "examples of a step"),
        OPTION_REAL("--lr", "X", &o->rate, 0, 100, ARGS_TASK, "learning rate of AdaGrad"),
        OPTION_REAL("--final-lr", "X", &o->final_rate, 0, 1, ARGS_TASK,
                    "the share of it that is left at the end: it falls evenly"),
        OPTION_REAL("--reg", "X", &o->regularization, 0, 1000, ARGS_TASK,
                    "weight of the squared norm of the features in a batch"),
        OPTION_REAL("--init", "X", &o->init, 0, 10, ARGS_TASK,
                    "standard deviation of the first vectors"),
        OPTION_COUNT("--eval-every", "N", &o->common.eval_every, 0, 1e6, ARGS_NODES,
                     "validate each N epochs, and the last; 0: never"),
        OPTION_COUNT("--seconds", "N", &o->common.seconds, 0, 1e9, ARGS_NODES,
                     "end the training after that time; 0: after the last epoch"),
    };
    args_add(&o->common.list, options, sizeof options / sizeof *options);
}

static void check(const struct ctr_options *o)
{
    if (!o->common.data && !o->zipf)
        fail_usage("--data is missing: the examples to learn from; or --zipf makes some up");
    if (o->common.data && o->zipf) fail_usage("--data and --zipf are both given: choose one");
    if (o->zipf && o->test)
        fail_usage("--test is given with --zipf: planted examples are held back, see --hold-back");
}

void ctr_options(struct ctr_options *o, int argc, char **argv)
{
    *o = (struct ctr_options){.dim = 8,
                              .batch = 128,
                              .rate = 0.1,
                              .regularization = 1e-3,
                              .final_rate = 0.1,
                              .init = 0.05,
                              .held_back = 0.1,
                              .validate = 0.1,
                              .bins = 64,
                              .hidden = "64,32",
                              .zipf_exponent = 1.1};
    settings_init(&o->common, SETTINGS_EPOCHS | SETTINGS_FULL | SETTINGS_HOT);
    o->common.epochs = 8;
    o->common.eval_every = 1;
    data_options(o);
    training_options(o);
    settings_options(&o->common);
    settings_parse(&o->common,
                   &(struct args_program){.name = "locus-ctr", .about = about, .more = more}, argc,
                   argv);
    check(o);
    settings_check(&o->common);
}
