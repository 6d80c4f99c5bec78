#include "illness.h"

#include "test.h"

#include <stdio.h>
#include <string.h>

void is_named(const struct command *c, const char *verdict, const struct illness *i)
{
    char begin[64];
    snprintf(begin, sizeof begin, "%-5s %-12s ", verdict, i->about);
    for (const char *line = c->out.text; (line = strstr(line, begin)); line++) {
        const char *end = strchr(line, '\n');
        if (memmem(line, (size_t)(end - line), i->sentence, strlen(i->sentence))) return;
    }
    printf("%s\n%s\n%s\n", i->before, c->out.text, c->err.text);
    test_fail(__FILE__, __LINE__, "no line \"%s\" with \"%s\"", begin, i->sentence);
}

void are_named(const struct illness *i, size_t count)
{
    struct command c;
    for (; count > 0; i++, count--) {
        CHECK_EQ(command_run(&c, BARE "%s %s doctor", i->before, locus_path()), 1);
        is_named(&c, "fail", i);
    }
}

void are_warned_of(const struct illness *i, size_t count)
{
    struct command c;
    for (; count > 0; i++, count--) {
        command_must(&c, BARE "%s %s doctor", i->before, locus_path());
        is_named(&c, "warn", i);
    }
}
