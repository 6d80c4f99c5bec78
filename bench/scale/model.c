#include "model.h"

#include "common/lines.h"

#include <stddef.h>
#include <string.h>

static const struct {
    size_t offset;
    struct model_constant constant;
} constants[] = {
#define X(name, value, unit, what, source) \
    {offsetof(struct model, name), {#name, unit, what, source, value}},
    MODEL(X)
#undef X
};

unsigned model_count(void)
{
    return sizeof constants / sizeof *constants;
}

static double *place_of(struct model *m, unsigned number)
{
    return (double *)(void *)((char *)m + constants[number].offset);
}

void model_init(struct model *m)
{
    for (unsigned i = 0; i < model_count(); i++) *place_of(m, i) = constants[i].constant.value;
}

struct model_constant model_constant(const struct model *m, unsigned number)
{
    struct model_constant c = constants[number].constant, changed = c;
    struct model copy = *m;
    changed.value = *place_of(&copy, number);
    if (changed.value < c.value || changed.value > c.value) changed.source = "--model";
    return changed;
}

bool model_change_one(struct model *m, const char *text, size_t length)
{
    for (unsigned i = 0; i < model_count(); i++) {
        size_t name = strlen(constants[i].constant.name);
        double value;
        if (length <= name + 1 || strncmp(text, constants[i].constant.name, name) != 0 ||
            text[name] != '=')
            continue;
        if (!lines_number(text + name + 1, length - name - 1, &value) || value < 0) return false;
        *place_of(m, i) = value;
        return true;
    }
    return false;
}

bool model_change(struct model *m, const char *changes, const char **wrong)
{
    for (const char *at = changes; at && *at;) {
        size_t length = strcspn(at, ",");
        *wrong = at;
        if (!model_change_one(m, at, length)) return false;
        at += length + (at[length] == ',');
    }
    return true;
}
