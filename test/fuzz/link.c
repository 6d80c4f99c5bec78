/*
 * The receiving and the sending side of a link: frames that are mostly sound, cut at arbitrary
 * places, between ticks, answers, goodbyes and the connection's end. What it hands up lies in its
 * buffer, what it queues is bounded, and a link that fails says why and who.
 */
#include "input.h"

#include "net/link_private.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { NODES = 3, PEER = 1, STREAM_BYTES = 1 << 20, ENTRY_FLOATS_MAX = 32000 };
#define TIMEOUT_S 10.0

struct peer {
    struct input in;
    struct links all;
    struct link *link;
    unsigned char *stream; /* what the peer has sent and the link has not received */
    size_t have;
    uint64_t sequence, now_ns;
    bool answers;
};

/* The shard's part: looks at everything, and answers like an owner. */
static const char *on_frame(void *context, unsigned from, const struct wire_frame *f,
                            const void *body)
{
    struct peer *p = context;
    struct wire_cursor c = wire_cursor(f, body);
    const struct wire_entry *e;
    const char *why;
    unsigned char last = 0;
    MUST(from == PEER && f->kind == WIRE_ENTRIES);
    if (f->body_bytes > 0) last = ((const unsigned char *)body)[f->body_bytes - 1];
    while ((e = wire_next(&c, &why))) {
        struct wire_entry *a = p->answers ? link_entry(p->link, e->tag % ENTRY_FLOATS_MAX) : NULL;
        if (a) memset(wire_values(a), last, a->length * sizeof(float));
    }
    return why;
}

static void on_failed(void *context, unsigned peer, unsigned culprit, const char *reason)
{
    (void)context, (void)peer, (void)culprit, (void)reason;
}

static void append(struct peer *p, const void *data, size_t bytes)
{
    if (bytes > STREAM_BYTES - p->have) return;
    memcpy(p->stream + p->have, data, bytes);
    p->have += bytes;
}

/* Entries of one length, mostly as many as the frame says. */
static void append_entries(struct peer *p, struct wire_frame *f)
{
    uint32_t length = (uint32_t)input_number(&p->in, 2) >> input_below(&p->in, 12);
    struct wire_entry *e = fuzz_scratch(wire_entry_bytes(length));
    f->count = 1 + input_below(&p->in, 16) / 4;
    f->body_bytes = (uint32_t)(f->count * wire_entry_bytes(length));
    *e = (struct wire_entry){.operation = 1 + (uint8_t)input_below(&p->in, WIRE_OPERATIONS),
                             .length = length};
    e->tag = (uint32_t)input_number(&p->in, 2);
    uint32_t count = f->count;
    if (input_rarely(&p->in, 8)) f->count += input_below(&p->in, 3) - 1;
    if (input_rarely(&p->in, 8)) f->body_bytes = (uint32_t)input_number(&p->in, 4);
    append(p, f, sizeof *f);
    for (uint32_t i = 0; i < count; i++) append(p, e, wire_entry_bytes(length));
    free(e);
}

static void append_frame(struct peer *p)
{
    struct wire_frame f = {.magic = WIRE_MAGIC, .version = WIRE_VERSION, .sequence = p->sequence++};
    f.kind = (uint16_t)input_below(&p->in, WIRE_KINDS + 1);
    f.lost = input_below(&p->in, NODES + 1);
    if (input_rarely(&p->in, 16)) f.sequence += input_byte(&p->in);
    if (f.kind == WIRE_ENTRIES) {
        append_entries(p, &f);
        return;
    }
    size_t bytes;
    const uint8_t *text = (const uint8_t *)p->all.place;
    if (f.kind == WIRE_SHM && input_rarely(&p->in, 2))
        bytes = sizeof p->all.place;
    else if (f.kind == WIRE_LOST || f.kind == WIRE_SHM)
        text = input_bytes(&p->in, 8 * (size_t)input_below(&p->in, 66), &bytes);
    else
        bytes = 0;
    f.body_bytes = (uint32_t)bytes;
    append(p, &f, sizeof f);
    append(p, text, bytes);
}

static void append_bytes(struct peer *p)
{
    size_t bytes;
    const uint8_t *at = input_bytes(&p->in, input_byte(&p->in), &bytes);
    append(p, at, bytes);
}

/* As the ring does: no further than there is room, and never when the link is closed. */
static void receive(struct peer *p, size_t max)
{
    if (p->link->phase != LINK_OPEN) return;
    struct iovec space = link_space(p->link);
    MUST(space.iov_len > 0);
    size_t n = p->have < max ? p->have : max;
    if (n > space.iov_len) n = space.iov_len;
    if (n == 0) return;
    memcpy(space.iov_base, p->stream, n);
    p->have -= n;
    memmove(p->stream, p->stream + n, p->have);
    link_received(p->link, (int)n, p->have > 0);
}

static void send_some(struct peer *p)
{
    if (link_gather(p->link) == 0) return;
    size_t bytes = 0;
    for (unsigned i = 0; i < p->link->under_way; i++) bytes += p->link->piece[i].iov_len;
    static const int errors[] = {-EAGAIN, -EINTR, -ECONNRESET, -EPIPE, -ETIMEDOUT};
    unsigned how = input_below(&p->in, 16);
    if (how < sizeof errors / sizeof *errors)
        link_sent(p->link, errors[how]);
    else
        link_sent(p->link, (int)(how % 2 ? bytes : input_number(&p->in, 3) % (bytes + 1)));
}

static void end_connection(struct peer *p)
{
    static const int results[] = {0, -ECONNRESET, -ETIMEDOUT, -EINTR};
    link_received(p->link, results[input_below(&p->in, 4)], false);
}

static void tick(struct peer *p)
{
    p->now_ns += input_number(&p->in, 2) * 1000000;
    p->all.now_ns = p->now_ns;
    link_tick(p->link, p->now_ns);
}

static void speak(struct peer *p)
{
    switch (input_below(&p->in, 8)) {
    case 0: link_bye(p->link); break;
    case 1: link_lost(p->link, input_below(&p->in, NODES), "failed"); break;
    case 2: p->answers = !p->answers; break;
    case 3: link_entry(p->link, (uint32_t)input_number(&p->in, 2) % ENTRY_FLOATS_MAX); break;
    default: link_flush(p->link);
    }
}

static void step(struct peer *p)
{
    switch (input_below(&p->in, 8)) {
    case 0:
    case 1: append_frame(p); break;
    case 2: append_bytes(p); break;
    case 3: receive(p, input_number(&p->in, 1)); break;
    case 4: receive(p, input_number(&p->in, 3)); break;
    case 5: send_some(p); break;
    case 6: speak(p); break;
    case 7: input_rarely(&p->in, 4) ? end_connection(p) : tick(p); break;
    }
    /* A frame that the bound no longer admits is begun, and a notice goes behind it. */
    MUST(p->link->queued_bytes <= link_queued_max(p->link) + p->all.frame_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned char stream[STREAM_BYTES];
    struct peer p = {.in = input_of(data, size), .stream = stream, .now_ns = 1};
    const struct link_events events = {&p, on_frame, on_failed, NULL};
    int fd[2]; /* the target drives the link; of the connection only what ends it is used */
    MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) == 0);
    links_init(&p.all, &events, NODES, wire_entry_bytes(ENTRY_FLOATS_MAX), TIMEOUT_S);
    p.link = link_new(&p.all, PEER, fd[0]);
    MUST(p.link);
    if (input_rarely(&p.in, 4) && !shm_place(p.all.place)) *p.all.place = '\0';
    if (input_rarely(&p.in, 2)) link_ask_shm(p.link);
    while (input_left(&p.in) > 0) step(&p);
    while (p.have > 0 && p.link->phase == LINK_OPEN) receive(&p, STREAM_BYTES);
    if (p.link->phase == LINK_FAILED)
        MUST(*p.link->reason && p.link->culprit < NODES && p.all.fallen == p.link);
    link_end(p.link);
    link_free(p.link);
    close(fd[1]);
    links_fini(&p.all);
    return 0;
}
