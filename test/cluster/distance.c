/*
 * Any program on nodes that are far from each other: each node in a namespace of its own, all that
 * passes delayed by a proxy.
 *
 *     test/distance --role distance "NODES SECONDS COMMAND"
 *
 * runs the shell's COMMAND on each of NODES nodes; every byte between two of them takes SECONDS
 * longer, in each direction. lab/report.py measures with it.
 */
#include "command.h"
#include "common/folder.h"
#include "namespaces.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void set(const char *name, const char *value)
{
    CHECK_EQ(setenv(name, value, 1), 0);
}

static void set_place(int rank, int nodes)
{
    char number[16], address[ADDRESS_BYTES];
    snprintf(number, sizeof number, "%d", rank);
    set("LOCUS_RANK", number);
    snprintf(number, sizeof number, "%d", nodes);
    set("LOCUS_SIZE", number);
    namespaces_rendezvous(address);
    set("LOCUS_RENDEZVOUS", address);
    namespaces_address(rank, address);
    set("LOCUS_LISTEN", address);
}

/* The environment is this thread's to change: proxies do not look at it. */
static pid_t start_there(const struct namespaces *s, int rank, const char *command)
{
    set_place(rank, s->count);
    namespaces_enter(s, rank);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    namespaces_leave(s);
    return pid;
}

ROLE(distance)
{
    struct namespaces s;
    int nodes, at, status, bad = 0;
    double seconds;
    if (sscanf(arguments, "%d %lf %n", &nodes, &seconds, &at) != 2 || nodes < 2 ||
        nodes > NAMESPACES_MAX)
        test_fail(__FILE__, __LINE__, "not NODES (2 to %d) SECONDS COMMAND: %s", NAMESPACES_MAX,
                  arguments);
    /* the proxies' threads, too, are woken when a delay is over and not 50 us later */
    prctl(PR_SET_TIMERSLACK, 1UL);
    namespaces_open(&s, nodes);
    namespaces_delay(&s, seconds);
    for (int i = 0; i < nodes; i++) start_there(&s, i, arguments + at);
    for (int i = 0; i < nodes; i++) {
        CHECK(wait(&status) > 0);
        bad += status != 0;
    }
    namespaces_close(&s);
    exit(bad != 0);
}

static struct command c;

/* An environment variable that only a node has, and how the role tells of one that fails. */
TEST(distance, each_node_has_a_rank_and_a_failure_is_told)
{
    command_run(&c, "%s '3 0 echo rank $LOCUS_RANK of $LOCUS_SIZE'", role_command("distance"));
    if (strstr(c.out.text, "not permitted")) SKIP("network namespaces are not permitted here");
    for (int i = 0; i < 3; i++) {
        char line[32];
        snprintf(line, sizeof line, "rank %d of 3\n", i);
        CHECK_STR(c.out.text, line);
    }
    CHECK_EQ(command_run(&c, "%s '2 0 exit $LOCUS_RANK'", role_command("distance")), 1);
    CHECK(command_run(&c, "%s '1 0 true'", role_command("distance")) != 0);
}

static const char *ratings(void)
{
    char text[8000];
    size_t length = 0;
    for (int i = 0; i < 400; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "r%d\tc%d\t%d\n", i % 50,
                                   i % 19, i * 7 % 5);
    return folder_file(text, length);
}

/* mf, by the launcher: with a static partition each of its steps waits for both ways. */
TEST(distance, a_program_runs_to_its_end)
{
    char program[PATH_MAX];
    const char *beside = locus_path();
    snprintf(program, sizeof program, "%.*s/locus-mf", (int)(strrchr(beside, '/') - beside),
             beside);
    command_run(&c, "%s '2 0.001 %s --data %s --rank 4 --epochs 2 --json'",
                role_command("distance"), program, ratings());
    if (strstr(c.out.text, "not permitted")) SKIP("network namespaces are not permitted here");
    CHECK_STR(c.out.text, "\"epoch\":2");
}
