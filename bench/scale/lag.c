/* How old what is read is. Every push adds 1 to a row's first value, so a row says how many pushes
 * it shows; when the others were made is kept here, for all nodes. */
#include "bench.h"
#include "virtual.h"

#include <stdlib.h>

static struct {
    struct times {
        uint64_t *ns;
        size_t count, capacity;
    } row[LAG_ROWS];
    double sum_ns;
    uint64_t looks;
} lag;

void lag_pushed(locus_key key)
{
    if (key >= LAG_ROWS) return;
    struct times *t = &lag.row[key];
    if (t->count == t->capacity) {
        t->capacity = t->capacity ? 2 * t->capacity : 1024;
        t->ns = realloc(t->ns, t->capacity * sizeof *t->ns);
        if (!t->ns) abort();
    }
    t->ns[t->count++] = virtual_now_ns();
}

void lag_pulled(locus_key key, float count)
{
    if (key >= LAG_ROWS) return;
    const struct times *t = &lag.row[key];
    size_t shown = (size_t)count;
    lag.looks++;
    if (shown < t->count) lag.sum_ns += (double)(virtual_now_ns() - t->ns[shown]);
}

void lag_begin(void)
{
    lag.sum_ns = 0;
    lag.looks = 0;
}

double lag_mean_s(void)
{
    return lag.looks ? lag.sum_ns / 1e9 / (double)lag.looks : 0;
}
