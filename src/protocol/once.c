#include "protocol/once.h"

#include "protocol/loss.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void note(struct notes *n, uint64_t number, uint32_t tag)
{
    if (!n->tag) n->tag = calloc(ONCE_WRITES_MAX, sizeof *n->tag);
    INVARIANT(n->tag != NULL, "no memory for notes of what was written for another node");
    n->tag[number % ONCE_WRITES_MAX] = tag;
    n->count = number + 1;
}

/* Those from a number on that may be of use. What follows says how long they can wait. */
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
                    UINT64_MAX);
    for (uint32_t i = 0; e && i < e->length; i++)
        memcpy(wire_values(e) + i, &n->tag[(from + i) % ONCE_WRITES_MAX], sizeof *n->tag);
}

void once_note(struct shard *s, const struct wire_entry *e)
{
    struct notes *n = once_of(s, s->rank, e->origin);
    note(n, n->count, e->tag);
    once_of(s, s->rank, s->rank)->count++;
}

void once_tell_notes(struct shard *s, unsigned node)
{
    uint64_t *said = &s->once->said[(size_t)node * s->nodes];
    if (said[node] == once_of(s, s->rank, s->rank)->count) return;
    for (unsigned origin = 0; origin < s->nodes; origin++) {
        const struct notes *n = once_of(s, s->rank, origin);
        if (origin == node || origin == s->rank)
            continue; /* on this link the answers came before */
        say(s, node, origin, 0, n, said[origin]);
        said[origin] = n->count;
    }
    said[node] = once_of(s, s->rank, s->rank)->count;
}

const char *once_hear(struct shard *s, const struct arrival *a)
{
    const struct wire_entry *e = a->entry;
    uint32_t tag;
    if (!s->once) return "notes where no loss is survived by several";
    for (uint32_t i = 0; i < e->length; i++) {
        memcpy(&tag, wire_values_const(e) + i, sizeof tag);
        note(once_of(s, a->peer, e->owner), e->version + i, tag);
    }
    return NULL;
}

void once_tell_origins(struct shard *s)
{
    const struct losses *l = s->losses;
    for (unsigned i = 0; s->once && i < l->undecideds; i++)
        for (unsigned origin = 0; origin < s->nodes; origin++) {
            unsigned lost = l->undecided[i];
            if (origin == s->rank || l->is_member[lost]) continue;
            say(s, origin, lost, WIRE_BEGIN, once_of(s, lost, origin), 0);
        }
}

void once_forget(struct shard *s, unsigned lost)
{
    for (unsigned n = 0; s->once && n < s->nodes; n++) {
        once_of(s, lost, n)->count = 0;
        if (n != lost) once_of(s, n, lost)->count = s->once->said[(size_t)n * s->nodes + lost] = 0;
    }
}

int once_init(struct shard *s)
{
    if (!s->losses || s->nodes < 3) return 0;
    size_t pairs = (size_t)s->nodes * s->nodes;
    if (!(s->once = calloc(1, sizeof *s->once))) return -ENOMEM;
    s->once->of = calloc(pairs, sizeof *s->once->of);
    s->once->said = calloc(pairs, sizeof *s->once->said);
    return s->once->of && s->once->said ? 0 : -ENOMEM;
}

void once_fini(struct shard *s)
{
    if (!s->once) return;
    for (size_t i = 0; s->once->of && i < (size_t)s->nodes * s->nodes; i++)
        free(s->once->of[i].tag);
    free(s->once->of);
    free(s->once->said);
    free(s->once);
    s->once = NULL;
}
