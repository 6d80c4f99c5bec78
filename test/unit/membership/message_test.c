#include "membership/message.h"

#include "membership/agreement.h"

#include "test.h"

#include <string.h>

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
