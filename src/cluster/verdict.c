/* Which of several nodes that do not hear each other is lost? */
#include "cluster/server.h"

#include <stdio.h>

enum { ANYBODY = -1 };

/* How often `accuser` has accused `accused`. */
static unsigned count(const struct verdict *v, int accuser, int accused)
{
    unsigned n = 0;
    for (unsigned i = 0; i < v->count; i++)
        n += (accuser == ANYBODY || v->said[i].accuser == (unsigned)accuser) &&
             (accused == ANYBODY || v->said[i].accused == (unsigned)accused);
    return n;
}

static unsigned accusers_of(const struct verdict *v, unsigned rank)
{
    return count(v, ANYBODY, (int)rank);
}

void verdict_accuse(struct verdict *v, unsigned accuser, unsigned accused, const char *reason,
                    uint64_t due_ns)
{
    /* a link each shard says so */
    if (v->count == VERDICT_MAX || count(v, (int)accuser, (int)accused)) return;
    if (v->count == 0) v->due_ns = due_ns;
    struct accusation *a = &v->said[v->count++];
    a->accuser = accuser;
    a->accused = accused;
    snprintf(a->reason, sizeof a->reason, "%s", reason);
}

void verdict_forget(struct verdict *v, unsigned rank)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < v->count; i++)
        if (v->said[i].accuser != rank && v->said[i].accused != rank) v->said[kept++] = v->said[i];
    v->count = kept;
}

/* The first accusation of the node that most accuse; of several, of the one with the highest rank.
 */
static const struct accusation *gravest(const struct verdict *v)
{
    const struct accusation *most = &v->said[0];
    unsigned accusers = accusers_of(v, most->accused);
    for (unsigned i = 1; i < v->count; i++) {
        unsigned n = accusers_of(v, v->said[i].accused);
        if (n < accusers || (n == accusers && v->said[i].accused <= most->accused)) continue;
        most = &v->said[i];
        accusers = n;
    }
    return most;
}

unsigned verdict_pick(struct verdict *v, unsigned nodes, char reason[VERDICT_REASON_BYTES])
{
    const struct accusation *a = gravest(v);
    unsigned accusers = accusers_of(v, a->accused), accused = a->accused;
    /* Rank 0, which judges; it hears the accusations of all others. */
    if (accusers == 1 && nodes > 2 && count(v, 0, ANYBODY) == nodes - 1) {
        accused = 0;
        snprintf(reason, VERDICT_REASON_BYTES, VERDICT_CUT_OFF);
    } else if (accusers > 1)
        snprintf(reason, VERDICT_REASON_BYTES, "%.150s, as %u nodes say", a->reason, accusers);
    else if (count(v, (int)accused, (int)a->accuser))
        snprintf(reason, VERDICT_REASON_BYTES, "%.150s to node %u, and that one to it", a->reason,
                 a->accuser);
    else
        snprintf(reason, VERDICT_REASON_BYTES, "%.150s, as node %u says", a->reason, a->accuser);
    verdict_forget(v, accused);
    return accused;
}
