#include "commands.h"

#include "base/pinning.h"
#include "clock.h"
#include "family.h"
#include "input.h"
#include "node.h"
#include "options.h"
#include "plain.h"
#include "port.h"
#include "program.h"
#include "say.h"
#include "signals.h"
#include "variables.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const double KEEPERS_S = 7; /* beyond the grace, for keepers to end: then they are killed */
static const double KILL_AGAIN_S = 1;
static const double SETTLE_S = 0.05;   /* from look to look for a failure that is the cause */
static const double ASKED_AGAIN_S = 2; /* then a signal but Ctrl-C is a new request */
static const double OVER_S = 10;       /* behind rank 0 all others that are there have ended */
static const double ASK_AGAIN_S = 1;   /* whether all nodes had joined */
static const double SWEEP_S = 5, SWEEP_AGAIN_S = 0.02;
/* Before a restart. It doubles from one to the next, unless a run has lasted longer than the
 * longest of them. */
static const double PAUSE_FIRST_S = 0.5, PAUSE_MAX_S = 60;
enum { FIXED = 3, KILLS_MAX = 5, SETTLE_LOOKS = 10, SECRET_BYTES = 32 };

struct run {
    struct options o;
    struct port port;
    struct family family;
    struct input input;
    struct node_manner manner;
    struct pinning_machine machine;
    bool makes_secrets; /* the user has none */
    bool survives;      /* rank 0 alone must not fail */
    unsigned nodes, living;
    struct node *node;
    struct pollfd *polled; /* signals, input, its stream, then two for each node */
    int signals;
    int status;
    int signal;                /* that ended the run; 0: none */
    const struct node *failed; /* NULL: none, or it has been told already */
    int failed_status;
    double settle_s;                            /* when the next look is due */
    unsigned restart;                           /* how often all, or one, were started again */
    double began_s, pause_s;                    /* of this run; before the next */
    double lost_s;                              /* when a node failed last: seconds since 1970 */
    bool is_ending, has_lost_output, was_asked; /* by a signal, to end */
    double asked_s;                             /* when a signal last asked us to end */
    double kill_s;                              /* when to kill keepers */
    double over_s;                              /* when all should have ended; 0: not known */
    double ask_s; /* when to ask whether all had joined before one was lost; 0: never */
    unsigned kills, looks;
};

/* ---- preparing ---- */

/* Descriptors 0 to 2 exist, so that none of ours is taken for them. */
static void fill_standard_descriptors(void)
{
    int fd;
    do fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) close(fd);
}

static bool shows(const struct run *r, int fd)
{
    return r->o.prefix == PREFIX_ALWAYS || (r->o.prefix == PREFIX_ON_TERMINALS && isatty(fd));
}

static struct output_style style_of(const struct run *r, int fd)
{
    const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");
    struct output_style s = {.digits = 1};
    s.is_coloured = isatty(fd) && term && strcmp(term, "dumb") != 0 && !(no_colour && *no_colour);
    for (unsigned n = r->nodes - 1; n >= 10; n /= 10) s.digits++;
    return s;
}

static void set_manner(struct run *r)
{
    r->manner.argv = r->o.argv;
    r->manner.grace_s = r->o.grace_s;
    r->manner.nodes = r->nodes;
    r->manner.shows_out = shows(r, STDOUT_FILENO);
    r->manner.shows_err = shows(r, STDERR_FILENO);
    r->manner.out = style_of(r, STDOUT_FILENO);
    r->manner.err = style_of(r, STDERR_FILENO);
}

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value;
}

/* Every cluster gets one of its own, so that no other joins it by mistake, and nobody on
 * purpose. */
static int make_secret(const struct run *r)
{
    unsigned char bytes[SECRET_BYTES];
    char secret[2 * SECRET_BYTES + 1];
    if (!r->makes_secrets) return 0;
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return say_and(STATUS_FAILED, "no random numbers for a secret: %s; set LOCUS_SECRET",
                       strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++) snprintf(secret + 2 * i, 3, "%02x", bytes[i]);
    setenv("LOCUS_SECRET", secret, 1);
    return 0;
}

static int prepare_here(struct run *r)
{
    const char *directory = r->o.directory;
    char path[PATH_MAX];
    r->nodes = r->o.nodes;
    if (directory && chdir(directory))
        return say_and(STATUS_USAGE, "cannot go to the directory \"%s\": %s", directory,
                       strerror(errno));
    int rc = program_find(r->o.argv[0], path);
    if (rc == 0 && r->nodes > 1 && pinning_machine_load(&r->machine, NULL, NULL) == 0)
        r->manner.machine = &r->machine;
    return rc ? rc : port_hold(&r->port, r->o.port);
}

/* We need up to two descriptors for each node. Programs get what we have, so only as many as
 * needed. */
static void raise_descriptors(const struct run *r)
{
    struct rlimit limit;
    rlim_t needed = 2 * (rlim_t)r->nodes + 64;
    if (getrlimit(RLIMIT_NOFILE, &limit) || needed <= limit.rlim_cur) return;
    limit.rlim_cur = needed < limit.rlim_max ? needed : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static void clear_node(struct run *r, unsigned rank)
{
    r->node[rank] = (struct node){.rank = rank, .out.from = -1, .err.from = -1};
}

static int prepare(struct run *r)
{
    int rc = prepare_here(r);
    if (r->o.survives) setenv("LOCUS_SURVIVES", "1", 1);
    const char *survives = getenv("LOCUS_SURVIVES");
    r->survives = survives && strcmp(survives, "1") == 0;
    r->makes_secrets = !is_set("LOCUS_SECRET") && !is_set("LOCUS_SECRET_FILE");
    if (rc == 0) rc = make_secret(r);
    if (rc) return rc;
    set_manner(r);
    r->node = calloc(r->nodes, sizeof *r->node);
    r->polled = calloc(FIXED + 2 * (size_t)r->nodes, sizeof *r->polled);
    if (!r->node || !r->polled) return say_and(STATUS_FAILED, "no memory for %u nodes", r->nodes);
    for (unsigned i = 0; i < r->nodes; i++) clear_node(r, i);
    r->signals = signals_open();
    if (r->signals < 0) return say_and(STATUS_FAILED, "no pipe for signals: %s", strerror(errno));
    family_init(&r->family);
    raise_descriptors(r);
    return 0;
}

static void set_count(const char *variable, unsigned value)
{
    char number[16];
    snprintf(number, sizeof number, "%u", value);
    setenv(variable, number, 1);
}

/* Of all nodes alike. */
static void set_variables(const struct run *r)
{
    char lost[32];
    set_count("LOCUS_SIZE", r->nodes);
    setenv("LOCUS_RENDEZVOUS", r->port.address, 1);
    if (r->o.workers) set_count("LOCUS_WORKERS", r->o.workers);
    if (r->restart == 0) return;
    /* For programs: that there is a checkpoint to go on from, and how old it had become. */
    set_count("LOCUS_RESTART", r->restart);
    snprintf(lost, sizeof lost, "%.3f", r->lost_s);
    setenv("LOCUS_LOST", lost, 1);
}

static int start_node(struct run *r, struct node *n)
{
    int carried = -1, input = -1;
    n->began_s = clock_s();
    set_count("LOCUS_RANK", n->rank);
    if (n->rank == 0 && isatty(STDIN_FILENO)) {
        input = carried = input_open(&r->input);
        if (input < 0) return say_and(STATUS_FAILED, "no pipe for input: %s", strerror(errno));
    } else if (n->rank == 0) {
        input = STDIN_FILENO;
    }
    int rc = node_start(n, &r->manner, input);
    if (carried >= 0) close(carried);
    return rc;
}

/* ---- ending ---- */

static void begin_ending(struct run *r)
{
    r->is_ending = true;
    r->kill_s = clock_s() + r->o.grace_s + KEEPERS_S;
    input_close(&r->input);
    for (unsigned i = 0; i < r->nodes; i++) node_end(&r->node[i]);
}

static void fail(struct run *r, int status)
{
    if (r->is_ending) return;
    r->status = status;
    begin_ending(r);
}

static bool is_by_signal(int status)
{
    return status > STATUS_SIGNAL && status < STATUS_SIGNAL + NSIG;
}

static void describe_end(const struct node *n, int status, const char *others)
{
    if (is_by_signal(status))
        say("node %u was ended by signal %d, %s (status %d)%s", n->rank, status - STATUS_SIGNAL,
            strsignal(status - STATUS_SIGNAL), status, others);
    else
        say("node %u failed with status %d%s", n->rank, status, others);
}

/* What would fail again. */
static bool is_hopeless(int status)
{
    return status == STATUS_USAGE || status == STATUS_NOT_FOUND || status == STATUS_NOT_EXECUTABLE;
}

/* Those that notice another's end fail, too. */
static int weight_of(int status)
{
    return is_by_signal(status) ? 2 : is_hopeless(status);
}

/* When a node ends the others notice, and we may be told of their failures before its own. So the
 * end begins some looks later, and a graver failure in between counts as the first. Looks are
 * counted, and not time, for which this whole machine may have stood still. */
static void note_failure(struct run *r, const struct node *n, int status)
{
    if (r->failed && weight_of(status) <= weight_of(r->failed_status)) return;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    r->lost_s = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    r->failed = n;
    r->failed_status = status;
}

static bool may_restart(const struct run *r, const struct node *n, int status)
{
    bool may = !is_hopeless(status) && r->o.restarts > 0 && !r->was_asked && !r->has_lost_output;
    if (!may || r->restart < r->o.restarts) return may;
    say("node %u is not started again: restart %u of %u was the last", n->rank, r->restart,
        r->o.restarts);
    return false;
}

/* A program that fails at once would use up all restarts before what it lacks is there again: a
 * file system, a host, a port. */
static double next_pause_s(struct run *r, double lasted_s)
{
    if (lasted_s > PAUSE_MAX_S) r->pause_s = PAUSE_FIRST_S;
    double pause_s = r->pause_s;
    r->pause_s = pause_s < PAUSE_MAX_S / 2 ? 2 * pause_s : PAUSE_MAX_S;
    return pause_s;
}

/* It alone: it joins the others, as long as there is a rank 0. */
static void plan_restart(struct run *r, struct node *n)
{
    if (!r->node[0].pid || !may_restart(r, n, n->status)) return;
    double now_s = clock_s(), pause_s = next_pause_s(r, now_s - n->began_s);
    n->again_s = now_s + pause_s;
    say("restart %u of %u, of node %u alone, begins in %.1f s", ++r->restart, r->o.restarts,
        n->rank, pause_s);
}

/* As long as rank 0 does not fail, too. */
static void go_on(struct run *r)
{
    for (unsigned i = 1; i < r->nodes; i++) {
        struct node *n = &r->node[i];
        if (n->status == 0 || n->is_lost) continue;
        n->is_lost = true;
        describe_end(n, n->status, r->living > 0 ? "; the others go on" : "");
        plan_restart(r, n);
        if (n->again_s == 0) r->ask_s = clock_s();
    }
    r->failed = NULL;
    r->failed_status = 0;
    r->looks = 0;
}

static void settle(struct run *r)
{
    if (!r->failed || r->is_ending) return;
    if (r->survives && r->node[0].status == 0) {
        go_on(r);
        return;
    }
    describe_end(r->failed, r->failed_status, r->nodes > 1 ? "; ending the others" : "");
    fail(r, r->failed_status);
}

/* In the end: whom all went on without. */
static void tell_lost(const struct run *r)
{
    for (unsigned i = 1; i < r->nodes; i++)
        if (r->node[i].is_lost) say("node %u was lost, and the others have ended without it", i);
}

static void note_end(struct run *r, struct node *n, int wait_status)
{
    int status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status)
                                        : STATUS_SIGNAL + WTERMSIG(wait_status);
    n->pid = 0;
    r->living--;
    if (r->survives && n->rank == 0 && status == 0) r->over_s = clock_s() + OVER_S;
    if (status && !r->is_ending) n->status = status;
    if (status && !r->is_ending) note_failure(r, n, status);
}

static void reap(struct run *r)
{
    int wait_status;
    pid_t pid;
    while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0)
        for (unsigned i = 0; i < r->nodes; i++)
            if (r->node[i].pid == pid) note_end(r, &r->node[i], wait_status);
}

/* The first begins the end, unless a failure is about to; another one hastens it. But who tells us
 * to end often tells us twice: timeout(1) signals its child and then its process group, and a shell
 * whose terminal goes passes SIGHUP on. */
static void heed_signal(struct run *r, int signal)
{
    if (r->is_ending && signal != SIGINT && clock_s() < r->asked_s + ASKED_AGAIN_S) return;
    r->asked_s = clock_s();
    r->was_asked = true;
    bool was_ending = r->is_ending;
    settle(r);
    if (r->is_ending && !was_ending) return;
    if (!r->is_ending) {
        say("%s: ending all nodes", strsignal(signal));
        r->signal = signal;
        r->status = STATUS_SIGNAL + signal;
    }
    begin_ending(r);
}

static void heed_signals(struct run *r)
{
    for (int signal; (signal = signals_next());)
        if (signal != SIGCHLD) heed_signal(r, signal);
}

/* What the nodes print is lost: they would go on for nobody. As with a program that writes itself,
 * a pipe without a reader is no failure to speak of. */
static void heed_output(struct run *r, const struct output *o, const char *name)
{
    if (!o->failure || r->has_lost_output) return;
    r->has_lost_output = true;
    if (o->failure != EPIPE)
        say("%s cannot be written: %s%s", name, strerror(o->failure),
            r->living ? "; ending all nodes" : "");
    int status = o->failure == EPIPE ? STATUS_SIGNAL + SIGPIPE : STATUS_FAILED;
    if (r->living)
        fail(r, status);
    else if (r->status == 0)
        r->status = status;
}

static void heed_outputs(struct run *r)
{
    for (unsigned i = 0; i < r->nodes; i++) {
        heed_output(r, &r->node[i].out, "stdout");
        heed_output(r, &r->node[i].err, "stderr");
    }
}

/* ---- the loop ---- */

/* All who could write have ended: what they wrote is there already. */
static void show_rest(struct node *n)
{
    while (n->out.from >= 0 && output_pump(&n->out) && output_has_more(&n->out)) continue;
    while (n->err.from >= 0 && output_pump(&n->err) && output_has_more(&n->err)) continue;
}

static void start_again(struct run *r, struct node *n)
{
    n->again_s = 0;
    if (r->is_ending || !r->node[0].pid) return;
    show_rest(n);
    node_fini(n);
    clear_node(r, n->rank);
    set_variables(r);
    n->status = start_node(r, n);
    if (n->pid) r->living++;
    if (n->status) note_failure(r, n, n->status);
}

static void heed_restarts(struct run *r)
{
    for (unsigned i = 1; i < r->nodes; i++)
        if (r->node[i].again_s > 0 && clock_s() >= r->node[i].again_s) start_again(r, &r->node[i]);
}

/* One that is stopped was lost to the others, which have ended without it. Any other may have work
 * to do: one that was started again too late to join gives up by itself. */
static void heed_over(struct run *r)
{
    if (r->over_s == 0 || clock_s() < r->over_s || r->is_ending) return;
    r->over_s = 0;
    for (unsigned i = 1, told = 0; i < r->nodes; i++) {
        if (r->node[i].pid && told++ == 0)
            say("node 0 ended %.0f s ago; node %u%s on", OVER_S, i,
                r->living > 1 ? " and others run" : " runs");
        node_end_stopped(&r->node[i]);
    }
}

/* Who is lost before all have joined, and does not come back, is waited for in vain. */
static void heed_missing(struct run *r)
{
    if (r->ask_s == 0 || clock_s() < r->ask_s || r->is_ending) return;
    int has_formed = r->node[0].pid ? port_has_formed(&r->port, r->nodes) : 1;
    r->ask_s = has_formed < 0 ? clock_s() + ASK_AGAIN_S : 0;
    for (unsigned i = 1; i < r->nodes && has_formed == 0 && !r->is_ending; i++) {
        const struct node *n = &r->node[i];
        if (!n->is_lost || n->pid || n->again_s > 0) continue;
        say("node %u has ended before all had joined; ending the others", i);
        fail(r, n->status);
    }
}

static void heed_time(struct run *r)
{
    double now_s = clock_s();
    heed_over(r);
    heed_missing(r);
    if (r->failed && now_s >= r->settle_s) {
        r->settle_s = now_s + SETTLE_S;
        if (++r->looks == SETTLE_LOOKS) settle(r);
    }
    if (!r->is_ending || now_s < r->kill_s) return;
    for (unsigned i = 0; i < r->nodes; i++) node_kill(&r->node[i]);
    r->kill_s = now_s + KILL_AGAIN_S;
    if (++r->kills < KILLS_MAX) return;
    say("%u node%s cannot be killed", r->living, plain_s(r->living));
    r->was_asked = true;
    r->living = 0;
}

static int timeout_ms(const struct run *r, double timeout_s)
{
    double until_s = clock_s() + timeout_s;
    if (r->is_ending && r->kill_s < until_s) until_s = r->kill_s;
    if (r->over_s > 0 && !r->is_ending && r->over_s < until_s) until_s = r->over_s;
    if (r->ask_s > 0 && !r->is_ending && r->ask_s < until_s) until_s = r->ask_s;
    if (r->failed && !r->is_ending && r->settle_s < until_s) until_s = r->settle_s;
    for (unsigned i = 1; i < r->nodes; i++)
        if (r->node[i].again_s > 0 && r->node[i].again_s < until_s) until_s = r->node[i].again_s;
    return clock_poll_ms(until_s);
}

static void pump(struct run *r, int ready)
{
    if (ready <= 0) return;
    input_pump(&r->input, r->polled + 1);
    for (unsigned i = 0; i < r->nodes; i++) {
        const struct pollfd *p = r->polled + FIXED + 2 * (size_t)i;
        if (p[0].revents) output_pump(&r->node[i].out);
        if (p[1].revents) output_pump(&r->node[i].err);
    }
}

static void wait_and_handle(struct run *r, double timeout_s)
{
    r->polled[0] = (struct pollfd){.fd = r->signals, .events = POLLIN};
    input_prepare(&r->input, r->polled + 1, &timeout_s);
    for (unsigned i = 0; i < r->nodes; i++) {
        struct pollfd *p = r->polled + FIXED + 2 * (size_t)i;
        p[0] = (struct pollfd){.fd = r->node[i].out.from, .events = POLLIN};
        p[1] = (struct pollfd){.fd = r->node[i].err.from, .events = POLLIN};
    }
    pump(r, poll(r->polled, FIXED + 2 * (nfds_t)r->nodes, timeout_ms(r, timeout_s)));
}

static void start_all(struct run *r)
{
    set_variables(r);
    for (unsigned i = 0; i < r->nodes && !r->is_ending; i++) {
        struct node *n = &r->node[i];
        int rc = start_node(r, n);
        if (n->pid) r->living++;
        if (rc) fail(r, rc);
        heed_signals(r);
        reap(r); /* always behind the signals, which tell of it */
    }
}

/* What keepers left that were killed. */
static void sweep(struct run *r)
{
    double until_s = clock_s() + SWEEP_S;
    while (family_signal(&r->family, SIGKILL) && clock_s() < until_s) {
        poll(NULL, 0, (int)(SWEEP_AGAIN_S * 1e3));
        reap(r);
    }
}

static void run(struct run *r)
{
    static const double forever_s = 3600;
    r->began_s = clock_s();
    start_all(r);
    while (r->living > 0) {
        wait_and_handle(r, forever_s);
        heed_outputs(r);
        heed_signals(r);
        reap(r);
        heed_time(r);
        heed_restarts(r);
    }
    settle(r);
    input_close(&r->input);
    sweep(r);
    for (unsigned i = 0; i < r->nodes; i++) show_rest(&r->node[i]);
    heed_outputs(r);
}

/* ---- once more ---- */

/* False: a signal came. */
static bool pause_before_restart(struct run *r)
{
    double now_s = clock_s(), lasted_s = now_s - r->began_s;
    double pause_s = next_pause_s(r, lasted_s), until_s = now_s + pause_s;
    if (pause_s > PAUSE_FIRST_S)
        say("this run lasted %.1f s: the next begins in %.0f s", lasted_s, pause_s);
    while (!r->is_ending && clock_s() < until_s) {
        struct pollfd p = {.fd = r->signals, .events = POLLIN};
        poll(&p, 1, clock_poll_ms(until_s));
        heed_signals(r);
    }
    return !r->is_ending;
}

static int restart(struct run *r)
{
    for (unsigned i = 0; i < r->nodes; i++) {
        node_fini(&r->node[i]);
        clear_node(r, i);
    }
    r->failed = NULL;
    r->is_ending = false;
    r->kills = r->looks = 0;
    r->kill_s = r->over_s = r->ask_s = 0;
    if (!pause_before_restart(r)) return r->status;
    int rc = make_secret(r); /* nobody of the run before joins */
    if (rc) return rc;
    r->status = r->failed_status = 0;
    say("restart %u of %u, with %u node%s", ++r->restart, r->o.restarts, r->nodes,
        plain_s(r->nodes));
    return 0;
}

static int run_all(struct run *r)
{
    r->pause_s = PAUSE_FIRST_S;
    run(r);
    while (r->failed && may_restart(r, r->failed, r->failed_status)) {
        int rc = restart(r);
        if (rc) return rc;
        run(r);
    }
    if (r->status == 0) tell_lost(r);
    return r->status;
}

static void fini(struct run *r)
{
    for (unsigned i = 0; r->node && i < r->nodes; i++) node_fini(&r->node[i]);
    free(r->node);
    free(r->polled);
    family_fini(&r->family);
    pinning_machine_fini(&r->machine);
    port_release(&r->port);
}

int run_main(int argc, char **argv)
{
    struct run r = {.port.fd = -1, .signals = -1, .input.to = -1};
    int rc = options_parse(&r.o, argc, argv);
    if (rc) return rc;
    fill_standard_descriptors();
    variables_warn();
    rc = prepare(&r);
    if (rc == 0) rc = run_all(&r);
    fini(&r);
    /* By the signal itself, so that a shell's script ends with us. */
    if (r.signal) {
        signal(r.signal, SIG_DFL);
        raise(r.signal);
    }
    return rc;
}
