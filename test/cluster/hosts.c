/* `locus run --hosts`, against an sshd of the test's own on loopback: several names for one
 * host. */
#include "member.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct command c;

static const double SOON_S = HANG_S;

static char folder[64];
static struct command sshd;
static char address[ADDRESS_BYTES];

/* ---- sshd ---- */

static void write_file(const char *name, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void write_file(const char *name, const char *format, ...)
{
    char path[128];
    va_list arguments;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "we");
    CHECK(f != NULL);
    va_start(arguments, format);
    vfprintf(f, format, arguments);
    va_end(arguments);
    CHECK_EQ(fclose(f), 0);
}

static void shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void shell(const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    int status = command_run(&c, "%s", text);
    if (status) test_fail(__FILE__, __LINE__, "%s: status %d: %s", text, status, c.err.text);
}

static void remove_folder(void)
{
    if (sshd.pid > 0) kill(sshd.pid, SIGTERM);
    command_run(&c, "rm -rf %s", folder);
}

static void make_keys(void)
{
    shell(
        "ssh-keygen -q -t ed25519 -N '' -C '' -f %s/host && ssh-keygen -q -t ed25519 -N '' -C '' -f %s/user",
        folder, folder);
    shell("cp %s/user.pub %s/authorized && echo \"* $(cat %s/host.pub)\" > %s/known", folder,
          folder, folder, folder);
}

static void write_configurations(void)
{
    const char *port = strchr(address, ':') + 1;
    write_file(
        "sshd_config",
        "ListenAddress %s\nHostKey %s/host\nAuthorizedKeysFile %s/authorized\nPidFile none\nStrictModes no\n"
        "UsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\n",
        address, folder, folder);
    write_file(
        "ssh_config",
        "Host alpha beta\nHostName 127.0.0.1\nPort %s\nIdentityFile %s/user\nIdentitiesOnly yes\n"
        "UserKnownHostsFile %s/known\nGlobalKnownHostsFile none\nHost gone\nHostName 127.0.0.1\nPort 1\n",
        port, folder, folder);
}

/* Started with ssh's options for it. */
static const char *ssh(void)
{
    static char text[128];
    snprintf(text, sizeof text, "ssh -F %s/ssh_config", folder);
    return text;
}

/* Debian's sshd wants this folder when it runs as root. Its service makes it at every start of the
 * system; it stays, because other runs of this test may need it at the same time. */
static void make_run_folder(void)
{
    if (geteuid() != 0) return;
    if (mkdir("/run/sshd", 0755) && errno != EEXIST) SKIP("sshd needs a folder /run/sshd");
}

static void need_sshd(void)
{
    if (command_run(&c, "PATH=$PATH:/usr/sbin:/sbin command -v sshd") != 0)
        SKIP("there is no sshd here");
    if (command_run(&c, "command -v ssh && command -v ssh-keygen") != 0)
        SKIP("there is no ssh here");
    strcpy(folder, "/tmp/locus-hosts-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    atexit(remove_folder);
    make_run_folder();
    make_keys();
    address_new(address);
    write_configurations();
    command_start(&sshd, COMMAND_FILES,
                  "PATH=$PATH:/usr/sbin:/sbin; exec $(command -v sshd) -D -e -f %s/sshd_config",
                  folder);
    command_await(&sshd, &sshd.err, "Server listening");
    if (command_run(&c, "%s -o BatchMode=yes alpha true", ssh()) != 0)
        SKIP("sshd on loopback does not let this user in (a locked account?)");
}

static void hosts_are(const char *lines)
{
    write_file("hosts", "%s", lines);
}

static const char *run(void)
{
    static char text[8192];
    snprintf(text, sizeof text, "%s run --hosts %s/hosts --ssh '%s'", locus_path(), folder, ssh());
    return text;
}

/* A port for rank 0 that nobody has. */
static const char *port(void)
{
    static char rendezvous[ADDRESS_BYTES];
    address_new(rendezvous);
    return strchr(rendezvous, ':') + 1;
}

/* ---- the list ---- */

static void is_refused(const char *lines, const char *part)
{
    hosts_are(lines);
    CHECK_EQ(command_run(&c, "%s run --hosts %s/hosts true", locus_path(), folder), 2);
    CHECK_STR(c.err.text, part);
}

TEST(hosts, a_list_that_makes_no_sense_is_refused_with_its_line)
{
    strcpy(folder, "/tmp/locus-hosts-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    atexit(remove_folder);
    is_refused("", "names none");
    is_refused("# only a comment\n\n", "names none");
    is_refused("alpha 10.0.0.1 0\n", "hosts:1: slots must be a number from 1 to 4096: \"0\"");
    is_refused("alpha\nbeta slots=many\n",
               "hosts:2: slots must be a number from 1 to 4096: \"many\"");
    is_refused("alpha 10.0.0.1 10.0.0.2\n",
               "hosts:1: a third word that is no number of slots: \"10.0.0.2\"");
    is_refused("alpha 10.0.0.1 2 3\n", "hosts:1: a word behind the slots: \"3\"");
    is_refused("alpha:2\n",
               "hosts:1: a host has no colon: slots stand behind a blank: \"alpha:2\"");
    is_refused("alpha 10.0.0.1:7777\n", "hosts:1: an address has no port");
    is_refused("-oProxyCommand=x\n", "hosts:1: a host does not begin with a dash");
    is_refused("a 4096\nb 1\n", "hosts:2: more than 4096 nodes");
    hosts_are("alpha 2\nbeta\n");
    CHECK_EQ(command_run(&c, "%s run --hosts %s/hosts -n 4 true", locus_path(), folder), 2);
    CHECK_STR(c.err.text, "4 nodes do not fit");
    CHECK_STR(c.err.text, "have 3 slots");
    CHECK_EQ(command_run(&c, "%s run --hosts %s/none true", locus_path(), folder), 2);
    CHECK_STR(c.err.text, "cannot be opened");
}

/* ---- what the nodes get ---- */

TEST(hosts, ranks_follow_the_list)
{
    need_sshd();
    hosts_are("\xEF\xBB\xBF"
              "alpha 10.0.0.1 2 # two\n\nbeta\tfd00::2\n");
    command_must(
        &c,
        "LOCUS_LISTEN=x LOCUS_MINE=mine OTHER=a.b %s --directory / --export OTHER -w 3 --port 4711 -- "
        "sh -c 'echo $LOCUS_RANK $LOCUS_SIZE $LOCUS_RENDEZVOUS $LOCUS_LISTEN $LOCUS_WORKERS $LOCUS_MINE "
        "$OTHER $(pwd)'",
        run());
    CHECK_STR(c.out.text, "0 3 10.0.0.1:4711 10.0.0.1 3 mine a.b /\n");
    CHECK_STR(c.out.text, "1 3 10.0.0.1:4711 10.0.0.1 3 mine a.b /\n");
    CHECK_STR(c.out.text, "2 3 10.0.0.1:4711 fd00::2 3 mine a.b /\n");
    hosts_are("beta fd00::2\nalpha\n");
    command_must(&c, "%s -n 1 -- sh -c 'echo $LOCUS_SIZE $LOCUS_RENDEZVOUS; pwd'", run());
    char expected[256], here[128];
    snprintf(expected, sizeof expected, "1 [fd00::2]:7777\n%s\n", getcwd(here, sizeof here));
    CHECK_STR(c.out.text, expected);
}

TEST(hosts, arguments_arrive_as_they_are)
{
    need_sshd();
    hosts_are("alpha\n");
    command_must(&c, "%s -- printf '<%%s>' 'a  b' '' \"it's\" '$HOME `x` \\ !' '\n' '*' '-n'",
                 run());
    CHECK(strcmp(c.out.text, "<a  b><><it's><$HOME `x` \\ !><\n><*><-n>") == 0);
}

TEST(hosts, the_keeper_may_be_elsewhere)
{
    need_sshd();
    hosts_are("alpha\n");
    shell("mkdir \"%s/it's here\" && ln -s %s \"%s/it's here/locus\"", folder, locus_path(),
          folder);
    command_must(&c, "%s --keeper \"%s/it's here/locus\" -- echo it runs", run(), folder);
    CHECK_STR(c.out.text, "it runs\n");
}

/* Nobody reads what it shows, as behind Ctrl-S. The keeper is asked through a pipe that counts:
 * beats go on. */
TEST(hosts, that_hold_up_its_output_are_told_all_the_same_that_it_lives)
{
    need_sshd();
    hosts_are("alpha\n");
    shell(
        "printf '#!/bin/sh\\ntee %s/orders | exec %s keep\\n' > %s/counting && chmod +x %s/counting",
        folder, locus_path(), folder, folder);
    command_must(
        &c,
        "mkfifo %s/f; exec 3<>%s/f; %s --keeper %s/counting --prefix always -- yes > %s/f & p=$!; "
        "n=0; until test -s %s/orders || test $n = 900; do sleep 0.1; n=$((n + 1)); done; "
        "sleep 3; was=$(wc -c < %s/orders); now=$was; n=0; "
        "until test $now -gt $was || test $n = 900; do sleep 0.1; n=$((n + 1)); "
        "now=$(wc -c < %s/orders); done; "
        "echo $was $now; kill $p; wait $p; echo status $?",
        folder, folder, run(), folder, folder, folder, folder, folder);
    int before, after, status;
    CHECK_EQ(sscanf(c.out.text, "%d %d status %d", &before, &after, &status), 3);
    CHECK(before > 0);
    CHECK(after > before);
    CHECK_EQ(status, 143);
}

/* A word with blanks, of a shell's kind. */
TEST(hosts, options_of_ssh_may_be_quoted)
{
    need_sshd();
    hosts_are("alpha\n");
    shell("mkdir \"%s/a folder\" && cp %s/ssh_config \"%s/a folder/config\"", folder, folder,
          folder);
    command_must(&c,
                 "%s run --hosts %s/hosts --ssh \"ssh -F '%s/a folder/config'\" -- echo it runs",
                 locus_path(), folder, folder);
    CHECK_STR(c.out.text, "it runs\n");
    command_must(&c,
                 "%s run --hosts %s/hosts --ssh 'ssh \\-F %s/a\\ folder/config' -- echo it runs",
                 locus_path(), folder, folder);
    CHECK_EQ(command_run(&c, "%s run --hosts %s/hosts --ssh \"ssh -F 'a\" -- true", locus_path(),
                         folder),
             2);
    CHECK_STR(c.err.text, "--ssh has a quote that does not end");
}

static void look_for_secret(void *context, pid_t pid)
{
    char path[64], text[8192];
    snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)pid);
    FILE *f = fopen(path, "re");
    if (!f) return;
    size_t n = fread(text, 1, sizeof text, f);
    fclose(f);
    ++*(int *)context;
    CHECK(!memmem(text, n, "swordfish", 9));
}

TEST(hosts, secrets_are_on_no_command_line)
{
    int seen = 0;
    need_sshd();
    hosts_are("alpha\n");
    command_start(
        &c, COMMAND_FILES,
        "export LOCUS_SECRET=sword$(echo fish); exec %s -- sh -c 'echo ${#LOCUS_SECRET}; sleep 60'",
        run());
    command_await(&c, &c.out, "9\n");
    command_for_each(&c, look_for_secret, &seen);
    CHECK(seen >= 3);
    command_signal(&c, SIGTERM);
    CHECK_EQ(command_wait(&c), 128 + SIGTERM);
}

/* ---- clusters ---- */

TEST(hosts, a_cluster_starts)
{
    need_sshd();
    hosts_are("alpha 127.0.0.1\nbeta 127.0.0.1 2\n");
    int status = command_run(&c, "%s --port %s -- %s once", run(), port(), role_command("member"));
    if (status) test_fail(__FILE__, __LINE__, "status %d: %s", status, c.err.text);
    CHECK_STR(c.out.text, "rank 0 of 3, sum 6\n");
    CHECK_STR(c.out.text, "rank 1 of 3, sum 6\n");
    CHECK_STR(c.out.text, "rank 2 of 3, sum 6\n");
}

/* ---- failures ---- */

TEST(hosts, the_first_failure_ends_all)
{
    need_sshd();
    hosts_are("alpha\nbeta 2\n");
    CHECK_EQ(command_run(&c, "%s -- sh -c 'test $LOCUS_RANK != 1 || exit 6; sleep 60'", run()), 6);
    CHECK_STR(c.err.text, "node 1 (beta) failed with status 6");
    CHECK_EQ(command_left(&c, SOON_S), 0);
    CHECK_EQ(
        command_run(&c, "%s -- sh -c 'test $LOCUS_RANK != 2 || kill -KILL $$; sleep 60'", run()),
        128 + SIGKILL);
    CHECK_EQ(command_left(&c, SOON_S), 0);
}

TEST(hosts, what_cannot_be_started_is_explained)
{
    need_sshd();
    hosts_are("alpha\ngone\n");
    CHECK_EQ(command_run(&c, "%s -- sleep 60", run()), 255);
    CHECK_STR(c.err.text, "node 1 (gone): ssh failed");
    CHECK_STR(c.err.text, "-oBatchMode=yes gone true");
    hosts_are("alpha\n");
    CHECK_EQ(command_run(&c, "%s -- no-such-program", run()), 127);
    CHECK_STR(c.err.text, "there is no program \"no-such-program\", nor locus-no-such-program");
    CHECK_EQ(command_run(&c, "%s --keeper /no/such/locus -- true", run()), 127);
    CHECK_STR(c.err.text, "/no/such/locus, of which --keeper gives the path");
    CHECK_EQ(command_run(&c, "%s --directory /no/such -- true", run()), 1);
    CHECK_STR(c.err.text, "cannot go to the directory \"/no/such\"");
    CHECK_EQ(
        command_run(&c, "%s run --hosts %s/hosts --ssh no-such-ssh true", locus_path(), folder), 1);
    CHECK_STR(c.err.text, "no-such-ssh cannot be started");
}

static const char stubborn[] =
    "trap \"\" TERM INT HUP; sleep 600 & setsid sleep 601 & (setsid sleep 602 &); echo ready; "
    "sleep 603; sleep 604";

static void start_stubborn(enum command_kind kind)
{
    need_sshd();
    hosts_are("alpha\nbeta\n");
    command_start(&c, kind, "exec %s --grace 0.3 -- sh -c '%s'", run(), stubborn);
    /* Both; on a terminal the one behind a prefix. */
    for (const char *first = NULL; !first || !strstr(first + 1, "ready"); sleep_s(0.01)) {
        command_await(&c, &c.out, "ready");
        first = strstr(c.out.text, "ready");
    }
}

TEST(hosts, nothing_is_left_when_the_launcher_is_killed)
{
    start_stubborn(COMMAND_FILES);
    command_signal(&c, SIGKILL);
    CHECK_EQ(command_wait(&c), 128 + SIGKILL);
    CHECK_EQ(command_left(&c, SOON_S), 0);
}

static void kill_ssh(void *context, pid_t pid)
{
    char path[64], text[32] = "";
    snprintf(path, sizeof path, "/proc/%ld/comm", (long)pid);
    FILE *f = fopen(path, "re");
    if (!f) return;
    bool is_ssh = fgets(text, sizeof text, f) && strcmp(text, "ssh\n") == 0;
    fclose(f);
    if (!is_ssh) return;
    ++*(int *)context;
    kill(pid, SIGKILL);
}

TEST(hosts, nothing_is_left_when_connections_break)
{
    int killed = 0;
    start_stubborn(COMMAND_FILES);
    command_for_each(&c, kill_ssh, &killed);
    CHECK_EQ(killed, 2);
    CHECK_EQ(command_wait(&c), 128 + SIGKILL);
    CHECK_EQ(command_left(&c, SOON_S), 0);
}

TEST(hosts, one_that_does_not_read_its_stdin_is_ended_all_the_same)
{
    need_sshd();
    hosts_are("alpha\n");
    command_start(&c, COMMAND_FILES,
                  "exec %s --grace 0.3 -- sh -c 'echo ready; sleep 600' < /dev/zero", run());
    command_await(&c, &c.out, "ready");
    sleep_s(0.5);
    command_signal(&c, SIGTERM);
    CHECK_EQ(command_wait(&c), 128 + SIGTERM);
    CHECK_EQ(command_left(&c, SOON_S), 0);
}
