#include "model.h"

#include <math.h>

/* The share of all accesses that go to the `first` most used of `rows` rows. */
static double share_of(const struct model_load *l, double first)
{
    double sum = 0, all = 0;
    if (l->zipf_exponent <= 0) return fmin(1, first / (double)l->rows);
    for (uint64_t k = 1; k <= l->rows; k++) {
        double weight = pow((double)k, -l->zipf_exponent);
        all += weight;
        if ((double)k <= first) sum += weight;
    }
    return sum / all;
}

static double lines_of(const struct model_load *l)
{
    return ceil(l->length * 4.0 / MODEL_LINE) + l->has_latch;
}

/* What a line costs more, mean of all workers and of whoever may have it. */
static double transfer_ns(const struct model *m, unsigned workers, const unsigned *socket_of)
{
    double sum = 0;
    for (unsigned i = 0; i < workers; i++)
        for (unsigned j = 0; j < workers; j++)
            if (i != j) sum += socket_of[i] == socket_of[j] ? m->near_ns : m->far_ns;
    return sum / workers / workers;
}

double model_gain(const struct model *m, const struct model_load *l, unsigned workers,
                  const unsigned *socket_of)
{
    if (!l->writes || workers == 1) return workers;
    double lines = lines_of(l), moved_ns = lines * transfer_ns(m, workers, socket_of);
    double cached = share_of(l, m->cache_bytes / (lines * MODEL_LINE));
    double rate = workers / (l->alone_ns + cached * moved_ns / m->overlap);
    double most = 1 / (share_of(l, 1) * (m->hold_ns + moved_ns));
    return fmin(rate, most) * l->alone_ns;
}

void model_place(const struct model *m, bool is_spread, unsigned workers, unsigned *socket_of)
{
    for (unsigned i = 0; i < workers; i++)
        socket_of[i] = is_spread ? i % m->sockets : i / m->cores % m->sockets;
}
