/*
 * `locus doctor`: failures that docs/running.md explains are provoked, and it names each of them in
 * the words of the node that would fail. What one machine cannot provoke is not here: another
 * kernel, a name server that is silent.
 */
#include "cables.h"
#include "command.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What launchers may have set around the test is not meant for it. */
#define BARE "env -i PATH=\"$PATH\" LOCUS_TEST_MARK=\"$LOCUS_TEST_MARK\" "
#define PAIR "LOCUS_RANK=0 LOCUS_SIZE=2 "

struct illness {
    const char *before; /* the command, for a shell: variables of it, limits */
    const char *about;
    const char *sentence; /* part of it */
};

/* The line of the doctor that begins so has the sentence. */
static void is_named(const struct command *c, const char *verdict, const struct illness *i)
{
    char begin[64];
    snprintf(begin, sizeof begin, "%-5s %-12s ", verdict, i->about);
    for (const char *line = c->out.text; (line = strstr(line, begin)); line++) {
        const char *end = strchr(line, '\n');
        if (memmem(line, (size_t)(end - line), i->sentence, strlen(i->sentence))) return;
    }
    printf("%s\n%s\n%s\n", i->before, c->out.text, c->err.text);
    test_fail(__FILE__, __LINE__, "no line \"%s\" with \"%s\"", begin, i->sentence);
}

static void are_named(const struct illness *i, size_t count)
{
    struct command c;
    for (; count > 0; i++, count--) {
        CHECK_EQ(command_run(&c, BARE "%s %s doctor", i->before, locus_path()), 1);
        is_named(&c, "fail", i);
    }
}
#define ARE_NAMED(list) are_named(list, sizeof(list) / sizeof *(list))

/* ---- the launcher ---- */

TEST(doctor, names_what_launchers_leave_out)
{
    static const struct illness list[] = {
        {"LOCUS_SIZE=2", "launcher", "LOCUS_SIZE is set but LOCUS_RANK is not"},
        {"LOCUS_RANK=one LOCUS_SIZE=2", "launcher", "LOCUS_RANK is \"one\": must be a number"},
        {"LOCUS_RANK=2 LOCUS_SIZE=2", "launcher", "must be below LOCUS_SIZE, which is 2"},
        {"LOCUS_RANK=0 LOCUS_SIZE=0", "launcher", "LOCUS_SIZE is 0: must be the number of nodes"},
        {"LOCUS_RANK=0 LOCUS_SIZE=5000", "launcher", "size is 5000: must be the number of nodes"},
        {PAIR, "launcher", "a cluster of 2 nodes needs a rendezvous"},
        {"OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2", "launcher",
         "OMPI_COMM_WORLD_LOCAL_SIZE is not set"},
        {"OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_SIZE=1", "launcher",
         "say where rank 0 listens with mpirun -x LOCUS_RENDEZVOUS=host:port"},
        {"OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_SIZE=2", "launcher",
         "neither PMIX_NAMESPACE nor OMPI_MCA_ess_base_jobid is set"},
        {"RANK=0 WORLD_SIZE=2", "launcher", "RANK and WORLD_SIZE are set but MASTER_ADDR is not"},
        {"RANK=0 WORLD_SIZE=2 MASTER_ADDR=alpha", "launcher", "MASTER_PORT is not set"},
        {"RANK=0 WORLD_SIZE=2 MASTER_ADDR=alpha MASTER_PORT=65536", "launcher",
         "MASTER_PORT is 65536: must be 1 to 65535"},
        {"SLURM_STEP_ID=0", "launcher", "SLURM_STEP_ID is set but SLURM_PROCID is not"},
        {"SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2", "launcher",
         "SLURM_JOB_ID is not: set LOCUS_RENDEZVOUS"},
        {"SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 SLURM_JOB_ID=4", "launcher",
         "SLURM_STEP_NODELIST is not: set LOCUS_RENDEZVOUS"},
        {"RANK=0 WORLD_SIZE=2 MASTER_PORT=7000 MASTER_ADDR=$(printf %0300d 0)", "launcher",
         "of rank 0 is too long: set LOCUS_RENDEZVOUS"},
    };
    ARE_NAMED(list);
}

/* ---- the rendezvous ---- */

TEST(doctor, names_what_is_wrong_with_the_rendezvous)
{
    static const struct illness list[] = {
        {PAIR "LOCUS_RENDEZVOUS=alpha", "rendezvous", "has no port: write host:port"},
        {PAIR "LOCUS_RENDEZVOUS=:7777", "rendezvous", "has no host"},
        {PAIR "LOCUS_RENDEZVOUS=127.0.0.1:70000", "rendezvous", "has no port from 1 to 65535"},
        {PAIR "LOCUS_RENDEZVOUS=::1:7777", "rendezvous",
         "is ambiguous: write an IPv6 address in brackets"},
        {PAIR "LOCUS_SECRET=s LOCUS_RENDEZVOUS=192.0.2.77:7777 LOCUS_LISTEN=127.0.0.1",
         "rendezvous", "this machine has no such address"},
        {PAIR "LOCUS_RENDEZVOUS=8.8.8.8:7777", "listen",
         "is not on loopback, and the cluster has no secret"},
        {PAIR "LOCUS_SECRET=s LOCUS_LISTEN=127.0.0.1 LOCUS_RENDEZVOUS=no-such-host.invalid:7777",
         "rendezvous", "is not known"},
    };
    ARE_NAMED(list);
}

TEST(doctor, names_a_port_that_is_taken)
{
    char address[ADDRESS_BYTES], before[128];
    struct command holder, c;
    address_new(address);
    const struct illness taken = {before, "rendezvous", "the port is taken, by another program"};
    const struct illness metrics = {before, "metrics", "this node cannot listen there"};
    const struct illness peers = {before, "listen", "is taken: choose another with LOCUS_LISTEN"};
    command_start(&holder, COMMAND_FILES,
                  "exec python3 -uc 'import socket,time; s=socket.socket(); "
                  "s.bind((\"127.0.0.1\",%s)); s.listen(); print(\"ready\"); time.sleep(600)'",
                  strchr(address, ':') + 1);
    command_await(&holder, &holder.out, "ready");
    snprintf(before, sizeof before, PAIR "LOCUS_RENDEZVOUS=%s", address);
    CHECK_EQ(command_run(&c, BARE "%s %s doctor", before, locus_path()), 1);
    is_named(&c, "fail", &taken);
    snprintf(before, sizeof before, "LOCUS_RANK=0 LOCUS_SIZE=1 LOCUS_LISTEN=%s", address);
    CHECK_EQ(command_run(&c, BARE "%s %s doctor", before, locus_path()), 1);
    is_named(&c, "fail", &peers);
    snprintf(before, sizeof before, "LOCUS_METRICS=%s", address);
    CHECK_EQ(command_run(&c, BARE "%s %s doctor", before, locus_path()), 1);
    is_named(&c, "fail", &metrics);
    command_signal(&holder, SIGKILL);
    command_wait(&holder);
}

/* Rank 0 may start later: no failure. */
TEST(doctor, warns_where_nobody_answers)
{
    char address[ADDRESS_BYTES], before[128];
    struct command c;
    address_new(address);
    const struct illness nobody = {before, "rendezvous", "nobody answers at"};
    snprintf(before, sizeof before, "LOCUS_RANK=1 LOCUS_SIZE=2 LOCUS_RENDEZVOUS=%s", address);
    CHECK_EQ(command_run(&c, BARE "%s %s doctor", before, locus_path()), 0);
    is_named(&c, "warn", &nobody);
}

TEST(doctor, names_a_wrong_address_for_peers)
{
    static const struct illness list[] = {
        {"LOCUS_LISTEN=127.0.0.1:port", "listen", "is not of the form host:port"},
        {"LOCUS_LISTEN=no-such-host.invalid", "listen", "is not known"},
        {"LOCUS_LISTEN=192.0.2.77", "listen", "belongs to no interface of this machine"},
    };
    ARE_NAMED(list);
}

TEST(doctor, names_a_wrong_address_for_metrics)
{
    static const struct illness list[] = {
        {"LOCUS_METRICS=127.0.0.1:http", "metrics", "is not of the form host:port"},
        {"LOCUS_METRICS=192.0.2.77:9400", "metrics", "this node cannot listen there"},
        {"LOCUS_RANK=1 LOCUS_SIZE=2 LOCUS_RENDEZVOUS=127.0.0.1:7777 LOCUS_METRICS=65535", "metrics",
         "above 65535"},
    };
    ARE_NAMED(list);
}

/* ---- the secret ---- */

TEST(doctor, names_what_is_wrong_with_the_secret)
{
    static const struct illness list[] = {
        {"LOCUS_SECRET=", "secret", "LOCUS_SECRET is empty"},
        {"LOCUS_SECRET=a LOCUS_SECRET_FILE=/dev/null", "secret", "are both set: unset one"},
        {"LOCUS_SECRET_FILE=/nowhere/secret", "secret", "which cannot be read"},
        {"LOCUS_SECRET_FILE=/usr", "secret", "which is no file"},
        {"LOCUS_SECRET=$(printf %05000d 0)", "secret", "a secret has at most 4096"},
    };
    ARE_NAMED(list);
}

TEST(doctor, warns_of_a_secret_that_all_may_read)
{
    struct command c;
    char path[] = "/tmp/locus-doctor-XXXXXX";
    const struct illness open = {"", "secret", "chmod o= it"};
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, "sesame\n", 7), 7);
    close(fd);
    CHECK_EQ(command_run(&c, "chmod 644 %s && " BARE "LOCUS_SECRET_FILE=%s %s doctor", path, path,
                         locus_path()),
             0);
    is_named(&c, "warn", &open);
    CHECK_EQ(command_run(&c, "chmod 600 %s && " BARE "LOCUS_SECRET_FILE=%s %s doctor", path, path,
                         locus_path()),
             0);
    CHECK_STR(c.out.text, "0 warnings");
    const struct illness empty = {"", "secret", "is empty: must hold the cluster's secret"};
    CHECK_EQ(
        command_run(&c, ": > %s; " BARE "LOCUS_SECRET_FILE=%s %s doctor", path, path, locus_path()),
        1);
    is_named(&c, "fail", &empty);
    unlink(path);
}

/* ---- the machine ---- */

TEST(doctor, names_limits)
{
    static const struct illness list[] = {
        {"bash -c 'ulimit -n 24; exec \"$@\"' --", "descriptors", "raise ulimit -n"},
        {"bash -c 'ulimit -u 3; exec \"$@\"' --", "threads", "raise ulimit -u"},
        {"LOCUS_ADVICE=never", "trial", "LOCUS_ADVICE is \"never\": must be a number of seconds"},
    };
    ARE_NAMED(list);
}

TEST(doctor, warns_of_what_is_slower_or_ignored)
{
    static const struct illness list[] = {
        {"LOCUS_CONGESTION=carrier-pigeon", "congestion", "is refused"},
        {"LOCUS_WORKERS=1000", "cores", "so nobody is bound, and threads yield"},
        {"bash -c 'ulimit -v 8000000; exec \"$@\"' --", "address space", "a node reserves more"},
    };
    struct command c;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (IS_SANITIZED && strstr(list[i].before, "ulimit -v")) continue;
        command_run(&c, BARE "%s %s doctor", list[i].before, locus_path());
        is_named(&c, "warn", &list[i]);
    }
}

/* The process that it becomes is refused one system call, as by a container's profile. */
ROLE(sealed)
{
    int call, error;
    CHECK_EQ(sscanf(arguments, "%d %d", &call, &error), 2);
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
    execl(locus_path(), "locus", "doctor", (char *)NULL);
}

static void is_sealed(long call, int error, const char *about, const char *sentence)
{
    struct command c;
    const struct illness i = {"", about, sentence};
    CHECK_EQ(command_run(&c, "%s '%ld %d'", role_command("sealed"), call, error), 1);
    is_named(&c, "fail", &i);
}

TEST(doctor, names_what_refuses_io_uring)
{
    is_sealed(SYS_io_uring_setup, ENOSYS, "io_uring",
              "this kernel has no io_uring, or a seccomp profile hides it");
    is_sealed(SYS_io_uring_setup, EPERM, "io_uring", "set kernel.io_uring_disabled to 0");
    is_sealed(SYS_io_uring_setup, EINVAL, "io_uring", "locus needs Linux 5.7 or newer");
    is_sealed(SYS_io_uring_setup, ENOMEM, "io_uring", "raise `ulimit -l`");
    is_sealed(SYS_io_uring_setup, EMFILE, "io_uring", "raise `ulimit -n`");
}

/* ---- the network of this machine ---- */

#define ALONE \
    "unshare -n sh -c 'ip link set lo up; ip link add d0 type veth peer name d1; " \
    "ip link set d0 up; exec env \"$@\"' -- "

/* Loopback, and an interface that has no address. */
TEST(doctor, names_what_a_machine_without_a_network_cannot)
{
    static const struct illness list[] = {
        {ALONE "LOCUS_SECRET=s LOCUS_RANK=1 LOCUS_SIZE=2 LOCUS_RENDEZVOUS=192.0.2.7:7777", "listen",
         "Network is unreachable; connect this machine to that network"},
        {ALONE "LOCUS_LISTEN=d0", "listen", "the interface \"d0\" has no address"},
        {ALONE "LOCUS_LISTEN=[fd00::7]", "listen", "belongs to no interface of this machine"},
    };
    struct command c;
    if (command_run(&c, "unshare -n sh -c 'ip link add d0 type veth peer name d1'"))
        SKIP("this system makes no networks for tests");
    ARE_NAMED(list);
}

/* Who may have such a port is asked as somebody who may not. */
#define NOBODY "setpriv --reuid=65534 --regid=65534 --clear-groups env "

TEST(doctor, names_a_port_that_is_not_permitted)
{
    static const struct illness list[] = {
        {NOBODY "LOCUS_LISTEN=127.0.0.1:80", "listen", "is reserved: use one above 1023"},
        {NOBODY PAIR "LOCUS_RENDEZVOUS=127.0.0.1:80", "rendezvous",
         "it is not permitted: choose a port above 1023"},
        {NOBODY "LOCUS_METRICS=127.0.0.1:80", "metrics", "this node cannot listen there"},
    };
    struct command c;
    if (command_run(&c, NOBODY "%s --version", locus_path()))
        SKIP("this test cannot be somebody else, or nobody else may read the program");
    if (command_run(&c, "test $(cat /proc/sys/net/ipv4/ip_unprivileged_port_start) -gt 80"))
        SKIP("everybody may have every port here");
    ARE_NAMED(list);
}

/* ---- hosts ---- */

/* Commands go to a network namespace instead of through ssh; the last two words are the host and
 * the command. */
static char ssh[] = "/tmp/locus-ssh-XXXXXX", list[] = "/tmp/locus-list-XXXXXX";

static void write_text(char *path, const char *text)
{
    memcpy(path + strlen(path) - 6, "XXXXXX", 6);
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void lay(struct cables *c, int hosts)
{
    char text[512];
    size_t n = 0;
    cables_need();
    cables_lay(c, hosts);
    write_text(ssh, "for word; do host=$command command=$word; done\n"
                    "exec ip netns exec $host $FAKE sh -c \"$command\"\n");
    for (int i = 0; i < hosts; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s 10.77.0.%d\n", cables_host(c, i),
                              i + 1);
    write_text(list, text);
}

static void end(struct cables *c)
{
    unlink(ssh);
    unlink(list);
    cables_remove(c);
}

static int doctor_of_hosts(struct command *c, const char *options)
{
    return command_run(c, "%s doctor --hosts %s --ssh 'sh %s' %s", locus_path(), list, ssh,
                       options);
}

TEST(doctor, finds_hosts_well)
{
    struct cables cables;
    struct command c;
    char both[160];
    lay(&cables, 3);
    int status = doctor_of_hosts(&c, "");
    if (status) test_fail(__FILE__, __LINE__, "status %d: %s", status, c.out.text);
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            int n = snprintf(both, sizeof both, "%s to ", cables_host(&cables, a));
            snprintf(both + n, sizeof both - (size_t)n, "%s: round trip", cables_host(&cables, b));
            CHECK_EQ(strstr(c.out.text, both) != NULL, a != b);
        }
    CHECK_STR(c.out.text, " 0 failures");
    CHECK_EQ(command_left(&c, 5), 0);
    end(&cables);
}

/* Packets of one pair are lost in one direction: so both directions fail, and no other pair. */
TEST(doctor, names_a_pair_behind_a_firewall)
{
    struct cables cables;
    struct command c;
    int failed = 0;
    lay(&cables, 3);
    cables_lose(&cables, 2, 1, true);
    CHECK_EQ(doctor_of_hosts(&c, ""), 1);
    for (const char *line = c.out.text; (line = strstr(line, "\nfail  pair ")); line++) failed++;
    CHECK_EQ(failed, 2);
    CHECK_STR(c.out.text, "does not reach 10.77.0.2");
    CHECK_STR(c.out.text, "does not reach 10.77.0.3");
    CHECK_STR(c.out.text, "let the ports through the firewall");
    end(&cables);
}

TEST(doctor, names_a_host_whose_cable_is_out)
{
    struct cables cables;
    struct command c;
    lay(&cables, 2);
    cables_pull(&cables, 1, true);
    CHECK_EQ(doctor_of_hosts(&c, ""), 1);
    CHECK_STR(c.out.text, "fail  pair ");
    end(&cables);
}

TEST(doctor, names_an_address_of_another_host)
{
    struct cables cables;
    struct command c;
    char text[256];
    lay(&cables, 2);
    unlink(list);
    int n = snprintf(text, sizeof text, "%s 10.77.0.1\n", cables_host(&cables, 0));
    snprintf(text + n, sizeof text - (size_t)n, "%s 10.77.0.9\n", cables_host(&cables, 1));
    write_text(list, text);
    CHECK_EQ(doctor_of_hosts(&c, ""), 1);
    CHECK_STR(c.out.text, "cannot listen at 10.77.0.9");
    end(&cables);
}

TEST(doctor, names_a_host_without_the_command_or_without_ssh)
{
    struct cables cables;
    struct command c;
    lay(&cables, 2);
    CHECK_EQ(doctor_of_hosts(&c, "--keeper /nowhere/locus"), 1);
    CHECK_STR(c.out.text, "not found there: /nowhere/locus, of which --keeper gives the path");
    CHECK_EQ(command_run(&c, "%s doctor --hosts %s --ssh 'sh -c \"exit 255\"'", locus_path(), list),
             1);
    CHECK_STR(c.out.text, "ssh failed or its connection ended (status 255)");
    CHECK_EQ(command_run(&c, "%s doctor --hosts %s --ssh 'echo hello 0.0.1 #'", locus_path(), list),
             1);
    CHECK_STR(c.out.text, "install the same release of locus on all hosts");
    end(&cables);
}

/* One of the hosts has the clock of an hour from now. */
TEST(doctor, warns_of_clocks_that_differ)
{
    struct cables cables;
    struct command c;
    if (IS_SANITIZED) SKIP("a sanitizer and libfaketime want to be loaded first");
    if (command_run(&c, "faketime -f +1h true")) SKIP("there is no faketime here");
    lay(&cables, 2);
    CHECK_EQ(command_run(&c, "FAKE='faketime -f +1h' %s doctor --hosts %s --ssh 'sh %s'",
                         locus_path(), list, ssh),
             0);
    CHECK_STR(c.out.text, "s ahead of ours: what hosts log does not fit together");
    end(&cables);
}

/* ---- how it says it ---- */

TEST(doctor, says_it_in_json)
{
    struct command c;
    CHECK_EQ(
        command_run(&c,
                    BARE
                    "LOCUS_SECRET= %s doctor --json > /tmp/locus-doctor-$$.json; s=$?; "
                    "python3 -c 'import json,sys; rows=[json.loads(l) for l in open(sys.argv[1])]; "
                    "print([r[\"text\"] for r in rows if r.get(\"verdict\") == \"fail\"], "
                    "rows[-1][\"fail\"], rows[-1][\"event\"])' /tmp/locus-doctor-$$.json; "
                    "rm /tmp/locus-doctor-$$.json; exit $s",
                    locus_path()),
        1);
    CHECK_STR(c.out.text, "[\"LOCUS_SECRET is empty: must hold");
    CHECK_STR(c.out.text, " 1 doctor");
}

TEST(doctor, refuses_wrong_options)
{
    struct command c;
    CHECK_EQ(command_run(&c, "%s doctor --nodes 0", locus_path()), 2);
    CHECK_EQ(command_run(&c, "%s doctor --hosts /nowhere/hosts", locus_path()), 2);
    CHECK_STR(c.err.text, "locus doctor: the list of hosts \"/nowhere/hosts\" cannot be opened");
}
