/*
 * A program that has chosen a locale with a decimal comma: what the library writes for machines has
 * points all the same, and what it reads from the environment, too.
 */
#include "common/comma.h"
#include "common/folder.h"
#include "process.h"
#include "scraping.h"
#include "team.h"

#include <ctype.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 2, KEYS = 64, LENGTH = 4 };
static const struct locus_table table = {.name = "a table", .rows = KEYS, .length = LENGTH};
static unsigned base;
static char page[NODES][PAGE_MAX];

static void work(struct seat *s)
{
    float row[LENGTH] = {1};
    for (int i = 0; i < 50; i++) {
        locus_key key = seat_random(s, KEYS);
        locus_clock now = locus_current_clock(s->worker);
        CHECK_EQ(locus_intent(s->worker, &key, 1, now, now + 2), 0);
        CHECK_EQ(locus_push(s->worker, &key, 1, row), 0);
        locus_advance_clock(s->worker);
        sleep_s(0.001);
    }
    CHECK_EQ(locus_quiesce(s->worker), 0);
    scraping_get(base + (unsigned)s->rank, page[s->rank]);
    seat_barrier(s);
}

/* Commas stand before names and quotation marks there, and never between digits. */
static void has_points(const char *what, const char *text)
{
    CHECK(strlen(text) > 100);
    for (const char *c = text; (c = strchr(c, ',')); c++)
        if (c > text && isdigit((unsigned char)c[-1]) && isdigit((unsigned char)c[1]))
            test_fail(__FILE__, __LINE__, "%s: %.60s", what, c - (c - text < 30 ? c - text : 30));
}

static void file_has_points(const char *folder, const char *name)
{
    size_t bytes;
    CLOSED_BY(free_at) char *text = folder_read(folder, name, &bytes);
    has_points(name, text);
}

TEST(locale, with_a_comma_changes_nothing_for_machines)
{
    char folder[FOLDER_PATH_BYTES];
    comma_choose();
    folder_new(folder);
    base = scraping_ports(NODES);
    CHECK_EQ(setenv("LOCUS_ADVICE", "0.5", 1), 0);
    CHECK_EQ(setenv("LOCUS_REPORT", folder_path(folder, "run"), 1), 0);
    CHECK_EQ(setenv("LOCUS_TRACE", folder_path(folder, "run"), 1), 0);
    team_run(&(struct team){TEAM_OF(NODES, 1, 1, LOCUS_ADAPTIVE, &table, 1)}, work);
    for (int n = 0; n < NODES; n++) has_points("/metrics", page[n]);
    setlocale(LC_ALL, "C");
    CHECK(scraping_sample(page[0], "process_cpu_seconds_total") > 0);
    file_has_points(folder, "run.0.jsonl");
    file_has_points(folder, "run.1.jsonl");
    file_has_points(folder, "run.0.report.jsonl");
    file_has_points(folder, "run.1.report.jsonl");
}
