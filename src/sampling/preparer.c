#include "sampling/preparer.h"

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
