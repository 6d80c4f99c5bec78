#include "checkpoint/seal.h"

#include "test.h"

#include <string.h>

enum { FROM = 4096, BYTES = 2 * SEAL_BYTES + 100 };

TEST(seal, holds_for_the_same_bytes_and_place)
{
    static unsigned char data[BYTES];
    struct seal s = {.tag = NULL}, other = {.tag = NULL};
    CHECK_EQ(seal_begin(&s, FROM, FROM + BYTES), 0);
    CHECK_EQ(seal_begin(&other, FROM, FROM + BYTES), 0);
    CHECK(memcmp(s.key, other.key, SEAL_KEY) != 0);
    for (size_t at = 0, n; at < BYTES; at += n) {
        n = BYTES - at < SEAL_BYTES ? BYTES - at : SEAL_BYTES;
        memset(data + at, (int)(at / SEAL_BYTES), n);
        seal_put(&s, FROM + at, data + at, n);
    }
    for (size_t at = 0; at < BYTES; at += SEAL_BYTES) {
        size_t n = BYTES - at < SEAL_BYTES ? BYTES - at : SEAL_BYTES;
        CHECK(seal_holds(&s, FROM + at, data + at, n));
        CHECK(!seal_holds(&s, FROM + (at + SEAL_BYTES) % (3 * SEAL_BYTES), data + at, n));
        data[at + n - 1] ^= 0x80;
        CHECK(!seal_holds(&s, FROM + at, data + at, n));
    }
    seal_end(&s);
    seal_end(&s);
    seal_end(&other);
}
