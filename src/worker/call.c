#include "worker/call.h"

#include "base/error.h"
#include "base/sync.h"

#include <errno.h>

int call_no_worker(const char *call)
{
    return error_set(-EINVAL, "%s: the worker is NULL", call);
}

static int not_ours(const char *call, const locus *n)
{
    return error_set(-EPERM,
                     "%s: the node belongs to process %d, which has forked this one: a child may "
                     "not use it",
                     call, (int)n->process);
}

int call_why_not(const char *call, const locus_worker *w)
{
    if (__atomic_load_n(&w->progress, __ATOMIC_RELAXED) == INT64_MAX)
        return error_set(-EINVAL, "%s: worker %d is closed", call, w->id);
    return w->node->is_foreign ? not_ours(call, w->node) : 0;
}

bool call_is_gone(const char *call, const locus *n)
{
    if (n && !n->is_closed) return false;
    error_set(-EINVAL, "%s: the node is %s", call, n ? "closed" : "NULL");
    return true;
}

int call_check_node(const char *call, const locus *n)
{
    if (call_is_gone(call, n)) return -EINVAL;
    return n->is_foreign ? not_ours(call, n) : 0;
}

int call_check_loader(const char *call, const locus_loader *l)
{
    if (!l) return error_set(-EINVAL, "%s: the loader is NULL", call);
    return l->worker ? 0 : error_set(-EINVAL, "%s: the loader is closed", call);
}

int call_no_count(const char *call, size_t n)
{
    return n == 0 ? 0 : error_set(-EINVAL, "%s: n is %zu: no array has so many keys", call, n);
}

int call_no_array(const char *call, const char *name, size_t n)
{
    return error_set(-EINVAL, "%s: `%s` is NULL for %zu keys", call, name, n);
}

int call_bad_key(const char *call, uint64_t bound, const locus_key *keys, size_t n)
{
    size_t i = 0;
    if (bound == 0) return error_set(-EINVAL, "%s: the bound is 0: no key is below it", call);
    while (i < n - 1 && keys[i] < bound) i++;
    return error_set(-EINVAL,
                     "%s: key %llu (position %zu) is out of range: valid keys are 0 to %llu", call,
                     (unsigned long long)keys[i], i, (unsigned long long)bound - 1);
}

int call_no_slot(const char *call)
{
    return error_set(
        -ENOMEM, "%s: no memory for a row: a read section has been open while too many rows left",
        call);
}

int call_no_such_key(const char *call, const locus_worker *w, const locus_key *keys, size_t n)
{
    /* No key is in range then: so the fast path needs no look at that. */
    int rc = call_check_worker(call, w);
    if (rc == 0 && w->node->cluster) rc = cluster_loss(w->node->cluster);
    return rc ? rc : call_bad_key(call, w->node->store.keyspace.keys, keys, n);
}

int call_in_section(const char *call)
{
    return error_set(-EDEADLK, "%s: would wait inside a read section: call locus_read_end() first",
                     call);
}

int call_name_loss(const locus_worker *w, int rc)
{
    int loss = rc == -ECONNRESET && w->node->cluster ? cluster_loss(w->node->cluster) : 0;
    return loss ? loss : rc;
}

int call_flush(locus_worker *w, enum request_kind kind)
{
    if (!w->node->moves) return 0;
    copies_drain(w->copies);
    return call_name_loss(w, operations_flush(&w->operations, kind));
}

uint32_t call_repaired(const locus_worker *w)
{
    return w->node->cluster ? cluster_repaired(w->node->cluster) : 0;
}

int call_repeats(const locus_worker *w, uint32_t repaired)
{
    bool was_lost = w->node->cluster && cluster_view(w->node->cluster) != repaired;
    return was_lost ? error_set(MEETING_REPEATS, "a node was lost") : 0;
}

int call_flush_updates(locus_worker *w)
{
    int rc = call_name_loss(w, operations_wait_all(&w->operations));
    return rc ? rc : call_flush(w, REQUEST_FLUSH_UPDATES);
}
