#include "plain.h"

#include "test.h"

#include <string.h>

TEST(plain, text_stays_and_controls_are_shown)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"a line\nand Z\xC3\xBCrich, \xE2\x82\xAC", "a line\nand Z\xC3\xBCrich, \xE2\x82\xAC"},
        {"\033[2J\007\t\x7F\r", "\\x1b[2J\\x07\\x09\\x7f\\x0d"},
        {"a\233[2J", "a\\x9b[2J"}, /* of Latin-1 and of UTF-8, and what is neither */
        {"a\xC2\233[2J", "a\\xc2\\x9b[2J"},
        {"a\xE2\x82", "a\\xe2\\x82"}};
    char to[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plain_copy(to, sizeof to, cases[i][0]);
        if (strcmp(to, cases[i][1]) != 0) test_fail(__FILE__, __LINE__, "shown as %s", to);
    }
}

TEST(plain, what_does_not_fit_is_cut_between_characters)
{
    char to[6];
    plain_copy(to, sizeof to, "abc\033");
    CHECK_EQ(strcmp(to, "abc"), 0);
    plain_copy(to, sizeof to, "abcd\xC3\xBC");
    CHECK_EQ(strcmp(to, "abcd"), 0);
}
