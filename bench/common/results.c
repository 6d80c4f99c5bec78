#include "results.h"

#include "must.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct json_style style = {"benchmark", ", ", ": ", 6};

struct json *results_open(const char *path)
{
    if (path == NULL) return NULL;
    struct json *j = must_alloc(sizeof *j);
    j->file = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    if (j->file == NULL) fail("cannot write JSON to %s: %s", path, strerror(errno));
    return j;
}

void results_close(struct json *j)
{
    if (j == NULL) return;
    if (j->file != stdout && fclose(j->file) != 0) fail("cannot write JSON: %s", strerror(errno));
    free(j);
}

void results_begin(struct json *j, const char *benchmark, const char *cell)
{
    if (j == NULL) return;
    json_begin_in(j, &style, j->file, benchmark);
    json_text(j, "cell", cell);
}

void results_spread(struct json *j, const char *name, struct spread s)
{
    const struct {
        const char *what;
        double value;
    } parts[] = {{"median", s.median}, {"mad", s.mad}, {"min", s.min}, {"max", s.max}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char full[64];
        snprintf(full, sizeof full, "%s_%s", name, parts[i].what);
        json_number(j, full, parts[i].value);
    }
}
