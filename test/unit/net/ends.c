#include "net/ends.h"

#include "test.h"
#include "locus.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Entries are numbered, and so are their floats. */
static float value_of(uint64_t tag, uint32_t i)
{
    return (float)((tag * 31 + i) % 65536);
}

static void check_entry(struct end *e, const struct wire_entry *x)
{
    CHECK_EQ(x->tag, (uint32_t)e->entries);
    CHECK_EQ(x->key, e->entries);
    CHECK_EQ((uintptr_t)x % 8, 0);
    for (uint32_t i = 0; i < x->length; i++)
        if (wire_values_const(x)[i] != value_of(e->entries, i))
            CHECK_EQ(wire_values_const(x)[i], value_of(e->entries, i));
    e->entries++;
    e->floats += x->length;
}

bool ends_put(struct link *l, uint64_t tag, uint32_t length)
{
    struct wire_entry *x = link_entry(l, length);
    if (!x) return false;
    CHECK_EQ(x->length, length);
    CHECK_EQ(x->operation + x->encoding + x->owner + x->origin + x->hops + x->term + x->version, 0);
    x->operation = WIRE_PUSH;
    x->tag = (uint32_t)tag;
    x->key = tag;
    for (uint32_t i = 0; i < length; i++) wire_values(x)[i] = value_of(tag, i);
    return true;
}

const char *end_on_frame(void *context, unsigned peer, const struct wire_frame *f, const void *body)
{
    struct end *e = context;
    const char *why;
    const struct wire_entry *x;
    struct wire_cursor c = wire_cursor(f, body);
    CHECK_EQ(peer, PEER);
    CHECK_EQ(e->failures, 0);
    if (e->veto) return e->veto;
    while ((x = wire_next(&c, &why))) {
        check_entry(e, x);
        if (e->echoes) CHECK(ends_put(e->link, x->tag, x->length));
        if (e->submits && e->entries % 16 == 0) {
            link_flush(e->link);
            uring_submit(e->uring);
        }
    }
    if (e->echoes) link_flush(e->link);
    return why;
}

static void on_heartbeat(void *context, unsigned peer)
{
    struct end *e = context;
    CHECK(peer == PEER);
    e->heartbeats++;
}

void end_on_failed(void *context, unsigned peer, unsigned culprit, const char *reason)
{
    struct end *e = context;
    CHECK_EQ(peer, PEER);
    e->failures++;
    e->culprit = culprit;
    snprintf(e->reason, sizeof e->reason, "%s", reason);
}

void ends_need_memory(void)
{
    char place[SHM_TEXT_BYTES], name[SHM_TEXT_BYTES];
    struct shm *s = shm_place(place) ? shm_create(SHM_RING_MAX, name) : NULL;
    if (!s) SKIP("there is no shared memory here");
    shm_free(s);
}

void end_create(struct end *e, int fd, struct ends_how how)
{
    *e = (struct end){0};
    const struct uring_config c = {.events = {e, end_on_frame, end_on_failed, on_heartbeat},
                                   .nodes = NODES,
                                   .rank = how.rank,
                                   .entry_bytes_max = how.entry_bytes_max,
                                   .peer_timeout_s = how.timeout_s > 0 ? how.timeout_s : 10,
                                   .is_shm = how.is_shm,
                                   .first_setup = how.setup};
    if (uring_init(&e->uring, &c)) SKIP(locus_error());
    CHECK_EQ(uring_add_link(e->uring, PEER, fd, &e->link), 0);
}

void end_start(struct end *e)
{
    CHECK_EQ(uring_start(e->uring, now_ns()), 0);
    uring_all_run(e->uring);
}

/* Ranks 0 and 2, each of which takes the other one for 1. */
void ends_create(struct end e[2], struct ends_how how)
{
    int fd[2];
    loopback_pair(fd);
    for (unsigned i = 0; i < 2; i++) {
        how.rank = 2 * i;
        end_create(&e[i], fd[i], how);
    }
}

void ends_open(struct end e[2], struct ends_how how)
{
    ends_create(e, how);
    for (int i = 0; i < 2; i++) end_start(&e[i]);
}

void ends_close(struct end e[2])
{
    uring_fini(e[0].uring);
    uring_fini(e[1].uring);
}

bool ends_are_shm(const struct end e[2])
{
    return link_load(e[0].link).is_shm && link_load(e[1].link).is_shm && e[0].link->reads_shm &&
           e[1].link->reads_shm;
}

void facing_open(struct facing *f, struct ends_how how)
{
    int fd[2];
    loopback_pair(fd);
    end_create(&f->end, fd[0], how);
    f->fd = fd[1];
}

void facing_begin(struct facing *f)
{
    facing_open(f, (struct ends_how){0});
    end_start(&f->end);
}

void facing_end(struct facing *f)
{
    if (f->fd >= 0) close(f->fd);
    uring_fini(f->end.uring);
}

void end_wait(struct end *e, uint64_t until_ns)
{
    if (!uring_lie_down(e->uring)) return;
    uring_sleep(e->uring, until_ns);
    uring_get_up(e->uring);
}

unsigned end_turn(struct end *e)
{
    uring_submit(e->uring);
    unsigned n = uring_poll(e->uring, e->now ? e->now : now_ns());
    uring_submit(e->uring);
    return n;
}

void ends_turn_for(struct end *a, struct end *b, double seconds)
{
    for (uint64_t end = now_ns() + (uint64_t)(seconds * 1e9); now_ns() < end;) {
        end_turn(a);
        if (b) end_turn(b);
    }
}

size_t ends_frame(void *out, uint64_t sequence, uint64_t tag, uint32_t count, uint32_t length)
{
    struct wire_frame *f = out;
    *f = (struct wire_frame){.magic = WIRE_MAGIC,
                             .version = WIRE_VERSION,
                             .kind = WIRE_ENTRIES,
                             .body_bytes = (uint32_t)(count * wire_entry_bytes(length)),
                             .count = count,
                             .sequence = sequence};
    memset(f + 1, 0, f->body_bytes);
    for (uint32_t k = 0; k < count; k++) {
        struct wire_entry *x = (void *)((char *)(f + 1) + k * wire_entry_bytes(length));
        *x = (struct wire_entry){
            .operation = WIRE_PUSH, .length = length, .tag = (uint32_t)(tag + k), .key = tag + k};
        for (uint32_t i = 0; i < length; i++) wire_values(x)[i] = value_of(tag + k, i);
    }
    return sizeof *f + f->body_bytes;
}

void ends_say(int fd, const void *bytes, size_t n)
{
    CHECK_EQ(send(fd, bytes, n, MSG_NOSIGNAL), n);
}

size_t ends_say_entry(int fd, uint64_t sequence, uint64_t tag, uint32_t length)
{
    uint64_t bytes[512];
    CHECK(sizeof(struct wire_frame) + wire_entry_bytes(length) <= sizeof bytes);
    size_t n = ends_frame(bytes, sequence, tag, 1, length);
    ends_say(fd, bytes, n);
    return n;
}

void ends_say_notice(int fd, uint64_t sequence, enum wire_kind kind, unsigned lost,
                     const char *text)
{
    char bytes[600] = "";
    size_t length = (strlen(text) + 7) & ~(size_t)7;
    const struct wire_frame f = {.magic = WIRE_MAGIC,
                                 .version = WIRE_VERSION,
                                 .kind = (uint16_t)kind,
                                 .body_bytes = (uint32_t)length,
                                 .lost = lost,
                                 .sequence = sequence};
    memcpy(bytes, &f, sizeof f);
    memcpy(bytes + sizeof f, text, strlen(text));
    ends_say(fd, bytes, sizeof f + length);
}

bool end_has_heard(const struct end *e, uint64_t bytes)
{
    return stats_of(e).bytes_received == bytes;
}

void end_check_failed(struct end *e, unsigned culprit, const char *reason)
{
    TURN_UNTIL(e, NULL, e->failures > 0);
    CHECK_EQ(e->culprit, culprit);
    CHECK_STR(e->reason, reason);
    CHECK(!link_entry(e->link, 1));
    link_flush(e->link);
    link_bye(e->link);
    link_lost(e->link, 2, "x");
    CHECK(link_is_drained(e->link));
    CHECK(link_peer_is_gone(e->link));
    ends_turn_for(e, NULL, 0.01);
    CHECK_EQ(e->failures, 1);
}
