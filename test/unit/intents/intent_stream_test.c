/* What a stream brings from its writer to its reader. Calls of all sizes, ends of workers, and what
 * is read while it is written: intents_test. */
#include "intents/intent_stream.h"

#include "test.h"

static void add(struct intent_stream *s, uint64_t first, uint64_t count)
{
    stream_begin(s, 5, 9, 0, 1);
    for (uint64_t i = 0; i < count; i++) CHECK_EQ(stream_add(s, first + i), 0);
}

/* Reads all that is published: checks that the indices go on from `first`. Returns how many. */
static uint64_t read_on(struct intent_stream *s, uint64_t first)
{
    struct intent_part r;
    uint64_t count = 0;
    stream_begin_reading(s);
    while (stream_read(s, &r)) {
        for (uint32_t i = 0; i < r.count; i++) CHECK_EQ(r.index[i], first + count++);
        if (r.count == 0) continue;
        CHECK_EQ(r.kind, PART_WAITING);
        CHECK_EQ(r.start, 5);
        CHECK_EQ(r.end, 9);
    }
    return count;
}

TEST(intent_stream, read_gives_what_was_published_and_not_undone)
{
    uint32_t life = 0;
    struct intent_stream *s = stream_new(1, 100, &life);
    CHECK(!stream_has_unread(s) && !stream_has_unpublished(s));
    add(s, 0, 2000);
    CHECK(stream_has_unpublished(s) && !stream_has_unread(s));
    CHECK_EQ(read_on(s, 0), 0);
    stream_publish(s);
    CHECK(stream_has_unread(s) && !stream_has_unpublished(s));
    CHECK_EQ(read_on(s, 0), 2000);
    CHECK(!stream_has_unread(s));
    for (uint64_t at = 2000; at < 8000; at += 300) {
        add(s, at, 300);
        stream_publish(s);
        add(s, 1000000, 1500);
        stream_undo(s); /* what was before is left */
        CHECK_EQ(read_on(s, at), 300);
    }
    stream_free(s);
}
