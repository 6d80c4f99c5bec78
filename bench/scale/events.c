#include "events.h"

#include <stdlib.h>

static bool is_before(const struct event *a, const struct event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

void events_put(struct events *e, uint64_t at_ns, enum event_kind kind, void *what)
{
    if (e->count == e->capacity) {
        e->capacity = e->capacity ? 2 * e->capacity : 1024;
        e->heap = realloc(e->heap, e->capacity * sizeof *e->heap);
        if (!e->heap) abort();
    }
    struct event new = {at_ns, e->order++, what, kind};
    size_t i = e->count++;
    for (; i > 0 && is_before(&new, &e->heap[(i - 1) / 2]); i = (i - 1) / 2)
        e->heap[i] = e->heap[(i - 1) / 2];
    e->heap[i] = new;
}

bool events_take(struct events *e, struct event *first)
{
    if (e->count == 0) return false;
    *first = e->heap[0];
    struct event last = e->heap[--e->count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < e->count; i = child) {
        if (child + 1 < e->count && is_before(&e->heap[child + 1], &e->heap[child])) child++;
        if (!is_before(&e->heap[child], &last)) break;
        e->heap[i] = e->heap[child];
    }
    e->heap[i] = last;
    return true;
}

void events_free(struct events *e)
{
    free(e->heap);
    *e = (struct events){0};
}
