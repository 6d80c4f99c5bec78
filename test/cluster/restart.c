/* `locus run --restarts`: when a node fails, all start again; a training goes on from its newest
 * checkpoint, and ends with the quality of one that lost nobody. */
#include "command.h"
#include "program.h"
#include "test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double SOON_S = HANG_S;

static struct command c;
static char folder[PROGRAM_FOLDER_BYTES];

static int count(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)); at++) n++;
    return n;
}

/* ---- programs that fail ---- */

TEST(restart, all_start_again_and_know_it)
{
    command_must(&c,
                 "%s run -n 2 --restarts 3 -- sh -c 'echo $LOCUS_RANK: "
                 "${LOCUS_RESTART:-none} ${LOCUS_LOST:+lost}; "
                 "test \"${LOCUS_RESTART:-0}\" -ge 2'",
                 locus_path());
    for (int rank = 0; rank < 2; rank++) {
        char line[32];
        snprintf(line, sizeof line, "%d: 2 lost\n", rank);
        CHECK_EQ(count(c.out.text, line), 1);
    }
    CHECK(count(c.out.text, ": none") >= 1);
    CHECK(count(c.out.text, ": 1 lost") >= 1);
    CHECK_EQ(count(c.err.text, "failed with status 1; ending the others"), 2);
    CHECK_STR(c.err.text, "restart 2 of 3, with 2 nodes");
    CHECK_EQ(count(c.err.text, "restart 3"), 0);
    CHECK_EQ(command_left(&c, SOON_S), 0);
}

TEST(restart, so_often_and_no_more)
{
    CHECK_EQ(command_run(&c, "%s run -n 1 --restarts 2 -- sh -c 'echo run; exit 7'", locus_path()),
             7);
    CHECK_EQ(count(c.out.text, "run\n"), 3);
    CHECK_EQ(count(c.err.text, "failed with status 7"), 3);
}

/* 20 restarts were used up within a second. */
TEST(restart, a_pause_before_each_grows)
{
    double began = now_s();
    CHECK_EQ(command_run(&c, "%s run -n 1 --restarts 3 -- false", locus_path()), 1);
    CHECK(now_s() - began >= 0.5 + 1 + 2);
    CHECK_STR(c.err.text, "the next begins in 1 s");
    CHECK_STR(c.err.text, "the next begins in 2 s");
    /* A signal ends it. */
    command_start(&c, COMMAND_FILES, "exec %s run -n 1 --restarts 1000 -- false", locus_path());
    command_await(&c, &c.err, "the next begins in 4 s");
    command_signal(&c, SIGTERM);
    CHECK_EQ(command_wait(&c), 128 + SIGTERM);
    CHECK_EQ(count(c.err.text, "the next begins in 8 s"), 0);
}

TEST(restart, what_would_fail_again_is_not_tried_again)
{
    CHECK_EQ(command_run(&c, "%s run -n 1 --restarts 2 -- sh -c 'echo run; exit 2'", locus_path()),
             2);
    CHECK_EQ(count(c.out.text, "run\n"), 1);
    CHECK_EQ(command_run(&c, "%s run -n 1 --restarts 2 -- no-such-program", locus_path()), 127);
    CHECK_EQ(count(c.err.text, "restart"), 0);
}

TEST(restart, who_is_asked_to_end_does)
{
    command_start(&c, COMMAND_FILES, "exec %s run -n 2 --restarts 2 -- sh -c 'echo run; sleep 60'",
                  locus_path());
    command_await(&c, &c.out, "run\nrun\n");
    command_signal(&c, SIGTERM);
    CHECK_EQ(command_wait(&c), 128 + SIGTERM);
    CHECK_EQ(count(c.err.text, "restart"), 0);
    CHECK_EQ(command_left(&c, SOON_S), 0);
    /* Likewise while the nodes are ended: one of them takes its time. */
    program_folder(folder);
    command_start(
        &c, COMMAND_FILES,
        "cd %s && exec %s run -n 2 --restarts 2 --grace 30 -- sh -c "
        "'if test $LOCUS_RANK = 1; then until test -e trapped; do sleep 0.1; done; exit 7; "
        "fi; trap \"echo asked\" TERM; touch trapped; while :; do sleep 0.1; done'",
        folder, locus_path());
    command_await(&c, &c.out, "asked");
    command_signal(&c, SIGINT);
    CHECK_EQ(command_wait(&c), 7);
    CHECK_EQ(count(c.err.text, "restart"), 0);
    CHECK_EQ(command_left(&c, SOON_S), 0);
}

TEST(restart, options_that_make_no_sense_are_refused)
{
    CHECK_EQ(command_run(&c, "%s run -n 1 --restarts 0 -- true", locus_path()), 2);
    CHECK_STR(c.err.text, "--restarts takes a whole number from 1 to 1000");
    CHECK_EQ(command_run(&c, "%s run -n 2 --restarts 1 --min-nodes 1 -- true", locus_path()), 2);
    CHECK_STR(c.err.text, "--min-nodes is for --restarts with --hosts");
}

/* ---- a training ---- */

/* The n-th of the processes that are kge's. */
struct victim {
    int skip;
    pid_t pid;
};

static void find_victim(void *victim, pid_t pid)
{
    struct victim *v = victim;
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    FILE *f = fopen(path, "re");
    if (f && fgets(name, sizeof name, f) && strcmp(name, "locus-kge\n") == 0 && v->skip-- == 0)
        v->pid = pid;
    if (f) fclose(f);
}

/* Behind a checkpoint of this run. */
static void lose_a_node(int number)
{
    static const int ranks[] = {1, 0, 2};
    char restart[64];
    struct victim v = {.skip = ranks[number % 3]};
    snprintf(restart, sizeof restart, "; restart %d repeats ", number);
    if (number > 0) command_await(&c, &c.out, restart);
    const char *from = number > 0 ? strstr(c.out.text, restart) : c.out.text;
    size_t at = (size_t)(from - c.out.text);
    double until = now_s() + HANG_S;
    while (!strstr(c.out.text + at, "checkpoint behind") && now_s() < until) {
        sleep_s(0.005);
        command_await(&c, &c.out, "nodes of");
    }
    command_for_each(&c, find_victim, &v);
    CHECK(v.pid > 0);
    CHECK_EQ(kill(v.pid, SIGKILL), 0);
}

static const char training[] = "--data graph --dim 32 --batch 16 --negatives 20 --lr 0.2 "
                               "--reg 0.001 --checkpoint model";

/* One that does not end by itself, so that there always is a node to lose. */
static void train_and_lose(int losses)
{
    char last[64];
    command_start(&c, COMMAND_FILES,
                  "cd %s && exec %s run -n 3 --restarts 5 --grace 1 -- %s %s --epochs 1000000",
                  folder, locus_path(), program_path("kge"), training);
    for (int i = 0; i < losses; i++) lose_a_node(i);
    snprintf(last, sizeof last, "; restart %d repeats ", losses);
    command_await(&c, &c.out, last);
    command_signal(&c, SIGTERM);
    CHECK_EQ(command_wait(&c), 128 + SIGTERM);
    CHECK_EQ(count(c.err.text, "; ending the others"), losses);
    CHECK_EQ(count(c.out.text, "goes on behind epoch "), losses);
    CHECK_EQ(command_left(&c, SOON_S), 0);
}

TEST(restart, a_training_that_loses_nodes_again_and_again_ends_as_one_that_loses_none)
{
    /* A sanitizer is slow. */
    enum { LOSSES = IS_SANITIZED ? 1 : 3, EPOCHS = IS_SANITIZED ? 25 : 240 };
    double mrr;
    program_folder(folder);
    train_and_lose(LOSSES);
    int status = command_run(
        &c, "cd %s && %s run -n 3 -- %s %s --checkpoint-every 1000 --epochs %d --resume", folder,
        locus_path(), program_path("kge"), training, EPOCHS);
    if (status) test_fail(__FILE__, __LINE__, "status %d: %s", status, c.err.text);
    const char *test = strstr(c.out.text, "\ntest ");
    CHECK(test != NULL);
    CHECK_EQ(sscanf(test, " test MRR %lf", &mrr), 1);
    CHECK(mrr > (IS_SANITIZED ? 0.2 : 0.8));
}

TEST(restart, a_damaged_checkpoint_is_passed_over)
{
    const char *kge = program_path("kge");
    program_folder(folder);
    command_must(&c,
                 "cd %s && %s %s --epochs 3 && truncate -s -1 model/checkpoint-000003/0-* && "
                 "LOCUS_RESTART=1 %s run -n 2 -- %s %s --epochs 4",
                 folder, kge, training, locus_path(), kge, training);
    CHECK_STR(c.err.text, "checkpoint-000003");
    CHECK_STR(c.err.text, "going on from the one before, model/checkpoint-000002\n");
    CHECK_EQ(count(c.err.text, "going on from"), 1);
    CHECK_STR(c.out.text, "goes on behind epoch 2 (");
}

/* What would fail again is said once: all checkpoints are damaged, or they are another job's. */
TEST(restart, what_cannot_go_on_from_its_checkpoints_is_not_started_again)
{
    static const char *const damages[] = {"truncate -s -1 model/checkpoint-*/0-*",
                                          "truncate -s -1 model/checkpoint-*/manifest.json",
                                          "true"};
    const char *kge = program_path("kge");
    program_folder(folder);
    command_must(&c, "cd %s && %s %s --epochs 3", folder, kge, training);
    for (int i = 2; i >= 0; i--) {
        CHECK_EQ(command_run(&c, "cd %s && %s && %s run -n 2 --restarts 3 -- %s %s --resume %s",
                             folder, damages[i], locus_path(), kge, training,
                             i == 2 ? "--seed 7" : ""),
                 2);
        CHECK_STR(c.err.text, i == 2 ? "is of other data, or of other options than these"
                                     : "; all older ones are damaged, too; to begin again gi");
        CHECK_EQ(count(c.err.text, "going on from the one before"), i == 2 ? 0 : 2);
        CHECK_EQ(count(c.err.text, "restart"), 0);
        CHECK_EQ(count(c.out.text, "epoch"), 0);
    }
}

/* ---- hosts ---- */

/* In place of ssh: runs the command here, unless a file says that the host is down. */
static void write_ssh(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/ssh", folder);
    FILE *f = fopen(path, "we");
    CHECK(f != NULL);
    fprintf(f,
            "for word; do host=$command; command=$word; done\n"
            "test -e %s/$host-is-down && exit 255\n"
            "exec sh -c \"$command\"\n",
            folder);
    CHECK_EQ(fclose(f), 0);
}

static int run_on_hosts(const char *options)
{
    char rendezvous[ADDRESS_BYTES];
    address_new(rendezvous);
    return command_run(
        &c,
        "cd %s && rm -f *-is-down && printf '%%s 127.0.0.1 1\\n' alpha beta gamma > "
        "hosts && %s run --hosts hosts --port %s --ssh 'sh %s/ssh' %s -- sh -c "
        "'echo $LOCUS_RANK of $LOCUS_SIZE at $LOCUS_RENDEZVOUS restart "
        "$LOCUS_RESTART; test -n \"$LOCUS_RESTART\" && exit; test $LOCUS_RANK = 1 && "
        "touch %s/beta-is-down && exit 255; sleep 60'",
        folder, locus_path(), strchr(rendezvous, ':') + 1, folder, options, folder);
}

TEST(restart, a_host_that_answers_no_more_is_left_out)
{
    program_folder(folder);
    write_ssh();
    CHECK_EQ(run_on_hosts("--restarts 2 --min-nodes 2"), 0);
    CHECK_STR(c.err.text, "host beta does not answer: without it");
    CHECK_STR(c.err.text, "restart 1 of 2, with 2 nodes");
    CHECK(count(c.out.text, "of 3 at 127.0.0.1") >= 1);
    CHECK_EQ(count(c.out.text, "0 of 2 at 127.0.0.1"), 1);
    CHECK_EQ(count(c.out.text, "1 of 2 at 127.0.0.1"), 1);
    CHECK_EQ(run_on_hosts("--restarts 2"), 255);
    CHECK_STR(c.err.text, "not started again: the hosts that answer have 2 slots of 3");
    CHECK_EQ(count(c.out.text, "of 2 at"), 0);
}
