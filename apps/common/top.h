/*
 * top.h - the best of many candidates, the best one first. Of equal ones the first comes first; what
 * is no number is left out.
 *
 * Callers   any thread
 * Memory    the caller's: room for as many as are wanted
 * Waiting   never
 */
#ifndef APPS_TOP_H
#define APPS_TOP_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct top {
    uint32_t number;
    float score;
};

/* Into a list that has *count of at most `wanted`. */
static inline void top_offer(struct top *list, size_t *count, size_t wanted, uint32_t number,
                             float score)
{
    bool is_full = *count == wanted;
    if (isnan(score) || (is_full && (wanted == 0 || score <= list[wanted - 1].score))) return;
    size_t at = is_full ? wanted - 1 : (*count)++;
    for (; at > 0 && list[at - 1].score < score; at--) list[at] = list[at - 1];
    list[at] = (struct top){number, score};
}

#endif
