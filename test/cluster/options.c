/* Every option of every training program does something: with another value the model, what is said
 * of it, or which files there are is different. An option that --help has and this table has not
 * fails. */
#include "program.h"
#include "test.h"
#include "trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct command c;
static char folder[PROGRAM_FOLDER_BYTES];

/* ---- what they do ---- */

struct effect {
    const char *option; /* with its value, and what it needs besides */
    const char *base;   /* what is compared with; NULL: the program's */
    bool is_alone;      /* it is enough that the run ends */
    bool is_text;       /* without --json */
};

/* Of those that all have; %s is the program's base. */
static const struct effect common[] = {{.option = "--seed 7"},
                                       {.option = "--workers 2"},
                                       {.option = "--out other"},
                                       {.option = "--report page.html"},
                                       {.option = "--json", .is_text = true},
                                       {.option = "--baseline"},
                                       {.option = "--checkpoint folder"}};

/* Of several nodes: what is managed where is measured elsewhere (techniques, staleness,
 * resume; what a training begins with, by lasso.c and test/unit/apps/warm_test.c, and what an example takes, by
 * training_test.c). */
static const char *const managed[] = {"--technique", "--hot",       "--max-rounds",
                                      "--clocks",    "--staleness", "--resume",
                                      "--help",      "--from",      "--step-time"};
/* Without one of them nothing runs. */
static const char *const sources[] = {"--data", "--planted", "--generate", "--zipf"};

struct program {
    const char *name, *base;
    struct effect effects[40];
};

#define KGE "--data ../graph --dim 8 --batch 16 --negatives 4 --epochs 2"
#define WV "--data ../text --dim 8 --min-count 1 --batch 8 --epochs 2"
#define MF "--data ../ratings --rank 4 --epochs 2"
#define MF_ZIPF "--zipf 60x40x900 --rank 4 --epochs 2"
#define CTR "--data ../clicks --dim 4 --hidden 8 --batch 16 --epochs 3"
#define CTR_CSV "--data ../table --dim 4 --hidden 8 --batch 16 --epochs 2"
#define CTR_ZIPF "--zipf 4x80x600 --dim 4 --hidden 8 --batch 16 --epochs 2"
#define GNN "--planted 300x8x3 --dim 8 --hidden 8 --neighbours 4 --epochs 2"
#define GNN_FILES "--data ../edges --labels ../classes --dim 8 --hidden 8 --batch 4 --epochs 2"
#define LDA "--generate 60x90x40x5 --topics 6 --epochs 4"
#define LDA_FILE "--data ../documents --topics 6 --epochs 4"
#define LASSO "--generate 60x80x9 --lambda 0.1 --width 8 --order round-robin"

static const struct program programs[] = {
    {"kge",
     KGE,
     {{.option = "--model rescal"},
      {.option = "--dim 16"},
      {.option = "--reciprocal"},
      {.option = "--negatives 5"},
      {.option = "--negatives 0"},
      {.option = "--own-negatives"},
      {.option = "--format trh"},
      {.option = "--sampling long-term"},
      {.option = "--batch 8"},
      {.option = "--lr 0.3"},
      {.option = "--schedule cosine"},
      {.option = "--element bf16"},
      {.option = "--loss logistic"},
      {.option = "--reg 1"},
      {.option = "--init 0.5"},
      {.option = "--epochs 3"},
      {.option = "--eval-every 0.05k"},
      {.option = "--patience 1"},
      {.option = "--seconds 1 --epochs 1000000", .is_alone = true},
      {.option = "--by-relation"},
      {.option = "--type-constrained"},
      {.option = "--text vectors"},
      {.option = "--checkpoint-every 2 --checkpoint f", .base = KGE " --checkpoint f"}}},
    {"wv",
     WV,
     {{.option = "--dim 9"},
      {.option = "--window 3"},
      {.option = "--min-count 97"},
      {.option = "--subsample 1e-2"},
      {.option = "--negatives 3"},
      {.option = "--noise 0"},
      {.option = "--shared-negatives"},
      {.option = "--sampling long-term"},
      {.option = "--optimizer adagrad"},
      {.option = "--lr 0.3"},
      {.option = "--schedule constant"},
      {.option = "--element bf16"},
      {.option = "--batch 9"},
      {.option = "--epochs 3"},
      {.option = "--analogies ../analogies"},
      {.option = "--analogy-words 4", .base = WV " --analogies ../analogies"},
      {.option = "--similarity ../similarity"},
      {.option = "--eval-every 0.5k", .base = WV " --similarity ../similarity"},
      {.option = "--seconds 1 --epochs 1000000", .is_alone = true},
      {.option = "--text vectors"},
      {.option = "--binary vectors"},
      {.option = "--checkpoint-every 2 --checkpoint f", .base = WV " --checkpoint f"}}},
    {"mf",
     MF,
     {{.option = "--test ../ratings"},
      {.option = "--format csv", .is_alone = true},
      {.option = "--hold-back 0.3"},
      {.option = "--split row"},
      {.option = "--zipf-exponent 2", .base = MF_ZIPF},
      {.option = "--zipf-rank 2", .base = MF_ZIPF},
      {.option = "--zipf-noise 2", .base = MF_ZIPF},
      {.option = "--write cells"},
      {.option = "--rank 5"},
      {.option = "--bias"},
      {.option = "--method cd"},
      {.option = "--visit blocks --workers 2", .base = MF " --workers 2"},
      {.option = "--batch 9"},
      {.option = "--lr 0.3"},
      {.option = "--schedule linear"},
      {.option = "--element bf16"},
      {.option = "--adagrad coordinate"},
      {.option = "--best 3"},
      {.option = "--implicit 2"},
      {.option = "--reg 1"},
      {.option = "--init 0.5"},
      {.option = "--eval-every 0.05k"},
      {.option = "--patience 1"},
      {.option = "--seconds 1 --epochs 1000000", .is_alone = true},
      {.option = "--epochs 3"},
      {.option = "--checkpoint-every 2 --checkpoint f", .base = MF " --checkpoint f"}}},
    {"ctr",
     CTR,
     {{.option = "--test ../clicks"},
      {.option = "--hold-back 0.3"},
      {.option = "--validate 0.3"},
      {.option = "--format csv", .base = "--data ../criteo --epochs 2 --positive 1"},
      {.option = "--hash 4", .base = CTR_CSV},
      {.option = "--label b", .base = CTR_CSV},
      {.option = "--weight a", .base = CTR_CSV},
      {.option = "--positive 0", .base = CTR_CSV " --positive 1"},
      {.option = "--bins 3", .base = CTR_CSV},
      {.option = "--zipf-exponent 2", .base = CTR_ZIPF},
      {.option = "--dim 5"},
      {.option = "--hidden 9"},
      {.option = "--batch 9"},
      {.option = "--lr 0.3"},
      {.option = "--schedule cosine"},
      {.option = "--element bf16"},
      {.option = "--reg 1"},
      {.option = "--init 0.5"},
      {.option = "--eval-every 0.05k"},
      {.option = "--patience 1", .base = CTR " --lr 1 --epochs 20"},
      {.option = "--seconds 1 --epochs 1000000 --eval-every 0", .is_alone = true},
      {.option = "--epochs 2"},
      {.option = "--checkpoint-every 2 --checkpoint f", .base = CTR " --checkpoint f"}}},
    {"gnn",
     GNN,
     {{.option = "--labels ../others", .base = GNN_FILES},
      {.option = "--weights", .base = GNN_FILES},
      {.option = "--format csv", .base = GNN_FILES, .is_alone = true},
      {.option = "--features ../features", .base = GNN_FILES},
      {.option = "--split ../split", .base = GNN_FILES},
      {.option = "--train 0.4"},
      {.option = "--validate 0.3"},
      {.option = "--planted-same 0.9"},
      {.option = "--planted-exponent 4"},
      {.option = "--dim 9"},
      {.option = "--hidden 9"},
      {.option = "--average symmetric"},
      {.option = "--batch 9"},
      {.option = "--neighbours 3"},
      {.option = "--test-neighbours 2"},
      {.option = "--lr 0.3"},
      {.option = "--dense-lr 0.3"},
      {.option = "--schedule linear"},
      {.option = "--element bf16"},
      {.option = "--decay 0.1"},
      {.option = "--dropout 0.5"},
      {.option = "--init 0.5"},
      {.option = "--eval-every 0.05k"},
      {.option = "--patience 1"},
      {.option = "--seconds 1 --epochs 1000000", .is_alone = true},
      {.option = "--epochs 3"},
      {.option = "--checkpoint-every 2 --checkpoint f", .base = GNN " --checkpoint f"}}},
    {"lda",
     LDA,
     {{.option = "--vocabulary ../words", .base = "--data ../ldac --topics 3 --epochs 4 --top 2"},
      {.option = "--format text", .base = "--data ../ldac --topics 3 --epochs 4"},
      {.option = "--test ../documents", .base = LDA_FILE},
      {.option = "--hold-back 0.3"},
      {.option = "--topics 7"},
      {.option = "--alpha 0.1"},
      {.option = "--beta 0.5"},
      {.option = "--learn-priors 1"},
      {.option = "--top 3"},
      {.option = "--picture picture.svg", .base = LDA_FILE},
      {.option = "--visit copies --workers 2", .base = LDA " --workers 2"},
      {.option = "--sampler plain"},
      {.option = "--staleness 1 --workers 3", .base = LDA " --workers 3"},
      {.option = "--eval-every 0.05k"},
      {.option = "--patience 1"},
      {.option = "--seconds 1 --epochs 1000000", .is_alone = true},
      {.option = "--epochs 5"},
      {.option = "--checkpoint-every 2 --checkpoint f", .base = LDA " --checkpoint f"}}},
    {"lasso",
     LASSO,
     {{.option = "--response ../y.mtx --data ../x.mtx", .base = "", .is_alone = true},
      {.option = "--format matrix --response ../y.mtx --data ../x.mtx",
       .base = "",
       .is_alone = true},
      {.option = "--test ../clicks"},
      {.option = "--test-response ../y.mtx --test ../x.mtx"},
      {.option = "--loss logistic", .base = "--data ../clicks --order round-robin --passes 3"},
      {.option = "--lambda 0.2"},
      {.option = "--absolute"},
      {.option = "--alpha 0.5"},
      {.option = "--no-standardize"},
      {.option = "--path 3"},
      {.option = "--order random"},
      {.option = "--width 4"},
      {.option = "--correlation 0.5"},
      {.option = "--schedulers 2"},
      {.option = "--staleness 1"},
      {.option = "--tolerance 1e-2"},
      {.option = "--passes 2"},
      {.option = "--checkpoint-every 3 --checkpoint f",
       .base = LASSO " --passes 9 --checkpoint f"}}},
};

/* When rounds are made, and not what is in them (lasso); which node trains with what (gnn). */
static const char *const elsewhere[] = {"--depth", "--partition"};

/* ---- data ---- */

static const char write_files[] =
    "cd %s && printf ': all\\nw1 w2 w3 w4\\nw2 w3 w4 w5\\n' > analogies && "
    "printf 'w1 w2 7\\nw3 w9 2\\nw4 w7 5\\nw20 w8 1\\n' > similarity && "
    "awk 'BEGIN {srand(2); print \"a,b,c\"; for (i = 0; i < 300; i++) "
    "print rand() * 9 \",\" int(2 * rand()) \",\" int(2 * rand())}' > table && "
    "awk 'BEGIN {srand(4); for (i = 0; i < 60; i++) {l = i %% 2; for (j = 0; j < 13; j++) "
    "l = l \"\\t\" int(9 * rand()); for (j = 0; j < 26; j++) l = l \"\\t\" int(3 * rand()); "
    "print l}}' > criteo && "
    "awk 'BEGIN {for (i = 0; i < 40; i++) {print i, (i + 1) %% 40, 1; print i, (i + 7) %% 40, 2.5}}' > edges && "
    "awk 'BEGIN {for (i = 0; i < 40; i++) print i, i < 20 ? \"x\" : \"y\"}' > classes && "
    "awk 'BEGIN {for (i = 0; i < 40; i++) print i, i %% 2 ? \"x\" : \"y\"}' > others && "
    "awk 'BEGIN {for (i = 0; i < 40; i++) print 0, (i < 20) + 1 \":1\"}' > features && "
    "awk 'BEGIN {for (i = 0; i < 40; i++) print i, i %% 3 ? \"train\" : i %% 2 ? \"val\" : \"test\"}' "
    "> split && "
    "awk 'BEGIN {srand(3); for (d = 0; d < 60; d++) {for (i = 0; i < 20; i++) "
    "printf \"w%%d \", 9 * rand(); print \"\"}}' > documents && "
    "printf '3 0:2 1:1 2:1\\n2 0:1 3:3\\n' > ldac && printf 'a\\nb\\nc\\nd\\n' > words && "
    "printf '%%%%%%%%MatrixMarket matrix array real general\\n4 2\\n1\\n2\\n3\\n5\\n2\\n2\\n1\\n7\\n' > x.mtx && "
    "printf '%%%%%%%%MatrixMarket matrix array real general\\n4 1\\n1\\n2\\n3\\n4\\n' > y.mtx";

/* ---- runs ---- */

/* What there is to see, but for times and for counts of the cluster. */
static void observe(const char *program, const char *base, const struct effect *e, char *seen)
{
    const char *json = e->is_text ? "" : "--json";
    int status = command_run(&c,
                             "cd %s && rm -rf run && mkdir run && cd run && "
                             "%s %s --out model %s %s > ../said 2> ../error || exit 9; cd .. && "
                             "sed -E '/^\\{\"event\":\"(stats|waits)\"/s/.*/stats/; "
                             "s/\"[a-z_]*(second|flops)[a-z_]*\":[^,}]*//g; "
                             "s/[0-9.]+ (s|[a-z]+\\/s|GFLOP\\/s)//g' said; "
                             "find run -type f | grep -v /checkpoint- | sort; "
                             "cksum run/model run/other 2> /dev/null; true",
                             folder, program_path(program), base, e->option, json);
    if (status != 0) {
        command_run(&c, "cat %s/error", folder);
        test_fail(__FILE__, __LINE__, "%s %s %s: %s", program, base, e->option, c.out.text);
    }
    snprintf(seen, COMMAND_TEXT_MAX, "%s", c.out.text);
}

static void does_something(const struct program *p, const struct effect *e)
{
    static char before[COMMAND_TEXT_MAX], after[COMMAND_TEXT_MAX];
    const char *base = e->base ? e->base : p->base;
    observe(p->name, base, e, after);
    if (e->is_alone) return;
    observe(p->name, base, &(struct effect){.option = "", .is_text = e->is_text}, before);
    if (strcmp(before, after) == 0)
        test_fail(__FILE__, __LINE__, "%s %s: %s changes nothing", p->name, base, e->option);
}

/* Otherwise any option would seem to do something. */
static void is_repeatable(const struct program *p)
{
    static char one[COMMAND_TEXT_MAX], other[COMMAND_TEXT_MAX];
    observe(p->name, p->base, &(struct effect){.option = ""}, one);
    observe(p->name, p->base, &(struct effect){.option = ""}, other);
    if (strcmp(one, other) != 0)
        test_fail(__FILE__, __LINE__, "%s: %s, then %s", p->name, one, other);
}

static bool is_one_of(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], name) == 0) return true;
    return false;
}

static bool is_in(const char *name, const struct effect *list, size_t count)
{
    for (size_t i = 0; i < count && list[i].option; i++) {
        size_t length = strcspn(list[i].option, " ");
        if (strlen(name) == length && memcmp(name, list[i].option, length) == 0) return true;
    }
    return false;
}

#define COUNT(list) (sizeof(list) / sizeof *(list))

static void are_all_known(const struct program *p)
{
    int status =
        command_run(&c, "%s --help | sed -nE 's/^  (--[a-z-]+).*/\\1/p'", program_path(p->name));
    CHECK_EQ(status, 0);
    size_t seen = 0;
    for (char *name = strtok(c.out.text, "\n"); name; name = strtok(NULL, "\n"), seen++)
        if (!is_in(name, p->effects, COUNT(p->effects)) && !is_in(name, common, COUNT(common)) &&
            !is_one_of(name, managed, COUNT(managed)) &&
            !is_one_of(name, sources, COUNT(sources)) &&
            !is_one_of(name, elsewhere, COUNT(elsewhere)))
            test_fail(__FILE__, __LINE__, "nobody knows what %s of %s does", name, p->name);
    CHECK(seen > 15);
}

static void says_how_it_is_used(const char *name)
{
    char head[64], example[64], end[64];
    snprintf(head, sizeof head, "usage: locus-%s --data PATH [options]\n\n", name);
    snprintf(example, sizeof example, "\nfor example:\n  locus-%s --data ", name);
    snprintf(end, sizeof end, "\n\nlocus-%s --help lists all options.\n", name);
    CHECK_EQ(command_run(&c, "%s", program_path(name)), 2);
    CHECK_EQ(c.out.length, 0);
    CHECK_EQ(strncmp(c.err.text, head, strlen(head)), 0);
    CHECK_STR(c.err.text, "\n  --data PATH   ");
    CHECK_STR(c.err.text, example);
    CHECK_STR(c.err.text, end);
}

static void check(const char *name)
{
    const struct program *p = programs;
    while (strcmp(p->name, name) != 0) p++;
    if (IS_SANITIZED) SKIP("it is about options, and runs each program fifty times");
    are_all_known(p);
    says_how_it_is_used(name);
    program_folder(folder);
    CHECK_EQ(command_run(&c, write_files, folder), 0);
    is_repeatable(p);
    for (size_t i = 0; i < COUNT(common); i++) does_something(p, &common[i]);
    for (size_t i = 0; i < COUNT(p->effects) && p->effects[i].option; i++)
        does_something(p, &p->effects[i]);
}

TEST(options, of_kge_do_something)
{
    check("kge");
}

TEST(options, of_wv_do_something)
{
    check("wv");
}

TEST(options, of_mf_do_something)
{
    check("mf");
}

TEST(options, of_ctr_do_something)
{
    check("ctr");
}

TEST(options, of_gnn_do_something)
{
    check("gnn");
}

TEST(options, of_lda_do_something)
{
    check("lda");
}

TEST(options, of_lasso_do_something)
{
    check("lasso");
}

/* ---- several files ---- */

/* A program's file, and a part of it and the rest, compressed, with the first line again where that
 * is a heading. */
static const struct {
    const char *program, *file, *options;
    int headings;
} parted[] = {
    {"wv", "text", "--dim 8 --min-count 1", 0},
    {"kge", "graph/train.txt", "--dim 8 --negatives 4", 0},
    {"mf", "ratings", "--rank 4", 0},
    {"mf", "named", "--rank 4", 1},
    {"ctr", "clicks", "--dim 4 --hidden 8", 0},
    {"ctr", "table", "--dim 4 --hidden 8", 1},
    {"gnn", "edges", "--labels classes --dim 4 --hidden 4", 0},
    {"lda", "documents", "--topics 6 --epochs 4", 0},
    {"lda", "ldac", "--topics 6 --epochs 4", 0},
    {"lasso", "clicks", "--lambda 0.1 --order round-robin", 0},
};

/* What would be taken for a row, or twice. */
TEST(options, files_of_data_with_other_headings_are_refused)
{
    program_folder(folder);
    CHECK_EQ(command_run(&c,
                         "cd %s && printf 'src,dst\\nx,y\\ny,z\\nz,w\\n' > one && "
                         "printf 'src,dst\\nx,z\\n' > two && printf 'from,to\\nx,w' > three && "
                         ": > empty && printf 'x,1\\ny,2\\nz,1\\nw,2\\n' > of",
                         folder),
             0);
    static const char line[] = "cd %s && %s --labels of --dim 2 --hidden 2 --epochs 1 %s < one";
    const char *program = program_path("gnn");
    CHECK_EQ(command_run(&c, line, folder, program, "--data empty --data one --data two"), 0);
    CHECK_STR(c.out.text, "empty (and 2 more): 4 nodes, 4 edges");
    CHECK_EQ(command_run(&c, line, folder, program,
                         "--data empty --data one --data two --data empty --data three"),
             1);
    CHECK_STR(c.err.text, "three:1: is another heading");
    CHECK_EQ(command_run(&c, line, folder, program, "--data - --data two --data=-"), 2);
    CHECK_STR(c.err.text, "stdin can be read once");
    static const char numbers[] =
        "cd %s && seq 20 | awk 'BEGIN {print \"p,label\"} {print $1 \",\" $1 %% 2}' > one.csv && "
        "sed '1s/.*/label,p/' one.csv > two.csv && sed '3s/2/\"2,5\"/' one.csv > three.csv && "
        "%s --positive 1 --epochs 1 --data one.csv --data %s";
    CHECK_EQ(command_run(&c, numbers, folder, program_path("ctr"), "two.csv"), 1);
    CHECK_STR(c.err.text, "two.csv:1: is another heading");
    CHECK_EQ(command_run(&c, numbers, folder, program_path("ctr"), "three.csv"), 1);
    CHECK_STR(c.err.text, "three.csv:3: \"2,5\"");
    CHECK_EQ(command_run(&c, numbers, folder, program_path("ctr"), "one.csv --label z"), 1);
    CHECK_STR(c.err.text, "one.csv (and 1 more): no column has the name \"z\" (--label)");
    CHECK_EQ(command_run(&c,
                         "cd %s && printf '3\\n4\\n1\\n1 1 3\\n' > docword && "
                         "%s --data one --data docword --topics 2",
                         folder, program_path("lda")),
             1);
    CHECK_STR(c.err.text, "docword:3: ends the head of docword");
    CHECK_EQ(command_run(&c,
                         "cd %s && seq 0 9 | awk '{print $1, $1 %% 3, 5 + $1 %% 2}' > rows && "
                         "head -n 5 rows > head && tail -n 5 rows > tail && "
                         "%s --data head --data tail --epochs 1",
                         folder, program_path("mf")),
             1);
    CHECK_STR(c.err.text, "head (and 1 more) has numbers of its rows in its first column");
}

TEST(options, several_files_of_data_are_one)
{
    program_folder(folder);
    CHECK_EQ(command_run(&c, write_files, folder), 0);
    for (size_t i = 0; i < COUNT(parted); i++) {
        const char *file = parted[i].file;
        int status = command_run(
            &c,
            "cd %s && sed '1s/.*/user,item,rating/' table > named && head -n 1 %s > part && "
            "(head -n %d %s; sed 1d %s) | gzip > packed && "
            "for d in '--data %s' '--data part --data=packed'; do "
            "%s $d %s --seed 2 --json > said || exit 9; "
            "sed -E '/^\\{\"event\":\"(stats|waits)\"/d; "
            "s/\"[a-z_]*(second|flops)[a-z_]*\":[^,}]*//g' said > of; test -s of; "
            "mv of \"$(echo $d | wc -w)\"; done; cmp 2 3",
            folder, file, parted[i].headings, file, file, file, program_path(parted[i].program),
            parted[i].options);
        if (status != 0)
            test_fail(__FILE__, __LINE__, "%s %s: %s%s", parted[i].program, file, c.out.text,
                      c.err.text);
    }
}
