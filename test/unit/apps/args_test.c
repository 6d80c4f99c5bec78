#include "args.h"
#include "ending.h"
#include "settings.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const colours[] = {"red", "green", NULL};

static struct {
    bool flag;
    uint64_t count;
    double real;
    const char *text;
    int colour;
} got;

/* Words of a command line, with blanks between, behind argc others. */
static int split(const void *line, int argc, char **argv)
{
    static char text[1024];
    snprintf(text, sizeof text, "%s", (const char *)line);
    for (char *word = strtok(text, " !@"); word; word = strtok(NULL, " !@")) argv[argc++] = word;
    return argc;
}

static void parse_line(const void *line)
{
    const struct args_option options[] = {
        OPTION_SECTION("things"),
        OPTION_FLAG("--flag", &got.flag, 0, "a flag"),
        OPTION_COUNT("--count", "N", &got.count, 1, 1000, 0, "n"),
        OPTION_REAL("--real", "X", &got.real, -1, 1, 0, "x"),
        OPTION_TEXT("--text", "T", &got.text, 0, "first line\nsecond line"),
        OPTION_CHOICE("--colour", "C", &got.colour, colours, 0, "c"),
    };
    char name[] = "thing", *argv[16] = {name};
    got.count = 7;
    got.real = 0.5;
    got.text = "none";
    args_parse(
        &(struct args_program){
            .name = "thing", .about = "Does things.", .options = options, .option_count = 6},
        split(line, 1, argv), argv);
}

static char told[256];

static void tell(void *context, const char *name, const char *value)
{
    size_t used = strlen(told);
    CHECK(context == &got);
    snprintf(told + used, sizeof told - used, "%s=%s ", name, value);
}

TEST(args, targets_of_every_kind_are_set_or_keep_their_values)
{
    parse_line("");
    CHECK(!got.flag && got.count == 7 && got.real == 0.5);
    CHECK_STR(got.text, "none");
    parse_line("--flag --count 12 --real=-0.25 --text a=b --colour green");
    CHECK(got.flag && got.count == 12 && got.real == -0.25 && got.colour == 1);
    CHECK_STR(got.text, "a=b");
}

TEST(args, wrong_options_are_refused_with_value_and_range)
{
    static const char *const cases[][2] = {
        {"--fly", "there is no option \"--fly\"; --help lists them"},
        {"--cuont 3", "\"--cuont\": is it meant to be --count? --help lists all"},
        {"--count 3 --count=4", "--count is given twice, and has one value: leave one out"},
        {"--colour red --flag --flag --colour red", "--colour is given twice"},
        {"--flag=1", "--flag takes no value"},
        {"--count", "--count needs a value: N"},
        {"--count 0", "--count takes a whole number from 1 to 1000, not \"0\""},
        {"--count 5x", "not \"5x\""},
        {"--count 99999999999999999999", "from 1 to 1000"},
        {"--real 2", "--real takes a number from -1 to 1, not \"2\""},
        {"--text=", "--text needs a value that is not empty"},
        {"--colour blue", "--colour takes one of red, green, not \"blue\""}};
    ENDS_EACH(parse_line, 2, cases);
}

static void parse_with_rules(const void *line)
{
    parse_line(line);
    args_excludes("--count", "--text");
}

TEST(args, option_without_effect_is_refused)
{
    ends_with(parse_with_rules, "--text x --count 7", 2,
              "--count has no effect beside --text: leave one of them away");
    parse_with_rules("--real 0.5 --flag --text x");
    parse_with_rules("--flag --count 7");
    CHECK(args_has("--count") && !args_has("--real"));
}

TEST(args, help_lists_all_options_with_their_defaults)
{
    static const char *const parts[] = {
        "usage: thing [options]",
        "Does things.",
        "\nthings\n",
        "  --count N               n (default 7)",
        "x (default 0.5)",
        "first line\n                          second line (default none)",
        "c (default red)",
        "--help"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        ends_with(parse_line, "--help", 0, parts[i]);
}

static void init_settings(const void *workers)
{
    struct settings s;
    if (*(const char *)workers) setenv("LOCUS_WORKERS", workers, 1);
    settings_init(&s, 0);
    printf("%d workers\n", (int)s.workers);
}

TEST(args, settings_take_the_number_of_workers_from_the_environment)
{
    static const char *const right[][2] = {{"", "1 workers"}, {"3", "3 workers"}};
    unsetenv("LOCUS_WORKERS");
    ENDS_EACH(init_settings, 0, right);
    ends_with(init_settings, "many", 2,
              "LOCUS_WORKERS is \"many\": must be a number from 1 to 1024");
}

static void parse_settings(const void *line)
{
    static struct settings s;
    char name[] = "thing", *argv[32] = {name};
    const char first = *(const char *)line;
    settings_init(&s, first == '!'   ? 0
                      : first == '@' ? SETTINGS_HOT | SETTINGS_BOUNDS
                                     : SETTINGS_EPOCHS | SETTINGS_FULL);
    const struct args_option own[] = {settings_sampling(&s),
                                      OPTION_TEXT("--data", "PATH", &s.data, ARGS_INPUT, "data")};
    args_add(&s.list, own, 2);
    settings_options(&s);
    settings_parse(&s, &(struct args_program){.name = "thing", .about = ""}, split(line, 1, argv),
                   argv);
    settings_check(&s);
    printf("%s %d %d %d %d %d %d %d\n", s.out, (int)s.epochs, (int)s.seed, (int)s.workers,
           s.technique, s.sampling, s.json, s.is_baseline);
}

/* What a program has no use for is no option of it. */
TEST(args, settings_offer_only_what_the_program_has)
{
    static const char *const wrong[][2] = {
        {"!--epochs 3", "there is no option \"--epochs\""},
        {"!--technique full",
         "--technique takes one of adaptive, static, relocate, replicate, not \"full\""},
        {"--technique ssp",
         "takes one of adaptive, static, relocate, replicate, full, not \"ssp\""},
        {"--hot 3", "there is no option \"--hot\""},
        {"@--hot 3", "--hot is for --technique nups, and this one is adaptive"},
        {"@--staleness 3 --technique relocate", "--staleness is for --technique ssp and essp"},
        {"--eval-every 2m", "--eval-every takes a number of epochs"}};
    static const char *const right[][2] = {
        {"--out o --epochs 4 --seed 5 --workers 6 --technique relocate --sampling long-term "
         "--json --baseline",
         "o 4 5 6 2 2 1 1\n"},
        {"@--technique nups --hot 3", " 5 0 0 0\n"},
        {"@--technique essp --staleness 3", " 7 0 0 0\n"}};
    ENDS_EACH(parse_settings, 2, wrong);
    ENDS_EACH(parse_settings, 0, right);
}

TEST(args, every_is_epochs_seconds_or_examples)
{
    static const struct {
        const char *text;
        struct every wanted;
    } right[] = {{"0", {0}},
                 {"2", {.epochs = 2}},
                 {"30s", {.seconds = 30}},
                 {"0.5s", {.seconds = 0.5}},
                 {"1.5k", {.examples = 1500}},
                 {"2M", {.examples = 2e6}}};
    static const char *const wrong[] = {"",     "1.5", "-1", "s",     "2m",         "2ks",
                                        "1e10", "nan", " 2", "1..5s", "10000000000"};
    struct every e;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        CHECK(every_read(&e, right[i].text));
        CHECK_EQ(e.epochs, right[i].wanted.epochs);
        CHECK(e.seconds == right[i].wanted.seconds && e.examples == right[i].wanted.examples);
        CHECK(every_is_ever(&e) == (i > 0));
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) CHECK(!every_read(&e, wrong[i]));
}

TEST(args, each_tells_options_with_their_values)
{
    parse_line("--flag --real -0.5 --colour green");
    *told = '\0';
    args_each(0, tell, &got);
    CHECK_EQ(strcmp(told, "--flag=yes --count=7 --real=-0.5 --text=none --colour=green "), 0);
    got.text = NULL; /* nobody gave one */
    *told = '\0';
    args_each(0, tell, &got);
    CHECK_STR(told, " --real=-0.5 --colour=green ");
}

static struct args_option traits[] = {
    OPTION_SECTION("things"),
    OPTION_FLAG("--flag", &got.flag, 0, ""),
    OPTION_COUNT("--count", "N", &got.count, 0, 9, ARGS_NODES, ""),
    OPTION_REAL("--real", "X", &got.real, 0, 1, ARGS_TASK, ""),
    OPTION_CHOICE("--colour", "C", &got.colour, colours, ARGS_TASK, ""),
    OPTION_TEXT("--text", "T", &got.text, ARGS_INPUT | ARGS_NODES, ""),
};

struct digests {
    uint64_t nodes, task;
};

static struct digests digests_of(const struct args_option *options, size_t count)
{
    struct args_list list = {0};
    args_add(&list, options, count);
    return (struct digests){args_digest(&list, ARGS_NODES), args_digest(&list, ARGS_TASK)};
}

/* Each changes what it must, and nothing else. */
static void changes(struct digests *last, bool of_nodes, bool of_task)
{
    struct digests d = digests_of(traits, 6);
    CHECK_EQ(d.nodes != last->nodes, of_nodes);
    CHECK_EQ(d.task != last->task, of_task);
    *last = d;
}

TEST(args, digest_is_of_what_must_be_equal)
{
    parse_line("--count 3 --real 0.25 --colour red --text a");
    struct digests d = digests_of(traits, 6);
    struct args_option turned[] = {traits[4], traits[3], traits[5], traits[2]};
    CHECK_EQ(digests_of(turned, 4).nodes, d.nodes);
    CHECK_EQ(digests_of(turned, 4).task, d.task);
    got.flag = !got.flag;
    changes(&d, false, false);
    got.count++;
    changes(&d, true, false);
    got.real = nextafter(got.real, 1);
    changes(&d, true, true);
    got.colour = 1;
    changes(&d, true, true);
    got.text = "b";
    changes(&d, true, false);
    got.text = NULL;
    changes(&d, true, false);
}

TEST(args, files_are_those_given)
{
    struct args_list list = {0};
    const char *files[ARGS_LIST_MAX];
    args_add(&list, traits, 6);
    for (int given = 0; given < 2; given++) {
        got.text = given ? "here" : NULL;
        CHECK_EQ(args_files(&list, ARGS_OUTPUT, files), 0);
        CHECK_EQ(args_files(&list, ARGS_INPUT, files), given);
    }
    CHECK_STR(files[0], "here");
}

/* ---- words ---- */

static void parse_words(const void *line)
{
    static char *argv[32];
    bool flag = false;
    char **words;
    const struct args_option options[] = {OPTION_FLAG("-f", &flag, 0, "")};
    args_parse(
        &(struct args_program){
            .help = "all of it\n", .options = options, .option_count = 1, .words = &words},
        split(line, 0, argv), argv);
    printf("words: %d", flag);
    for (; *words; words++) printf(" %s", *words);
    printf("\n");
}

TEST(args, words_come_behind_the_options)
{
    static const char *const right[][2] = {{"thing", "words: 0\n"},
                                           {"thing a -f", "words: 0 a -f\n"},
                                           {"thing -f a b", "words: 1 a b\n"},
                                           {"thing -f -- -f --", "words: 1 -f --\n"},
                                           {"thing --help a", "all of it\n"}};
    ENDS_EACH(parse_words, 0, right);
    ends_with(parse_words, "thing -g a", 2, "there is no option \"-g\"");
}
