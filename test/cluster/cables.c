#include "cables.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

__attribute__((format(printf, 1, 2))) static int run(const char *format, ...)
{
    char command[512];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(command, sizeof command - 20, format, arguments);
    va_end(arguments);
    snprintf(command + n, sizeof command - (size_t)n, " 2> /dev/null");
    return system(command);
}

/* Of tests that failed, and are no more. */
static void remove_old(void)
{
    char name[64];
    FILE *list = popen("ip netns list 2> /dev/null", "re");
    while (list && fscanf(list, "%63s%*[^\n]", name) == 1) {
        int pid;
        if (sscanf(name, "locus-%d-", &pid) == 1 && kill(pid, 0) && errno == ESRCH)
            run("ip netns del %s", name);
    }
    if (list) pclose(list);
}

void cables_need(void)
{
    if (geteuid() != 0) SKIP("network namespaces need root");
    if (run("ip -V > /dev/null")) SKIP("there is no ip here (iproute2)");
    remove_old();
}

bool cables_can(void)
{
    return geteuid() == 0 && run("ip -V > /dev/null") == 0 &&
           run("ip netns add locus-%d-can", (int)getpid()) == 0 &&
           run("ip netns del locus-%d-can", (int)getpid()) == 0;
}

void cables_lay(struct cables *c, int hosts)
{
    static int number;
    snprintf(c->name, sizeof c->name, "locus-%d-%d-", (int)getpid(), number++);
    c->hosts = hosts;
    setenv("LOCUS_LAB", "tcp", 1); /* hosts share no memory */
    const char *name = c->name;
    int rc =
        run("ip netns add %s0 && ip -n %s0 link add br0 type bridge && ip -n %s0 link set br0 up",
            name, name, name);
    for (int i = 1; i <= hosts && rc == 0; i++)
        rc = run(
            "ip netns add %s%d && ip -n %s0 link add v%d type veth peer name eth0 netns %s%d && "
            "ip -n %s0 link set v%d master br0 up && ip -n %s%d addr add 10.77.0.%d/24 dev eth0 && "
            "ip -n %s%d link set eth0 up && ip -n %s%d link set lo up",
            name, i, name, i, name, i, name, i, name, i, i, name, i, name, i);
    if (rc == 0) return;
    cables_remove(c);
    SKIP("this kernel makes no network namespaces with bridges");
}

void cables_remove(struct cables *c)
{
    for (int i = 0; i <= c->hosts; i++) run("ip netns del %s%d", c->name, i);
    c->hosts = -1;
}

const char *cables_host(const struct cables *c, int host)
{
    static char name[64];
    snprintf(name, sizeof name, "%s%d", c->name, host + 1);
    return name;
}

void cables_pull(const struct cables *c, int host, bool out)
{
    CHECK_EQ(run("ip -n %s0 link set v%d %s", c->name, host + 1, out ? "down" : "up"), 0);
}

/* By the address of a card that nobody has. */
void cables_lose(const struct cables *c, int from, int to, bool lost)
{
    CHECK_EQ(run("ip -n %s%d neigh %s 10.77.0.%d dev eth0 %s", c->name, from + 1,
                 lost ? "replace" : "del", to + 1,
                 lost ? "lladdr 02:00:00:00:00:99 nud permanent" : ""),
             0);
}

/* A full packet does not pass the port of the bridge, and several in one piece of the kernel's
 * count as such, too. Nobody is told. */
void cables_narrow(const struct cables *c, int host)
{
    for (int i = 1; i <= c->hosts; i++)
        CHECK_EQ(run("ip -n %s%d link set eth0 gso_max_segs 1", c->name, i), 0);
    CHECK_EQ(run("ip -n %s0 link set v%d mtu 1000", c->name, host + 1), 0);
}

void cables_enter(const char *host)
{
    char path[128];
    snprintf(path, sizeof path, "/run/netns/%s", host);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_EQ(setns(fd, CLONE_NEWNET), 0);
    close(fd);
}

void cables_know(const char *hosts)
{
    char path[] = "/tmp/locus-names-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, hosts, strlen(hosts)), strlen(hosts));
    close(fd);
    CHECK_EQ(unshare(CLONE_NEWNS), 0);
    CHECK_EQ(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    CHECK_EQ(mount(path, "/etc/hosts", NULL, MS_BIND, NULL), 0);
    unlink(path);
}
