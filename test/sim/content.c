#include "content.h"

#include "common/exact_steps.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What an update adds to the last element: as no other key's updates do. */
static unsigned count_of(struct content_layout l)
{
    return l.is_bf16 ? 1 : 1 + l.key * 2 * CONTENT_UPDATES_MAX;
}

/* What all values are multiplied by. */
static float scale_of(struct content_layout l)
{
    return l.is_bf16 ? ldexpf(1, (int)l.key) : 1;
}

void content_write_update(float *row, struct content_layout l, unsigned update)
{
    memset(row, 0, l.length * sizeof *row);
    unsigned fields = content_fields(l);
    row[1 + update / fields] = (float)(1u << 2 * (update % fields)) * scale_of(l);
    row[l.length - 1] = (float)count_of(l) * scale_of(l);
}

void content_write_set(float *row, struct content_layout l, unsigned set)
{
    memset(row, 0, l.length * sizeof *row);
    row[0] = l.is_bf16 ? (float)set * scale_of(l) : (float)(set * CONTENT_KEYS_MAX + l.key);
}

/* A whole number below 2^24, or 2^8, times the scale. */
static bool whole(float f, struct content_layout l, uint32_t *n)
{
    f /= scale_of(l);
    if (!(f >= 0 && f < (l.is_bf16 ? 256 : 16777216))) return false;
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
    unsigned fields = content_fields(l);
    *c = (struct content){0};
    for (uint32_t i = 1; i + 1 < l.length; i++) {
        if (!whole(row[i], l, &n)) return "holds a value that nobody wrote";
        for (unsigned f = 0; f < fields; f++, n >>= 2) {
            if ((n & 3) > 1) return "holds an update more than once";
            if (!(n & 3)) continue;
            content_add(c, (i - 1) * fields + f);
            updates++;
        }
    }
    if (!whole(row[0], l, &n)) return "names a set that nobody made";
    if (n && !l.is_bf16 && n % CONTENT_KEYS_MAX != l.key) return "is another key's";
    c->set = l.is_bf16 ? n : n / CONTENT_KEYS_MAX;
    if (!whole(row[l.length - 1], l, &n)) return "holds a value that nobody wrote";
    if (n % count_of(l)) return "is another key's";
    if (n / count_of(l) != updates) return torn;
    return NULL;
}

const char *content_check_state(const float *row, struct content_layout l, const struct content *c)
{
    double expected[CONTENT_LENGTH_MAX] = {0};
    float update[CONTENT_LENGTH_MAX];
    for (unsigned u = 0; u < content_capacity(l) && l.has_state; u++) {
        if (!content_has(c, u)) continue;
        content_write_update(update, l, u);
        for (uint32_t i = 0; i < l.length; i++)
            expected[i] += exact_steps_state(LOCUS_ADAGRAD, 0, 1, (double)update[i]);
    }
    for (uint32_t i = 0; i < l.length && l.has_state; i++)
        if (!exact_steps_are_near(row[l.length + i], expected[i]))
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
