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

/* The change that a node with that marker has begun. */
static uint32_t number_of(uint32_t marker)
{
    return (marker + LOSS_PHASES - 1) / LOSS_PHASES;
}

/* Who has begun another change has perhaps not gone through this one, nor shall we. */
static bool have_members_said(const struct shard *s, uint32_t number, unsigned phase)
{
    const struct losses *l = s->losses;
    for (unsigned i = 0; i < l->members; i++) {
        uint32_t said = l->said[l->member[i]];
        if (l->member[i] == s->rank) continue;
        if (said < marker(number, phase) || number_of(said) != number) return false;
    }
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

unsigned loss_home(const struct shard *s, struct row_ref ref)
{
    return s->losses->next_home[bucket_of(ref)];
}

bool loss_is_undecided(const struct losses *l, unsigned node)
{
    for (unsigned i = 0; i < l->undecideds; i++)
        if (l->undecided[i] == node) return true;
    return false;
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
    bool joins = change.kind == CHANGE_JOINS;
    l->is_member[change.node] = joins;
    if (joins) l->joined[change.node] = change.number;
    if (!loss_is_undecided(l, change.node)) l->undecided[l->undecideds++] = (uint16_t)change.node;
    find_members(s);
    l->change = change;
    l->phase = 0;
    loss_forget_offers(l, change.number - 1); /* what they still have they offer anew */
    for (unsigned b = 0; b < HOME_BUCKETS; b++) {
        if (joins && s->store->home.node[b] == change.node) l->next_home[b] = (uint16_t)change.node;
        if (!joins && l->next_home[b] == change.node) l->next_home[b] = l->next_heir[b];
        l->next_heir[b] = find_heir(l, b, l->next_home[b]);
    }
}

/* Who is no member says nothing, and if it becomes one says what the others say then. */
void loss_pass(struct shard *s)
{
    struct losses *l = s->losses;
    for (unsigned b = 0; b < HOME_BUCKETS; b++)
        home_pass(&s->store->homes[s->number], b, l->next_home[b]);
    memcpy(l->heir, l->next_heir, sizeof l->heir);
    l->undecideds = 0;
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

static int compare(const void *a, const void *b)
{
    const struct offer *x = a, *y = b;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    if (x->index != y->index) return x->index < y->index ? -1 : 1;
    if (x->term != y->term) return x->term > y->term ? -1 : 1;
    if (x->version != y->version) return x->version > y->version ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* The last owner's, and of those who has most of its updates. */
size_t loss_sort_offers(struct losses *l)
{
    size_t n = 0;
    if (l->offers > 0) qsort(l->offer, l->offers, sizeof *l->offer, compare);
    while (n < l->offers && l->offer[n].number == l->change.number) n++;
    return n;
}

void loss_forget_offers(struct losses *l, uint32_t until)
{
    size_t n = 0;
    for (size_t i = 0; i < l->offers; i++)
        if (l->offer[i].number > until) l->offer[n++] = l->offer[i];
    l->offers = n;
}

static const char *const no_repair = "the repair of a loss that ends the job";

/* In order; but a change that begins overtakes the one before, in any phase. */
const char *loss_marker(struct shard *s, const struct arrival *a)
{
    struct losses *l = s->losses;
    const struct wire_entry *e = a->entry;
    if (!l) return no_repair;
    /* one may have joined, and of the others each can be lost, before we hear of it */
    if (e->clock < 1 || e->clock > LOSS_PHASES || e->round == 0 ||
        e->round > l->change.number + s->nodes)
        return "a marker of no possible repair";
    uint32_t said = l->said[a->peer], says = marker(e->round, (unsigned)e->clock);
    bool begins = e->clock == 1 && e->round == number_of(said) + 1;
    if (says != said + 1 && !begins) return "a marker of a repair out of its order";
    l->said[a->peer] = says;
    if (l->leaves) loss_serves_on(s);
    return NULL;
}

const char *loss_offered(struct shard *s, const struct arrival *a)
{
    const struct wire_entry *e = a->entry;
    struct losses *l = s->losses;
    if (!l) return no_repair;
    uint32_t number = number_of(l->said[a->peer]) + 1; /* behind the offers comes its marker */
    if (number < l->change.number) return NULL;        /* it offers again what it still has */
    if (l->offers / s->nodes / s->records.keys > number - l->change.number)
        return "more offers than there can be replicas";
    loss_offer(s, &(struct offer){a->ref.index, e->term, e->version, number, a->peer});
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
    l->undecided = calloc(s->nodes, sizeof *l->undecided);
    l->joined = calloc(s->nodes, sizeof *l->joined);
    l->said = calloc(s->nodes, sizeof *l->said);
    l->round = calloc(s->nodes, sizeof *l->round);
    if (!l->is_member || !l->member || !l->undecided || !l->joined || !l->said || !l->round)
        return -ENOMEM;
    memset(l->is_member, true, s->nodes * sizeof *l->is_member);
    find_members(s);
    for (unsigned b = 0; b < HOME_BUCKETS; b++) {
        l->next_home[b] = s->store->home.node[b];
        l->heir[b] = l->next_heir[b] = find_heir(l, b, l->next_home[b]);
    }
    replay(s);
    return 0;
}

void loss_fini(struct shard *s)
{
    struct losses *l = s->losses;
    if (!l) return;
    free(l->is_member);
    free(l->member);
    free(l->undecided);
    free(l->joined);
    free(l->said);
    free(l->round);
    free(l->offer);
    free(l);
    s->losses = NULL;
}
