#include "store/home.h"

#include <stdbool.h>

void home_init(struct home *h, unsigned nodes, unsigned rank)
{
    *h = (struct home){.view = 1, .nodes = nodes, .rank = rank};
    for (unsigned b = 0; b < HOME_BUCKETS; b++) {
        h->node[b] = (uint16_t)(b % nodes);
        bool elsewhere = h->node[b] != rank;
        h->place[b] = (uint16_t)(h->slots[elsewhere] | (elsewhere ? HOME_ELSEWHERE : 0));
        h->slots[elsewhere] += elsewhere ? 2 : 1;
        h->held[b / 64] |= (uint64_t)!elsewhere << b % 64;
    }
}
