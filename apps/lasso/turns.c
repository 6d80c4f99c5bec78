#include "turns.h"

#include "fail.h"

#include <math.h>
#include <stdlib.h>

void turns_open(struct turns *t, uint64_t variables)
{
    *t = (struct turns){.variables = variables, .active = variables, .time = 1};
    t->seen = take_memory(variables, sizeof *t->seen);
    t->change = take_memory(variables, sizeof *t->change);
    for (uint64_t v = 0; v < variables; v++) t->change[v] = INFINITY;
}

void turns_close(struct turns *t)
{
    free(t->seen);
    free(t->change);
    *t = (struct turns){0};
}

void turns_disturb(struct turns *t)
{
    t->time++;
    t->at_rest = 0;
}

float turns_told(double change)
{
    return (float)sqrt(fabs(change));
}

void turns_choose(struct turns *t, uint64_t variable, bool is_active, double expected)
{
    t->active -= turns_is_active(t, variable);
    t->active += is_active;
    t->change[variable] = is_active ? turns_told(expected) : -1;
}

void turns_note(struct turns *t, uint64_t variable, double change, bool is_large)
{
    t->change[variable] = turns_told(change);
    if (is_large) {
        turns_disturb(t);
    } else if (!turns_is_at_rest(t, variable)) {
        t->seen[variable] = t->time;
        t->at_rest++;
    }
}

void turns_put(struct turns *t, uint64_t variable, bool is_at_rest, float change)
{
    t->change[variable] = change;
    t->active -= !turns_is_active(t, variable);
    if (!is_at_rest || !turns_is_active(t, variable)) return;
    t->seen[variable] = t->time;
    t->at_rest++;
}
