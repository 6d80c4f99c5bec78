#include "machine.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct constant constants[] = {
#define X(name, value, unit, what, source) \
    {#name, unit, what, source, value, offsetof(struct machine, model.name)},
    MODEL(X)
#undef X
#define X(name, value, unit, what, source) \
    {#name, unit, what, source, value, offsetof(struct machine, name)},
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

bool machine_init(struct machine *m, const char *name)
{
    const char *wrong;
    constants_init(constants, CONSTANTS, m);
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (strcmp(name, presets[i].name) == 0)
            return machine_change(m, presets[i].changes, &wrong);
    return false;
}

bool machine_change(struct machine *m, const char *changes, const char **wrong)
{
    if (!constants_change(constants, CONSTANTS, m, changes, wrong)) return false;
    return m->shards >= 1 && m->shards <= 64;
}

void machine_show(struct machine *m)
{
    for (unsigned i = 0; i < CONSTANTS; i++) {
        const struct constant *c = &constants[i];
        double value = *constant_in(c, m);
        bool is_changed = value < c->value || value > c->value;
        printf("%-16s %10g %-9s %-55s %s\n", c->name, value, c->unit, c->what,
               is_changed ? "--model" : c->source);
    }
}
