#include "every.h"

#include "lines.h"

#include <string.h>

static const double EVERY_MAX = 1e9;

bool every_read(struct every *e, const char *text)
{
    size_t length = strspn(text, "0123456789.");
    const char *end = text + length;
    double n, unit = strcmp(end, "k") == 0 ? 1e3 : 1e6;
    bool is_time = strcmp(end, "s") == 0, is_count = *end == '\0',
         is_examples = unit < 1e6 || strcmp(end, "M") == 0;
    *e = (struct every){.epochs = 0};
    if (!lines_number(text, length, &n) || !(is_time || is_count || is_examples) || n > EVERY_MAX ||
        (is_count && n != (double)(uint64_t)n))
        return false;
    if (is_count) e->epochs = (uint64_t)n;
    if (is_time) e->seconds = n;
    if (is_examples) e->examples = unit * n;
    return true;
}
