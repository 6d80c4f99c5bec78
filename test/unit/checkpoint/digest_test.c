#include "checkpoint/digest.h"

#include "test.h"

#include <string.h>

/* What `b2sum -l 256` prints of these bytes. */
TEST(digest, is_blake2b)
{
    char text[DIGEST_TEXT];
    digest_of("", 0, text);
    CHECK_EQ(strcmp(text, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"), 0);
    digest_of("abc", 3, text);
    CHECK_EQ(strcmp(text, "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319"), 0);
}

TEST(digest, of_parts_is_that_of_the_whole)
{
    static unsigned char bytes[1000];
    char whole[DIGEST_TEXT], parts[DIGEST_TEXT];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * 7);
    digest_of(bytes, sizeof bytes, whole);
    for (size_t n = 1; n < sizeof bytes; n = n * 3 + 1) {
        struct digest d;
        digest_begin(&d);
        for (size_t at = 0; at < sizeof bytes; at += n)
            digest_add(&d, bytes + at, sizeof bytes - at < n ? sizeof bytes - at : n);
        digest_end(&d, parts);
        CHECK_EQ(strcmp(whole, parts), 0);
    }
}
