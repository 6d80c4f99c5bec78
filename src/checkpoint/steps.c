#include "checkpoint/steps.h"

#include "base/error.h"
#include "worker/call.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int steps_meet(struct steps *s, enum collective_kind kind, int rc)
{
    locus *n = s->worker->node;
    s->word.rc = rc;
    /* What all were told before is said as it was. */
    const char *why = locus_error();
    if (rc && strncmp(why, s->call, strlen(s->call)) == 0)
        snprintf(s->word.text, sizeof s->word.text, "%s", why);
    else if (rc)
        snprintf(s->word.text, sizeof s->word.text, "%s: node %d: %s", s->call, n->rank, why);
    rc = call_name_loss(s->worker, collective_agree(&n->collective, s->worker->id, kind, &s->word));
    if (rc) snprintf(s->word.text, sizeof s->word.text, "%s", locus_error());
    return rc;
}

static int begin(struct steps *s)
{
    int rc = locus_wait_all(s->worker);
    if (rc == 0 && s->worker->node->moves) rc = call_flush(s->worker, REQUEST_FLUSH_UPDATES);
    return rc;
}

int steps_begin(struct steps *s, const char *call, locus_worker *w, const char *directory,
                enum collective_kind kind)
{
    *s = (struct steps){.worker = w, .call = call, .directory = directory};
    int rc = call_check_worker(call, w);
    if (rc) return rc;
    if (w->reader.depth > 0) return call_in_section(call);
    if (!directory || !*directory)
        return error_set(-EINVAL, "%s: the directory is %s", call, directory ? "empty" : "NULL");
    rc = steps_meet(s, kind, begin(s));
    if (rc) return steps_end(s, rc);
    s->is_first = collective_is_first(&w->node->collective, w->id);
    return 0;
}

/* The first worker makes it, and empties it, before the others look for it. */
static int share(const struct steps *s)
{
    locus *n = s->worker->node;
    if (!n->share) n->share = share_new();
    if (!n->share) return error_set(-ENOMEM, "no memory for a checkpoint");
    share_begin(n->share);
    return 0;
}

int steps_flush(struct steps *s, int rc)
{
    locus_worker *w = s->worker;
    if (rc == 0 && w->node->moves) rc = call_flush(w, REQUEST_FLUSH_REPLICAS);
    if (rc == 0 && s->is_first) rc = share(s);
    rc = steps_meet(s, COLLECTIVE_STEP, rc);
    if (rc == 0) s->share = w->node->share;
    return rc;
}

int steps_end(struct steps *s, int rc)
{
    return rc ? error_set(rc, "%s", s->word.text) : 0;
}

bool steps_deal(struct steps *s, struct slice *slice)
{
    share_lock(s->share);
    bool is_dealt = home_rows_deal(s->worker->store, &s->share->dealt, slice);
    share_unlock(s->share);
    return is_dealt;
}

bool steps_is_rank_0(const struct steps *s)
{
    return s->worker->node->rank == 0 && s->is_first;
}
