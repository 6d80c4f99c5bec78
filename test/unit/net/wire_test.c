#include "net/wire.h"

#include "locus.h"
#include "test.h"

#include <string.h>

enum { BODY_MAX = 4096, SEQUENCE = 7 };

TEST(wire, entries_take_a_multiple_of_8_bytes)
{
    CHECK_EQ(wire_entry_bytes(0), 40);
    CHECK_EQ(wire_entry_bytes(1), 48);
    CHECK_EQ(wire_entry_bytes(2), 48);
    CHECK_EQ(wire_entry_bytes(LOCUS_LENGTH_MAX), 40 + (4 << 20));
    CHECK_EQ(wire_entry_bytes(UINT32_MAX), 40 + (INT64_C(4) << 32));
}

/* What is said of something, NULL: nothing, must have that part. */
static void check_why(size_t i, const char *why, const char *part)
{
    if (!why != !part || (part && !strstr(why, part)))
        test_fail(__FILE__, __LINE__, "case %zu: \"%s\", not \"%s\"", i, why ? why : "is good",
                  part ? part : "is good");
}

TEST(wire, check_frame_says_why_a_frame_is_bad)
{
#define GOOD .magic = WIRE_MAGIC, .version = WIRE_VERSION
#define ENTRIES GOOD, .kind = WIRE_ENTRIES, .sequence = SEQUENCE
    static const struct {
        const char *why;
        struct wire_frame frame;
    } cases[] = {
        {NULL, {ENTRIES, .body_bytes = 56, .count = 1}},
        {NULL, {GOOD, .kind = WIRE_HEARTBEAT, .sequence = SEQUENCE}},
        {NULL, {GOOD, .kind = WIRE_BYE, .sequence = SEQUENCE}},
        {NULL, {GOOD, .kind = WIRE_LOST, .sequence = SEQUENCE, .body_bytes = 16}},
        {"out of sequence", {GOOD, .kind = WIRE_ENTRIES, .body_bytes = 56, .count = 1}},
        {"larger than agreed", {ENTRIES, .body_bytes = BODY_MAX + 8, .count = 1}},
        {"no frame of locus", {.version = WIRE_VERSION, .sequence = SEQUENCE}},
        {"version", {.magic = WIRE_MAGIC, .version = WIRE_VERSION + 1, .sequence = SEQUENCE}},
        {"multiple of 8", {ENTRIES, .body_bytes = 60, .count = 1}},
        {"without entries", {ENTRIES, .body_bytes = 56}},
        {"too short for its entries", {ENTRIES, .body_bytes = 56, .count = UINT32_MAX}},
        {"no content", {GOOD, .kind = WIRE_HEARTBEAT, .sequence = SEQUENCE, .body_bytes = 8}},
        {"out of bounds", {GOOD, .kind = WIRE_LOST, .sequence = SEQUENCE, .body_bytes = 800}},
        {"no known kind", {GOOD, .kind = WIRE_KINDS, .sequence = SEQUENCE}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_why(i, wire_check_frame(&cases[i].frame, BODY_MAX, SEQUENCE), cases[i].why);
}

/* Two entries, the second one without floats; the first is that of the case. */
TEST(wire, cursor_stops_at_an_entry_that_lies)
{
    static const struct {
        const char *why;
        unsigned good, less, count; /* entries that pass, bytes that are missing, entries said */
        struct wire_entry first;
    } cases[] = {
        {NULL, 2, 0, 2, {.operation = WIRE_PUSH, .length = 3}},
        {"after the last entry", 1, 0, 1, {.operation = WIRE_PUSH, .length = 3}},
        {"beyond the end", 2, 0, 3, {.operation = WIRE_PUSH, .length = 3}},
        {"beyond the end", 1, 8, 2, {.operation = WIRE_PUSH, .length = 3}},
        {"longer than its frame", 0, 0, 2, {.operation = WIRE_PUSH, .length = 16}},
        {"longer than its frame",
         0,
         0,
         2,
         {.operation = WIRE_PUSH, .length = LOCUS_LENGTH_MAX + 1}},
        {"no known operation", 0, 0, 2, {.operation = WIRE_OPERATIONS, .length = 3}},
        {"no known operation", 0, 0, 2, {.length = 3}},
        {"no known encoding", 0, 0, 2, {WIRE_PUSH, .encoding = WIRE_ENCODINGS, .length = 3}},
        {"an encoding that has none", 0, 0, 2, {WIRE_PUSH, .encoding = WIRE_ZEROS, .length = 3}},
        {"an encoding that has none",
         0,
         0,
         2,
         {WIRE_ROW, .encoding = WIRE_AS_REPLICA, .length = 3}},
        /* which has zeros, and no replica's row */
        {"an encoding that has none", 0, 0, 2, {WIRE_ANSWER, .encoding = WIRE_AS_REPLICA}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t body[64] = {0};
        const struct wire_entry second = {.operation = WIRE_PULL};
        size_t at = wire_entry_bytes(3);
        struct wire_frame f = {.body_bytes = (uint32_t)(at + sizeof second - cases[i].less),
                               .count = cases[i].count};
        memcpy(body, &cases[i].first, sizeof second);
        memcpy((char *)body + at, &second, sizeof second);
        const char *why;
        unsigned good = 0;
        struct wire_cursor c = wire_cursor(&f, body);
        while (wire_next(&c, &why)) good++;
        check_why(i, why, cases[i].why);
        CHECK_EQ(good, cases[i].good);
    }
}
