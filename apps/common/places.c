#include "places.h"

#include "fail.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS_MIN = 8 };

void places_init(struct places *p, size_t keys_max)
{
    for (p->slot_count = SLOTS_MIN; p->slot_count < 2 * keys_max;) p->slot_count *= 2;
    p->slots = take_memory(p->slot_count, sizeof *p->slots);
}

void places_fini(struct places *p)
{
    free(p->slots);
    *p = (struct places){0};
}

void places_clear(struct places *p)
{
    memset(p->slots, 0, p->slot_count * sizeof *p->slots);
}
