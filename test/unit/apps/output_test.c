/* What the programs write: JSON lines, progress. */
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
