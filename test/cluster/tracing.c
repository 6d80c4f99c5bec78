/* Tracing from end to end: a cluster that was asked to by its environment, and the page of what it
 * wrote. */
#include "command.h"
#include "common/folder.h"
#include "team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct command c;

enum { NODES = 3, ROWS = 20, LENGTH = 4 };

static const struct locus_table rows_table[] = {
    {.name = "a \"name\"", .rows = ROWS, .length = LENGTH}};

/* Each node in turn intends a key that is traced and one that is not, and the first pulls
 * without. */
static void body(struct seat *s)
{
    static const locus_key keys[] = {7, 8};
    float rows[2 * LENGTH] = {1};
    for (int turn = 0; turn < s->seats; turn++) {
        if (turn == s->number) {
            CHECK_EQ(locus_intent(s->worker, keys, 2, turn, turn + 1), 0);
            while (locus_pull_local(s->worker, 7, rows)) sleep_s(0.0005);
            CHECK_EQ(locus_push(s->worker, keys, 2, rows), 0);
        }
        locus_advance_clock(s->worker);
        CHECK_EQ(locus_quiesce(s->worker), 0);
    }
    for (int i = 0; s->number == 0 && i < 3; i++) CHECK_EQ(locus_pull(s->worker, keys, 2, rows), 0);
    if (s->number == 1) {
        CHECK_EQ(locus_intent(s->worker, keys, 1, 0, LOCUS_FOREVER), 0);
        while (locus_pull_local(s->worker, 7, rows)) sleep_s(0.0005);
    }
    CHECK_EQ(locus_quiesce(s->worker), 0);
}

TEST(tracing, from_a_cluster_to_a_page)
{
    char folder[FOLDER_PATH_BYTES], prefix[sizeof folder + 8];
    folder_new(folder);
    snprintf(prefix, sizeof prefix, "%s/run", folder);
    CHECK_EQ(setenv("LOCUS_TRACE", prefix, 1), 0);
    CHECK_EQ(setenv("LOCUS_TRACE_KEYS", "7", 1), 0);
    team_run(&(struct team){TEAM_OF(NODES, 1, 2, LOCUS_ADAPTIVE, rows_table, 1)}, body);
    command_must(&c, "%s trace %s.*.jsonl", locus_path(), prefix);
    CHECK_STR(c.out.text, "<!doctype html>");
    CHECK_STR(
        c.out.text,
        "{\"node\":2,\"nodes\":3,\"technique\":\"adaptive\",\"keys\":20,\"tables\":[[\"a__name_\",0]]},");
    CHECK_STR(c.out.text, "\"k\":7,\"s\":\"O\",\"i\":1},");
    CHECK_STR(c.out.text, "\"w\":0,\"p\":");
    CHECK_STR(c.out.text, "\"k\":7,\"s\":\"r\",\"i\":2},");
    CHECK_STR(c.out.text, "</html>");
    CHECK(!strstr(c.out.text, "\"k\":8"));
    CHECK_EQ(c.err.length, 0);
    command_must(&c, "%s trace --svg %s/p.svg %s.*.jsonl && cat %s/p.svg", locus_path(), folder,
                 prefix, folder);
    CHECK_STR(c.out.text, "<svg");
    CHECK_STR(c.out.text, "3 nodes, technique adaptive");
    CHECK_STR(c.out.text, "key 7, a__name_ row 7 (moves: ");
    CHECK_STR(c.out.text, "</svg>");
}

static void is_refused(int status, const char *arguments, const char *part)
{
    CHECK_EQ(command_run(&c, "%s trace %s", locus_path(), arguments), status);
    CHECK_STR(c.err.text, part);
}

TEST(tracing, refuses_what_is_no_trace)
{
    is_refused(2, "", "which files?");
    is_refused(1, "/dev/null", "cannot read /dev/null: it is not a regular file");
    is_refused(1, "/no/such/file", "cannot read /no/such/file");
    char file[] = "/tmp/locus-test-XXXXXX";
    int fd = mkstemp(file);
    static const char text[] = "{\"node\":0,\"nodes\":2,\"keys\":1}\n{\"x\":\"</script>\"}\n";
    CHECK_EQ(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    is_refused(1, file, "line 2 is not of a trace");
    CHECK_EQ(truncate(file, 0), 0);
    is_refused(1, file, "is empty");
    CHECK_EQ(unlink(file), 0);
    is_refused(2, "--bogus", "there is no option \"--bogus\"");
    is_refused(2, "--svg", "--svg needs a value: PICTURE");
    is_refused(2, "--svg p.svg --from x file", "--from takes a number from 0");
    is_refused(2, "--svg p.svg --to", "--to needs a value: MS");
    is_refused(2, "--to -1 file", "--to takes a number from 0");
    is_refused(2, "--to 3 file", "--from and --to are for --svg");
}

/* Of one that was killed there is only the beginning; and files of earlier runs may lie beside
 * those of this one. */
TEST(tracing, files_of_one_run_and_nodes_that_did_not_close)
{
    char folder[FOLDER_PATH_BYTES];
    folder_new(folder);
    folder_write(folder, "0",
                 "{\"node\":0,\"nodes\":2,\"keys\":1}\n{\"t\":5,\"end\":0,\"lost\":0}\n", 0);
    folder_write(folder, "1", "{\"node\":1,\"nodes\":2,\"keys\":1}\n", 0);
    folder_write(folder, "old", "{\"node\":1,\"nodes\":4,\"keys\":1}\n", 0);
    command_must(&c, "%s trace %s/0 %s/1", locus_path(), folder, folder);
    CHECK_STR(c.out.text, "{\"unended\":1},");
    CHECK(!strstr(c.out.text, "{\"unended\":0},"));
    CHECK_EQ(command_run(&c, "%s trace %s/0 %s/1 %s/old", locus_path(), folder, folder, folder), 1);
    CHECK_STR(c.err.text, "old is of a cluster of 4 nodes");
    CHECK_EQ(c.out.length, 0);
    CHECK_EQ(command_run(&c, "%s trace %s/1 %s/1", locus_path(), folder, folder), 1);
    CHECK_STR(c.err.text, "are both of node 1");
    /* LOCUS_REPORT and LOCUS_TRACE may be the same, and a shell finds all of PREFIX.*.jsonl. */
    folder_write(folder, "run.0.jsonl", "{\"node\":0,\"nodes\":1,\"keys\":1}\n", 0);
    folder_write(folder, "run.0.report.jsonl", "{\"node\":0,\"nodes\":1,\"workers\":1}\n", 0);
    folder_write(folder, "run.run.jsonl", "{\"program\":\"kge\"}\n", 0);
    command_must(&c, "%s trace %s/run.*.jsonl", locus_path(), folder);
    CHECK(!strstr(c.out.text, "\"workers\""));
    CHECK_EQ(command_run(&c, "%s trace %s/run.*.report.jsonl", locus_path(), folder), 2);
    CHECK_STR(c.err.text, "these are files of a report: locus report PREFIX shows them");
}

/* A key that moves from node 0 to node 1 after 2 ms, where a replica was before; and a write. */
static const char first_node[] = "{\"node\":0,\"nodes\":2,\"technique\":\"adaptive\",\"keys\":9,"
                                 "\"tables\":[[\"a\",0],[\"b\",4]]}\n"
                                 "{\"n\":0,\"t\":1000,\"k\":5,\"s\":\"O\",\"i\":0}\n"
                                 "{\"n\":0,\"t\":2000,\"k\":5,\"w\":4,\"p\":0,\"q\":0}\n"
                                 "{\"n\":0,\"t\":3000,\"k\":5,\"s\":\".\",\"i\":0}\n"
                                 "{\"t\":5000,\"end\":0,\"lost\":0}\n",
                  second_node[] = "{\"node\":1,\"nodes\":2,\"technique\":\"adaptive\",\"keys\":9,"
                                  "\"tables\":[[\"a\",0],[\"b\",4]]}\n"
                                  "{\"n\":1,\"t\":1000,\"k\":5,\"s\":\".\",\"i\":0}\n"
                                  "{\"n\":1,\"t\":2000,\"k\":5,\"s\":\"r\",\"i\":1}\n"
                                  "{\"n\":1,\"t\":3000,\"k\":5,\"s\":\"O\",\"i\":1}\n"
                                  "{\"n\":1,\"t\":4000,\"k\":5,\"w\":0,\"p\":1,\"q\":2}\n"
                                  "{\"t\":5000,\"end\":0,\"lost\":0}\n";

TEST(tracing, a_picture_of_a_time)
{
    char folder[FOLDER_PATH_BYTES];
    folder_new(folder);
    folder_write(folder, "0", first_node, 0);
    folder_write(folder, "1", second_node, 0);
    command_must(&c, "cd %s && %s trace --svg p 0 1 && cat p", folder, locus_path());
    CHECK_STR(c.out.text, "2 nodes, technique adaptive, 0 to 4 ms");
    CHECK_STR(c.out.text, "key 5, b row 1 (moves: 1, replicas: 1, writes in place: 4, remote "
                          "accesses: 3)");
    /* 640 pixels for 4 ms, from the 62nd on: the main copy is 2 ms here, and 2 there. */
    CHECK_STR(c.out.text, "<path fill=\"#3b76b8\" d=\"M62 122h321v11h-321z\"/>");
    CHECK_STR(c.out.text, "<path fill=\"#a8d08d\" d=\"M222 135h161v11h-161z\"/>");
    CHECK_STR(c.out.text, "<path fill=\"#3b76b8\" d=\"M383 135h319v11h-319z\"/>");
    command_must(&c, "cd %s && %s trace --svg p --from 2.5 --to 3 0 1 && cat p", folder,
                 locus_path());
    CHECK_STR(c.out.text, "2.5 to 3 ms");
    CHECK_STR(c.out.text, "(moves: 0, replicas: 0, writes in place: 0, remote accesses: 3)");
    CHECK(!strstr(c.out.text, "#a8d08d\" d="));
    CHECK_EQ(command_run(&c, "cd %s && %s trace --svg q --from 4 0 1", folder, locus_path()), 1);
    CHECK_STR(c.err.text, "nothing was traced then");
    CHECK_EQ(command_run(&c, "cd %s && %s trace --svg 0 0 1", folder, locus_path()), 1);
    command_must(&c, "ls %s", folder);
    CHECK(!strchr(c.out.text, 'q'));
}
