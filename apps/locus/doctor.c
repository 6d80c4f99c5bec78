#include "commands.h"

#include "args.h"
#include "fail.h"
#include "findings.h"
#include "hosts.h"
#include "locus.h"
#include "machine.h"
#include "options.h"
#include "probe.h"
#include "remote.h"
#include "say.h"
#include "secrets.h"
#include "surroundings.h"
#include "trial.h"

#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* ---- the hosts of a list ---- */

enum { PAIRS_ALL_MAX = 16 };

struct pairs_manner {
    const char *ssh, *keeper; /* as of `locus run` */
    unsigned port;            /* at which the first host is to be reached, as rank 0's would be */
};

static const double ANSWER_S = 30;    /* for what an agent is asked */
static const double SKEW_S = 0.1;     /* of clocks, that is worth a word */
static const double FAR_S = 2e-3;     /* round trips for which locus is not made */
static const double SLOW_BYTES = 1e8; /* a second: less than a gigabit */
enum { CLOCK_LOOKS = 7 };

struct pairs {
    struct findings *all;
    const struct hosts *hosts;
    const struct pairs_manner *manner;
    struct remote *remote; /* [hosts->count] */
    char token[PROBE_TOKEN_BYTES + 1];
};

/* ---- each host ---- */

static void find_end(struct pairs *p, const struct remote *r)
{
    const char *name = r->host->name;
    switch (r->status) {
    case -1:
        find(p->all, FIND_FAIL, "ssh", "said nothing for %.0f s: what does ssh %s say?", ANSWER_S,
             name);
        break;
    case 255:
        find(
            p->all, FIND_FAIL, "ssh",
            "ssh failed or its connection ended (status 255): look at what ssh -oBatchMode=yes %s true "
            "says: keys, known_hosts, the network",
            name);
        break;
    case STATUS_NOT_FOUND:
    case STATUS_NOT_EXECUTABLE:
        find(p->all, FIND_FAIL, "ssh",
             "not found there: %s, of which --keeper gives the path (status %d); install it there",
             p->manner->keeper, r->status);
        break;
    case STATUS_USAGE:
        find(p->all, FIND_FAIL, "version",
             "the locus there knows no doctor: install the same release of locus on all hosts");
        break;
    default: find(p->all, FIND_FAIL, "ssh", "the doctor there ended with status %d", r->status);
    }
}

static void repeat(struct pairs *p, char *line)
{
    char *rest, *verdict = strtok_r(line, "\t", &rest), *about = strtok_r(NULL, "\t", &rest);
    enum verdict v = verdict ? find_verdict(verdict) : FIND_VERDICTS;
    if (!about || v == FIND_VERDICTS) return;
    for (char *c = rest; *c; c++)
        if (*c == '\v') *c = '\n';
    find(p->all, v, about, "%s", rest);
}

static void find_version(struct pairs *p, const char *theirs)
{
    if (strcmp(theirs, LOCUS_VERSION_TEXT) == 0)
        find(p->all, FIND_OK, "version", "locus %s", theirs);
    else
        find(p->all, FIND_FAIL, "version",
             "locus %s, and " LOCUS_VERSION_TEXT
             " here: install the same release of locus on all hosts",
             theirs);
}

/* Whatever a shell there says before "hello" is passed over. */
static void hear_host(struct pairs *p, struct remote *r)
{
    char line[AGENT_LINE_MAX];
    bool has_begun = false;
    p->all->host = r->host->name;
    while (remote_hear(r, line, ANSWER_S) && strcmp(line, "ready") != 0) {
        if (has_begun) repeat(p, line);
        if (!has_begun && strncmp(line, "hello ", 6) == 0) {
            has_begun = true;
            find_version(p, line + 6);
        }
    }
    if (!remote_lives(r)) find_end(p, r);
    p->all->host = NULL;
}

/* ---- clocks ---- */

static double real_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* How far the host's clock is before ours, from the quickest of some answers; `error_s`: at most so
 * wrong. */
static bool ask_clock(struct remote *r, double *ahead_s, double *error_s)
{
    char line[AGENT_LINE_MAX];
    *error_s = INFINITY;
    for (unsigned i = 0; i < CLOCK_LOOKS; i++) {
        double theirs, start_s = real_s();
        remote_tell(r, "clock\n");
        if (!remote_hear(r, line, ANSWER_S) || sscanf(line, "clock %lf", &theirs) != 1)
            return false;
        double half_s = (real_s() - start_s) / 2;
        if (half_s >= *error_s) continue;
        *error_s = half_s;
        *ahead_s = theirs - (start_s + half_s);
    }
    return true;
}

static void check_clock(struct pairs *p, struct remote *r)
{
    double ahead_s = 0, error_s;
    if (!remote_lives(r)) return;
    p->all->host = r->host->name;
    if (!ask_clock(r, &ahead_s, &error_s))
        find(p->all, FIND_SKIP, "clock", "it did not answer");
    else if (fabs(ahead_s) > SKEW_S + error_s)
        find(p->all, FIND_WARN, "clock",
             "%.3f s %s ours: what hosts log does not fit together; keep clocks in step (chrony, "
             "systemd-timesyncd)",
             fabs(ahead_s), ahead_s > 0 ? "ahead of" : "behind");
    else
        find(p->all, FIND_OK, "clock", "%+.1f ms from ours, to within %.1f ms", 1e3 * ahead_s,
             1e3 * error_s);
    p->all->host = NULL;
}

/* ---- each two ---- */

static void describe(struct pairs *p, const char *both, double round_trip_s, double bytes)
{
    if (round_trip_s > FAR_S)
        find(
            p->all, FIND_WARN, "pair",
            "%s: a round trip takes %.1f ms, %.0f MB/s: rows that are elsewhere cost two to three of "
            "these; hosts that are nearer, if there are any",
            both, 1e3 * round_trip_s, 1e-6 * bytes);
    else if (bytes < SLOW_BYTES)
        find(
            p->all, FIND_WARN, "pair",
            "%s: round trip %.0f us, %.0f MB/s: less than a gigabit's; give addresses of the faster "
            "network in the list, if there is one",
            both, 1e6 * round_trip_s, 1e-6 * bytes);
    else
        find(p->all, FIND_OK, "pair", "%s: round trip %.0f us, raw stream %.2f GB/s", both,
             1e6 * round_trip_s, 1e-9 * bytes);
}

/* Without an address in the list it listens everywhere: its own name may be loopback to itself. */
static bool ask_to_listen(struct pairs *p, struct remote *to, unsigned *port)
{
    char line[AGENT_LINE_MAX];
    const struct host *h = to->host;
    unsigned wanted = h == p->hosts->host ? p->manner->port : 0;
    remote_tell(to, "listen %s %u %s\n", h->has_address ? h->address : PROBE_EVERYWHERE, wanted,
                p->token);
    if (remote_hear(to, line, ANSWER_S) && sscanf(line, "listening %u", port) == 1) return true;
    p->all->host = h->name;
    if (!remote_lives(to))
        find_end(p, to);
    else
        find(
            p->all, FIND_FAIL, "listen",
            "cannot listen at %s, port %u: %s; give an address of that host in the list, or another "
            "port with --port",
            h->address, wanted, strncmp(line, "error ", 6) == 0 ? line + 6 : line);
    p->all->host = NULL;
    return false;
}

static void measure_pair(struct pairs *p, struct remote *from, struct remote *to)
{
    char line[AGENT_LINE_MAX], both[2 * HOST_NAME_BYTES + 8];
    double round_trip_s, bytes;
    unsigned port;
    if (!remote_lives(from) || !remote_lives(to) || !ask_to_listen(p, to, &port)) return;
    snprintf(both, sizeof both, "%s to %s", from->host->name, to->host->name);
    remote_tell(from, "measure %s %u %s\n", to->host->address, port, p->token);
    if (!remote_hear(from, line, ANSWER_S))
        find_end(p, from);
    else if (sscanf(line, "measured %lf %lf", &round_trip_s, &bytes) == 2)
        describe(p, both, round_trip_s, bytes);
    else
        find(
            p->all, FIND_FAIL, "pair",
            "%s does not reach %s, port %u: %s; let the ports through the firewall, or give another "
            "address in the list",
            both, to->host->address, port, strncmp(line, "error ", 6) == 0 ? line + 6 : line);
    remote_hear(to, line, ANSWER_S); /* that it has served, or for how long it waited */
}

static bool is_looked_at(const struct pairs *p, size_t from, size_t to)
{
    size_t n = p->hosts->count;
    if (from == to) return false;
    return n <= PAIRS_ALL_MAX || from == 0 || to == 0 || (from + 1) % n == to;
}

static void check_pairs(struct pairs *p)
{
    for (size_t a = 0; a < p->hosts->count; a++)
        for (size_t b = 0; b < p->hosts->count; b++)
            if (is_looked_at(p, a, b)) measure_pair(p, &p->remote[a], &p->remote[b]);
}

static int make_token(struct pairs *p)
{
    unsigned char random[PROBE_TOKEN_BYTES / 2];
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return say_and(STATUS_FAILED, "the system has no random numbers");
    for (size_t i = 0; i < sizeof random; i++) snprintf(p->token + 2 * i, 3, "%02x", random[i]);
    return 0;
}

/* 0, or STATUS_* with a sentence when nothing could be started. */
static int pairs_check(struct findings *all, const struct hosts *hosts,
                       const struct pairs_manner *m)
{
    struct pairs p = {.all = all, .hosts = hosts, .manner = m};
    int rc = make_token(&p);
    p.remote = calloc(hosts->count, sizeof *p.remote);
    if (!p.remote) return say_and(STATUS_FAILED, "no memory for %zu hosts", hosts->count);
    size_t started = 0;
    signal(SIGPIPE, SIG_IGN);
    while (rc == 0 && started < hosts->count) {
        rc = remote_start(&p.remote[started], &hosts->host[started], m->ssh, m->keeper);
        started++;
    }
    for (size_t i = 0; i < started && rc == 0; i++) hear_host(&p, &p.remote[i]);
    for (size_t i = 0; i < started && rc == 0; i++) check_clock(&p, &p.remote[i]);
    if (rc == 0) secrets_check(all, p.remote, started);
    if (rc == 0) check_pairs(&p);
    for (size_t i = 0; i < started; i++) remote_end(&p.remote[i]);
    free(p.remote);
    return rc;
}

struct doctor {
    const char *hosts, *ssh, *keeper;
    uint64_t nodes, workers, port;
    bool json;
};

static void parse(struct doctor *d, int argc, char **argv)
{
    const struct args_option options[] = {
        OPTION_SECTION("what it looks at, and how it says it"),
        OPTION_TEXT("--hosts", "FILE", &d->hosts, 0,
                    "look at the hosts of this list, over ssh, and at each two of them"),
        OPTION_COUNT("--nodes", "N", &d->nodes, 1, OPTIONS_NODES_MAX, 0,
                     "nodes that are to run on this host"),
        OPTION_COUNT("--workers", "W", &d->workers, 1, LOCUS_WORKERS_MAX, 0,
                     "workers of each; LOCUS_WORKERS counts, too"),
        OPTION_COUNT(
            "--port", "P", &d->port, 1, 65535, 0,
            "with --hosts: where the first host is reached, as rank 0's rendezvous would be"),
        OPTION_TEXT("--ssh", "COMMAND", &d->ssh, 0, "with --hosts: ssh and its options"),
        OPTION_TEXT("--keeper", "PATH", &d->keeper, 0,
                    "with --hosts: this program there (the same path as here)"),
        OPTION_FLAG("--json", &d->json, 0, "a JSON object for each line"),
    };
    const struct args_program program = {
        .name = "locus doctor",
        .about =
            "Checks whether these machines can run a job: kernel, io_uring, limits, memory, cores, network, the\n"
            "launcher's variables, the secret, and a trial of two nodes. Start it where and how the program would\n"
            "be started. It prints a line for each check: ok, warn, fail or skip, and what to do. The exit status\n"
            "is 1 when something fails.",
        .options = options,
        .option_count = sizeof options / sizeof *options,
    };
    args_parse(&program, argc, argv);
}

static int look_at_hosts(struct findings *all, const struct doctor *d)
{
    struct hosts hosts;
    char self[PATH_MAX] = "locus";
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0) self[n] = '\0';
    const struct pairs_manner manner = {
        .ssh = d->ssh, .keeper = d->keeper ? d->keeper : self, .port = (unsigned)d->port};
    int rc = hosts_read(&hosts, d->hosts);
    if (rc == 0) rc = pairs_check(all, &hosts, &manner);
    hosts_free(&hosts);
    return rc;
}

static void look_here(struct findings *all, const struct doctor *d)
{
    find(all, FIND_OK, "version", "locus " LOCUS_VERSION_TEXT);
    unsigned spoken = surroundings_check(all);
    unsigned here = (unsigned)d->nodes, least = here > 2 ? here : 2;
    const struct machine_plan plan = {
        .nodes = spoken > least ? spoken : least, .here = here, .workers = (unsigned)d->workers};
    machine_check(all, &plan);
    if (all->count[FIND_FAIL] == 0)
        trial_check(all);
    else
        find(all, FIND_SKIP, "trial", "two nodes are not tried where something else fails");
    machine_check_rings(all, &plan);
    surroundings_await_others();
}

/* What locus run --workers would have told; nonsense there is the program's to refuse. */
static uint64_t workers_of_environment(void)
{
    const char *text = getenv("LOCUS_WORKERS");
    unsigned long n = text ? strtoul(text, NULL, 10) : 1;
    return n >= 1 && n <= LOCUS_WORKERS_MAX ? n : 1;
}

int doctor_main(int argc, char **argv)
{
    struct findings all;
    struct doctor d = {
        .nodes = 1, .workers = workers_of_environment(), .port = OPTIONS_PORT_REMOTE, .ssh = "ssh"};
    say_as("locus doctor");
    fail_set_program("locus doctor");
    parse(&d, argc, argv);
    findings_init(&all, d.json ? FINDINGS_JSON : FINDINGS_TEXT);
    int rc = 0;
    surroundings_check_variables(&all);
    if (d.hosts)
        rc = look_at_hosts(&all, &d);
    else
        look_here(&all, &d);
    return rc ? rc : findings_end(&all);
}
