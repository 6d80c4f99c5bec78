/* outbox_test.c - when what a shard said leaves. */
#include "actors/mailbox.h"
#include "test.h"

#include <string.h>

enum { NODES = 5 };

/* What left since the last look. */
struct left {
    unsigned count, peer[2 * NODES];
};

static void leave(void *context, unsigned peer)
{
    struct left *l = context;
    CHECK(l->count < 2 * NODES);
    l->peer[l->count++] = peer;
}

static struct left flush(struct outbox *o, uint64_t now_ns)
{
    struct left l = {0};
    outbox_flush(o, now_ns, leave, &l);
    CHECK(outbox_due_ns(o) > now_ns);
    return l;
}

TEST(outbox, flush_sends_urgent_messages_once)
{
    CLOSED_BY(outbox_fini) struct outbox o;
    CHECK_EQ(outbox_init(&o, NODES), 0);
    CHECK_EQ(flush(&o, 10).count, 0);
    outbox_say(&o, 3, 0);
    outbox_say(&o, 1, 0);
    outbox_say(&o, 3, 0);
    CHECK_EQ(outbox_due_ns(&o), 0);
    struct left l = flush(&o, 10);
    CHECK_EQ(l.count, 2);
    CHECK_EQ(l.peer[0] + l.peer[1], 4);
    CHECK_EQ(flush(&o, 10).count, 0);
    CHECK_EQ(outbox_due_ns(&o), UINT64_MAX);
}

/* Whatever is said leaves exactly once after, no sooner than its turn and no later than the first
 * turn that it cannot wait for. */
TEST(outbox, flush_sends_each_message_by_its_deadline)
{
    CLOSED_BY(outbox_fini) struct outbox o;
    uint64_t random = 88172645463325252U, until[NODES];
    CHECK_EQ(outbox_init(&o, NODES), 0);
    memset(until, 255, sizeof until);
    for (uint64_t now = 1; now < 20000; now++) {
        for (int i = 0; i < 3; i++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            unsigned peer = random % NODES;
            uint64_t at = random / NODES % 4 == 0 ? 0
                          : random / 64 % 4 == 0  ? now + random / 1024 % 50
                                                  : UINT64_MAX;
            if (at == UINT64_MAX) continue;
            outbox_say(&o, peer, at);
            if (at < until[peer]) until[peer] = at;
        }
        struct left l = flush(&o, now);
        for (unsigned i = 0; i < l.count; i++) {
            CHECK(until[l.peer[i]] <= now);
            until[l.peer[i]] = UINT64_MAX;
        }
        for (unsigned peer = 0; peer < NODES; peer++) CHECK(until[peer] > now);
    }
}
