/* What cluster.h promises, between nodes that are all here. */
#include "platform_private.h"

#include "base/yield.h"

#include <errno.h>
#include <stdlib.h>

int cluster_join(const struct locus_config *config, void (*lost)(void *context), void *context,
                 struct cluster **out)
{
    (void)lost, (void)context; /* nobody is */
    struct cluster *c = *out = calloc(1, sizeof *c);
    if (!c) return -ENOMEM;
    c->rank = config->rank;
    c->shards = config->shards ? config->shards : 1;
    c->reactor = calloc(c->shards, sizeof(struct reactor *));
    sim.node[c->rank] = c;
    sim.attendant[c->rank] = &c->attendant;
    for (unsigned s = 0; c->reactor && s < c->shards; s++) {
        struct reactor *r = c->reactor[s] = aligned_alloc(_Alignof(struct reactor), sizeof *r);
        if (!r) return -ENOMEM;
        *r = (struct reactor){.node = (unsigned)config->rank, .number = s};
    }
    return c->reactor ? 0 : -ENOMEM;
}

unsigned cluster_shards(const struct cluster *c)
{
    return c->shards;
}

int cluster_start(struct cluster *c, const struct node_plan *plan)
{
    int rc = 0;
    for (unsigned s = 0; s < c->shards && rc == 0; s++)
        rc = platform_open_reactor(c->reactor[s], plan);
    return rc;
}

struct reactor **cluster_reactors(struct cluster *c)
{
    return c->reactor;
}

bool cluster_shares_cores(const struct cluster *c)
{
    (void)c;
    return false;
}

int cluster_loss(struct cluster *c)
{
    (void)c;
    return 0;
}

/* When all have arrived the meeting is over: everybody has told rank 0, and rank 0 everybody. */
static void look_for_meeting(void)
{
    if (!gathering_ends(sim.attendant, sim.nodes)) return;
    for (unsigned n = 0; n < sim.nodes; n++) {
        sim.node[n]->met_ns = virtual_now_ns() + (uint64_t)(2 * sim.model.latency);
        virtual_news(n, sim.node[n]->met_ns);
    }
}

static bool has_met(const void *cluster)
{
    const struct cluster *c = cluster;
    return !c->attendant.arrived && virtual_now_ns() >= c->met_ns;
}

int cluster_agree(void *cluster, const struct meeting *meeting, struct word *w)
{
    struct cluster *c = cluster;
    (void)meeting;
    c->attendant.word = *w;
    c->attendant.arrived = true;
    look_for_meeting();
    locus_fiber_wait(has_met, c);
    *w = c->attendant.word;
    return w->rc;
}

int cluster_absent(struct cluster *c, bool absent)
{
    c->attendant.absent = absent;
    look_for_meeting();
    return 0;
}

static bool all_leave(const void *none)
{
    (void)none;
    for (unsigned n = 0; n < sim.nodes; n++)
        if (sim.node[n] && !sim.node[n]->leaves) return false;
    return true;
}

int cluster_leave(struct cluster *c)
{
    c->leaves = true;
    for (unsigned n = 0; n < sim.nodes; n++) virtual_news(n, virtual_now_ns());
    if (virtual_fiber() >= 0) locus_fiber_wait(all_leave, NULL);
    return 0;
}

void cluster_free(struct cluster *c)
{
    if (!c) return;
    sim.last[c->rank] = platform_figures((unsigned)c->rank);
    sim.node[c->rank] = NULL;
    sim.attendant[c->rank] = NULL;
    for (unsigned s = 0; c->reactor && s < c->shards; s++) platform_end_reactor(c->reactor[s]);
    free(c->reactor);
    free(c);
}
