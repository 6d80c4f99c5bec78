/* journal: a file of JSON lines, the first of which says who writes, and the last that it ended. */
#include "observe/journal.h"

#include "common/folder.h"
#include "worker/node.h"
#include "one_node.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 20 };

/* LOCUS_REPORT is folder/name. */
static void ask_for(const char *folder, const char *name)
{
    CHECK_EQ(setenv("LOCUS_REPORT", folder_path(folder, name), 1), 0);
}

static struct journal *opened(unsigned rank)
{
    struct journal *j;
    CHECK_EQ(journal_open(rank, &j), 0);
    CHECK(j != NULL);
    return j;
}

static void refuses(int rc, const char *sentence)
{
    struct journal *j;
    CHECK_EQ(journal_open(0, &j), rc);
    CHECK_STR(locus_error(), sentence);
    CHECK(j == NULL);
}

/* The next line as JSON; NULL: there is none. */
static json_t *next(char **at)
{
    char *line = *at, *end = strchr(line, '\n');
    if (!*line) return NULL;
    CHECK(end != NULL); /* whole lines */
    json_t *j = json_loadb(line, (size_t)(end - line), JSON_REJECT_DUPLICATES, NULL);
    if (!j) test_fail(__FILE__, __LINE__, "no JSON: %.200s", line);
    *at = end + 1;
    return j;
}

static json_int_t number(json_t *line, const char *name)
{
    json_t *value = json_object_get(line, name);
    CHECK(json_is_integer(value));
    return json_integer_value(value);
}

TEST(journal, open_only_when_asked)
{
    struct journal *j = (void *)&j;
    CHECK_EQ(unsetenv("LOCUS_REPORT"), 0);
    CHECK_EQ(journal_open(0, &j), 0);
    CHECK(j == NULL);
    CHECK_EQ(setenv("LOCUS_REPORT", "", 1), 0);
    CHECK_EQ(journal_open(0, &j), 0);
    CHECK(j == NULL);
    CHECK_EQ(journal_start(NULL, NULL), 0);
    journal_close(NULL);
}

TEST(journal, open_refuses_a_path_it_cannot_write)
{
    char folder[FOLDER_PATH_BYTES], longest[5000];
    folder_new(folder);
    ask_for(folder, "none/run");
    refuses(-ENOENT, "none/run.0.report.jsonl: No such file or directory");
    CHECK_STR(locus_error(), "LOCUS_REPORT: cannot write ");
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    CHECK_EQ(setenv("LOCUS_REPORT", longest, 1), 0);
    refuses(-EINVAL, "LOCUS_REPORT is longer than a path can be");
}

/* Names of tables are the user's: what would need quoting is replaced. */
static void check_head(json_t *head)
{
    CHECK_EQ(number(head, "node"), 0);
    CHECK_EQ(number(head, "nodes"), 1);
    CHECK_EQ(number(head, "workers"), 1);
    CHECK_EQ(number(head, "keys"), 2 * ROWS);
    CHECK_STR(json_string_value(json_object_get(head, "technique")), "adaptive");
    CHECK_STR(json_string_value(json_object_get(head, "tables")),
              "a__quoted___name 20 x 2, plain 20 x 1");
    json_decref(head);
}

TEST(journal, last_line_has_the_counters)
{
    static const struct locus_table tables[] = {
        {.name = "a \"quoted\", name", .rows = ROWS, .length = 2},
        {.name = "plain", .rows = ROWS, .length = 1}};
    char folder[FOLDER_PATH_BYTES];
    size_t bytes;
    CHECK_EQ(unsetenv("LOCUS_REPORT"), 0);
    locus *n = node_of(tables, 2, 1, 1);
    locus_worker *w = worker_of(n);
    folder_new(folder);
    ask_for(folder, "run");
    struct journal *j = opened(0);
    CHECK_EQ(journal_start(j, n), 0);
    float row[2] = {1, 2};
    for (locus_key key = 0; key < 7; key++) CHECK_EQ(locus_set(w, &key, 1, row), 0);
    for (int i = 0; i < 3; i++) locus_advance_clock(w);
    journal_value(j, "test loss", 0.25);
    journal_close(j);
    char *text = folder_read(folder, "run.0.report.jsonl", &bytes), *at = text;
    check_head(next(&at));
    json_t *line, *last = NULL;
    json_int_t before = 0;
    double loss = 0;
    for (; (line = next(&at)); last = line) {
        CHECK(last == NULL || json_object_get(last, "end") == NULL); /* none behind the end */
        if (json_object_get(line, "curve")) {
            CHECK_STR(json_string_value(json_object_get(line, "curve")), "test loss");
            loss += json_real_value(json_object_get(line, "y"));
            json_decref(line);
            line = last;
            continue;
        }
        CHECK(number(line, "local") >= before);
        before = number(line, "local");
        if (last) json_decref(last);
    }
    CHECK(last != NULL);
    CHECK(loss == 0.25);
    CHECK_EQ(number(last, "end"), 1);
    CHECK_EQ(number(last, "local"), 7);
    CHECK_EQ(number(last, "remote"), 0);
    CHECK_EQ(number(last, "owned"), 2 * ROWS);
    CHECK_EQ(number(last, "clock"), 3);
    json_decref(last);
    free(text);
    close_both(n, w);
}

/* Without a report a value goes nowhere; names must be such as need no quoting. */
TEST(journal, value_refuses_wrong_names)
{
    CHECK_EQ(unsetenv("LOCUS_REPORT"), 0);
    locus *n = one_node(ROWS, 1, 1);
    CHECK_EQ(locus_report_value(n, "loss, test", NAN), 0);
    const char *const wrong[] = {
        NULL, "", "a\nb", "a\"b", "a\\b", "\xc3\xa4", "a name of thirty-two characters.."};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        REFUSED(locus_report_value(n, wrong[i], 1), -EINVAL,
                "the name of a curve has 1 to 31 printable");
    }
    CHECK_EQ(locus_report_value(NULL, "loss", 1), -EINVAL);
    CHECK_EQ(locus_close(n), 0);
}

/* A node whose disk is full goes on; and is closed. */
TEST_ON_NODE(journal, full_disk_stops_the_journal_only, ROWS, 1)
{
    char folder[FOLDER_PATH_BYTES];
    CHECK_EQ(unsetenv("LOCUS_REPORT"), 0);
    folder_new(folder);
    CHECK_EQ(symlink("/dev/full", folder_path(folder, "run.0.report.jsonl")), 0);
    ask_for(folder, "run");
    struct journal *j = opened(0);
    CHECK_EQ(journal_start(j, n), 0);
    journal_close(j);
}
