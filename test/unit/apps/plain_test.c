#include "plain.h"

#include "test.h"

#include <string.h>

static void becomes(const char *text, const char *shown)
{
    char to[64];
    plain_copy(to, sizeof to, text);
    CHECK_EQ(strcmp(to, shown), 0);
}

TEST(plain, text_stays_and_controls_are_shown)
{
    becomes("", "");
    becomes("a line\nand Z\xC3\xBCrich, \xE2\x82\xAC", "a line\nand Z\xC3\xBCrich, \xE2\x82\xAC");
    becomes("\033[2J\007\t\x7F\r", "\\x1b[2J\\x07\\x09\\x7f\\x0d");
    /* Of Latin-1 and of UTF-8, and what is neither. */
    becomes("a\x9B"
            "2J",
            "a\\x9b2J");
    becomes("a\xC2\x9B"
            "2J",
            "a\\xc2\\x9b2J");
    becomes("a\xE2\x82", "a\\xe2\\x82");
}

TEST(plain, what_does_not_fit_is_cut_between_characters)
{
    char to[6];
    plain_copy(to, sizeof to, "abc\033");
    CHECK_EQ(strcmp(to, "abc"), 0);
    plain_copy(to, sizeof to, "abcd\xC3\xBC");
    CHECK_EQ(strcmp(to, "abcd"), 0);
}

TEST(plain, one_is_not_many)
{
    CHECK_EQ(strcmp(plain_s(0), "s"), 0);
    CHECK_EQ(strcmp(plain_s(1), ""), 0);
    CHECK_EQ(strcmp(plain_s(2), "s"), 0);
}
