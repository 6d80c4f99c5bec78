#include "content.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What an update adds to the last element: as no other key's updates do. */
static unsigned count_of(struct content_layout l)
{
    return 1 + l.key * 2 * CONTENT_UPDATES_MAX;
}

void content_write_update(float *row, struct content_layout l, unsigned update)
{
    memset(row, 0, l.length * sizeof *row);
    row[1 + update / CONTENT_FIELDS] = (float)(1u << 2 * (update % CONTENT_FIELDS));
    row[l.length - 1] = (float)count_of(l);
}

void content_write_set(float *row, struct content_layout l, unsigned set)
{
    memset(row, 0, l.length * sizeof *row);
    row[0] = (float)(set * CONTENT_KEYS_MAX + l.key);
}

/* A float that is a whole number below 2^24. */
static bool whole(float f, uint32_t *n)
{
    if (!(f >= 0 && f < 16777216)) return false;
    *n = (uint32_t)f;
    return (float)*n == f;
}

static const char torn[] = "is torn: its count is not that of its updates";

bool content_is_torn(const char *wrong)
{
    return wrong == torn;
}

const char *content_read(const float *row, struct content_layout l, struct content *c)
{
    uint32_t n, updates = 0;
    *c = (struct content){0};
    for (uint32_t i = 1; i + 1 < l.length; i++) {
        if (!whole(row[i], &n)) return "holds a value that nobody wrote";
        for (unsigned f = 0; f < CONTENT_FIELDS; f++, n >>= 2) {
            if ((n & 3) > 1) return "holds an update more than once";
            if (!(n & 3)) continue;
            content_add(c, (i - 1) * CONTENT_FIELDS + f);
            updates++;
        }
    }
    if (!whole(row[0], &n)) return "names a set that nobody made";
    if (n && n % CONTENT_KEYS_MAX != l.key) return "is another key's";
    c->set = n / CONTENT_KEYS_MAX;
    if (!whole(row[l.length - 1], &n)) return "holds a value that nobody wrote";
    if (n % count_of(l)) return "is another key's";
    if (n / count_of(l) != updates) return torn;
    return NULL;
}

const char *content_check_state(const float *row, struct content_layout l, const struct content *c)
{
    double expected[CONTENT_LENGTH_MAX] = {0};
    for (unsigned u = 0; u < content_capacity(l.length) && l.has_state; u++) {
        if (!content_has(c, u)) continue;
        expected[1 + u / CONTENT_FIELDS] += (double)(UINT64_C(1) << 4 * (u % CONTENT_FIELDS));
        expected[l.length - 1] += (double)count_of(l) * count_of(l);
    }
    for (uint32_t i = 0; i < l.length && l.has_state; i++) /* it is rounded */
        if (fabs((double)row[l.length + i] - expected[i]) > 1e-4 * expected[i])
            return "has a state that is not that of its updates";
    return NULL;
}

const char *content_text(const struct content *c, char *text, size_t bytes)
{
    int at = snprintf(text, bytes, "set %u +", c->set);
    for (unsigned u = 0; u < CONTENT_UPDATES_MAX && at > 0 && (size_t)at + 8 < bytes; u++)
        if (content_has(c, u)) at += snprintf(text + at, bytes - (size_t)at, " %u", u);
    return text;
}
