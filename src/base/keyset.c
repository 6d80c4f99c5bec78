#include "base/keyset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int keyset_begin(struct keyset *s, size_t n)
{
    size_t places = 16;
    while (places < 2 * n) places *= 2;
    if (places > s->capacity) {
        uint64_t *larger = malloc(places * sizeof *larger);
        if (!larger) return -ENOMEM;
        free(s->place);
        s->place = larger;
        s->capacity = places;
    }
    memset(s->place, 0, places * sizeof *s->place);
    s->mask = places - 1;
    return 0;
}

void keyset_fini(struct keyset *s)
{
    free(s->place);
    *s = (struct keyset){0};
}
