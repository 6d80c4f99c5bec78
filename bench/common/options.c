#include "options.h"

#include "team.h"

#include "common/fail.h"

#include <string.h>

static void add_common(struct args_list *list, struct options *o)
{
    const struct args_option common[] = {
        {.kind = ARGS_SECTION, .help = "options of all benchmarks"},
        {"--quick", NULL, "small sizes, a few seconds: shows that it runs, not how fast",
         .kind = ARGS_FLAG, .target = &o->quick},
        {"--threads", "N", "the largest number of threads", .kind = ARGS_SMALL,
         .target = &o->threads, .min = 1, .max = TEAM_MAX},
        {"--repetitions", "N", "how often each cell is measured", .kind = ARGS_SMALL,
         .target = &o->repetitions, .min = 1, .max = REPETITIONS_MAX},
        {"--only", "WORDS",
         "only cells with all these words in their name, such as: pull,length=128",
         .kind = ARGS_TEXT, .target = &o->only},
    };
    args_add(list, common, sizeof common / sizeof *common);
}

void options_parse(struct options *o, const struct program *p, int argc, char **argv)
{
    static struct args_list list;
    const struct args_option demo = {"--demo", NULL, "10 to 20 seconds and one short table",
                                     .kind = ARGS_FLAG, .target = &o->demo},
                             own = {.kind = ARGS_SECTION, .help = "options of this one"};
    *o = (struct options){.threads = team_processors()};
    add_common(&list, o);
    if (!p->has_no_demo) args_add(&list, &demo, 1);
    if (p->more_count > 0) {
        args_add(&list, &own, 1);
        args_add(&list, p->more, p->more_count);
    }
    args_parse(&(struct args_program){.name = p->name,
                                      .about = p->about,
                                      .options = list.options,
                                      .option_count = list.count},
               argc, argv);
    if (o->quick && o->demo) fail_usage("choose one of --quick and --demo");
}

static bool has_word(const char *name, const char *word, size_t length)
{
    for (const char *at = name; *at != '\0';) {
        size_t word_length = strcspn(at, " ");
        if (word_length == length && memcmp(at, word, length) == 0) return true;
        at += word_length + (at[word_length] == ' ');
    }
    return false;
}

bool options_select(const struct options *o, const char *cell)
{
    if (o->only == NULL) return true;
    for (const char *word = o->only; *word != '\0';) {
        size_t length = strcspn(word, ",");
        if (length > 0 && !has_word(cell, word, length)) return false;
        word += length + (word[length] == ',');
    }
    return true;
}

_Noreturn void options_refuse_selection(const struct options *o)
{
    fail_usage("--only %s chooses no cell; --help tells the words", o->only);
}
