/* Lines that a run writes of itself, and lines that are none. */
#include "run_parts.h"

#include "test.h"

#include <string.h>

TEST(run_line, has_numbers_and_texts)
{
    static const char line[] =
        "{\"curve\":\"a \\\"q\\\" \\\\ \\u0009 \\ufffd\",\"t\":1500,\"y\":-2.5e-3,\"z\":null}\n";
    double number = 7;
    char text[32];
    CHECK(run_line_is_whole(line));
    CHECK(run_line_text(line, "curve", text, sizeof text));
    CHECK_EQ(strcmp(text, "a \"q\" \\   ?"), 0);
    CHECK(run_line_text(line, "curve", text, 4));
    CHECK_EQ(strcmp(text, "a \""), 0);
    CHECK(run_line_number(line, "t", &number) && number == 1500);
    CHECK(run_line_number(line, "y", &number) && number == -2.5e-3);
    CHECK(!run_line_number(line, "z", &number) && !run_line_number(line, "x", &number));
    CHECK(!run_line_number(line, "curve", &number) && !run_line_text(line, "y", text, 4));
    /* a name within a text is no name: there, its quotes have backslashes */
    CHECK(!run_line_number("{\"a\":\"\\\"y\\\":5\"}", "y", &number));
    CHECK(number == -2.5e-3);
}

TEST(run_line, may_be_cut_anywhere)
{
    static const char line[] = "{\"a\":\"b\\u00e4\\\"\",\"n\":12}";
    for (size_t length = 0; length < sizeof line; length++) {
        char cut[sizeof line] = "", text[8];
        double number;
        memcpy(cut, line, length);
        CHECK_EQ(run_line_is_whole(cut), length == sizeof line - 1);
        run_line_text(cut, "a", text, sizeof text);
        run_line_number(cut, "n", &number);
    }
    CHECK(run_line_is_whole("{}\r\n")); /* by way of another system */
    CHECK(!run_line_is_whole("") && !run_line_is_whole("{") && !run_line_is_whole("\n"));
}
