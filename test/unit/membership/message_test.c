#include "membership/message.h"

#include "membership/agreement.h"

#include "test.h"

#include <string.h>

TEST(message, comes_out_as_it_was_put_in)
{
    struct message *m = message_new(MESSAGE_REPORT);
    char text[32];
    message_put_u32(m, 0xfedcba98);
    message_put_text(m, "a reason");
    message_put_u64(m, UINT64_C(0x0123456789abcdef));
    message_put_bytes(m, "xyz", 3);
    m = message_done(m);
    CHECK(m != NULL);
    struct message_header h = message_header(m->data);
    CHECK_EQ(h.type, MESSAGE_REPORT);
    CHECK_EQ(h.version, MESSAGE_VERSION);
    CHECK_EQ(h.length, m->bytes - MESSAGE_HEADER_BYTES);
    struct message_reader r =
        message_reader(m->data + MESSAGE_HEADER_BYTES, m->bytes - MESSAGE_HEADER_BYTES);
    CHECK_EQ(message_get_u32(&r), 0xfedcba98);
    message_get_text(&r, text, sizeof text);
    CHECK_EQ(strcmp(text, "a reason"), 0);
    CHECK(message_get_u64(&r) == UINT64_C(0x0123456789abcdef));
    CHECK_EQ(memcmp(message_get_bytes(&r, 3), "xyz", 3), 0);
    CHECK(!r.failed && message_read_all(&r));
    message_let_go(m);
}

TEST(message, that_is_cut_off_or_longer_was_not_read_whole)
{
    static const unsigned char body[6] = {1, 2, 3, 4, 5, 6};
    struct message_reader r = message_reader(body, sizeof body);
    CHECK(message_get_u32(&r) != 0 && !r.failed);
    CHECK(!message_read_all(&r));
    CHECK_EQ(message_get_u32(&r), 0); /* zeros from there */
    CHECK(r.failed);
    CHECK_EQ(message_get_u64(&r), 0);
    CHECK(message_get_bytes(&r, 1) == NULL);
    CHECK(!message_read_all(&r));
}

TEST(message, that_is_too_long_is_none)
{
    static const unsigned char bytes[1 << 16];
    struct message *m = message_new(MESSAGE_HELLO);
    for (size_t sum = 0; sum <= MESSAGE_MAX; sum += sizeof bytes)
        message_put_bytes(m, bytes, sizeof bytes);
    CHECK(message_done(m) == NULL);
}
