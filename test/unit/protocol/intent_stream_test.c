/* What a stream brings from its writer to its reader, without a shard. */
#include "protocol/intent_stream.h"

#include "test.h"

static void add(struct intent_stream *s, uint64_t index)
{
    CHECK_EQ(stream_add(s, 5, 9, true, index), 0);
}

/* Reads all that is published: checks that the indices go on from `first`. Returns how many. */
static uint64_t read_on(struct intent_stream *s, uint64_t first)
{
    struct intent_record r;
    uint64_t count = 0;
    stream_begin_reading(s);
    while (stream_read(s, &r)) {
        for (uint32_t i = 0; i < r.count; i++) CHECK_EQ(r.index[i], first + count++);
        if (r.count == 0) continue;
        CHECK_EQ(r.kind, RECORD_WAITING);
        CHECK_EQ(r.start, 5);
        CHECK_EQ(r.end, 9);
    }
    return count;
}

TEST(intent_stream, what_is_not_published_is_not_read)
{
    uint32_t life = 0;
    struct intent_stream *s = stream_new(1, &life);
    CHECK(!stream_has_unread(s) && !stream_has_unpublished(s));
    for (uint64_t i = 0; i < 2000; i++) add(s, i);
    CHECK(stream_has_unpublished(s) && !stream_has_unread(s));
    CHECK_EQ(read_on(s, 0), 0);
    stream_publish(s);
    CHECK(stream_has_unread(s) && !stream_has_unpublished(s));
    CHECK_EQ(read_on(s, 0), 2000);
    CHECK(!stream_has_unread(s));
    stream_free(s);
}

TEST(intent_stream, a_call_that_is_undone_leaves_what_was_before)
{
    uint32_t life = 0;
    struct intent_stream *s = stream_new(0, &life);
    for (uint64_t calls = 0, at = 0; calls < 20; calls++) {
        for (uint64_t i = 0; i < 300; i++) add(s, at + i);
        stream_publish(s);
        for (uint64_t i = 0; i < 1500; i++) add(s, 1000000 + i);
        stream_undo(s);
        CHECK_EQ(read_on(s, at), 300);
        at += 300;
    }
    stream_free(s);
}

TEST(intent_stream, what_comes_while_it_is_read_is_left_but_for_a_chunk)
{
    uint32_t life = 0;
    struct intent_stream *s = stream_new(0, &life);
    struct intent_record r;
    uint64_t written = 1000, read = 0;
    for (uint64_t i = 0; i < written; i++) add(s, i);
    stream_publish(s);
    stream_begin_reading(s);
    while (stream_read(s, &r)) {
        for (uint32_t i = 0; i < r.count; i++) CHECK_EQ(r.index[i], read++);
        for (uint32_t i = 0; i < r.count; i++) add(s, written++);
        stream_publish(s);
    }
    CHECK(read >= 1000 && read < 1000 + STREAM_RECORD_MAX);
    CHECK(stream_has_unread(s));
    CHECK_EQ(read_on(s, read), written - read);
    stream_free(s);
}

TEST(intent_stream, a_key_that_a_call_names_again_is_counted)
{
    uint32_t life = 0;
    struct intent_stream *s = stream_new(0, &life);
    struct intent_record r;
    for (int i = 0; i < 7; i++) add(s, 3);
    stream_publish(s);
    add(s, 3); /* another call */
    stream_publish(s);
    CHECK(stream_read(s, &r));
    CHECK_EQ(r.count, 1);
    CHECK_EQ(r.repeated, 6);
    CHECK(stream_read(s, &r));
    CHECK_EQ(r.count, 1);
    CHECK_EQ(r.repeated, 0);
    CHECK(!stream_read(s, &r));
    stream_free(s);
}

TEST(intent_stream, the_workers_own_ends_its_life)
{
    uint32_t life = 4;
    struct intent_stream *loader = stream_new(0, &life), *own = stream_new(0, &life);
    struct intent_record r;
    CHECK_EQ(own->life, 4);
    stream_close(loader, false);
    CHECK(stream_is_closed(loader) && !stream_read(loader, &r));
    CHECK_EQ(life, 4);
    CHECK(!stream_is_closed(own));
    stream_close(own, true);
    CHECK(stream_is_closed(own) && stream_read(own, &r));
    CHECK_EQ(r.kind, RECORD_END_OF_WORKER);
    CHECK_EQ(life, 5);
    stream_free(loader);
    stream_free(own);
}
