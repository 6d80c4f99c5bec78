/*
 * A whole run on one page: by --report of a program, and by `locus report` from what nodes wrote.
 * The page is read by a parser of XML and, where there is one, by a browser.
 */
#include "common/folder.h"
#include "team.h"
#include "trainer.h"

#include <errno.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MORE_BYTES = FOLDER_PATH_BYTES + 64, ROWS = 50, LENGTH = 4 };

static char folder[FOLDER_PATH_BYTES];
static struct command c;

/* "svg N", a line "TITLE: L lines, P points" for each of them in the order of their places, and the
 * text of each row of the tables. */
static const char reader[] =
    "import sys, xml.etree.ElementTree as t\n"
    "n = '{http://www.w3.org/1999/xhtml}'; s = '{http://www.w3.org/2000/svg}'\n"
    "d = t.parse(sys.argv[1]).getroot()\n"
    "assert d.tag == n + 'html' and not list(d.iter(n + 'script'))\n"
    "assert not any(k.endswith(('src', 'href')) for e in d.iter() for k in e.attrib)\n"
    "print('svg', len(list(d.iter(s + 'svg'))))\n"
    "for v in d.iter(s + 'svg'):\n"
    "    x = [e.text for e in v.iter(s + 'text')]\n"
    "    p = [e.get('points').split() for e in v.iter(s + 'polyline')]\n"
    "    print(x[0] + ':', len(p), 'lines,', sum(map(len, p)), 'points,', ' '.join(x[1:]))\n"
    "for r in d.iter(n + 'tr'): print('|'.join(e.text or '' for e in r))\n";

/* What the reader says of it, in c.out. */
static void read_page(const char *name)
{
    if (command_run(&c, "command -v python3")) SKIP("there is no python3 here");
    command_must(&c, "python3 -c \"%s\" %s/%s", reader, folder, name);
}

/* A panel of that title whose lines have points. */
static void is_drawn(const char *title)
{
    char line[LINE_BYTES];
    int lines = 0, points = 0;
    snprintf(line, sizeof line, "\n%s: ", title);
    const char *at = strstr(c.out.text, line);
    if (!at || sscanf(at + strlen(line), "%d lines, %d points", &lines, &points) != 2 ||
        lines < 1 || points < 1)
        test_fail(__FILE__, __LINE__, "%s: %d lines, %d points", title, lines, points);
}

static const char small[] = "--zipf 300x100x8000 --zipf-rank 3 --rank 6 --epochs 15 --batch 32";

static void train(const char *start, const char *more)
{
    command_must(&c, "%s %s %s %s", start, program_path("mf"), small, more);
}

static void check_run_of_two(void)
{
    static const char *const panels[] = {"RMSE of the cells trained with",
                                         "Cells trained a second",
                                         "Keys accessed a second, all nodes",
                                         "Accesses without the network, %",
                                         "Bytes sent a second",
                                         "Shards' load, % of a core each",
                                         "Cores that the process takes",
                                         "Rows owned",
                                         "Memory, MB",
                                         "Clock of the slowest worker"};
    for (size_t i = 0; i < sizeof panels / sizeof *panels; i++) is_drawn(panels[i]);
    CHECK_STR(c.out.text, "node 0 node 1");
    CHECK_STR(c.out.text, "\nnodes|2\nworkers of each|1\n");
    CHECK_STR(c.out.text, "\ntechnique|adaptive\n");
    CHECK_STR(c.out.text, "(rows x floats)|rows 300 x ");
    CHECK_STR(c.out.text, ", columns 100 x ");
    CHECK_STR(c.out.text, "\n--epochs|15\n");
    CHECK_STR(c.out.text, "\n--zipf|300x100x8000\n");
    CHECK(!strstr(c.out.text, "it was killed"));
}

TEST(report, of_a_program_is_one_page)
{
    char more[MORE_BYTES];
    folder_new(folder);
    snprintf(more, sizeof more, "--report %s/page.html", folder);
    train(trainer_nodes(2), more);
    command_must(&c, "ls -A %s", folder);
    CHECK_EQ(strcmp(c.out.text, "page.html\n"), 0);
    read_page("page.html");
    check_run_of_two();
}

/* Nodes and program have written where LOCUS_REPORT says, and the files stay. */
TEST(report, is_made_of_what_nodes_wrote)
{
    char start[PATH_MAX + MORE_BYTES];
    folder_new(folder);
    snprintf(start, sizeof start, "LOCUS_REPORT=%s/run %s", folder, trainer_nodes(2));
    train(start, "");
    command_must(&c, "ls -A %s", folder);
    CHECK_EQ(strcmp(c.out.text, "run.0.report.jsonl\nrun.1.report.jsonl\nrun.run.jsonl\n"), 0);
    command_must(&c, "%s report %s/run > %s/page.html", locus_path(), folder, folder);
    read_page("page.html");
    check_run_of_two();
    /* a node that was killed, whose last line is cut, and one whose file is on another host */
    command_must(&c,
                 "cd %s && head -c -20 run.1.report.jsonl > x && mv x run.1.report.jsonl "
                 "&& rm run.0.report.jsonl && %s report run > page.html",
                 folder, locus_path());
    read_page("page.html");
    CHECK_STR(c.out.text, "\n0|its file is not here\n");
    CHECK_STR(c.out.text, "|no: it was killed, or still runs\n");
}

TEST(report, of_the_baseline_has_its_loss)
{
    char more[MORE_BYTES];
    folder_new(folder);
    snprintf(more, sizeof more, "--baseline --report %s/page.html", folder);
    train("", more);
    read_page("page.html");
    CHECK_STR(c.out.text, "svg 3\n");
    is_drawn("RMSE of the test cells");
    command_must(&c, "ls -A %s", folder);
    CHECK_EQ(strcmp(c.out.text, "page.html\n"), 0);
}

/* ---- any program ---- */

static const struct locus_table table = {.name = "<a & \"b\">", .rows = ROWS, .length = LENGTH};

static void body(struct seat *s)
{
    float row[LENGTH] = {1};
    for (int i = 0; i < 100; i++) {
        locus_key key = (locus_key)(i % 10);
        locus_clock now = locus_current_clock(s->worker);
        locus_intent(s->worker, &key, 1, now, now + 20);
        CHECK_EQ(locus_push(s->worker, &key, 1, row), 0);
        locus_advance_clock(s->worker);
        CHECK_EQ(locus_report_value(s->node, "my loss", 1.0 / (1 + i)), 0);
        sleep_s(0.003);
    }
    CHECK_EQ(locus_quiesce(s->worker), 0);
}

/* More nodes than have a line each. */
TEST(report, of_many_nodes_shows_the_most_and_the_least)
{
    enum { NODES = 8 };
    char prefix[MORE_BYTES];
    folder_new(folder);
    snprintf(prefix, sizeof prefix, "%s/run", folder);
    CHECK_EQ(setenv("LOCUS_REPORT", prefix, 1), 0);
    team_run(&(struct team){TEAM_OF(NODES, 1, 1, LOCUS_ADAPTIVE, &table, 1)}, body);
    command_must(&c, "%s report %s > %s/page.html", locus_path(), prefix, folder);
    read_page("page.html");
    CHECK_STR(c.out.text, "most median node least");
    is_drawn("Workers wait for other nodes, % of their time");
    is_drawn("Age of replicas, ms");
    is_drawn("my loss");
    CHECK_STR(c.out.text, "\ncommand|");
    is_drawn("Replicas held");
    is_drawn("Replicas that came a second");
    CHECK_STR(c.out.text, "\nnodes|8\n");
    CHECK_STR(c.out.text, "_a____b__ 50 x 4\n");
    CHECK_STR(c.out.text, "\n7|");
}

static void is_refused(int status, const char *arguments, const char *part)
{
    CHECK_EQ(command_run(&c, "%s report %s", locus_path(), arguments), status);
    CHECK_STR(c.err.text, part);
    CHECK_EQ(c.out.length, 0);
}

TEST(report, says_what_it_cannot_make)
{
    char arguments[MORE_BYTES];
    folder_new(folder);
    is_refused(2, "", "which run?");
    is_refused(2, "--bogus", "there is no option \"--bogus\"");
    is_refused(1, "/no/such/run", "there is no /no/such/run.RANK.report.jsonl");
    command_must(&c, "echo hello > %s/x.0.report.jsonl", folder);
    snprintf(arguments, sizeof arguments, "%s/x", folder);
    is_refused(1, arguments, "x.0.report.jsonl is not what LOCUS_REPORT makes a node write");
    /* before a long run, not behind it */
    CHECK_EQ(command_run(&c, "%s %s --report /no/such/folder/page.html", program_path("mf"), small),
             1);
    CHECK_STR(c.err.text, "/no/such/folder/page.html");
    struct team t = {TEAM_OF(1, 1, 0, LOCUS_STATIC, &table, 1)};
    struct locus_config config = team_config(&t, 0);
    locus *node;
    CHECK_EQ(setenv("LOCUS_REPORT", "/no/such/folder/run", 1), 0);
    CHECK_EQ(locus_open(&config, &node), -ENOENT);
    CHECK_STR(locus_error(), "LOCUS_REPORT: cannot write /no/such/folder/run.0.report.jsonl");
    CHECK_EQ(unsetenv("LOCUS_REPORT"), 0);
}

/* A browser finds the same drawings as the parser, and paints something in them. */
TEST(report, is_shown_by_a_browser)
{
    char more[MORE_BYTES];
    if (command_run(&c, "command -v chromium")) SKIP("there is no chromium here");
    folder_new(folder);
    snprintf(more, sizeof more, "--report %s/page.html", folder);
    train("", more);
    command_must(&c,
                 "cd %s && HOME=%s timeout 140 chromium --headless --no-sandbox "
                 "--disable-gpu --dump-dom file://%s/page.html 2> /dev/null "
                 "| grep -c '<svg'",
                 folder, folder, folder);
    CHECK(atoi(c.out.text) >= 10);
}
