#include "observe/hottest.h"

#include <stdlib.h>

void hottest_clear(struct hottest *h)
{
    h->all = 0;
    h->used = 0;
}

/* Sorted or not, it looks at all of them: few are asked for, and seldom. */
void hottest_add(struct hottest *h, locus_key key)
{
    struct hottest_key *least = h->key;
    h->all++;
    for (unsigned i = 0; i < h->used; i++) {
        if (h->key[i].key == key) {
            h->key[i].count++;
            return;
        }
        if (h->key[i].count < least->count) least = &h->key[i];
    }
    if (h->used < HOTTEST_KEYS) {
        h->key[h->used++] = (struct hottest_key){.key = key, .count = 1};
        return;
    }
    *least = (struct hottest_key){.key = key, .count = least->count + 1, .error = least->count};
}

static uint64_t certain(const struct hottest_key *k)
{
    return k->count - k->error;
}

static int compare(const void *a, const void *b)
{
    const struct hottest_key *x = a, *y = b;
    if (certain(x) != certain(y)) return certain(x) < certain(y) ? 1 : -1;
    return (x->key > y->key) - (x->key < y->key);
}

size_t hottest_list(struct hottest *h, struct hottest_key *out, size_t n)
{
    size_t listed = 0;
    if (h->used > 0) qsort(h->key, h->used, sizeof *h->key, compare);
    for (; listed < n && listed < h->used && certain(&h->key[listed]) > 1; listed++)
        out[listed] = h->key[listed];
    return listed;
}
