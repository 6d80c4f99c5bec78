#include "test.h"

#include "net/wire.h"
#include "locus.h"

#include <string.h>

enum { BODY_MAX = 4096 };

static struct wire_frame good_frame(void)
{
    return (struct wire_frame){
        .magic = WIRE_MAGIC,
        .version = WIRE_VERSION,
        .kind = WIRE_ENTRIES,
        .body_bytes = (uint32_t)wire_entry_bytes(3),
        .count = 1,
        .sequence = 7,
    };
}

TEST(wire, entries_take_a_multiple_of_8_bytes)
{
    CHECK_EQ(wire_entry_bytes(0), 40);
    CHECK_EQ(wire_entry_bytes(1), 48);
    CHECK_EQ(wire_entry_bytes(2), 48);
    CHECK_EQ(wire_entry_bytes(LOCUS_LENGTH_MAX), 40 + (4 << 20));
    CHECK_EQ(wire_entry_bytes(UINT32_MAX), 40 + (INT64_C(4) << 32));
}

TEST(wire, good_frames_pass)
{
    struct wire_frame f = good_frame();
    CHECK(!wire_check_frame(&f, BODY_MAX, 7));
    f = (struct wire_frame){.magic = WIRE_MAGIC, .version = WIRE_VERSION, .kind = WIRE_HEARTBEAT};
    CHECK(!wire_check_frame(&f, BODY_MAX, 0));
    f.kind = WIRE_BYE;
    CHECK(!wire_check_frame(&f, BODY_MAX, 0));
    f.kind = WIRE_LOST;
    f.body_bytes = 16;
    CHECK(!wire_check_frame(&f, BODY_MAX, 0));
}

TEST(wire, bad_frames_do_not_and_say_why)
{
    struct wire_frame f = good_frame();
    CHECK_STR(wire_check_frame(&f, BODY_MAX, 8), "out of sequence");
    CHECK_STR(wire_check_frame(&f, 40, 7), "larger than agreed");
    f.magic++;
    CHECK_STR(wire_check_frame(&f, BODY_MAX, 7), "no frame of locus");
    f = good_frame();
    f.version++;
    CHECK_STR(wire_check_frame(&f, BODY_MAX, 7), "version");
    f = good_frame();
    f.body_bytes += 4;
    CHECK_STR(wire_check_frame(&f, BODY_MAX, 7), "multiple of 8");
    f = good_frame();
    f.count = 0;
    CHECK_STR(wire_check_frame(&f, BODY_MAX, 7), "without entries");
    f.count = UINT32_MAX;
    CHECK_STR(wire_check_frame(&f, BODY_MAX, 7), "too short for its entries");
    f.kind = WIRE_HEARTBEAT;
    CHECK_STR(wire_check_frame(&f, BODY_MAX, 7), "no content");
    f.kind = WIRE_LOST;
    CHECK_STR(wire_check_frame(&f, BODY_MAX, 7), "out of bounds");
    f.kind = WIRE_KINDS;
    CHECK_STR(wire_check_frame(&f, BODY_MAX, 7), "no known kind");
}

/* Two entries of 3 and 0 floats. */
static size_t fill(void *body)
{
    struct wire_entry *first = body, *second = (void *)((char *)body + wire_entry_bytes(3));
    memset(body, 0, wire_entry_bytes(3) + wire_entry_bytes(0));
    *first = (struct wire_entry){.operation = WIRE_PUSH, .length = 3, .key = 11};
    *second = (struct wire_entry){.operation = WIRE_PULL, .key = 12};
    return wire_entry_bytes(3) + wire_entry_bytes(0);
}

/* What the walk says about `bytes` of a body with `count` entries; how many were good in *good. */
static const char *walk(const void *body, size_t bytes, uint32_t count, unsigned *good)
{
    const char *why;
    struct wire_frame f = {.body_bytes = (uint32_t)bytes, .count = count};
    struct wire_cursor c = wire_cursor(&f, body);
    for (*good = 0; wire_next(&c, &why); ++*good) {
    }
    return why;
}

TEST(wire, walks_the_entries_of_a_body)
{
    uint64_t body[64];
    unsigned good;
    size_t bytes = fill(body);
    CHECK(!walk(body, bytes, 2, &good));
    CHECK_EQ(good, 2);
}

TEST(wire, stops_at_entries_that_lie)
{
    uint64_t body[64];
    unsigned good;
    size_t bytes = fill(body);
    struct wire_entry *first = (void *)body;
    CHECK_STR(walk(body, bytes, 1, &good), "behind the last entry");
    CHECK_STR(walk(body, bytes, 3, &good), "beyond the end");
    CHECK_EQ(good, 2);
    CHECK_STR(walk(body, bytes - 8, 2, &good), "beyond the end");
    CHECK_EQ(good, 1);
    first->length = 40;
    CHECK_STR(walk(body, bytes, 2, &good), "longer than its frame");
    first->length = LOCUS_LENGTH_MAX + 1;
    CHECK_STR(walk(body, bytes, 2, &good), "longer than its frame");
    first->length = 3;
    first->operation = WIRE_OPERATIONS;
    CHECK_STR(walk(body, bytes, 2, &good), "no known operation");
    first->operation = 0;
    CHECK_STR(walk(body, bytes, 2, &good), "no known operation");
    first->operation = WIRE_PUSH;
    first->encoding = WIRE_ENCODINGS;
    CHECK_STR(walk(body, bytes, 2, &good), "no known encoding");
    first->encoding = WIRE_ZEROS;
    CHECK_STR(walk(body, bytes, 2, &good), "an encoding that has none");
    first->encoding = WIRE_AS_REPLICA;
    first->operation = WIRE_ROW;
    CHECK_STR(walk(body, bytes, 2, &good), "an encoding that has none");
    first->length = 0;
    first->operation = WIRE_ANSWER; /* which has zeros, and no replica's row */
    CHECK_STR(walk(body, bytes, 2, &good), "an encoding that has none");
    CHECK_EQ(good, 0);
}
