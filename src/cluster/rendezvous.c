/* What a node calls; its side of the connection is in member.c, rank 0's in server.c. */
#include "cluster/rendezvous.h"

#include "base/error.h"
#include "base/time.h"
#include "cluster/member.h"
#include "cluster/server.h"
#include "cluster/streams.h"

#include <errno.h>
#include <stdlib.h>

static struct rendezvous *new_rendezvous(const struct rendezvous_config *c)
{
    struct rendezvous *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->rank = (unsigned)c->node.rank;
    r->size = (unsigned)c->node.size;
    r->lost = c->lost;
    r->context = c->context;
    r->cluster.address = calloc(r->size, sizeof *r->cluster.address);
    r->cluster.workers = calloc(r->size, sizeof *r->cluster.workers);
    if (r->cluster.address && r->cluster.workers && secret_copy(&r->secret, c->secret) == 0)
        return r;
    rendezvous_free(r);
    return NULL;
}

static int join(struct rendezvous *r, const struct rendezvous_config *c)
{
    r->joining.since_ns = time_now_ns();
    r->obstacle_rc = -ETIMEDOUT;
    r->deadline_ns = r->joining.since_ns + (uint64_t)(c->node.join_timeout_s * 1e9);
    int rc = rendezvous_address_parse(&r->address, c->node.rendezvous);
    if (rc == 0) rc = streams_prepare();
    if (rc == 0) rc = hub_start(&r->hub, c->node.peer_timeout_s, &member_events, r);
    r->has_hub = rc == 0;
    if (rc == 0) rc = rendezvous_address_resolve(&r->address, r->deadline_ns);
    if (rc == 0 && !c->loopback_only) rendezvous_address_prefer(&r->address, c->data_address);
    if (rc == 0 && r->rank == 0) rc = server_start(&r->server, c, &r->address, r->deadline_ns);
    return rc ? rc : joining_reach_rank_0(r, c);
}

int rendezvous_join(const struct rendezvous_config *c, struct rendezvous **out,
                    struct rendezvous_cluster *cluster)
{
    *out = NULL;
    int rc = joining_check(c);
    if (rc) return rc;
    struct rendezvous *r = new_rendezvous(c);
    if (!r) return error_set(-ENOMEM, "no memory for a rendezvous of %d nodes", c->node.size);
    rc = join(r, c);
    if (rc) {
        rendezvous_free(r);
        return rc;
    }
    *out = r;
    *cluster = r->cluster;
    hub_lock(&r->hub);
    r->may_tell = r->lost != NULL;
    hub_note(&r->hub);
    hub_unlock(&r->hub);
    return 0;
}

/* ---- in the cluster ---- */

static int lost_error(const struct rendezvous *r)
{
    return error_set(-ECONNRESET, "node %u (%s) %s", r->lost_rank, r->cluster.address[r->lost_rank],
                     r->lost_reason);
}

static struct message *barrier_message(const struct meeting *meeting, const struct word *w)
{
    struct message *m = message_new(MESSAGE_BARRIER);
    message_put_u32(m, (meeting->goes_on ? MESSAGE_GOES_ON : 0) |
                           (meeting->needs_all ? MESSAGE_NEEDS_ALL : 0));
    message_put_text(m, meeting->name);
    message_put_word(m, w);
    return message_done(m);
}

static int meet(struct rendezvous *r, const struct meeting *meeting, struct word *w)
{
    r->barrier = ARRIVED;
    member_send(r, barrier_message(meeting, w));
    while (r->phase == RUNNING && r->barrier == ARRIVED) member_wait(r);
    bool was_released = r->barrier == RELEASED;
    *w = r->answer;
    r->barrier = OUTSIDE;
    hub_announce(&r->hub);
    if (!was_released) return lost_error(r);
    return w->rc ? error_set(w->rc, "%s", w->text) : 0;
}

static void say_absent(struct rendezvous *r, bool absent)
{
    struct message *m = message_new(MESSAGE_ABSENT);
    message_put_u32(m, absent);
    member_send(r, message_done(m));
}

void rendezvous_absent(struct rendezvous *r)
{
    hub_lock(&r->hub);
    if (r->phase == RUNNING) say_absent(r, true);
    hub_unlock(&r->hub);
}

int rendezvous_present(struct rendezvous *r)
{
    hub_lock(&r->hub);
    if (r->phase == RUNNING) say_absent(r, false);
    r->is_known_present = false;
    while (r->phase == RUNNING && !r->is_known_present) member_wait(r);
    int rc = r->is_known_present ? 0 : lost_error(r);
    hub_unlock(&r->hub);
    return rc;
}

int rendezvous_agree(struct rendezvous *r, const struct meeting *meeting, struct word *w)
{
    hub_lock(&r->hub);
    while (r->barrier != OUTSIDE && r->phase == RUNNING) member_wait(r); /* another thread's */
    INVARIANT(r->phase == RUNNING || r->phase == LOST,
              "a barrier was called while or after leaving the cluster");
    int rc = r->phase == LOST ? lost_error(r) : meet(r, meeting, w);
    hub_unlock(&r->hub);
    return rc;
}

/* A link of each shard says so, to each node that does not speak: more than a channel keeps. Rank 0
 * needs no more than one failure, and of silence whom we do not hear. */
static bool is_news(struct rendezvous *r, unsigned rank, const char *reason)
{
    if (!silence_is_reason(reason)) {
        bool is_first = !r->has_reported_failure;
        r->has_reported_failure = true;
        return is_first;
    }
    for (unsigned i = 0; i < r->silent_count; i++)
        if (r->silent[i] == rank) return false;
    if (r->silent_count == MEMBER_SILENT_MAX) return false;
    r->silent[r->silent_count++] = rank;
    return true;
}

bool rendezvous_report_lost(struct rendezvous *r, int rank, const char *reason)
{
    INVARIANT(rank >= 0 && (unsigned)rank < r->size,
              "a node was reported as lost whose rank does not exist");
    hub_lock(&r->hub);
    bool is_heard = !r->is_stopped && (r->phase == RUNNING || r->phase == LEAVING);
    if (is_heard && is_news(r, (unsigned)rank, reason)) {
        struct message *m = message_new(MESSAGE_REPORT);
        message_put_u32(m, (uint32_t)rank);
        message_put_text(m, reason);
        member_send(r, message_done(m));
        r->has_reported = true;
    }
    bool is_known = !r->is_stopped && r->phase == LOST; /* `lost` was called, or is about to be */
    hub_unlock(&r->hub);
    return is_heard || is_known;
}

/* ---- leaving ---- */

/* A node that has reported a loss knows that the cluster has failed, but not yet who failed first.
 * If it left before rank 0 has read the report, it would itself be taken for lost. */
static void await_loss(struct rendezvous *r)
{
    uint64_t until_ns = time_now_ns() + VERDICT_TIMEOUT_NS;
    if (!r->has_reported) return;
    while (r->phase == RUNNING && hub_wait(&r->hub, until_ns)) continue;
}

void rendezvous_await_verdict(struct rendezvous *r)
{
    hub_lock(&r->hub);
    await_loss(r);
    hub_unlock(&r->hub);
}

static void stop(struct rendezvous *r)
{
    if (r->has_hub && !r->is_stopped) {
        hub_lock(&r->hub);
        r->is_stopped = true; /* from now on there may be no channel */
        hub_unlock(&r->hub);
        hub_stop(&r->hub);
    }
    if (r->server) server_stop(r->server);
    r->server = NULL;
}

static void await_others(struct rendezvous *r)
{
    r->phase = LEAVING;
    member_send(r, message_done(message_new(MESSAGE_LEAVE)));
    while (r->phase == LEAVING) member_wait(r);
}

int rendezvous_leave(struct rendezvous *r)
{
    hub_lock(&r->hub);
    while (r->barrier != OUTSIDE && r->phase == RUNNING) member_wait(r); /* another thread's */
    await_loss(r);
    if (r->phase == RUNNING) await_others(r);
    int rc = r->phase == LOST ? lost_error(r) : 0;
    hub_unlock(&r->hub);
    stop(r);
    return rc;
}

void rendezvous_stop(struct rendezvous *r)
{
    if (!r) return;
    if (r->has_hub && !r->is_stopped) rendezvous_await_verdict(r);
    stop(r);
}

void rendezvous_free(struct rendezvous *r)
{
    if (!r) return;
    rendezvous_stop(r);
    if (r->has_hub) hub_fini(&r->hub);
    message_let_go(r->hello);
    secret_forget(&r->secret);
    free(r->cluster.address);
    free(r->cluster.workers);
    free(r);
}
