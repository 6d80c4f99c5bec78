#include "joined.h"

#include "base/error.h"
#include "base/sync.h"
#include "observe/trace.h"
#include "protocol/repair.h"
#include "worker/node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct cluster *joined[JOINED_NODES_MAX];

/* The last meeting of all: with which loss, and does the next one belong to it? */
static struct {
    bool goes_on;
    uint32_t view;
    uint64_t met_ns;
} last;

int cluster_join(const struct locus_config *config, void (*lost)(void *context), void *context,
                 struct cluster **out)
{
    if (config->rank == 0) memset(&last, 0, sizeof last);
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

const struct change *cluster_history(const struct cluster *c, uint32_t *changes)
{
    (void)c;
    *changes = 0;
    return NULL;
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
    uint32_t view = c->view;
    while (view > 0 && platform_now_ns() < c->view_ns[view]) view--;
    return view;
}

uint32_t cluster_repaired(struct cluster *c)
{
    uint32_t view = UINT32_MAX;
    for (unsigned s = 0; s < c->shards; s++) {
        uint32_t last_one = repair_last(reactor_shard(c->reactor[s]));
        if (last_one < view) view = last_one;
    }
    return view;
}

void cluster_losses(struct cluster *c, struct locus_losses *l)
{
    (void)c, (void)l;
}

bool cluster_has_lost(struct cluster *c, unsigned rank)
{
    return joined[rank] && joined[rank]->is_gone &&
           platform_now_ns() >= c->view_ns[joined[rank]->gone_by];
}

int cluster_loss(struct cluster *c)
{
    return c->is_lost ? error_set(-ECONNRESET, "node %u (simulated) was lost", c->lost_rank) : 0;
}

uint64_t joined_met_ns(void)
{
    return last.met_ns;
}

/* As rank 0 has it: a node that was lost between two meetings that belong together has them begin
 * again. */
static void release(unsigned nodes, const struct cluster *first)
{
    struct word all = {.rc = 0};
    if (last.goes_on && last.view != first->view)
        all = (struct word){.rc = MEETING_REPEATS, .text = "a node was lost"};
    for (unsigned n = 0; n < nodes; n++)
        if (!joined[n]->is_gone && joined[n]->arrived) word_add(&all, &joined[n]->word);
    last.goes_on = meeting_goes_on(first->goes_on, all.rc);
    last.view = first->view;
    last.met_ns = platform_now_ns();
    for (unsigned n = 0; n < nodes; n++) {
        if (joined[n]->is_gone || joined[n]->is_newcomer) continue;
        joined[n]->word = all;
        joined[n]->arrived = false;
        joined[n]->met_ns = platform_hears_ns(n);
    }
}

/* When all have arrived, but for those that are absent, the meeting is over. */
void joined_look_for_meeting(unsigned nodes)
{
    const struct cluster *first = NULL;
    for (unsigned n = 0; n < nodes; n++) {
        if (joined[n] && (joined[n]->is_gone || joined[n]->is_newcomer)) continue;
        if (!joined[n] || (!joined[n]->arrived && !joined[n]->absent)) return;
        if (joined[n]->arrived && !first) first = joined[n];
    }
    if (first) release(nodes, first);
}

static bool has_met(const void *cluster)
{
    const struct cluster *c = cluster;
    return c->is_lost || (!c->arrived && platform_now_ns() >= c->met_ns);
}

int cluster_agree(void *cluster, const struct meeting *meeting, struct word *w)
{
    struct cluster *c = cluster;
    c->word = *w;
    c->goes_on = meeting->goes_on;
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

int cluster_leave(struct cluster *c, bool alone)
{
    (void)alone;
    platform_leaves(c);
    return cluster_loss(c);
}

void cluster_free(struct cluster *c)
{
    if (!c) return;
    for (unsigned s = 0; c->reactor && s < c->shards; s++) platform_end_reactor(c, s);
    if (joined[c->rank] == c) joined[c->rank] = NULL;
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
