#include "trainer.h"

#include "test.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *trainer_nodes(int nodes)
{
    static char start[2][PATH_MAX + 32];
    static int next;
    char *to = start[next++ % 2];
    snprintf(to, sizeof start[0], "%s run -n %d --", locus_path(), nodes);
    return to;
}

/* This program is <repository>/build/<variant>/test/cluster. */
const char *trainer_script(const char *name)
{
    static char path[2 * PATH_MAX];
    char own[PATH_MAX] = "";
    CHECK(readlink("/proc/self/exe", own, sizeof own - 1) > 0);
    for (int i = 0; i < 4; i++) *strrchr(own, '/') = '\0';
    snprintf(path, sizeof path, "%s/test/python/%s", own, name);
    CHECK_EQ(access(path, R_OK), 0);
    return path;
}

void trainer_needs_python(struct command *c)
{
    if (command_run(c, "command -v python3") != 0) SKIP("there is no python3 here");
}

double trainer_number(const char *printed, const char *part)
{
    const char *at = printed ? strstr(printed, part) : NULL;
    if (!at) test_fail(__FILE__, __LINE__, "there is no %s in %s", part, printed ? printed : "");
    return at ? strtod(at + strlen(part), NULL) : 0;
}

void trainer_refuses(struct command *c, const char *name, int status, const char *arguments,
                     const char *part)
{
    char begin[32];
    snprintf(begin, sizeof begin, "locus-%s: ", name);
    CHECK_EQ(command_run(c, "%s %s", program_path(name), arguments), status);
    CHECK_STR(c->err.text, begin);
    CHECK_STR(c->err.text, part);
    CHECK_EQ(c->out.length, 0);
}

void trainer_refuses_text(struct command *c, const char *name, const char *text, const char *more,
                          const char *part)
{
    char path[] = "/tmp/locus-trainer-bad-XXXXXX", arguments[256];
    int file = mkstemp(path);
    CHECK(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
    close(file);
    snprintf(arguments, sizeof arguments, "--data %s %s", path, more);
    trainer_refuses(c, name, 1, arguments, part);
    unlink(path);
}
