#include "protocol/once.h"

#include "protocol/loss.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct notes *notes_of(const struct shard *s, unsigned writer, unsigned origin)
{
    return &s->once->of[writer * s->nodes + origin];
}

static void note(struct notes *n, uint64_t number, uint32_t tag)
{
    if (!n->tag) n->tag = calloc(ONCE_WRITES_MAX, sizeof *n->tag);
    INVARIANT(n->tag != NULL, "no memory for notes of what was written for another node");
    n->tag[number % ONCE_WRITES_MAX] = tag;
    n->count = number + 1;
}

/* Those from a number on that may be of use. */
static void say(struct shard *s, unsigned to, unsigned about, uint8_t flags, const struct notes *n,
                uint64_t from)
{
    if (n->count > ONCE_WRITES_MAX && from < n->count - ONCE_WRITES_MAX)
        from = n->count - ONCE_WRITES_MAX;
    if (from == n->count) return;
    struct wire_entry *e =
        shard_entry(s, to,
                    (struct wire_entry){.operation = WIRE_TOLD,
                                        .owner = (uint16_t)about,
                                        .origin = (uint16_t)s->rank,
                                        .flags = flags,
                                        .length = (uint32_t)(n->count - from),
                                        .key = keyspace_key(&s->store->keyspace, s->number, 0),
                                        .version = from},
                    UINT64_MAX); /* what follows says how long it can wait */
    for (uint32_t i = 0; e && i < e->length; i++)
        memcpy(wire_values(e) + i, &n->tag[(from + i) % ONCE_WRITES_MAX], sizeof *n->tag);
}

void once_written(struct shard *s, const struct wire_entry *e)
{
    if (!s->once) return;
    struct notes *n = notes_of(s, s->rank, e->origin);
    note(n, n->count, e->tag);
    s->once->written++;
}

/* Answers to itself precede the row on its link. */
void once_tell_notes(struct shard *s, unsigned node)
{
    s->once->heard[node] = s->once->written;
    for (unsigned origin = 0; origin < s->nodes; origin++) {
        const struct notes *n = notes_of(s, s->rank, origin);
        uint64_t *said = &s->once->said[node * s->nodes + origin];
        if (origin != node) say(s, node, origin, 0, n, *said);
        *said = n->count;
    }
}

const char *once_hear(struct shard *s, const struct arrival *a)
{
    const struct wire_entry *e = a->entry;
    uint32_t tag;
    if (!s->once) return "notes where no loss is survived by several";
    struct notes *n = notes_of(s, a->peer, e->owner);
    for (uint32_t i = 0; i < e->length; i++) {
        memcpy(&tag, wire_values_const(e) + i, sizeof tag);
        note(n, e->version + i, tag);
    }
    return NULL;
}

/* ---- a node was lost ---- */

void once_tell_origins(struct shard *s)
{
    unsigned lost = s->losses->change.node;
    for (unsigned origin = 0; s->once && origin < s->nodes; origin++)
        if (origin != s->rank) say(s, origin, lost, WIRE_BEGIN, notes_of(s, lost, origin), 0);
}

void once_forget(struct shard *s)
{
    struct once *o = s->once;
    unsigned lost = s->losses->change.node;
    for (unsigned n = 0; o && n < s->nodes; n++) {
        notes_of(s, lost, n)->count = notes_of(s, n, lost)->count = 0;
        o->said[n * s->nodes + lost] = o->said[lost * s->nodes + n] = 0;
    }
    if (o) o->answers[lost] = o->heard[lost] = 0; /* who joins there has heard of nothing */
}

/* ---- life ---- */

int once_init(struct shard *s)
{
    if (!s->losses || s->nodes < 3) return 0;
    struct once *o = s->once = calloc(1, sizeof *o);
    size_t pairs = (size_t)s->nodes * s->nodes;
    if (!o) return -ENOMEM;
    o->of = calloc(pairs, sizeof *o->of);
    o->said = calloc(pairs, sizeof *o->said);
    o->answers = calloc(s->nodes, sizeof *o->answers);
    o->heard = calloc(s->nodes, sizeof *o->heard);
    return o->of && o->said && o->answers && o->heard ? 0 : -ENOMEM;
}

void once_fini(struct shard *s)
{
    struct once *o = s->once;
    if (!o) return;
    for (unsigned i = 0; o->of && i < s->nodes * s->nodes; i++) free(o->of[i].tag);
    free(o->of);
    free(o->said);
    free(o->answers);
    free(o->heard);
    free(o);
    s->once = NULL;
}
