#include "protocol/margin.h"

#include "protocol/lookahead.h"

void margin_init(struct margin *m, bool may_widen)
{
    *m = (struct margin){.factor = 1, .most = may_widen ? MARGIN_MAX : 1};
}

void margin_adjust(struct margin *m)
{
    if (m->was_late) m->factor += MARGIN_STEP;
    m->factor -= MARGIN_STEP * (1 - LOOKAHEAD_QUANTILE) * m->begun;
    if (m->factor < 1) m->factor = 1;
    if (m->factor > m->most) m->factor = m->most;
    m->begun = 0;
    m->was_late = false;
}

locus_clock margin_of(const struct margin *m, locus_clock lookahead)
{
    if (m->factor <= 1) return lookahead;
    double wide = m->factor * (double)lookahead;
    return wide < 0x1p62 ? (locus_clock)wide : INT64_MAX / 2;
}
