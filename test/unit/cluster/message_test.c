#include "cluster/message.h"

#include "test.h"

#include <string.h>

TEST(message, reader_gets_zeros_behind_the_end)
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

TEST(message, done_refuses_what_is_too_long)
{
    static const unsigned char bytes[1 << 16];
    struct message *m = message_new(MESSAGE_HELLO);
    for (size_t sum = 0; sum <= MESSAGE_MAX; sum += sizeof bytes)
        message_put_bytes(m, bytes, sizeof bytes);
    CHECK(message_done(m) == NULL);
}
