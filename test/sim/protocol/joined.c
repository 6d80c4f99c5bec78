#include "joined.h"

#include "base/error.h"
#include "base/sync.h"
#include "observe/trace.h"
#include "worker/node.h"

#include <errno.h>
#include <stdlib.h>

struct cluster *joined[JOINED_NODES_MAX];

int cluster_join(const struct locus_config *config, void (*lost)(void *context), void *context,
                 struct cluster **out)
{
    struct cluster *c = *out = calloc(1, sizeof *c);
    if (!c) return -ENOMEM;
    c->rank = config->rank;
    c->size = config->size;
    c->shards = config->shards ? config->shards : 1;
    c->lost = lost;
    c->context = context;
    c->loss_ns = UINT64_MAX;
    c->reactor = calloc(c->shards, sizeof(struct reactor *));
    joined[c->rank] = c;
    return c->reactor ? 0 : -ENOMEM;
}

void joined_trace(unsigned node, uint64_t now_ns)
{
    struct cluster *c = joined[node];
    const locus *n = c ? c->context : NULL;
    if (!n || !n->trace || now_ns < c->traced_ns + TRACE_PAUSE_NS) return;
    c->traced_ns = now_ns;
    trace_take(n->trace, now_ns);
}

unsigned cluster_shards(const struct cluster *c)
{
    return c->shards;
}

int cluster_start(struct cluster *c, const struct node_plan *plan)
{
    int rc = 0;
    c->workers = plan->config.workers;
    for (unsigned s = 0; s < c->shards && rc == 0; s++) rc = platform_open_reactor(c, plan, s);
    return rc;
}

struct reactor **cluster_reactors(struct cluster *c)
{
    return c->reactor;
}

bool cluster_shares_cores(const struct cluster *c)
{
    (void)c;
    return platform_shares_cores;
}

uint32_t cluster_view(struct cluster *c)
{
    return platform_now_ns() >= c->view_ns ? c->view : c->view - 1;
}

uint32_t cluster_repaired(struct cluster *c)
{
    return c->repaired;
}

void cluster_losses(struct cluster *c, struct locus_losses *l)
{
    (void)c, (void)l;
}

bool cluster_has_lost(struct cluster *c, unsigned rank)
{
    (void)c, (void)rank;
    return false;
}

int cluster_loss(struct cluster *c)
{
    return c->is_lost ? error_set(-ECONNRESET, "node %u (simulated) was lost", c->lost_rank) : 0;
}

/* When all have arrived, but for those that are absent, the meeting is over. */
void joined_look_for_meeting(unsigned nodes)
{
    struct word all = {.rc = 0};
    bool anybody = false;
    for (unsigned n = 0; n < nodes; n++) {
        if (joined[n] && joined[n]->is_gone) continue;
        if (!joined[n] || (!joined[n]->arrived && !joined[n]->absent)) return;
        if (!joined[n]->arrived) continue;
        anybody = true;
        word_add(&all, &joined[n]->word);
    }
    for (unsigned n = 0; anybody && n < nodes; n++) {
        if (joined[n]->is_gone) continue;
        joined[n]->word = all;
        joined[n]->arrived = false;
        joined[n]->met_ns = platform_hears_ns(n);
    }
}

static bool has_met(const void *cluster)
{
    const struct cluster *c = cluster;
    return c->is_lost || (!c->arrived && platform_now_ns() >= c->met_ns);
}

int cluster_agree(void *cluster, const struct meeting *meeting, struct word *w)
{
    struct cluster *c = cluster;
    (void)meeting;
    c->word = *w;
    c->arrived = true;
    joined_look_for_meeting((unsigned)c->size);
    locus_fiber_wait(has_met, c);
    *w = c->word;
    int rc = cluster_loss(c);
    return rc ? rc : w->rc;
}

int cluster_absent(struct cluster *c, bool absent)
{
    c->absent = absent;
    joined_look_for_meeting((unsigned)c->size);
    return 0;
}

int cluster_leave(struct cluster *c)
{
    platform_leaves(c);
    return cluster_loss(c);
}

void cluster_free(struct cluster *c)
{
    if (!c) return;
    for (unsigned s = 0; c->reactor && s < c->shards; s++) platform_end_reactor(c, s);
    joined[c->rank] = NULL;
    free(c->reactor);
    free(c);
}

/* Nobody serves metrics in a simulation. */
struct link_load reactor_load(const struct reactor *r, unsigned peer)
{
    (void)r, (void)peer;
    return (struct link_load){0};
}

struct reactor_figures reactor_figures(const struct reactor *r)
{
    (void)r;
    return (struct reactor_figures){0};
}
