#include "store/home.h"

void home_init(struct home *h, unsigned nodes, unsigned rank)
{
    *h = (struct home){.view = 1, .nodes = nodes, .rank = rank};
    for (unsigned b = 0; b < HOME_BUCKETS; b++) {
        h->node[b] = (uint16_t)(b % nodes);
        h->number[b] = (uint16_t)(b / nodes);
        h->own += h->node[b] == rank;
    }
}
