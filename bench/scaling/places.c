/* Which thread runs where: the library's own view of the machine. */
#include "bench.h"

#include <pthread.h>
#include <string.h>

const char *const place_names[PLACES] = {"free", "packed", "spread"};

static void add_unit(struct bench *b, enum place_choice place, const struct pinning_core *c,
                     unsigned unit, unsigned *count)
{
    if (*count == TEAM_MAX) return;
    b->order[place][*count] = c->unit[unit];
    b->socket_of[place][(*count)++] = c->socket;
}

static unsigned order_packed(struct bench *b)
{
    unsigned count = 0;
    for (unsigned u = 0; u < PINNING_SIBLINGS_MAX; u++)
        for (unsigned c = 0; c < b->here.cores; c++)
            if (u < b->here.core[c].units) add_unit(b, PACKED, &b->here.core[c], u, &count);
    return count;
}

/* The n-th core of each socket in turn. */
static void order_spread(struct bench *b)
{
    const struct pinning_machine *m = &b->here;
    unsigned count = 0;
    for (unsigned u = 0; u < PINNING_SIBLINGS_MAX; u++)
        for (unsigned n = 0; n < m->cores; n++)
            for (unsigned s = 0; s < m->sockets; s++) {
                unsigned seen = 0, c = 0;
                while (c < m->cores && (m->core[c].socket != s || seen++ < n)) c++;
                if (c < m->cores && u < m->core[c].units)
                    add_unit(b, SPREAD, &m->core[c], u, &count);
            }
}

void places_open(struct bench *b)
{
    CPU_ZERO(&b->all);
    if (sched_getaffinity(0, sizeof b->all, &b->all) != 0) fail("cannot ask for the processors");
    must(pinning_machine_load(&b->here), "looking at the machine");
    b->units = order_packed(b);
    order_spread(b);
}

void places_close(struct bench *b)
{
    pinning_machine_fini(&b->here);
}

static void bind(const cpu_set_t *set)
{
    /* Refused: it runs where it runs, as in FREE. */
    pthread_setaffinity_np(pthread_self(), sizeof *set, set);
}

/* More threads than units: the rest is free. */
void place_lane(const struct bench *b, enum place_choice place, unsigned lane)
{
    cpu_set_t set;
    if (place == FREE || lane >= b->units) {
        bind(&b->all);
        return;
    }
    CPU_ZERO(&set);
    CPU_SET((unsigned)b->order[place][lane], &set);
    bind(&set);
}

void place_nowhere(const struct bench *b)
{
    bind(&b->all);
}
