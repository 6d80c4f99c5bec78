#include "hot.h"

#include "fail.h"
#include "lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool hot_parse(struct hot_rule *r, const char *text)
{
    *r = (struct hot_rule){.factor = HOT_FACTOR};
    if (strcmp(text, "auto") == 0) return true;
    size_t length = strcspn(text, "x");
    double number;
    if (!lines_number(text, length, &number) || number <= 0) return false;
    if (strcmp(text + length, "x") == 0) {
        r->factor = number;
        return true;
    }
    *r = (struct hot_rule){.keys = (uint64_t)number};
    return text[length] == '\0' && number == floor(number) && number <= 0x1p40;
}

struct counted {
    uint64_t count, key;
};

static int most_first(const void *a, const void *b)
{
    const struct counted *x = a, *y = b;
    if (x->count != y->count) return (x->count < y->count) - (x->count > y->count);
    return (x->key > y->key) - (x->key < y->key);
}

/* What the least frequent of the N most frequent has: its count, and its key. */
static struct counted least_of(uint64_t n, const uint64_t *count, size_t keys)
{
    struct counted *all = take_memory(keys, sizeof *all);
    for (size_t i = 0; i < keys; i++) all[i] = (struct counted){count[i], i};
    qsort(all, keys, sizeof *all, most_first);
    struct counted least = all[n < keys ? n - 1 : keys - 1];
    free(all);
    return least;
}

size_t hot_choose(const struct hot_rule *r, const uint64_t *count, size_t keys, uint64_t *hot)
{
    size_t chosen = 0;
    double sum = 0;
    if (keys == 0) return 0;
    for (size_t i = 0; i < keys; i++) sum += (double)count[i];
    struct counted least = r->keys ? least_of(r->keys, count, keys) : (struct counted){0, 0};
    for (size_t i = 0; i < keys; i++) {
        const struct counted c = {count[i], i};
        bool is_hot = r->keys ? most_first(&c, &least) <= 0
                              : (double)count[i] > r->factor * sum / (double)keys;
        if (is_hot && count[i] > 0) hot[chosen++] = i;
    }
    return chosen;
}

size_t hot_keep(const struct hot_rule *r, const struct pool_member *m, const uint64_t *count,
                size_t keys)
{
    if (!m->worker) return 0;
    uint64_t *hot = take_memory(keys, sizeof *hot);
    size_t n = hot_choose(r, count, keys, hot);
    must(locus_intent(m->worker, hot, n, 0, LOCUS_FOREVER), "keeping hot keys");
    free(hot);
    return n;
}
