#include "model.h"

#include "common/lines.h"

#include <string.h>

const struct constant model_constants[] = {
#define X(name, value, unit, what, source) \
    {#name, unit, what, source, value, offsetof(struct model, name)},
    MODEL(X)
#undef X
};
const unsigned model_count = sizeof model_constants / sizeof *model_constants;

double *constant_in(const struct constant *c, void *in)
{
    return (double *)(void *)((char *)in + c->offset);
}

void constants_init(const struct constant *c, unsigned count, void *in)
{
    for (unsigned i = 0; i < count; i++) *constant_in(&c[i], in) = c[i].value;
}

/* "latency=50000" */
static bool change_one(const struct constant *c, unsigned count, void *in, const char *text,
                       size_t length)
{
    for (unsigned i = 0; i < count; i++) {
        size_t name = strlen(c[i].name);
        double value;
        if (length <= name + 1 || strncmp(text, c[i].name, name) != 0 || text[name] != '=')
            continue;
        if (!lines_number(text + name + 1, length - name - 1, &value) || value < 0) return false;
        *constant_in(&c[i], in) = value;
        return true;
    }
    return false;
}

bool constants_change(const struct constant *c, unsigned count, void *in, const char *changes,
                      const char **wrong)
{
    for (const char *at = changes; at && *at;) {
        size_t length = strcspn(at, ",");
        *wrong = at;
        if (!change_one(c, count, in, at, length)) return false;
        at += length + (at[length] == ',');
    }
    return true;
}
