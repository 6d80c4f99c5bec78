#include "machine.h"

#include "base/pinning.h"
#include "net/shm.h"
#include "net/uring.h"
#include "plain.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* Threads that nng starts for each processor, ours beside, and room to live. */
enum { THREADS_A_NODE = 16, THREADS_A_PROCESSOR = 2, LINE_BYTES = 256 };

static bool read_line(const char *path, char line[LINE_BYTES])
{
    FILE *f = fopen(path, "re");
    bool is_read = f && fgets(line, LINE_BYTES, f);
    if (f) fclose(f);
    if (is_read) line[strcspn(line, "\n")] = '\0';
    return is_read;
}

static unsigned long long limit_of(int resource)
{
    struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
    getrlimit(resource, &limit);
    return (unsigned long long)limit.rlim_cur;
}

static bool is_bounded(int resource)
{
    return limit_of(resource) != (unsigned long long)RLIM_INFINITY;
}

/* ---- the kernel ---- */

/* major * 1000 + minor, 0 when it has no such form */
static unsigned kernel_version(char release[LINE_BYTES])
{
    struct utsname name;
    unsigned major = 0, minor = 0;
    if (uname(&name)) return 0;
    snprintf(release, LINE_BYTES, "%s", name.release);
    return sscanf(release, "%u.%u", &major, &minor) == 2 ? major * 1000 + minor : 0;
}

static void check_kernel(struct findings *all)
{
    char release[LINE_BYTES] = "?";
    unsigned version = kernel_version(release);
    if (version && version < 5007)
        find(all, FIND_FAIL, "kernel", "Linux %s: locus needs Linux 5.7 or newer", release);
    else if (version && version < 6001)
        find(all, FIND_WARN, "kernel",
             "Linux %s: links cost more system calls than with 6.1 or later; a newer kernel, if "
             "that matters",
             release);
    else
        find(all, FIND_OK, "kernel", "Linux %s%s", release,
             version < 6015 ? "; before 6.15, so some outages of seconds are not survived "
                              "(docs/guides/cluster.md)"
                            : "");
}

/* As locus_open() chooses it. */
static unsigned shards_of(const struct machine_plan *p)
{
    struct pinning_machine *m = calloc(1, sizeof *m);
    bool is_known = m && pinning_machine_load(m, NULL, NULL) == 0;
    unsigned shards = is_known ? pinning_choose_shards(m, p->here, p->workers) : 1;
    if (m) pinning_machine_fini(m);
    free(m);
    return shards;
}

/* Can so many rings of such a cluster be had together? The kernel takes its time to give up the
 * memory of those that were closed, before this or here. */
static int try_rings(const struct machine_plan *p, unsigned count)
{
    const struct timespec pause = {.tv_nsec = 100000000};
    int rc = uring_check(p->nodes, count);
    for (int looks = 0; rc == -ENOMEM && looks < 10; looks++) {
        nanosleep(&pause, NULL);
        rc = uring_check(p->nodes, count);
    }
    return rc;
}

/* The ring that a shard of such a cluster opens. */
static void check_io_uring(struct findings *all, const struct machine_plan *p)
{
    char line[LINE_BYTES];
    if (try_rings(p, 1) == 0) {
        find(all, FIND_OK, "io_uring", "rings for %u node%s can be had", p->nodes,
             plain_s(p->nodes));
        return;
    }
    bool is_disabled = read_line("/proc/sys/kernel/io_uring_disabled", line) && *line != '0';
    find(all, FIND_FAIL, "io_uring", "%s%s%s%s", locus_error(),
         is_disabled ? " (kernel.io_uring_disabled is " : "", is_disabled ? line : "",
         is_disabled ? ")" : "");
}

/* One a shard, and one a node that locus_open() tries before. Descriptors are a process's: no more
 * than half of this one's. Of the memory of so many, others would miss what is not given up yet: so
 * these come last. */
void machine_check_rings(struct findings *all, const struct machine_plan *p)
{
    unsigned long long may = limit_of(RLIMIT_NOFILE) / 2, kib = limit_of(RLIMIT_MEMLOCK) / 1024;
    unsigned rings = p->here * (shards_of(p) + 1);
    if (rings > may) rings = may ? (unsigned)may : 1;
    if (!is_bounded(RLIMIT_MEMLOCK)) return;
    int rc = try_rings(p, rings);
    if (rc && try_rings(p, 1)) return; /* none at all was told */
    if (rc)
        find(all, FIND_FAIL, "rings",
             "%u rings of %u node%s together, of which each has %u shard%s: %s", rings, p->here,
             plain_s(p->here), shards_of(p), plain_s(shards_of(p)), locus_error());
    else
        find(all, FIND_OK, "rings", "ulimit -l is %llu KiB, and %u rings can be had together", kib,
             rings);
}

/* ---- limits ---- */

/* Links, two rings' and eventfds a shard, the rendezvous, and what the program has itself. */
static void check_descriptors(struct findings *all, const struct machine_plan *p)
{
    unsigned shards = shards_of(p);
    unsigned long long need = (unsigned long long)(p->nodes - 1) * shards + 2 * shards + 32,
                       have = limit_of(RLIMIT_NOFILE);
    if (have < need)
        find(all, FIND_FAIL, "descriptors",
             "ulimit -n is %llu: a node of %u with %u shard%s needs about %llu; raise ulimit -n",
             have, p->nodes, shards, plain_s(shards), need);
    else
        find(all, FIND_OK, "descriptors", "ulimit -n is %llu; about %llu are needed", have, need);
}

static void check_memlock(struct findings *all)
{
    char release[LINE_BYTES];
    unsigned long long kib = limit_of(RLIMIT_MEMLOCK) / 1024;
    if (!is_bounded(RLIMIT_MEMLOCK))
        find(all, FIND_OK, "memlock", "ulimit -l is unlimited");
    else if (kernel_version(release) < 5012 && kib < 1024)
        find(
            all, FIND_WARN, "memlock",
            "ulimit -l is %llu KiB, and kernels before 5.12 count io_uring as locked memory: raise "
            "ulimit -l",
            kib);
    else
        find(all, FIND_OK, "memlock", "ulimit -l is %llu KiB", kib);
}

/* Of our cgroup, as version 2 has it; the root has none. */
static bool pids_left(unsigned long long *left)
{
    char line[LINE_BYTES], path[LINE_BYTES + 64], max[LINE_BYTES], now[LINE_BYTES];
    if (!read_line("/proc/self/cgroup", line) || strncmp(line, "0::", 3) != 0) return false;
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/pids.max", line + 3);
    if (!read_line(path, max) || strcmp(max, "max") == 0) return false;
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/pids.current", line + 3);
    if (!read_line(path, now)) return false;
    unsigned long long most = strtoull(max, NULL, 10), used = strtoull(now, NULL, 10);
    *left = most > used ? most - used : 0;
    return true;
}

static void check_threads(struct findings *all, const struct machine_plan *p)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned long long left,
        need = (THREADS_A_NODE + p->workers +
                THREADS_A_PROCESSOR * (unsigned long long)(processors > 0 ? processors : 1)) *
               p->here;
    if (is_bounded(RLIMIT_NPROC) && limit_of(RLIMIT_NPROC) < need)
        find(all, FIND_FAIL, "threads",
             "ulimit -u is %llu: the nodes here start about %llu threads; raise ulimit -u",
             limit_of(RLIMIT_NPROC), need);
    else if (pids_left(&left) && left < need)
        find(
            all, FIND_FAIL, "threads",
            "this container may start %llu more threads: the nodes here start about %llu; raise its "
            "limit of processes (pids.max)",
            left, need);
    else
        find(all, FIND_OK, "threads", "about %llu are started here, which is allowed", need);
}

/* ---- memory ---- */

static void check_overcommit(struct findings *all)
{
    char line[LINE_BYTES];
    if (!read_line("/proc/sys/vm/overcommit_memory", line))
        find(all, FIND_SKIP, "overcommit", "this kernel does not say");
    else if (*line == '2')
        find(
            all, FIND_WARN, "overcommit",
            "vm.overcommit_memory is 2: address space counts as memory, and large tables are refused; "
            "set it to 0 with sysctl");
    else
        find(all, FIND_OK, "overcommit", "vm.overcommit_memory is %s", line);
    if (is_bounded(RLIMIT_AS))
        find(all, FIND_WARN, "address space",
             "ulimit -v is %llu KiB, and a node reserves more than it uses: set it to unlimited",
             limit_of(RLIMIT_AS) / 1024);
    else
        find(all, FIND_OK, "address space", "ulimit -v is unlimited");
}

/* ---- cores ---- */

enum { PICTURE_BYTES = 900 };

/* A line a node of this machine: which of its threads gets which processing unit. */
static size_t draw_node(const struct pinning_machine *m, const struct pinning_plan *plan,
                        unsigned node, char *to, size_t capacity)
{
    int n = snprintf(to, capacity, "\nnode %u: cores %u to %u,", node, plan->first_core,
                     plan->first_core + (plan->cores ? plan->cores - 1 : 0));
    for (unsigned s = 0; s < plan->shards && n > 0 && (size_t)n < capacity; s++) {
        int unit = plan->shard[s].unit;
        if (unit == PINNING_NONE)
            n += snprintf(to + n, capacity - (size_t)n, " shard %u anywhere", s);
        else
            n += snprintf(to + n, capacity - (size_t)n, " shard %u on %d%s", s, unit,
                          m->numa_nodes > 1 ? ";" : "");
    }
    return n > 0 && (size_t)n < capacity ? (size_t)n : capacity - 1;
}

static void find_pinning(struct findings *all, const struct machine_plan *p,
                         const struct pinning_machine *m, struct pinning_plan *plan)
{
    char picture[PICTURE_BYTES] = "", has[96];
    size_t length = 0;
    unsigned shards = pinning_choose_shards(m, p->here, p->workers);
    for (unsigned i = 0; i < p->here && length + 100 < sizeof picture; i++) {
        pinning_plan(m, p->here, i, shards, p->workers, plan);
        length += draw_node(m, plan, i, picture + length, sizeof picture - length);
    }
    snprintf(has, sizeof has, "%u core%s with %u processing unit%s, %u NUMA node%s", m->cores,
             plain_s(m->cores), m->units, plain_s(m->units), m->numa_nodes, plain_s(m->numa_nodes));
    if (plan->is_oversubscribed)
        find(all, FIND_WARN, "cores",
             "%s: too few for %u node%s of %u worker%s and %u shard%s, so nobody is bound, and "
             "threads yield; fewer nodes or workers here",
             has, p->here, plain_s(p->here), p->workers, plain_s(p->workers), shards,
             plain_s(shards));
    else
        find(all, FIND_OK, "cores", "%s%s", has, picture);
}

static void check_cores(struct findings *all, const struct machine_plan *p)
{
    struct pinning_machine *m = calloc(1, sizeof *m);
    struct pinning_plan *plan = calloc(1, sizeof *plan);
    if (!m || !plan)
        find(all, FIND_FAIL, "cores", "no memory for a plan");
    else if (pinning_machine_load(m, NULL, NULL))
        find(all, FIND_WARN, "cores", "%s; nobody is bound to a core", locus_error());
    else
        find_pinning(all, p, m, plan);
    if (m) pinning_machine_fini(m);
    free(m);
    free(plan);
}

/* ---- the network ---- */

/* Of IPv4, or of IPv6 where there is no other. */
static int open_datagrams(void)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return fd >= 0 ? fd : socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static int mtu_of(const char *interface)
{
    struct ifreq ask = {0};
    int fd = open_datagrams();
    snprintf(ask.ifr_name, sizeof ask.ifr_name, "%s", interface);
    int rc = fd < 0 ? -1 : ioctl(fd, SIOCGIFMTU, &ask);
    if (fd >= 0) close(fd);
    return rc ? 0 : ask.ifr_mtu;
}

static bool address_text(const struct sockaddr *a, char text[INET6_ADDRSTRLEN])
{
    if (!a) return false;
    if (a->sa_family == AF_INET)
        return inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)a)->sin_addr, text,
                         INET6_ADDRSTRLEN);
    return a->sa_family == AF_INET6 &&
           inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr, text,
                     INET6_ADDRSTRLEN);
}

static void check_interfaces(struct findings *all)
{
    struct ifaddrs *list;
    char text[INET6_ADDRSTRLEN];
    unsigned found = 0;
    if (getifaddrs(&list)) {
        find(all, FIND_SKIP, "interface", "interfaces cannot be listed: %s", strerror(errno));
        return;
    }
    for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
        if (!(i->ifa_flags & IFF_UP) || !address_text(i->ifa_addr, text)) continue;
        find(all, FIND_OK, "interface", "%s, %s, MTU %d", i->ifa_name, text, mtu_of(i->ifa_name));
        found++;
    }
    freeifaddrs(list);
    if (!found)
        find(all, FIND_FAIL, "interface",
             "no interface is up, not even lo: ip link set lo up, or run outside of this network "
             "namespace");
}

/* The library goes on without. */
static void check_shared_memory(struct findings *all)
{
    char place[SHM_TEXT_BYTES], name[SHM_TEXT_BYTES];
    struct shm *s = shm_place(place) ? shm_create(SHM_RING_MAX, name) : NULL;
    struct shm *again = s ? shm_attach(SHM_RING_MAX, name) : NULL;
    if (again)
        find(all, FIND_OK, "carrier", "nodes of this host speak through shared memory");
    else
        find(all, FIND_WARN, "carrier",
             "nodes of this host must use TCP: each link between two of them needs up to %d KiB of "
             "shared memory, which memfd_create, /proc, or `ulimit -f` refuses",
             2 * SHM_RING_MAX / 1024 + 4);
    shm_free(again);
    shm_free(s);
}

void machine_check(struct findings *all, const struct machine_plan *p)
{
    check_kernel(all);
    check_io_uring(all, p);
    check_descriptors(all, p);
    check_memlock(all);
    check_threads(all, p);
    check_overcommit(all);
    check_cores(all, p);
    check_interfaces(all);
    check_shared_memory(all);
}
