#include "base/notation.h"

#include "test.h"

TEST(utf8, is_text_accepts_what_a_line_can_show)
{
    static const char *const text[] = {"",
                                       "a b/c~",
                                       "\xc3\xa9",
                                       "\xe2\x82\xac",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xf0\x90\x80\x80",
                                       "\xf4\x8f\xbf\xbf"};
    static const char *const other[] = {
        "\n",           "a\x7f",           "\xc2\x85",             /* control characters */
        "\x80",         "a\xff",           "\xf8\x88\x80\x80\x80", /* what begins no character */
        "\xc3",         "\xc3(",           "\xe2\x82",
        "\xf0\x90\x80",                                        /* cut */
        "\xc0\xaf",     "\xe0\x80\xaf",    "\xf0\x80\x80\xaf", /* longer than needed */
        "\xed\xa0\x80", "\xf4\x90\x80\x80"};                   /* surrogates, and beyond the last */
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) CHECK(notation_is_text(text[i]));
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) CHECK(!notation_is_text(other[i]));
}
