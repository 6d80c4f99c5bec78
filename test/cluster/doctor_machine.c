/*
 * `locus doctor`, of this machine: limits are lowered, system calls refused and files of the system
 * replaced, each for the doctor alone.
 */
#include "illness.h"
#include "process.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct command c;

/* ---- the machine ---- */

TEST(doctor_machine, names_limits)
{
    static const struct illness list[] = {
        {"bash -c 'ulimit -n 24; exec \"$@\"' --", "descriptors", "raise ulimit -n"},
        {"bash -c 'ulimit -u 3; exec \"$@\"' --", "threads", "raise ulimit -u"},
        {"LOCUS_ADVICE=never", "trial", "LOCUS_ADVICE is \"never\": must be a number of seconds"},
    };
    ARE_NAMED(list);
}

TEST(doctor_machine, warns_of_what_is_slower_or_ignored)
{
    static const struct illness list[] = {
        {"LOCUS_CONGESTION=carrier-pigeon", "congestion", "is refused"},
        {"LOCUS_WORKERS=1000", "cores", "too few for 1 node of 1000 workers"},
        {"bash -c 'ulimit -v 8000000; exec \"$@\"' --", "address space", "a node reserves more"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (IS_SANITIZED && strstr(list[i].before, "ulimit -v")) continue;
        command_run(&c, BARE "%s %s doctor", list[i].before, locus_path());
        is_named(&c, "warn", &list[i]);
    }
}

/* The process that it becomes is refused one system call, as by a container's profile; or only that
 * with a first argument (-1: any). */
ROLE(sealed)
{
    int call, error, first;
    CHECK_EQ(sscanf(arguments, "%d %d %d", &call, &error, &first), 3);
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)first, 0, first < 0 ? 0 : 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
    execl(locus_path(), "locus", "doctor", (char *)NULL);
}

struct refusal {
    long call;
    int error, first;
};

static void is_sealed(const struct refusal *r, const struct illness *i)
{
    CHECK_EQ(command_run(&c, BARE "%s %s '%ld %d %d'", i->before, role_command("sealed"), r->call,
                         r->error, r->first),
             1);
    is_named(&c, "fail", i);
}

TEST(doctor_machine, names_what_refuses_io_uring)
{
    static const struct {
        int error;
        const char *sentence;
    } all[] = {
        {ENOSYS, "this kernel has no io_uring, or a seccomp profile hides it"},
        {EPERM, "set kernel.io_uring_disabled to 0"},
        {EINVAL, "locus needs Linux 5.7 or newer"},
        {ENOMEM, "raise `ulimit -l`"},
        {EMFILE, "raise `ulimit -n`"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct refusal r = {SYS_io_uring_setup, all[i].error, -1};
        is_sealed(&r, &(struct illness){"", "io_uring", all[i].sentence});
    }
}

/* No rings are needed for that: the kernel says that it is an older one. */
#define OLD "setarch $(uname -m) --uname-2.6 "

TEST(doctor_machine, names_an_old_kernel)
{
    static const struct illness old = {OLD, "kernel", "locus needs Linux 5.7 or newer"},
                                locked = {OLD "bash -c 'ulimit -l 64; exec \"$@\"' -- ", "memlock",
                                          "kernels before 5.12 count io_uring as locked memory"};
    if (command_run(&c, OLD "uname -r | grep -q ^2.6")) SKIP("this kernel has one version only");
    are_named(&old, 1);
    CHECK_EQ(command_run(&c, BARE "%s %s doctor", locked.before, locus_path()), 1);
    is_named(&c, "warn", &locked);
}

/* A file of the system has another text, for the command that follows. */
#define INSTEAD(path, text) \
    "unshare -m sh -c 'f=$(mktemp) && echo \"" text "\" > $f && mount --bind $f " path \
    " && rm $f && exec env \"$@\"' -- "
#define DISABLED INSTEAD("/proc/sys/kernel/io_uring_disabled", "2")

static void need_other_files(void)
{
    if (command_run(&c, INSTEAD("/proc/sys/vm/overcommit_memory", "2") "true"))
        SKIP("this test cannot mount files");
}

TEST(doctor_machine, says_that_io_uring_was_disabled)
{
    const struct refusal r = {SYS_io_uring_setup, EPERM, -1};
    need_other_files();
    is_sealed(&r, &(struct illness){DISABLED, "io_uring", "(kernel.io_uring_disabled is 2)"});
}

TEST(doctor_machine, warns_of_settings_of_memory)
{
    static const struct illness list[] = {
        {INSTEAD("/proc/sys/vm/overcommit_memory", "2"), "overcommit",
         "large tables are refused; set it to 0 with sysctl"},
        {INSTEAD("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]"),
         "huge pages", "transparent huge pages are off"},
        {"unshare -m sh -c 'mount -t tmpfs -o size=64k none /dev/shm && exec env \"$@\"' -- ",
         "carrier", "or is full; each link between two of them needs up to 516 KiB there"},
        {"LOCUS_CARRIER=pigeon", "carrier", "which means nothing"},
    };
    need_other_files();
    ARE_WARNED_OF(list);
}

/* Of a cgroup that stands elsewhere. */
TEST(doctor_machine, names_a_container_that_may_start_few_threads)
{
    static const struct illness few = {
        "unshare -m sh -c 'd=$(mktemp -d) && echo 20 > $d/pids.max && echo 17 > $d/pids.current && "
        "echo 0::/../../..$d > $d/cgroup && mount --bind $d/cgroup /proc/$$/cgroup && "
        "exec env \"$@\"' -- ",
        "threads", "this container may start 3 more threads"};
    need_other_files();
    are_named(&few, 1);
}

/* The doctor's second node is a thread. */
TEST(doctor_machine, names_threads_that_cannot_be_started)
{
    const struct refusal r = {SYS_clone3, EAGAIN, -1};
    is_sealed(&r, &(struct illness){"", "trial", "(ulimit -u)"});
}

/* ---- the network of this machine ---- */

#define ALONE_WITH(commands) \
    "unshare -n sh -c 'ip link set lo up; ip link add d0 type veth peer name d1; " \
    "ip link set d0 up; " commands "exec env \"$@\"' -- "
#define ALONE ALONE_WITH("")

static void need_networks(void)
{
    if (command_run(&c, "unshare -n sh -c 'ip link add d0 type veth peer name d1'"))
        SKIP("this system makes no networks for tests");
}

/* Loopback, and an interface that has no address. */
TEST(doctor_machine, names_what_a_machine_without_a_network_cannot)
{
    static const struct illness list[] = {
        {ALONE "LOCUS_SECRET=s LOCUS_RANK=1 LOCUS_SIZE=2 LOCUS_RENDEZVOUS=192.0.2.7:7777", "listen",
         "Network is unreachable; connect this machine to that network"},
        {ALONE "LOCUS_LISTEN=d0", "listen", "the interface \"d0\" has no address"},
        {ALONE "LOCUS_LISTEN=[fd00::7]", "listen", "belongs to no interface of this machine"},
    };
    need_networks();
    ARE_NAMED(list);
}

TEST(doctor_machine, names_a_machine_without_interfaces)
{
    static const struct illness none = {"unshare -n ", "interface",
                                        "no interface is up, not even lo: ip link set lo up"};
    if (command_run(&c, "unshare -n true")) SKIP("this system makes no networks for tests");
    are_named(&none, 1);
}

/* Whoever has the other address is not heard. */
#define SILENT \
    ALONE_WITH("ip address add 10.77.0.1/24 dev d0; ip link set d1 up; " \
               "ip neigh add 10.77.0.2 lladdr 02:00:00:00:00:99 dev d0 nud permanent; ")

TEST(doctor_machine, names_a_rendezvous_behind_a_firewall)
{
    static const struct illness silent = {
        SILENT "LOCUS_SECRET=s LOCUS_RANK=1 LOCUS_SIZE=2 LOCUS_RENDEZVOUS=10.77.0.2:7777",
        "rendezvous", "let the port through its firewall"};
    need_networks();
    are_named(&silent, 1);
}

/* A kernel without IPv6 makes no such sockets. */
TEST(doctor_machine, names_a_family_that_the_machine_does_not_have)
{
    const struct refusal r = {SYS_socket, EAFNOSUPPORT, AF_INET6};
    is_sealed(&r, &(struct illness){"LOCUS_SECRET=s LOCUS_RANK=1 LOCUS_SIZE=2 "
                                    "LOCUS_RENDEZVOUS=[fd00::1]:7777",
                                    "listen", "and this machine has no IPv6: give it as IPv4"});
    is_sealed(&r, &(struct illness){"LOCUS_LISTEN=[::1]", "listen",
                                    "is of a family that this machine does not have"});
}

/* Who may have such a port is asked as somebody who may not. */
#define NOBODY "setpriv --reuid=65534 --regid=65534 --clear-groups env "

TEST(doctor_machine, names_a_port_that_is_not_permitted)
{
    static const struct illness list[] = {
        {NOBODY "LOCUS_LISTEN=127.0.0.1:80", "listen", "is reserved: use one above 1023"},
        {NOBODY PAIR "LOCUS_RENDEZVOUS=127.0.0.1:80", "rendezvous",
         "it is not permitted: choose a port above 1023"},
        {NOBODY "LOCUS_METRICS=127.0.0.1:80", "metrics", "this node cannot listen there"},
    };
    if (command_run(&c, NOBODY "%s --version", locus_path()))
        SKIP("this test cannot be somebody else, or nobody else may read the program");
    if (command_run(&c, "test $(cat /proc/sys/net/ipv4/ip_unprivileged_port_start) -gt 80"))
        SKIP("everybody may have every port here");
    ARE_NAMED(list);
}
