#include "protocol/record.h"

#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { RECORD_LINE = 64 };
_Static_assert(sizeof(struct record) == 2 * RECORD_LINE, "a record fills two lines of the cache");
_Static_assert(offsetof(struct record, route) <= RECORD_LINE,
               "what intents and rounds look at is in the first");

int records_init(struct records *all, uint64_t keys)
{
    *all = (struct records){.keys = keys};
    all->state = memory_reserve(keys * sizeof *all->state);
    return all->state ? 0 : -ENOMEM;
}

void records_fini(struct records *all)
{
    for (uint32_t number = 1; number <= all->used; number++) {
        struct record *r = record_at(all, number);
        free(r->holder);
        for (struct parked *p; (p = r->parked);) {
            r->parked = p->next;
            free(p);
        }
    }
    for (uint32_t i = 0; i < all->chunks; i++) free(all->chunk[i]);
    free(all->chunk);
    free(all->free);
    memory_release(all->state, all->keys * sizeof *all->state);
    *all = (struct records){0};
}

static void add_chunk(struct records *all)
{
    uint32_t chunks = all->chunks + 1;
    struct record **chunk = realloc(all->chunk, chunks * sizeof(struct record *));
    if (chunk) all->chunk = chunk;
    uint32_t *free_numbers =
        realloc(all->free, (size_t)chunks * RECORDS_A_CHUNK * sizeof *free_numbers);
    if (free_numbers) all->free = free_numbers;
    struct record *records = aligned_alloc(RECORD_LINE, RECORDS_A_CHUNK * sizeof *records);
    INVARIANT(chunk && free_numbers && records,
              "no memory for what a shard must remember of its keys");
    memset(records, 0, RECORDS_A_CHUNK * sizeof *records);
    all->chunk[all->chunks] = records;
    __atomic_store_n(&all->chunks, chunks, __ATOMIC_RELAXED);
}

uint64_t records_bytes(const struct records *all)
{
    return (uint64_t)__atomic_load_n(&all->chunks, __ATOMIC_RELAXED) * RECORDS_A_CHUNK *
           (sizeof(struct record) + sizeof *all->free);
}

struct record *record_get(struct records *all, uint64_t index)
{
    struct key_state *state = &all->state[index];
    if (state->number) return record_at(all, state->number);
    uint32_t number;
    if (all->free_count > 0) {
        number = all->free[--all->free_count];
    } else {
        if (all->used == all->chunks * RECORDS_A_CHUNK) add_chunk(all);
        number = ++all->used;
    }
    struct record *r = record_at(all, number);
    *r = (struct record){.index = index,
                         .holder = r->holder, /* its capacity is used again */
                         .holder_capacity = r->holder_capacity,
                         .number = number,
                         .waiting_first = REQUEST_NOWHERE,
                         .waiting_last = REQUEST_NOWHERE,
                         .unseen_first = REQUEST_NOWHERE,
                         .set = REQUEST_NOWHERE};
    state->number = number;
    record_touched(all, index);
    return r;
}

void record_release(struct records *all, struct record *r)
{
    all->state[r->index].number = 0;
    all->free[all->free_count++] = r->number;
}
