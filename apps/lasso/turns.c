#include "turns.h"

#include "fail.h"

#include <math.h>
#include <stdlib.h>

void turns_open(struct turns *t, uint64_t variables)
{
    *t = (struct turns){.variables = variables, .time = 1};
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
    if (!is_at_rest) return;
    t->seen[variable] = t->time;
    t->at_rest++;
}
