#include "options.h"

#include "team.h"

#include "common/fail.h"

#include <string.h>

static void add_common(struct args_list *list, struct options *o)
{
    const struct args_option common[] = {
        OPTION_SECTION("options of all benchmarks"),
        OPTION_FLAG("--quick", &o->quick, 0,
                    "small sizes, a few seconds: shows that it runs, not how fast"),
        OPTION_SMALL("--threads", "N", &o->threads, 1, TEAM_MAX, 0,
                     "the largest number of threads"),
        OPTION_SMALL("--repetitions", "N", &o->repetitions, 1, REPETITIONS_MAX, 0,
                     "how often each cell is measured"),
        OPTION_TEXT("--only", "WORDS", &o->only, 0,
                    "only cells with all these words in their name, such as: pull,length=128"),
    };
    args_add(list, common, sizeof common / sizeof *common);
}

void options_parse(struct options *o, const struct program *p, int argc, char **argv)
{
    static struct args_list list;
    const struct args_option demo = OPTION_FLAG("--demo", &o->demo, 0,
                                                "10 to 20 seconds and one short table"),
                             own = OPTION_SECTION("options of this one");
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
