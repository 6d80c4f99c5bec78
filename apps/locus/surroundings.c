#include "surroundings.h"

#include "base/time.h"
#include "cluster/environment.h"
#include "cluster/rendezvous.h"
#include "net/address.h"
#include "net/secret.h"
#include "observe/httpd.h"
#include "clock.h"
#include "locus.h"
#include "port.h"
#include "protocol/plan.h"
#include "variables.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { CONNECT_MS = 2000 };
#define RESOLVE_NS UINT64_C(10000000000)

/* ---- variables ---- */

void surroundings_check_variables(struct findings *all)
{
    enum { MAX = 32 };
    struct variable v[MAX];
    size_t count = variables_unread(v, MAX), shown = count < MAX ? count : MAX;
    bool is_misspelt = false;
    for (size_t i = 0; i < shown; i++) {
        if (!v[i].meant) continue;
        find(all, FIND_WARN, "variables", "nobody reads %s: is it meant to be %s?", v[i].name,
             v[i].meant);
        is_misspelt = true;
    }
    if (!is_misspelt)
        find(all, FIND_OK, "variables", "none that begins with LOCUS_ seems misspelt");
}

/* ---- the launcher ---- */

static bool check_launcher(struct findings *all, struct environment *e)
{
    if (environment_read(e)) {
        find(all, FIND_FAIL, "launcher", "%s", locus_error());
        return false;
    }
    if (!e->rendezvous) e->rendezvous = getenv("LOCUS_RENDEZVOUS");
    if (!e->size)
        find(all, FIND_OK, "launcher", "none speaks here: a program is a cluster of one");
    else if (e->size > RENDEZVOUS_NODES_MAX)
        find(all, FIND_FAIL, "launcher",
             "size is %d: must be the number of nodes, at most %d, or 0", e->size,
             RENDEZVOUS_NODES_MAX);
    else if (e->size > 1 && (!e->rendezvous || !*e->rendezvous))
        find(all, FIND_FAIL, "launcher",
             "a cluster of %d nodes needs a rendezvous: set LOCUS_RENDEZVOUS to the host:port on "
             "which rank 0 listens",
             e->size);
    else
        find(all, FIND_OK, "launcher", "rank %d of %d", e->rank, e->size);
    return all->count[FIND_FAIL] == 0;
}

/* ---- the secret ---- */

static bool others_may_read(const char *path)
{
    struct stat status;
    return path && stat(path, &status) == 0 && status.st_mode & S_IROTH;
}

/* False: there is one, and it cannot be used. */
static bool check_secret(struct findings *all, bool *is_known)
{
    struct secret s = {0};
    const char *path = getenv("LOCUS_SECRET_FILE");
    int rc = secret_read(&s);
    *is_known = rc == 0 && s.is_known;
    if (rc)
        find(all, FIND_FAIL, "secret", "%s", locus_error());
    else if (*is_known && others_may_read(path))
        find(all, FIND_WARN, "secret",
             "everybody on this machine may read the cluster's secret in \"%s\": chmod o= it",
             path);
    else if (*is_known)
        find(all, FIND_OK, "secret", "there is one");
    else
        find(all, FIND_OK, "secret",
             "none: a cluster stays on loopback, unless LOCUS_LISTEN names an address");
    secret_forget(&s);
    return rc == 0;
}

/* ---- the rendezvous ---- */

static void find_bound(struct findings *all, const char *shown, int error)
{
    const char *what = "rank 0 cannot listen at the rendezvous";
    switch (error) {
    case 0: find(all, FIND_OK, "rendezvous", "rank 0 can listen at %s", shown); break;
    case EADDRINUSE:
        find(
            all, FIND_FAIL, "rendezvous",
            "%s %s: the port is taken, by another program or by a cluster that still runs: end it, "
            "or choose another port",
            what, shown);
        break;
    case EADDRNOTAVAIL:
        find(all, FIND_FAIL, "rendezvous",
             "%s %s: this machine has no such address: give an address of the machine of rank 0",
             what, shown);
        break;
    case EACCES:
        find(all, FIND_FAIL, "rendezvous", "%s %s: it is not permitted: choose a port above 1023",
             what, shown);
        break;
    default: find(all, FIND_FAIL, "rendezvous", "%s %s: %s", what, shown, strerror(error));
    }
}

/* What rank 0 listens with, and for how many others; fd -1: it does not. */
static struct {
    int fd, others;
} rank_0 = {.fd = -1};

/* How long to wait for the doctors of other ranks: launchers start one for each. By hand there may
 * be one alone, and `locus run`, which is quicker, has the same variables. */
static double patience_s(void)
{
    return getenv("LOCUS_SIZE") ? 1 : 10;
}

static int try_bind(const struct addrinfo *a, int others)
{
    int on = 1, error = 0, fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, a->ai_addr, a->ai_addrlen) || listen(fd, RENDEZVOUS_NODES_MAX)) error = errno;
    rank_0.fd = error ? -1 : fd;
    rank_0.others = others;
    if (error) close(fd);
    return error;
}

void surroundings_await_others(void)
{
    struct pollfd p = {.fd = rank_0.fd, .events = POLLIN};
    double until_s = clock_s() + patience_s();
    while (p.fd >= 0 && rank_0.others > 0 && poll(&p, 1, clock_poll_ms(until_s)) != 0) {
        int fd = accept4(p.fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0) continue;
        rank_0.others--;
        close(fd);
    }
    if (p.fd >= 0) close(p.fd);
    rank_0.fd = -1;
}

static int try_connect(const struct addrinfo *a)
{
    int error = 0, fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t bytes = sizeof error;
    if (fd < 0) return errno;
    if (connect(fd, a->ai_addr, a->ai_addrlen) && errno != EINPROGRESS && errno != EINTR) {
        error = errno;
    } else {
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        double until_s = clock_s() + 1e-3 * CONNECT_MS;
        int n;
        do n = poll(&p, 1, clock_poll_ms(until_s));
        while (n < 0 && errno == EINTR);
        if (n <= 0)
            error = ETIMEDOUT;
        else
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
    }
    close(fd);
    return error;
}

/* The doctor of rank 0 may begin later. */
static int try_reach(const struct addrinfo *a)
{
    const struct timespec pause = {.tv_nsec = 50000000};
    double until_s = clock_s() + patience_s();
    int error;
    while ((error = try_connect(a)) == ECONNREFUSED && clock_s() < until_s) nanosleep(&pause, NULL);
    return error;
}

static void find_connected(struct findings *all, const char *shown, int error)
{
    if (error == 0)
        find(all, FIND_OK, "rendezvous", "%s takes connections", shown);
    else if (error == ECONNREFUSED)
        find(
            all, FIND_WARN, "rendezvous",
            "nobody answers at %s (Connection refused): start rank 0 there, or correct the address",
            shown);
    else
        find(all, FIND_FAIL, "rendezvous",
             "nobody answers at %s (%s): start its machine, or let the port through its firewall",
             shown, strerror(error));
}

/* Its first address: whose other ones fail as this does, most often. */
static void reach_rendezvous(struct findings *all, const struct rendezvous_address *r,
                             const struct environment *e)
{
    struct addrinfo *list;
    if (address_resolve("the rendezvous", r->shown, 0, AF_UNSPEC, &list)) {
        find(all, FIND_FAIL, "rendezvous", "%s", locus_error());
        return;
    }
    if (e->rank == 0)
        find_bound(all, r->shown, try_bind(list, e->size - 1));
    else
        find_connected(all, r->shown, try_reach(list));
    freeaddrinfo(list);
}

/* Where the others would reach us, by the rules of LOCUS_LISTEN; `rendezvous` may be NULL. */
static bool check_listen(struct findings *all, const char *rendezvous, bool has_secret)
{
    int fd = -1;
    char address[ADDRESS_MAX];
    const char *listen = getenv("LOCUS_LISTEN");
    struct port own = {.fd = -1}; /* as locus run would choose it, where it may be IPv6's */
    if (!rendezvous && port_hold(&own, 0) == 0) rendezvous = own.address;
    const struct address_place place = {.listen = listen,
                                        .rendezvous = rendezvous ? rendezvous : "127.0.0.1:7777",
                                        .loopback_only = !has_secret && !address_has_host(listen),
                                        .deadline_ns = time_now_ns() + RESOLVE_NS};
    int rc = address_listen(&place, &fd, address);
    if (fd >= 0) close(fd);
    port_release(&own);
    if (rc)
        find(all, FIND_FAIL, "listen", "%s", locus_error());
    else
        find(all, FIND_OK, "listen", "peers would be told %s", address);
    return rc == 0;
}

static void check_rendezvous(struct findings *all, const struct environment *e, bool has_secret)
{
    struct rendezvous_address r;
    if (rendezvous_address_parse(&r, e->rendezvous)) {
        find(all, FIND_FAIL, "rendezvous", "%s", locus_error());
        return;
    }
    if (check_listen(all, e->rendezvous, has_secret)) reach_rendezvous(all, &r, e);
}

static void check_metrics(struct findings *all, int rank)
{
    const char *address = getenv("LOCUS_METRICS");
    int fd = -1;
    if (!address || !*address) return;
    if (httpd_listen("LOCUS_METRICS", address, (unsigned)rank, &fd))
        find(all, FIND_FAIL, "metrics", "%s", locus_error());
    else
        find(all, FIND_OK, "metrics", "%.100s, and %d ports further", address, rank);
    if (fd >= 0) close(fd);
}

/* Those who start the nodes, and end all when one has failed. */
static const char *ending_launcher(void)
{
    if (getenv("LOCUS_RANK")) return NULL;
    if (getenv("TORCHELASTIC_RUN_ID")) return "torchrun";
    return getenv("OMPI_COMM_WORLD_RANK") ? "mpirun" : NULL;
}

static void check_survives(struct findings *all)
{
    const char *survives = getenv("LOCUS_SURVIVES"), *launcher = ending_launcher();
    struct locus_config c;
    locus_config_init(&c);
    if (!survives || !*survives) return;
    if (config_complete(&c))
        find(all, FIND_FAIL, "survives", "%s", locus_error());
    else if (c.survives && launcher)
        find(all, FIND_WARN, "survives",
             "%s ends all nodes when one fails, so nobody goes on: use locus run --survives, srun, "
             "or a pod for each node",
             launcher);
    else if (c.survives)
        find(all, FIND_OK, "survives",
             "a node but rank 0 may be lost: one that is silent after %g s (LOCUS_PEER_TIMEOUT)",
             c.peer_timeout_s);
}

unsigned surroundings_check(struct findings *all)
{
    struct environment e;
    bool has_secret = false, is_told = check_launcher(all, &e);
    bool has_good_secret = check_secret(all, &has_secret);
    if (!is_told) return 0;
    check_metrics(all, e.rank);
    check_survives(all);
    if (!has_good_secret)
        find(all, FIND_SKIP, "rendezvous", "not looked at without a secret that can be used");
    else if (e.size > 1)
        check_rendezvous(all, &e, has_secret);
    else
        check_listen(all, NULL, has_secret);
    return (unsigned)e.size;
}
