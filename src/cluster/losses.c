#include "cluster/losses.h"

#include "base/time.h"

#include <inttypes.h>
#include <stdio.h>

void losses_note(struct locus_losses *l, const struct change *change, bool is_anew)
{
    l->left -= is_anew;
    l->members += is_anew;
    l->lost += change->kind == CHANGE_LOST;
    l->left += change->kind == CHANGE_LEAVES;
    l->joined += change->kind == CHANGE_JOINS;
    l->members += change->kind == CHANGE_JOINS ? 1u : -1u;
    l->last = (int)change->node;
    l->last_at_s = 1e-9 * (double)((int64_t)time_now_ns() + time_epoch_ns());
}

void losses_report(const struct locus_losses *before, const struct locus_losses *now,
                   const struct change *change, const char *what, unsigned rank)
{
    uint64_t from_replicas = now->rows_from_replicas - before->rows_from_replicas,
             from_saves = now->rows_from_saves - before->rows_from_saves,
             zeros = now->rows_zero - before->rows_zero;
    char rows[256] = "";
    if (change->kind == CHANGE_LEAVES && change->node == rank) {
        fprintf(stderr, "locus: %s; the other nodes have all rows that it had\n", what);
        return;
    }
    if (change->kind == CHANGE_LEAVES)
        snprintf(rows, sizeof rows,
                 ", its rows saved anew: %" PRIu64
                 " rows of the one that left have come here as they were",
                 now->rows_handed_over - before->rows_handed_over);
    if (change->kind == CHANGE_LOST)
        snprintf(rows, sizeof rows,
                 ", its rows saved anew: of the lost rows whose home it is now, %" PRIu64
                 " have the values of a replica, %" PRIu64
                 " those of a save at most about %.2g s old, and %" PRIu64 " are zeros",
                 from_replicas, from_saves, now->last_age_s, zeros);
    fprintf(stderr, "locus: %s; node %u goes on after %.3f s%s\n", what, rank, now->last_s, rows);
}
