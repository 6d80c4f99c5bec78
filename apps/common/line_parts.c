#include "line_parts.h"

#include "fail.h"
#include "world.h"

#include <stdlib.h>
#include <string.h>

enum state { FREE, IN_HAND, DONE };

struct slot {
    struct lines part; /* where it begins */
    enum state state;
    bool is_read;
    uint64_t lines; /* when it was read */
};

struct run {
    const struct line_parts *parts;
    struct lines *file; /* from the first line that nobody has in hand */
    struct world_lock lock;
    struct world_signal has_room, has_part;
    unsigned count;
    struct slot *slots;    /* in turn */
    uint64_t begun, taken; /* parts */
    bool is_over;
};

/* Up to the end of the line that has the last of so many bytes. */
static struct lines cut(struct lines *file, size_t bytes)
{
    struct lines part = *file;
    if (bytes < (size_t)(file->end - file->next)) {
        const char *last = file->next + bytes - 1;
        const char *stop = memchr(last, '\n', (size_t)(file->end - last));
        if (stop) part.end = stop + 1;
    }
    part.number = 0;
    file->next = part.end;
    return part;
}

/* The lock is held, and given while a part is read. False: there is none to read now. */
static bool read_one(struct run *r)
{
    if (r->file->next == r->file->end || r->begun == r->taken + r->count) return false;
    unsigned at = (unsigned)(r->begun++ % r->count);
    struct slot *s = &r->slots[at];
    s->part = cut(r->file, r->parts->bytes);
    s->state = IN_HAND;
    world_lock_give(&r->lock);
    struct lines part = s->part;
    bool is_text = !memchr(part.next, '\0', (size_t)(part.end - part.next));
    bool is_read = is_text && r->parts->read(r->parts->context, r->parts->made[at], &part);
    world_lock_take(&r->lock);
    s->is_read = is_read;
    s->lines = part.number;
    s->state = DONE;
    world_signal(&r->has_part);
    return true;
}

static void *help(void *run)
{
    struct run *r = run;
    world_lock_take(&r->lock);
    while (!r->is_over)
        if (!read_one(r)) world_wait(&r->has_room, &r->lock);
    world_signal(&r->has_room); /* to the next one */
    world_lock_give(&r->lock);
    return NULL;
}

/* Likewise. False: the next part is not read yet. */
static bool take_one(struct run *r, uint64_t *lines)
{
    unsigned at = (unsigned)(r->taken % r->count);
    struct slot *s = &r->slots[at];
    if (s->state != DONE) return false;
    world_lock_give(&r->lock);
    s->part.number = *lines;
    r->parts->take(r->parts->context, r->parts->made[at], &s->part, s->is_read);
    *lines = s->is_read ? *lines + s->lines : s->part.number;
    world_lock_take(&r->lock);
    s->state = FREE;
    r->taken++;
    world_signal(&r->has_room);
    return true;
}

static void take_all(struct run *r)
{
    uint64_t lines = r->file->number;
    world_lock_take(&r->lock);
    while (r->taken < r->begun || r->file->next < r->file->end)
        if (!take_one(r, &lines) && !read_one(r)) world_wait(&r->has_part, &r->lock);
    r->is_over = true;
    world_signal(&r->has_room);
    world_lock_give(&r->lock);
    r->file->number = lines;
}

static void run_threads(struct run *r)
{
    unsigned helpers = r->parts->threads - 1;
    struct world_thread *threads = take_memory(helpers, sizeof *threads);
    for (unsigned i = 0; i < helpers; i++)
        if (world_start(&threads[i], "reader", help, r) != 0)
            fail("a thread that reads could not be started");
    take_all(r);
    for (unsigned i = 0; i < helpers; i++) world_join(&threads[i]);
    free(threads);
}

void line_parts_run(struct lines *l, const struct line_parts *p)
{
    if (p->threads == 1 || (size_t)(l->end - l->next) <= p->bytes) {
        p->take(p->context, p->made[0], l, false);
        return;
    }
    struct run r = {.parts = p, .file = l, .count = line_parts_count(p->threads)};
    r.slots = take_memory(r.count, sizeof *r.slots);
    world_lock_init(&r.lock);
    world_signal_init(&r.has_room);
    world_signal_init(&r.has_part);
    run_threads(&r);
    world_signal_fini(&r.has_part);
    world_signal_fini(&r.has_room);
    world_lock_fini(&r.lock);
    free(r.slots);
}
