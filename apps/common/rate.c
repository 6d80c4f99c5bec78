#include "rate.h"

#include "fail.h"
#include "lines.h"

#include <math.h>
#include <string.h>

enum { CONSTANT, LINEAR, COSINE, SHAPES };
static const char *const shapes[SHAPES] = {"constant", "linear", "cosine"};

static void refuse(const char *schedule)
{
    fail_usage(
        "--schedule is \"%s\": must be constant, linear or cosine, then ,warmup=X, and except for "
        "constant ,to=X: shares from 0 to 1",
        schedule);
}

/* From "warmup=0.1" on, to what is behind it. */
static const char *take_share(const char *at, const char *name, double *share)
{
    const char *number = at + strlen(name);
    if (strncmp(at, name, strlen(name)) != 0) return at;
    size_t length = strcspn(number, ",");
    double value;
    if (!lines_number(number, length, &value) || value < 0 || value > 1) return at;
    *share = value;
    return number + length;
}

void rate_parse(struct rate *r, const char *schedule)
{
    size_t length = strcspn(schedule, ",");
    *r = (struct rate){0};
    while (r->shape < SHAPES &&
           (strncmp(schedule, shapes[r->shape], length) != 0 || shapes[r->shape][length] != '\0'))
        r->shape++;
    if (r->shape == SHAPES) refuse(schedule);
    for (const char *at = schedule + length, *next; *at; at = next) {
        next = take_share(at, ",warmup=", &r->warmup);
        if (next == at && r->shape != CONSTANT) next = take_share(at, ",to=", &r->to);
        if (next == at) refuse(schedule);
    }
}

double rate_share(const struct rate *r, double progress)
{
    if (progress < r->warmup) return progress / r->warmup;
    double left = r->warmup < 1 && progress < 1 ? (1 - progress) / (1 - r->warmup) : 0;
    if (r->shape == CONSTANT) return 1;
    if (r->shape == COSINE) left = (1 - cos(acos(-1) * left)) / 2;
    return r->to + (1 - r->to) * left;
}

double rate_among(double steps, unsigned workers)
{
    return steps + 1 < workers ? (steps + 1) / workers : 1;
}
