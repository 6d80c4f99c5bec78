#include "protocol/loss.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(((uint64_t)CHANGES_MAX << LOSS_TERM_SHIFT) >> DIRECTORY_TERM_BITS == 0,
               "there are terms for all changes");

static uint32_t marker(uint32_t number, unsigned phase)
{
    return (number - 1) * LOSS_PHASES + phase;
}

static bool have_members_said(const struct shard *s, uint32_t number, unsigned phase)
{
    const struct losses *l = s->losses;
    for (unsigned i = 0; i < l->members; i++)
        if (l->member[i] != s->rank && l->said[l->member[i]] < marker(number, phase)) return false;
    return true;
}

bool loss_has_left(const struct losses *l)
{
    return l->said[l->change.node] >= marker(l->change.number, 1);
}

bool loss_have_all_said(const struct shard *s, unsigned phase)
{
    const struct losses *l = s->losses;
    return have_members_said(s, l->change.number, phase) && (!loss_is_leave(l) || loss_has_left(l));
}

void loss_serves_on(struct shard *s)
{
    if (!have_members_said(s, s->losses->leaves, 1)) return;
    s->failure = SHARD_REPAIRS;
    s->serves = SERVES_NOBODY;
}

/* Of all that live but the home the first in an order of the bucket's own: so a loss changes the
 * heirs of no buckets but those that had it as their home or heir. Alone: the home. */
static uint16_t find_heir(const struct losses *l, unsigned bucket, unsigned home)
{
    uint64_t best = 0;
    unsigned heir = home;
    for (unsigned i = 0; i < l->members; i++) {
        uint64_t place = ((uint64_t)bucket << 16 | l->member[i]) * UINT64_C(0x9E3779B97F4A7C15);
        place = (place ^ place >> 32) * UINT64_C(0xD6E8FEB86659FD93);
        if (l->member[i] == home || (heir != home && place < best)) continue;
        best = place;
        heir = l->member[i];
    }
    return (uint16_t)heir;
}

static unsigned bucket_of(struct row_ref ref)
{
    return row_ref_number(ref) % HOME_BUCKETS;
}

unsigned loss_heir(const struct losses *l, struct row_ref ref)
{
    return l->heir[bucket_of(ref)];
}

unsigned loss_next_heir(const struct losses *l, struct row_ref ref)
{
    return l->next_heir[bucket_of(ref)];
}

static unsigned next_home(const struct shard *s, unsigned bucket)
{
    const struct losses *l = s->losses;
    unsigned home = s->store->homes[s->number].node[bucket], node = l->change.node;
    if (loss_is_join(l)) return s->store->home.node[bucket] == node ? node : home;
    return home == node ? l->heir[bucket] : home;
}

unsigned loss_home(const struct shard *s, struct row_ref ref)
{
    return next_home(s, bucket_of(ref));
}

static void find_members(struct shard *s)
{
    struct losses *l = s->losses;
    l->members = 0;
    for (unsigned n = 0; n < s->nodes; n++)
        if (l->is_member[n]) l->member[l->members++] = (uint16_t)n;
}

void loss_begin(struct shard *s, struct change change)
{
    struct losses *l = s->losses;
    l->is_member[change.node] = change.kind == CHANGE_JOINS;
    find_members(s);
    l->change = change;
    l->phase = 0;
    for (unsigned b = 0; b < HOME_BUCKETS; b++) l->next_heir[b] = find_heir(l, b, next_home(s, b));
}

/* Who is no member says nothing, and if it becomes one says what the others say then. */
void loss_pass(struct shard *s)
{
    struct losses *l = s->losses;
    for (unsigned b = 0; b < HOME_BUCKETS; b++)
        home_pass(&s->store->homes[s->number], b, next_home(s, b));
    memcpy(l->heir, l->next_heir, sizeof l->heir);
    for (unsigned n = 0; n < s->nodes; n++)
        if (!l->is_member[n]) l->said[n] = marker(l->change.number, LOSS_PHASES);
}

void loss_offer(struct shard *s, const struct offer *o)
{
    struct losses *l = s->losses;
    if (l->offers == l->capacity) {
        l->capacity = l->capacity ? 2 * l->capacity : 64;
        l->offer = realloc(l->offer, l->capacity * sizeof *l->offer);
        INVARIANT(l->offer != NULL, "no memory for the replicas of rows of a lost node");
    }
    l->offer[l->offers++] = *o;
}

static const char *const no_repair = "the repair of a loss that ends the job";

/* In order, and at most one loss ahead: who is further has heard our markers. */
const char *loss_marker(struct shard *s, const struct arrival *a)
{
    struct losses *l = s->losses;
    const struct wire_entry *e = a->entry;
    if (!l) return no_repair;
    if (e->clock < 1 || e->clock > LOSS_PHASES || e->round == 0 ||
        e->round > l->change.number + 1 ||
        marker(e->round, (unsigned)e->clock) != l->said[a->peer] + 1)
        return "a marker of a repair out of its order";
    l->said[a->peer]++;
    if (l->leaves) loss_serves_on(s);
    return NULL;
}

const char *loss_offered(struct shard *s, const struct arrival *a)
{
    const struct wire_entry *e = a->entry;
    struct losses *l = s->losses;
    if (!l) return no_repair;
    if (l->said[a->peer] % LOSS_PHASES != 0) return "an offer behind those of its repair";
    if (l->offers >= s->records.keys * s->nodes) return "more offers than there can be replicas";
    loss_offer(s, &(struct offer){a->ref.index, e->term, e->version, a->peer});
    return NULL;
}

/* As it is at the others, who have said all that there was to say. */
static void replay(struct shard *s)
{
    const struct node_plan *p = s->plan;
    for (uint32_t i = 0; i < p->changes; i++) {
        loss_begin(s, p->history[i]);
        loss_pass(s);
    }
    for (unsigned n = 0; n < s->nodes; n++) s->losses->said[n] = p->changes * LOSS_PHASES;
}

int loss_init(struct shard *s)
{
    if (!s->plan->config.survives || s->nodes < 2) return 0;
    struct losses *l = s->losses = calloc(1, sizeof *l);
    if (!l) return -ENOMEM;
    l->is_member = calloc(s->nodes, sizeof *l->is_member);
    l->member = calloc(s->nodes, sizeof *l->member);
    l->said = calloc(s->nodes, sizeof *l->said);
    l->round = calloc(s->nodes, sizeof *l->round);
    if (!l->is_member || !l->member || !l->said || !l->round) return -ENOMEM;
    memset(l->is_member, true, s->nodes * sizeof *l->is_member);
    find_members(s);
    for (unsigned b = 0; b < HOME_BUCKETS; b++)
        l->heir[b] = find_heir(l, b, s->store->home.node[b]);
    replay(s);
    return 0;
}

void loss_fini(struct shard *s)
{
    struct losses *l = s->losses;
    if (!l) return;
    free(l->is_member);
    free(l->member);
    free(l->said);
    free(l->round);
    free(l->offer);
    free(l);
    s->losses = NULL;
}
