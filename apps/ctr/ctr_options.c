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

static void data_options(struct ctr_options *o, struct args_list *list)
{
    const struct args_option options[] = {
        {.kind = ARGS_SECTION, .help = "the task"},
        settings_data(&o->common, "LIBSVM or LIBFFM, Criteo's format, or CSV"),
        {.name = "--test",
         .argument = "FILE",
         .kind = ARGS_TEXT,
         .target = &o->test,
         .help = "examples to test with, in the same format"},
        {.name = "--hold-back",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->held_back,
         .max = 0.9,
         .help = "without --test: the share of the examples that is\ntested with"},
        {.name = "--validate",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->validate,
         .max = 0.9,
         .help =
             "the share of the others that chooses the best epoch,\nwhose model is tested and saved; 0: the last one's"},
        {.name = "--format",
         .argument = "NAME",
         .kind = ARGS_CHOICE,
         .target = &o->format,
         .choices = formats,
         .help = "auto, libsvm, criteo or csv"},
        {.name = "--hash",
         .argument = "BITS",
         .kind = ARGS_COUNT,
         .target = &o->hash_bits,
         .max = 30,
         .help = "criteo, csv: features by a hash of so many bits;\n0: by a vocabulary"},
        {.name = "--label",
         .argument = "NAME",
         .kind = ARGS_TEXT,
         .target = &o->label,
         .help = "csv: the label's column, by its name in the heading;\nwithout, it is the last"},
        {.name = "--positive",
         .argument = "TEXT",
         .kind = ARGS_TEXT,
         .target = &o->positive,
         .help = "csv: the label of a click; without, 1 is one,\n0 and -1 are none"},
        {.name = "--bins",
         .argument = "N",
         .kind = ARGS_COUNT,
         .target = &o->bins,
         .min = 2,
         .max = 1000,
         .help = "csv: parts of a column of numbers"},
        {.name = "--zipf",
         .argument = "FxCxN",
         .kind = ARGS_TEXT,
         .target = &o->zipf,
         .help =
             "instead of --data: N examples of F fields with C\ncategories by Zipf's law, and a planted model"},
        {.name = "--zipf-exponent",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->zipf_exponent,
         .max = 10,
         .help = "of the law"},
    };
    args_add(list, options, sizeof options / sizeof *options);
}

static void training_options(struct ctr_options *o, struct args_list *list)
{
    const struct args_option options[] = {
        {.kind = ARGS_SECTION, .help = "training"},
        {.name = "--dim",
         .argument = "N",
         .kind = ARGS_COUNT,
         .target = &o->dim,
         .min = 1,
         .max = 1024,
         .help = "floats of a feature's vector"},
        {.name = "--hidden",
         .argument = "N,N...",
         .kind = ARGS_TEXT,
         .target = &o->hidden,
         .help = "units of the dense layers"},
        settings_batch(&o->batch, 65536, "examples of a step"),
        settings_rate(&o->rate, "learning rate of AdaGrad"),
        {.name = "--final-lr",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->final_rate,
         .max = 1,
         .help = "the share of it that is left at the end: it falls evenly"},
        {.name = "--reg",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->regularization,
         .max = 1000,
         .help = "weight of the squared norm of the features in a batch"},
        {.name = "--init",
         .argument = "X",
         .kind = ARGS_REAL,
         .target = &o->init,
         .max = 10,
         .help = "standard deviation of the first vectors"},
        settings_eval_every(&o->common, "validate each N epochs, and the last; 0: never"),
        settings_seconds(&o->common, "end the training after that time; 0: after the last epoch"),
    };
    args_add(list, options, sizeof options / sizeof *options);
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
    struct args_list list = {0};
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
    data_options(o, &list);
    training_options(o, &list);
    settings_options(&o->common, &list);
    checkpoints_options(&o->common.checkpoints, &list);
    settings_parse(&list, "locus-ctr", about, more, argc, argv);
    check(o);
    settings_check(&o->common);
}
