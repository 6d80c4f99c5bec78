#include "machine.h"

#include "common/lines.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct constant {
    const char *name;
    double value;
    const char *unit, *what, *source;
    size_t offset;
};

static const struct constant constants[] = {
#define X(name, value, unit, what, source) \
    {#name, value, unit, what, source, offsetof(struct machine, name)},
    MACHINE(X)
#undef X
};
enum { CONSTANTS = sizeof constants / sizeof *constants };

/* latency: one way, the kernel not included. The papers name the networks, not their latency. The
 * shards are those that the library chooses on as many cores, which suffice for all threads. */
static const struct {
    const char *name, *changes;
} presets[] = {
    /* NuPS and AdaPM: 100 Gbit/s InfiniBand, used by TCP; 32 cores. */
    {"nups", "latency=10000,bandwidth=12.5,shards=4,own_core=1"},
    /* Lapse: 10 Gbit/s Ethernet; 16 cores. */
    {"lapse", "latency=50000,bandwidth=1.25,shards=2,own_core=1"},
    /* STRADS' first cluster: 1 Gbit/s, 2 cores. */
    {"strads", "latency=50000,bandwidth=0.125,shards=1,own_core=1"},
    /* A data centre: 100 Gbit/s; 64 cores. */
    {"today", "latency=10000,bandwidth=12.5,shards=8,own_core=1"},
};

static double *place_of(struct machine *m, const struct constant *c)
{
    return (double *)(void *)((char *)m + c->offset);
}

bool machine_init(struct machine *m, const char *name)
{
    const char *wrong;
    model_init(&m->model);
    for (unsigned i = 0; i < CONSTANTS; i++) *place_of(m, &constants[i]) = constants[i].value;
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (strcmp(name, presets[i].name) == 0)
            return machine_change(m, presets[i].changes, &wrong);
    return false;
}

static bool change_own(struct machine *m, const char *text, size_t length)
{
    const char *value = memchr(text, '=', length);
    double number;
    for (unsigned i = 0; value && i < CONSTANTS; i++) {
        size_t name = (size_t)(value - text);
        if (strlen(constants[i].name) != name || strncmp(text, constants[i].name, name) != 0)
            continue;
        if (!lines_number(value + 1, length - name - 1, &number) || number < 0) return false;
        *place_of(m, &constants[i]) = number;
        return true;
    }
    return false;
}

bool machine_change(struct machine *m, const char *changes, const char **wrong)
{
    for (const char *at = changes; at && *at;) {
        size_t length = strcspn(at, ",");
        *wrong = at;
        if (!change_own(m, at, length) && !model_change_one(&m->model, at, length)) return false;
        at += length + (at[length] == ',');
    }
    return m->shards >= 1 && m->shards <= 64;
}

static void show(const char *name, double value, const char *unit, const char *what,
                 const char *source)
{
    printf("%-16s %10g %-9s %-55s %s\n", name, value, unit, what, source);
}

void machine_show(const struct machine *m)
{
    struct machine copy = *m;
    for (unsigned i = 0; i < model_count(); i++) {
        struct model_constant c = model_constant(&m->model, i);
        show(c.name, c.value, c.unit, c.what, c.source);
    }
    for (unsigned i = 0; i < CONSTANTS; i++) {
        const struct constant *c = &constants[i];
        show(c->name, *place_of(&copy, c), c->unit, c->what, c->source);
    }
}
