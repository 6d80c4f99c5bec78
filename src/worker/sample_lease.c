#include "worker/sample_lease.h"

#include <errno.h>

int preparer_intend(const struct preparer *p, const locus_key *keys, size_t n, locus_clock start,
                    locus_clock end)
{
    if (end == LOCUS_FOREVER) end--; /* no node keeps what was drawn once */
    if (end <= start) return 0;
    int rc = p->loader ? locus_loader_intent(p->loader, keys, n, start, end)
                       : locus_intent(p->worker, keys, n, start, end);
    return rc == -ENOBUFS || rc == -ENOMEM ? 0 : rc;
}

int lease_begin(struct lease *l, const struct pool *p, const struct preparer *who, locus_clock from,
                locus_clock to)
{
    *l = (struct lease){from, to};
    return preparer_intend(who, p->key, p->size, from, to);
}

/* Extending by no less than an eighth of what was expected, or by all of what was guessed, keeps
 * extensions few. */
static locus_clock extension(const struct lease *l, locus_clock end, locus_clock left)
{
    locus_clock so_far = end - l->from, least = left > 0 ? so_far / 8 : so_far;
    return left > least ? left : least;
}

int lease_cover(struct lease *l, const struct pool *p, const struct preparer *who,
                locus_clock start, locus_clock end, locus_clock left)
{
    if (l->from == l->to) return lease_begin(l, p, who, start, clock_after(end, left));
    int rc = 0;
    if (start < l->from) {
        rc = preparer_intend(who, p->key, p->size, start, l->from);
        l->from = start;
    }
    if (rc == 0 && end > l->to) {
        locus_clock from = l->to;
        l->to = clock_after(end, extension(l, end, left));
        rc = preparer_intend(who, p->key, p->size, from, l->to);
    }
    return rc;
}
