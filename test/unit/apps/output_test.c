/* What the programs write: JSON lines, charts, progress. */
#include "chart.h"
#include "ending.h"
#include "figures.h"
#include "json.h"
#include "meter.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON ---- */

enum { LONG = 20000 };

static void print_json(const void *unused)
{
    static char name[LONG + 1];
    CLOSED_BY(json_end) struct json j;
    (void)unused;
    json_begin(&j, "epoch");
    json_count(&j, "epoch", 18446744073709551615u);
    json_number(&j, "hits@1", 0.25);
    json_number(&j, "loss", NAN);
    json_text(&j, "name", "a\"b\\c\n\x01\x7F\xC2\x9B");
    json_text(&j, "word1", memset(name, 'x', LONG)); /* words are as long as users have them */
}

TEST(output, json_is_one_object_a_line)
{
    static const char start[] =
        "{\"event\":\"epoch\",\"epoch\":18446744073709551615,\"hits@1\":0.25,\"loss\":null,"
        "\"name\":\"a\\\"b\\\\c\\u000a\\u0001\\u007f\\u009b\",\"word1\":\"x";
    static char said[LONG + 256];
    CHECK_EQ(ending_of(print_json, NULL, said, sizeof said), 0);
    CHECK_EQ(strncmp(said, start, sizeof start - 1), 0);
    CHECK_EQ(strcmp(said + sizeof start - 2 + LONG, "\"}\n"), 0);
}

/* ---- figures ---- */

static void print_figures(const void *is_json)
{
    const struct figure figures[] = {
        {.name = "split", .text = "test"},
        {"RMSE ", 8, 4, .name = "rmse", .value = 0.5},
        {"", 9, 0, " cells/s", .value = 1234.5},
        {"AUC ", 0, 3, .name = "auc", .value = NAN},
        {"objective ", .digits = -3, .name = "objective", .value = 12345},
        {.curve = "of nobody's report", .value = 1},
        FIGURE_TOOK(0.25),
    };
    figures_say(is_json != NULL, "eval", "test     ", figures, sizeof figures / sizeof *figures);
}

TEST(output, figures_are_a_line_for_people_or_of_json)
{
    char said[256];
    CHECK_EQ(ending_of(print_figures, NULL, said, sizeof said), 0);
    CHECK_EQ(strcmp(said, "test        RMSE   0.5000        1234 cells/s   AUC -   "
                          "objective 1.23e+04   (0.2 s)\n"),
             0);
    CHECK_EQ(ending_of(print_figures, "", said, sizeof said), 0);
    CHECK_EQ(strcmp(said, "{\"event\":\"eval\",\"split\":\"test\",\"rmse\":0.5,\"auc\":null,"
                          "\"objective\":12345,\"seconds\":0.25}\n"),
             0);
}

/* ---- charts ---- */

static char *draw(const struct chart *c)
{
    char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);
    CHECK(f != NULL);
    chart_put(c, f);
    CHECK_EQ(fclose(f), 0);
    return text;
}

TEST(output, chart_has_its_lines_and_leaves_out_what_is_no_number)
{
    static const double x[] = {1, 2, 3}, y[] = {5, NAN, 10}, z[] = {0, 0, 0};
    struct chart c = {
        .title = "one", .x_label = "x", .series_count = 1, .series = {{"y", x, y, 3}}};
    CLOSED_BY(free_at) char *one = draw(&c);
    CHECK_STR(one, "</svg>\n");
    CHECK(strstr(one, ">y<") == NULL);
    CHECK_STR(one, "cx=\"308.0\" cy=\"48.0\""); /* the largest value is at the top */
    c.series_count = 2;
    c.y_max = 100;
    c.series[1] = (struct chart_series){"second", x, z, 0};
    CLOSED_BY(free_at) char *two = draw(&c);
    CHECK_STR(two, ">y<");
    CHECK_STR(two, ">second<");
    CHECK(strstr(two, "nan") == NULL && strstr(two, "inf") == NULL);
    CHECK_STR(two, "cx=\"308.0\" cy=\"219.0\""); /* at a tenth of the height */
    const char *first = strstr(two, "<circle"), *last = strstr(first + 1, "<circle");
    CHECK(last && !strstr(last + 1, "<circle"));
}

/* A name may be cut in the middle of a character, or be no text at all; no viewer takes a picture
 * with a byte that XML does not have. */
TEST(output, chart_is_xml_whatever_its_texts_are)
{
    static const double x[] = {1, 2}, y[] = {5, 10};
    static const char *const titles[][2] = {
        {"caf\xC3", ">caf\xEF\xBF\xBD<"},
        {"\x01 \"q\" \xFF \xEF\xBF\xBF", ">\xEF\xBF\xBD &quot;q&quot; \xEF\xBF\xBD \xEF\xBF\xBD"},
        {"\xC3\xA9t\xC3\xA9", ">\xC3\xA9t\xC3\xA9<"},
        {"a <b> & c", ">a &lt;b&gt; &amp; c<"}};
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        struct chart c = {.title = titles[i][0], .x_label = "x", .series_count = 1};
        c.series[0] = (struct chart_series){"y", x, y, 2};
        char *text = draw(&c);
        CHECK_STR(text, titles[i][1]);
        free(text);
    }
}

/* ---- progress ---- */

static void show_progress(const void *is_shown)
{
    CLOSED_BY(meter_end) struct meter m;
    meter_init(&m, *(const bool *)is_shown);
    meter_begin(&m, "epoch 1", "facts", 100);
    for (uint64_t i = 0; i <= 100; i += 10) meter_set(&m, i);
    m.shown_s -= 60; /* as if a minute had passed */
    m.began_s -= 60;
    meter_set(&m, 50);
}

TEST(output, progress_is_plain_lines_where_there_is_no_terminal)
{
    char said[1024] = "";
    CHECK_EQ(ending_of(show_progress, &(bool){true}, said, sizeof said), 0);
    CHECK_EQ(strcmp(said, "epoch 1: 50 %, 1 facts/s, 60 s left\n"), 0);
    CHECK_EQ(ending_of(show_progress, &(bool){false}, said, sizeof said), 0);
    CHECK_EQ(strlen(said), 0);
}
