#include "protocol/backlog.h"

#include "base/error.h"
#include "intents/pacer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists ---- */

static void list_push(struct backlog *b, struct index_list *l, uint64_t index)
{
    if (l->count == l->capacity && l->first > l->capacity / 2) {
        l->count -= l->first;
        memmove(l->index, l->index + l->first, l->count * sizeof *l->index);
        l->first = 0;
    }
    if (l->count == l->capacity) {
        l->capacity = l->capacity ? 2 * l->capacity : 64;
        l->index = realloc(l->index, l->capacity * sizeof *l->index);
        INVARIANT(l->index != NULL, "no memory for the keys of the next round");
    }
    l->index[l->count++] = index;
    b->waiting++;
}

uint64_t list_pop(struct backlog *b, struct index_list *l)
{
    uint64_t index = l->index[l->first++];
    if (l->first == l->count) l->first = l->count = 0;
    b->waiting--;
    return index;
}

/* ---- whom a turn looks at ---- */

static void set_bit(uint64_t *bits, unsigned peer, bool value)
{
    uint64_t bit = UINT64_C(1) << peer % 64;
    bits[peer / 64] = value ? bits[peer / 64] | bit : bits[peer / 64] & ~bit;
}

bool backlog_is_urgent(const struct shard *s, const struct peer_backlog *p)
{
    return list_length(&p->urgent) > 0 ||
           (list_length(&p->recall) > 0 && !pacer_piggybacks(s->pacer));
}

bool backlog_waits(const struct peer_backlog *p)
{
    return list_length(&p->lazy) > 0 || list_length(&p->refresh) > 0 || list_length(&p->recall) > 0;
}

void backlog_note(struct shard *s, unsigned peer)
{
    struct backlog *b = s->backlog;
    const struct peer_backlog *p = &b->peer[peer];
    bool waits = backlog_waits(p), soon = backlog_is_urgent(s, p) || (p->goes_on && waits);
    set_bit(b->soon, peer, !p->is_under_way && soon);
    set_bit(b->later, peer, !p->is_under_way && (waits || p->owes));
}

/* ---- what is queued ---- */

void backlog_add(struct shard *s, struct record *r, unsigned node, enum backlog_class class)
{
    struct peer_backlog *p = &s->backlog->peer[node];
    if (r->queued & class) return;
    r->queued |= class;
    list_push(s->backlog,
              class == BACKLOG_URGENT ? &p->urgent
              : class == BACKLOG_LAZY ? &p->lazy
                                      : &p->recall,
              r->index);
    backlog_note(s, node);
}

void backlog_add_refresh(struct shard *s, unsigned node, uint64_t index)
{
    list_push(s->backlog, &s->backlog->peer[node].refresh, index);
    s->backlog->peer[node].refreshes_queued++;
    backlog_note(s, node);
}

void backlog_owes(struct shard *s, unsigned node)
{
    s->backlog->peer[node].owes = true;
    backlog_note(s, node);
}

/* ---- life ---- */

int backlog_init(struct shard *s)
{
    struct backlog *b = s->backlog = calloc(1, sizeof *b);
    if (!b) return -ENOMEM;
    b->peer = calloc(s->nodes, sizeof *b->peer);
    b->soon = calloc(backlog_words(s), sizeof *b->soon);
    b->later = calloc(backlog_words(s), sizeof *b->later);
    return b->peer && b->soon && b->later ? 0 : -ENOMEM;
}

void backlog_fini(struct shard *s)
{
    struct backlog *b = s->backlog;
    if (!b) return;
    for (unsigned peer = 0; b->peer && peer < s->nodes; peer++) {
        struct peer_backlog *p = &b->peer[peer];
        free(p->urgent.index);
        free(p->recall.index);
        free(p->lazy.index);
        free(p->refresh.index);
    }
    free(b->peer);
    free(b->soon);
    free(b->later);
    free(b);
    s->backlog = NULL;
}
