/* `locus run` on this host. Several hosts are in hosts.c. */
#include "member.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct command c;

/* How soon nothing is left of a cluster whose processes obey. Far more than it takes: other tests
 * may run beside. */
static const double SOON_S = HANG_S;

static void is_in(const struct printed *p, const char *part)
{
    CHECK_STR(p->text, part);
}

static void is_not_in(const struct printed *p, const char *part)
{
    if (strstr(p->text, part))
        test_fail(__FILE__, __LINE__, "\"%s\" contains \"%s\"", p->text, part);
}

static int count_in(const struct printed *p, const char *part)
{
    int n = 0;
    for (const char *at = p->text; (at = strstr(at, part)); at++) n++;
    return n;
}

/* ---- the command line ---- */

TEST(launcher, shows_help_and_version)
{
    command_must(&c, "%s", locus_path());
    is_in(&c.out, "locus run -n 4");
    command_must(&c, "%s run --help", locus_path());
    is_in(&c.out, "--hosts FILE");
    command_must(&c, "%s --version", locus_path());
    is_in(&c.out, "locus ");
}

static void is_refused(int status, const char *arguments, const char *part)
{
    CHECK_EQ(command_run(&c, "%s %s", locus_path(), arguments), status);
    is_in(&c.err, part);
    CHECK_EQ(c.out.length, 0);
}

TEST(launcher, refuses_a_wrong_command_line_with_a_sentence)
{
    is_refused(2, "fly", "no command \"fly\"; locus --help lists them");
    is_refused(2, "docter", "no command \"docter\": is it meant to be doctor?");
    is_refused(2, "run", "which program?");
    is_refused(2, "run true", "how many nodes?");
    is_refused(2, "run -n", "-n needs a value");
    is_refused(2, "run -n 0 true", "from 1 to 4096, not \"0\"");
    is_refused(2, "run -n 4097 true", "from 1 to 4096, not \"4097\"");
    is_refused(2, "run -n two true", "from 1 to 4096, not \"two\"");
    is_refused(2, "run -n 2 --workers 5000 true", "from 1 to 1024, not \"5000\"");
    is_refused(2, "run -n 2 --port 70000 true", "from 1 to 65535, not \"70000\"");
    is_refused(2, "run -n 2 --grace=x true", "takes a number from 0 to 3600, not \"x\"");
    is_refused(2, "run -n 2 --prefix=maybe true", "auto, always, never, not \"maybe\"");
    is_refused(2, "run -n 2 --hots x true", "no option \"--hots\"");
    is_refused(2, "run -n 2 --ssh ssh true", "are for --hosts");
    is_refused(2, "run -n 2 --directory /no/such true", "directory \"/no/such\"");
}

TEST(launcher, says_which_program_it_cannot_find)
{
    is_refused(127, "run -n 2 no-such-program",
               "no program \"no-such-program\", nor locus-no-such-program, in the folders of PATH");
    is_refused(127, "run -n 2 ./no-such-program", "no program \"./no-such-program\"");
    is_refused(126, "run -n 2 /etc/passwd", "\"/etc/passwd\" is not a program");
    is_refused(126, "run -n 2 /tmp", "it is a folder");
}

/* `locus run kge` is the program that comes with locus, as documents have it, whatever stands in
 * the folder. */
TEST(launcher, finds_programs_by_their_names_in_documents)
{
    static const struct {
        const char *path, *name, *printed;
    } all[] = {
        {"$PATH", "kge", "locus-kge beside\n"},
        {"$PATH", "locus-kge", "locus-kge beside\n"},
        {".:$PATH", "kge", "locus-kge beside\n"},
        {"path:$PATH", "kge", "locus-kge beside\n"},
        {"path:$PATH", "other", "other in path\n"},
        {"path:$PATH", "third", "locus-third in path\n"},
        {"$PATH", "./kge", "kge here\n"},
    };
    command_must(&c,
                 "set -e; cd $(mktemp -d); mkdir bin path; ln %s bin/locus || cp %s bin/locus; "
                 "put() { printf '#!/bin/sh\\necho %%s\\n' \"$2\" > $1; chmod +x $1; }; "
                 "put bin/locus-kge 'locus-kge beside'; put path/kge 'kge in path'; "
                 "put path/other 'other in path'; put path/locus-other 'never'; "
                 "put path/locus-third 'locus-third in path'; put kge 'kge here'; pwd",
                 locus_path(), locus_path());
    char folder[64];
    CHECK_EQ(sscanf(c.out.text, "%63s", folder), 1);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        command_must(&c, "cd %s && PATH=%s bin/locus run -n 1 %s", folder, all[i].path,
                     all[i].name);
        CHECK_EQ(strcmp(c.out.text, all[i].printed), 0);
    }
    CHECK_EQ(command_run(&c, "cd %s && mv kge mine && bin/locus run -n 1 mine", folder), 127);
    CHECK_STR(c.err.text, "for the one in this folder write ./mine");
    command_must(&c, "rm -r %s", folder);
}

TEST(launcher, refuses_a_port_that_is_taken)
{
    static struct command first;
    char address[ADDRESS_BYTES];
    address_new(address);
    const char *port = strchr(address, ':') + 1;
    command_start(&first, COMMAND_FILES, "exec %s run -n 2 --port %s -- %s stays", locus_path(),
                  port, role_command("member"));
    command_await(&first, &first.out, "joined\njoined\n");
    char arguments[128];
    snprintf(arguments, sizeof arguments, "run -n 2 --port %s true", port);
    is_refused(1, arguments, "is taken");
    command_signal(&first, SIGTERM);
    CHECK_EQ(command_wait(&first), 128 + SIGTERM);
}

TEST(launcher, keepers_refuse_what_no_launcher_says)
{
    CHECK_EQ(command_run(&c, "%s keep < /dev/null", locus_path()), 1);
    CHECK_EQ(command_run(&c, "printf '\\003\\000\\000\\000hold' | %s keep", locus_path()), 1);
    CHECK_STR(c.err.text, "the launcher speaks \"old\"");
    CHECK_STR(c.err.text, "install the same release");
    CHECK_EQ(command_run(&c, "printf '\\000\\000\\000\\377a' | %s keep", locus_path()), 1);
    CHECK_STR(c.err.text, "makes no sense");
    CHECK_EQ(command_run(&c, "printf '\\001\\000\\000\\000zz' | %s keep", locus_path()), 1);
    CHECK_STR(c.err.text, "makes no sense");
    CHECK_EQ(command_run(&c, "printf '\\000\\000\\000\\000s' | %s keep", locus_path()), 1);
    CHECK_STR(c.err.text, "names no program");
}

/* By the library, once, before what comes of it. */
TEST(launcher, a_variable_that_is_misspelt_is_named)
{
    command_must(&c, "LOCUS_SECRETFILE=x LOCUS_OF_MINE=1 %s run -n 1 -- %s once", locus_path(),
                 role_command("member"));
    CHECK_EQ(strcmp(c.err.text, "locus: nobody reads the variable LOCUS_SECRETFILE: is it meant to "
                                "be LOCUS_SECRET_FILE?\n"),
             0);
}

/* ---- what the nodes get ---- */

TEST(launcher, sets_rank_size_rendezvous_and_workers)
{
    const char *print =
        "sh -c 'echo $LOCUS_RANK of $LOCUS_SIZE at $LOCUS_RENDEZVOUS, workers: $LOCUS_WORKERS.'";
    command_must(&c, "%s run -n 3 -w 5 -- %s", locus_path(), print);
    is_in(&c.out, "0 of 3 at 127.0.0.1:");
    is_in(&c.out, "1 of 3 at 127.0.0.1:");
    is_in(&c.out, "2 of 3 at 127.0.0.1:");
    CHECK_EQ(count_in(&c.out, ", workers: 5.\n"), 3);
    command_must(&c, "unset LOCUS_WORKERS; %s run -n 1 -- %s", locus_path(), print);
    is_in(&c.out, "0 of 1 at 127.0.0.1:");
    is_in(&c.out, ", workers: .\n");
}

/* A machine that is made up of this one's first two processors; where they are not ours, nobody is
 * bound. */
TEST(launcher, keeps_nodes_on_sockets_of_their_own)
{
    cpu_set_t ours;
    CHECK_EQ(sched_getaffinity(0, sizeof ours, &ours), 0);
    if (!CPU_ISSET(0, &ours) || !CPU_ISSET(1, &ours)) return;
    command_must(&c,
                 "HWLOC_SYNTHETIC='package:2 core:1 pu:1' %s run -n 2 --prefix always -- "
                 "grep Cpus_allowed_list: /proc/self/status",
                 locus_path());
    is_in(&c.out, "[0] Cpus_allowed_list:\t0\n");
    is_in(&c.out, "[1] Cpus_allowed_list:\t1\n");
}

TEST(launcher, gives_every_cluster_a_secret_of_its_own)
{
    static struct command first, second;
    command_must(&first,
                 "unset LOCUS_SECRET LOCUS_SECRET_FILE; %s run -n 2 -- sh -c 'echo $LOCUS_SECRET'",
                 locus_path());
    CHECK_EQ(first.out.length, 2 * 65);
    CHECK(memcmp(first.out.text, first.out.text + 65, 65) == 0);
    command_must(&second,
                 "unset LOCUS_SECRET LOCUS_SECRET_FILE; %s run -n 2 -- sh -c 'echo $LOCUS_SECRET'",
                 locus_path());
    CHECK(memcmp(first.out.text, second.out.text, 65) != 0);
    command_must(&first, "LOCUS_SECRET=mine %s run -n 1 -- sh -c 'echo $LOCUS_SECRET'",
                 locus_path());
    CHECK(strcmp(first.out.text, "mine\n") == 0);
    command_must(
        &first, "unset LOCUS_SECRET; LOCUS_SECRET_FILE=f %s run -n 1 -- sh -c 'echo $LOCUS_SECRET'",
        locus_path());
    CHECK(strcmp(first.out.text, "\n") == 0);
}

TEST(launcher, passes_arguments_as_they_are)
{
    command_must(&c, "%s run -n 1 -- printf '<%%s>' 'a b' '' \"it's\" '$HOME' '-n'", locus_path());
    is_in(&c.out, "<a b><><it's><$HOME><-n>");
    command_must(&c, "%s run -n 1 --directory / pwd", locus_path());
    CHECK(strcmp(c.out.text, "/\n") == 0);
}

TEST(launcher, gives_its_stdin_to_rank_0_only)
{
    command_must(&c, "echo hello | %s run -n 3 -- sh -c 'echo $LOCUS_RANK got \"$(cat)\"'",
                 locus_path());
    is_in(&c.out, "0 got hello\n");
    is_in(&c.out, "1 got \n");
    is_in(&c.out, "2 got \n");
}

TEST(launcher, does_not_eat_the_stdin_that_rank_0_leaves)
{
    command_must(&c, "printf 'a\\nb\\n' | while read x; do echo $x; %s run -n 2 true; done",
                 locus_path());
    CHECK(strcmp(c.out.text, "a\nb\n") == 0);
}

/* ---- what the nodes print ---- */

TEST(launcher, leaves_output_as_it_is_where_there_is_no_terminal)
{
    command_must(&c, "%s run -n 2 -- sh -c 'printf out; printf err >&2; test -f /dev/stdout'",
                 locus_path());
    CHECK(strcmp(c.out.text, "outout") == 0);
    CHECK(strcmp(c.err.text, "errerr") == 0);
}

TEST(launcher, prefixes_lines_when_asked)
{
    command_must(&c, "%s run -n 2 --prefix always -- sh -c 'echo out; printf err >&2'",
                 locus_path());
    is_in(&c.out, "[0] out\n");
    is_in(&c.out, "[1] out\n");
    is_in(&c.err, "[0] err\n");
    is_in(&c.err, "[1] err\n");
    is_not_in(&c.out, "\033");
    command_must(&c, "%s run -n 11 --prefix always -- echo x", locus_path());
    is_in(&c.out, "[ 3] x\n");
    is_in(&c.out, "[10] x\n");
}

/* What nobody gets is no success, and nobody goes on for a reader that has left. */
TEST(launcher, ends_when_its_output_cannot_be_written)
{
    CHECK_EQ(command_run(&c,
                         "%s run -n 2 --prefix always -- sh -c 'echo out; sleep 60' > /dev/full",
                         locus_path()),
             1);
    CHECK_STR(c.err.text, "stdout cannot be written: No space left on device; ending all nodes");
    CHECK_EQ(command_run(&c, "%s run -n 2 --prefix always -- echo out > /dev/full", locus_path()),
             1);
    CHECK_STR(c.err.text, "stdout cannot be written: No space left on device");
    command_must(&c, "(%s run -n 3 --prefix always -- yes; echo status $? >&2) | head -n 1",
                 locus_path());
    CHECK_STR(c.err.text, "status 141");
}

TEST(launcher, prefixes_lines_on_a_terminal)
{
    command_start(&c, COMMAND_TERMINAL, "exec %s run -n 2 -- sh -c 'echo out; echo err >&2'",
                  locus_path());
    CHECK_EQ(command_wait(&c), 0);
    is_in(&c.out, "\033[31m[0]\033[0m out\r\n");
    is_in(&c.out, "\033[32m[1]\033[0m out\r\n");
    is_in(&c.out, "\033[31m[0]\033[0m err\r\n");
    is_in(&c.out, "\033[32m[1]\033[0m err\r\n");
    command_start(&c, COMMAND_TERMINAL, "NO_COLOR=1 exec %s run -n 2 -- echo out", locus_path());
    CHECK_EQ(command_wait(&c), 0);
    is_in(&c.out, "[1] out\r\n");
    is_not_in(&c.out, "\033[");
    command_start(&c, COMMAND_TERMINAL, "exec %s run -n 2 --prefix never -- echo out",
                  locus_path());
    CHECK_EQ(command_wait(&c), 0);
    CHECK(strcmp(c.out.text, "out\r\nout\r\n") == 0);
}

TEST(launcher, shows_whole_lines)
{
    command_start(
        &c, COMMAND_FILES,
        "exec %s run -n 2 --prefix always -- sh -c 'for i in 1 2 3 4 5 6 7 8 9; do printf begin; sleep 0.01; "
        "printf -- -end\\\\n; done; printf a\\\\rb\\\\r\\\\nc'",
        locus_path());
    CHECK_EQ(command_wait(&c), 0);
    CHECK_EQ(count_in(&c.out, "] begin-end\n"), 18);
    CHECK_EQ(count_in(&c.out, "] a\n"), 2);
    CHECK_EQ(count_in(&c.out, "] b\n"), 2);
    CHECK_EQ(count_in(&c.out, "] c\n"), 2);
}

TEST(launcher, shows_all_of_much_output)
{
    command_must(&c, "%s run -n 3 --prefix always -- seq 100000 | wc -l", locus_path());
    is_in(&c.out, "300000\n");
    /* The nodes end while we wait for the reader. */
    command_must(&c,
                 "%s run -n 3 --prefix always -- sh -c 'seq 12000; sleep 0.5' | (sleep 1.5; wc -l)",
                 locus_path());
    is_in(&c.out, "36000\n");
    /* Longer than what is kept of one. */
    command_must(&c, "%s run -n 1 --prefix always -- head -c 20000 /dev/zero | wc -cl",
                 locus_path());
    is_in(&c.out, " 3 ");
    is_in(&c.out, " 20015\n");
}

TEST(launcher, ends_though_nobody_takes_what_it_shows)
{
    command_must(
        &c,
        "d=$(mktemp -d); mkfifo $d/f; exec 3<>$d/f; %s run -n 2 --prefix always -- yes > $d/f & p=$!; "
        "sleep 1; kill $p; wait $p; echo status $?; rm -r $d",
        locus_path());
    is_in(&c.out, "status 143\n");
}

TEST(launcher, shows_lines_on_a_terminal_as_they_are_printed)
{
    /* By the rules of C a program keeps its lines back when it does not write to a terminal. */
    command_start(&c, COMMAND_TERMINAL, "exec %s run -n 2 -- %s stays", locus_path(),
                  role_command("member"));
    command_await(&c, &c.out, "joined");
    command_type(&c, "\003");
    CHECK_EQ(command_wait(&c), 128 + SIGINT);
}

TEST(launcher, carries_what_is_typed_to_rank_0)
{
    command_start(&c, COMMAND_TERMINAL,
                  "exec %s run -n 2 -- sh -c 'while read x; do echo $LOCUS_RANK got $x; done'",
                  locus_path());
    command_type(&c, "one\n");
    command_await(&c, &c.out, "0 got one\r\n");
    command_type(&c, "two\n\004");
    CHECK_EQ(command_wait(&c), 0);
    is_in(&c.out, "0 got two\r\n");
    is_not_in(&c.out, "1 got");
}

/* ---- exit statuses ---- */

static int status_of(const char *script)
{
    int status = command_run(&c, "%s run -n 3 -- sh -c '%s'", locus_path(), script);
    CHECK_EQ(command_left(&c, SOON_S), 0);
    return status;
}

TEST(launcher, returns_the_status_of_the_first_failure)
{
    CHECK_EQ(status_of("exit 0"), 0);
    CHECK_EQ(status_of("exit 7"), 7);
    CHECK_EQ(status_of("test $LOCUS_RANK != 1 || exit 5; sleep 60"), 5);
    CHECK_EQ(status_of("test $LOCUS_RANK != 2 || exit 255; sleep 60"), 255);
    CHECK_EQ(status_of("test $LOCUS_RANK != 2 || kill -KILL $$; sleep 60"), 128 + SIGKILL);
    CHECK_EQ(status_of("test $LOCUS_RANK != 0 || kill -ABRT $$; sleep 60"), 128 + SIGABRT);
}

TEST(launcher, says_which_node_failed)
{
    CHECK_EQ(command_run(&c, "%s run -n 3 -- sh -c 'test $LOCUS_RANK != 2 || exit 9; sleep 60'",
                         locus_path()),
             9);
    is_in(&c.err, "locus run: node 2 failed with status 9; ending the others\n");
    CHECK_EQ(command_run(&c,
                         "%s run -n 3 -- sh -c 'test $LOCUS_RANK != 1 || kill -KILL $$; sleep 60'",
                         locus_path()),
             137);
    is_in(&c.err,
          "locus run: node 1 was ended by signal 9, Killed (status 137); ending the others\n");
}

/* ---- nothing is left behind ---- */

/* Everything that makes a process hard to end: deaf, in a session of its own, without a parent,
 * stopped. */
static const char stubborn[] =
    "trap \"\" TERM INT HUP; sleep 600 & setsid sleep 601 & (setsid sleep 602 &); "
    "(sh -c \"kill -STOP \\$\\$; sleep 603\" &); echo ready; sleep 604; sleep 605";

static void start_stubborn(enum command_kind kind)
{
    command_start(&c, kind, "exec %s run -n 2 --grace 0.3 -- sh -c '%s'", locus_path(), stubborn);
    command_await(&c, &c.out, "ready");
    /* Both. */
    while (count_in(&c.out, "ready") < 2) {
        command_await(&c, &c.out, "ready");
        sleep_s(0.01);
    }
    CHECK(command_left(&c, 0) > 8);
}

static void is_ended_by(int signal)
{
    start_stubborn(COMMAND_FILES);
    command_signal(&c, signal);
    CHECK_EQ(command_wait(&c), 128 + signal);
    CHECK_EQ(command_left(&c, 0), 0); /* not even a moment */
    is_in(&c.err, "ending all nodes");
}

TEST(launcher, ends_all_on_a_signal)
{
    is_ended_by(SIGTERM);
    is_ended_by(SIGINT);
    is_ended_by(SIGHUP);
}

TEST(launcher, ends_all_on_ctrl_c)
{
    start_stubborn(COMMAND_TERMINAL);
    command_type(&c, "\003");
    CHECK_EQ(command_wait(&c), 128 + SIGINT);
    CHECK_EQ(command_left(&c, 0), 0);
}

/* Whatever the nodes are at: the first has started, the last maybe not. */
TEST(launcher, ends_all_at_once_on_a_second_ctrl_c)
{
    for (int i = 0; i < 10; i++) {
        command_start(&c, COMMAND_TERMINAL, "exec %s run -n 4 --grace 600 -- sh -c '%s'",
                      locus_path(), stubborn);
        command_await(&c, &c.out, "ready");
        command_type(&c, "\003");
        command_await(&c, &c.out, "ending all nodes");
        command_type(&c, "\003");
        CHECK_EQ(command_wait(&c), 128 + SIGINT);
        CHECK_EQ(command_left(&c, 0), 0);
    }
}

/* Ends in order when it is asked to, and says so. */
static const char orderly[] =
    "trap \"sleep 0.2; echo in order; exit 0\" TERM; echo ready; while :; do sleep 0.1; done";

static void start_orderly(void)
{
    command_start(&c, COMMAND_FILES, "exec %s run -n 2 --grace 600 -- sh -c '%s'", locus_path(),
                  orderly);
    while (count_in(&c.out, "ready") < 2) {
        command_await(&c, &c.out, "ready");
        sleep_s(0.01);
    }
}

/* As from timeout(1), or from the kernel and a shell whose terminal goes. */
TEST(launcher, a_request_that_comes_twice_is_one)
{
    start_orderly();
    command_signal(&c, SIGHUP);
    command_signal(&c, SIGTERM);
    int status = command_wait(&c);
    /* of two that wait the kernel chooses */
    CHECK(status == 128 + SIGHUP || status == 128 + SIGTERM);
    CHECK_EQ(count_in(&c.out, "in order"), 2);
    CHECK_EQ(command_left(&c, 0), 0);
}

static void end_keeper(void *unused, pid_t pid)
{
    (void)unused;
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/%ld/comm", (long)pid);
    FILE *f = fopen(path, "re");
    if (!f) return;
    bool is_keeper = fgets(name, sizeof name, f) && strcmp(name, "locus\n") == 0 && pid != c.pid;
    fclose(f);
    if (is_keeper) kill(pid, SIGTERM);
}

/* As when everything in a control group is asked to end. */
TEST(launcher, a_request_to_launcher_and_keepers_is_one)
{
    start_orderly();
    command_signal(&c, SIGTERM);
    command_await(&c, &c.err, "ending all nodes");
    command_for_each(&c, end_keeper, NULL);
    CHECK_EQ(command_wait(&c), 128 + SIGTERM);
    CHECK_EQ(count_in(&c.out, "in order"), 2);
    CHECK_EQ(command_left(&c, 0), 0);
}

/* So many that the last ones just begin. */
TEST(launcher, a_second_ctrl_c_counts_where_sigusr1_is_ignored)
{
    command_start(&c, COMMAND_FILES, "trap \"\" USR1; exec %s run -n 24 --grace 600 -- sh -c '%s'",
                  locus_path(), stubborn);
    command_await(&c, &c.out, "ready");
    command_signal(&c, SIGINT);
    command_await(&c, &c.err, "ending all nodes");
    command_signal(&c, SIGINT);
    CHECK_EQ(command_wait(&c), 128 + SIGINT);
    CHECK_EQ(command_left(&c, 0), 0);
}

TEST(launcher, ends_all_when_its_terminal_is_closed)
{
    start_stubborn(COMMAND_TERMINAL);
    close(c.terminal);
    c.terminal = -1;
    CHECK_EQ(command_wait(&c), 128 + SIGHUP);
    CHECK_EQ(command_left(&c, 0), 0);
}

TEST(launcher, ends_all_when_one_node_fails)
{
    CHECK_EQ(command_run(
                 &c, "exec %s run -n 3 --grace 0.3 -- sh -c 'test $LOCUS_RANK != 1 || exit 4; %s'",
                 locus_path(), stubborn),
             4);
    CHECK_EQ(command_left(&c, 0), 0);
}

TEST(launcher, ends_what_a_node_leaves_that_is_done)
{
    command_must(&c, "exec %s run -n 2 -- sh -c 'sleep 600 & setsid sleep 601 & exit 0'",
                 locus_path());
    CHECK_EQ(command_left(&c, 0), 0);
}

TEST(launcher, leaves_nothing_when_it_is_killed_itself)
{
    start_stubborn(COMMAND_FILES);
    command_signal(&c, SIGKILL);
    CHECK_EQ(command_wait(&c), 128 + SIGKILL);
    CHECK_EQ(command_left(&c, SOON_S), 0);
}

/* The keepers are the launcher's children. */
static void kill_keeper(void *context, pid_t pid)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)pid);
    FILE *f = fopen(path, "re");
    if (!f) return;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    if (!memmem(text, n, "\0keep\0", 6) || ++*(int *)context > 1) return;
    kill(pid, SIGKILL);
}

TEST(launcher, leaves_nothing_when_a_keeper_is_killed)
{
    int keepers = 0;
    start_stubborn(COMMAND_FILES);
    command_for_each(&c, kill_keeper, &keepers);
    CHECK_EQ(keepers, 2);
    CHECK_EQ(command_wait(&c), 128 + SIGKILL);
    CHECK_EQ(command_left(&c, 0), 0);
}

static void kill_it(void *context, pid_t pid)
{
    ++*(int *)context;
    kill(pid, SIGKILL);
}

TEST(launcher, leaves_alone_what_is_not_its_own)
{
    int killed = 0;
    /* A script that had a child, and then became the launcher. */
    command_start(&c, COMMAND_FILES, "sleep 600 & exec %s run -n 2 true", locus_path());
    CHECK_EQ(command_wait(&c), 0);
    CHECK_EQ(command_left(&c, 0), 1);
    command_for_each(&c, kill_it, &killed);
    CHECK_EQ(killed, 1);
    CHECK_EQ(command_left(&c, SOON_S), 0);
}

TEST(launcher, respects_signals_that_are_ignored)
{
    command_start(&c, COMMAND_FILES,
                  "trap '' HUP; exec %s run -n 2 -- sh -c 'echo ready; sleep 0.3'", locus_path());
    command_await(&c, &c.out, "ready");
    command_signal(&c, SIGHUP);
    CHECK_EQ(command_wait(&c), 0);
}

/* ---- clusters ---- */

static void run_cluster(int nodes)
{
    int status =
        command_run(&c, "%s run -n %d -- %s once", locus_path(), nodes, role_command("member"));
    if (status) test_fail(__FILE__, __LINE__, "status %d: %s", status, c.err.text);
    member_all_joined(&c, nodes);
}

TEST(launcher, starts_a_cluster)
{
    run_cluster(1);
    run_cluster(2);
    run_cluster(4);
}

TEST(launcher, starts_a_cluster_again_and_again)
{
    for (int i = 0; i < 20; i++) run_cluster(1 + i % 4);
}

TEST(launcher, starts_clusters_beside_each_other)
{
    enum { CLUSTERS = 4, TIMES = 3 };
    static struct command all[CLUSTERS];
    for (int i = 0; i < TIMES; i++) {
        for (int j = 0; j < CLUSTERS; j++)
            command_start(&all[j], COMMAND_FILES, "exec %s run -n 3 -- %s once", locus_path(),
                          role_command("member"));
        for (int j = 0; j < CLUSTERS; j++) {
            CHECK_EQ(command_wait(&all[j]), 0);
            member_all_joined(&all[j], 3);
        }
    }
}

TEST(launcher, ends_a_cluster_when_a_node_of_it_fails)
{
    const char *member = role_command("member");
    CHECK_EQ(command_run(&c, "%s run -n 3 -- %s 'stays fails-at=2'", locus_path(), member), 3);
    is_in(&c.err, "node 2 failed with status 3");
    CHECK_EQ(command_left(&c, 0), 0);
    CHECK_EQ(command_run(&c, "%s run -n 3 -- %s 'stays crashes-at=0'", locus_path(), member),
             128 + SIGSEGV);
    is_in(&c.err, "node 0 was ended by signal 11");
    CHECK_EQ(command_left(&c, 0), 0);
}
