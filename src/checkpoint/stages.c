#include "checkpoint/stages.h"

#include "base/error.h"
#include "worker/call.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int stages_meet(struct stages *s, enum collective_kind kind, int rc)
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

int stages_begin(struct stages *s, const char *call, locus_worker *w, const char *directory,
                 enum collective_kind kind)
{
    *s = (struct stages){.worker = w, .call = call, .directory = directory};
    int rc = call_check_worker(call, w);
    if (rc) return rc;
    if (w->reader.depth > 0) return call_in_section(call);
    if (!directory || !*directory)
        return error_set(-EINVAL, "%s: the directory is %s", call, directory ? "empty" : "NULL");
    rc = stages_meet(s, kind, call_flush_updates(w));
    if (rc) return stages_end(s, rc);
    s->is_first = collective_is_first(&w->node->collective, w->id);
    return 0;
}

/* The first worker makes it before the others look for it. */
static int find_work(locus *n)
{
    if (n->work) {
        stages_renew_work(n->work);
        return 0;
    }
    n->work = calloc(1, sizeof *n->work);
    if (!n->work) return error_set(-ENOMEM, "no memory for a checkpoint");
    pthread_mutex_init(&n->work->mutex, NULL);
    return 0;
}

int stages_flush(struct stages *s, int rc)
{
    locus_worker *w = s->worker;
    if (rc == 0) rc = call_flush(w, REQUEST_FLUSH_REPLICAS);
    if (rc == 0 && s->is_first) rc = find_work(w->node);
    rc = stages_meet(s, COLLECTIVE_STAGE, rc);
    if (rc == 0) s->work = w->node->work;
    return rc;
}

int stages_end(const struct stages *s, int rc)
{
    return rc ? error_set(rc, "%s", s->word.text) : 0;
}

bool stages_is_rank_0(const struct stages *s)
{
    return s->worker->node->rank == 0 && s->is_first;
}

bool stages_deal(struct stages *s, struct slice *slice)
{
    pthread_mutex_lock(&s->work->mutex);
    bool is_dealt = home_rows_deal(s->worker->store, &s->work->dealt, slice);
    pthread_mutex_unlock(&s->work->mutex);
    return is_dealt;
}

void stages_renew_work(struct checkpoint_work *w)
{
    w->dealt = (struct slice){.table = 0};
    w->next_file = 0;
    manifest_fini(&w->manifest);
}

void stages_free_work(struct checkpoint_work *w)
{
    if (!w) return;
    stages_renew_work(w);
    pthread_mutex_destroy(&w->mutex);
    free(w);
}
