#include "protocol/holders.h"

#include "base/error.h"

#include <stdlib.h>

struct holder *holder_find(const struct record *r, unsigned node)
{
    for (unsigned i = 0; i < r->holders; i++)
        if (r->holder[i].node == node) return &r->holder[i];
    return NULL;
}

void holders_fetch(const struct shard *s, uint64_t index)
{
    const struct record *r = record_find(&s->records, index);
    if (r && r->holders > 0) __builtin_prefetch(r->holder, 1, 3);
}

static void make_room(struct record *r)
{
    if (r->holders < r->holder_capacity) return;
    r->holder_capacity = r->holder_capacity ? (uint16_t)(2 * r->holder_capacity) : 4;
    r->holder = realloc(r->holder, r->holder_capacity * sizeof *r->holder);
    INVARIANT(r->holder != NULL, "no memory for the holders of a replica");
}

struct holder *holders_add(struct record *r, struct row_ref ref, unsigned node)
{
    struct holder *h = holder_find(r, node);
    if (h) return h;
    if (r->holders == 0) {
        row_share(ref);
        r->seen_word = directory_version(row_word(ref));
        r->version++;
    }
    make_room(r);
    r->holder[r->holders] = (struct holder){.node = (uint16_t)node};
    return &r->holder[r->holders++];
}

void holders_remove(struct record *r, struct row_ref ref, unsigned node)
{
    struct holder *h = holder_find(r, node);
    if (!h) return;
    *h = r->holder[--r->holders];
    if (r->holders > 0) return;
    row_unshare(ref);
    r->version = 0; /* nobody has any: there is nothing to remember */
}

void holders_add_all(struct shard *s, struct record *r, struct row_ref ref)
{
    if (!shard_is_full(s) || r->holders > 0) return;
    for (unsigned node = 0; node < s->nodes; node++)
        if (node != s->rank) holders_add(r, ref, node);
}

void holders_note_word(struct record *r, directory_word w)
{
    if (directory_version(w) == r->seen_word) return;
    r->seen_word = directory_version(w);
    r->version++;
}

uint64_t holders_version(struct record *r, struct row_ref ref)
{
    holders_note_word(r, row_word(ref));
    return r->version;
}
