/* Numbers for machines have a point where the program's own have a comma; names are ASCII. */
#include "base/notation.h"

#include "common/comma.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static int format(char to[32], const char *how, ...) __attribute__((format(printf, 2, 3)));
static int format(char to[32], const char *how, ...)
{
    va_list arguments;
    va_start(arguments, how);
    int n = notation_format(to, 32, how, arguments);
    va_end(arguments);
    return n;
}

static void have_points(void)
{
    char text[32], *end, *written = NULL;
    size_t bytes;
    CHECK_EQ(format(text, "%.2f and %g", 0.25, 1e-7), 14);
    CHECK_EQ(strcmp(text, "0.25 and 1e-07"), 0);
    CHECK(notation_read("2.5s", &end) == 2.5);
    CHECK_EQ(strcmp(end, "s"), 0);
    CHECK(notation_read("2,5", &end) == 2);
    FILE *f = open_memstream(&written, &bytes);
    CHECK_EQ(notation_print(f, "%g", 0.5), 3);
    notation_name(f, "a \"B\" \xE4\xC3\xA4 9");
    CHECK_EQ(fclose(f), 0);
    CHECK_EQ(strcmp(written, "0.5a__B______9"), 0);
    free(written);
}

TEST(notation, format_has_a_point_in_every_locale)
{
    char text[32];
    have_points();
    comma_choose();
    have_points();
    /* The program's own stay as they were. */
    snprintf(text, sizeof text, "%.1f", 0.5);
    CHECK_EQ(strcmp(text, "0,5"), 0);
}
