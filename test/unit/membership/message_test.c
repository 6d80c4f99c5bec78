#include "membership/message.h"

#include "membership/agreement.h"

#include "test.h"

#include <string.h>

TEST(message, comes_out_as_it_was_put_in)
{
    struct rendezvous_message *m = rendezvous_message_new(RENDEZVOUS_REPORT);
    char text[32];
    rendezvous_put_u32(m, 0xfedcba98);
    rendezvous_put_text(m, "a reason");
    rendezvous_put_u64(m, UINT64_C(0x0123456789abcdef));
    rendezvous_put_bytes(m, "xyz", 3);
    m = rendezvous_message_done(m);
    CHECK(m != NULL);
    struct rendezvous_header h = rendezvous_header(m->data);
    CHECK_EQ(h.type, RENDEZVOUS_REPORT);
    CHECK_EQ(h.version, RENDEZVOUS_VERSION);
    CHECK_EQ(h.length, m->bytes - RENDEZVOUS_HEADER_BYTES);
    struct rendezvous_reader r =
        rendezvous_reader(m->data + RENDEZVOUS_HEADER_BYTES, m->bytes - RENDEZVOUS_HEADER_BYTES);
    CHECK_EQ(rendezvous_get_u32(&r), 0xfedcba98);
    rendezvous_get_text(&r, text, sizeof text);
    CHECK_EQ(strcmp(text, "a reason"), 0);
    CHECK(rendezvous_get_u64(&r) == UINT64_C(0x0123456789abcdef));
    CHECK_EQ(memcmp(rendezvous_get_bytes(&r, 3), "xyz", 3), 0);
    CHECK(!r.failed && rendezvous_read_all(&r));
    rendezvous_message_let_go(m);
}

TEST(message, that_is_cut_off_reads_as_zeros_from_there)
{
    static const unsigned char body[6] = {1, 2, 3, 4, 5, 6};
    struct rendezvous_reader r = rendezvous_reader(body, sizeof body);
    CHECK(rendezvous_get_u32(&r) != 0 && !r.failed);
    CHECK_EQ(rendezvous_get_u32(&r), 0);
    CHECK(r.failed);
    CHECK_EQ(rendezvous_get_u64(&r), 0);
    CHECK(rendezvous_get_bytes(&r, 1) == NULL);
    CHECK(!rendezvous_read_all(&r));
}

TEST(message, with_something_behind_its_end_was_not_read_whole)
{
    static const unsigned char body[5] = {0};
    struct rendezvous_reader r = rendezvous_reader(body, sizeof body);
    rendezvous_get_u32(&r);
    CHECK(!r.failed && !rendezvous_read_all(&r));
}

TEST(message, that_is_too_long_is_none)
{
    static const unsigned char bytes[1 << 16];
    struct rendezvous_message *m = rendezvous_message_new(RENDEZVOUS_HELLO);
    for (size_t sum = 0; sum <= RENDEZVOUS_MESSAGE_MAX; sum += sizeof bytes)
        rendezvous_put_bytes(m, bytes, sizeof bytes);
    CHECK(rendezvous_message_done(m) == NULL);
}
