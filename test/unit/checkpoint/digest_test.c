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
