/*
 * `locus keep LAUNCHER RANK GRACE PROGRAM ...`: runs one node's program and sees to it that nothing
 * of it is left.
 *
 * Between the launcher and every program there is a keeper, a child of the launcher. When it is
 * asked to, or the launcher dies, it ends the node: SIGTERM, after a grace of seconds SIGKILL, until
 * no process is left that descends from the program (family.h). When the keeper dies itself, the
 * kernel kills the program; what that had started falls to the launcher.
 *
 *              program failed: at once
 *     RUNNING ------------------------------------> KILLING --- none is left ---> its status
 *        |   \                                        ^  |
 *        |    SIGNAL_END, SIGTERM, SIGNAL_OVER when   |  after KILL_TIMEOUT_S some cannot be
 *        |    it is stopped, or the program is done   |  killed: the same
 *        +-----------------------------> ENDING ------+
 *                                           |   the grace is over, a second SIGTERM, or SIGNAL_NOW
 *                                           +--- none is left ---> the program's status
 *
 * The first failure counts for the launcher, so that one is told without delay.
 *
 * Memory    its own
 * Waiting   for the program as long as the launcher lives
 */
#include "commands.h"

#include "clock.h"
#include "family.h"
#include "program.h"
#include "say.h"
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const double KILL_TIMEOUT_S = 5, KILL_AGAIN_S = 0.02;

enum stage { RUNNING, ENDING, KILLING, DONE };

struct keeper {
    struct family family;
    int signals;
    const char *rank;
    double grace_s;
    bool is_asked; /* by a signal that is not the launcher's, to end */
    pid_t program; /* 0: not started, or reaped */
    int status;
    enum stage stage;
    double until_s; /* when the stage ends */
};

/* ---- ending ---- */

static void signal_all(struct keeper *k, int signal)
{
    if (k->program) kill(-k->program, signal);
    family_signal(&k->family, signal);
}

static void begin_killing(struct keeper *k)
{
    if (k->stage == KILLING) return;
    k->stage = KILLING;
    k->until_s = clock_s() + KILL_TIMEOUT_S;
}

/* Stopped, by SIGSTOP say. It stays to be reaped. */
static bool is_stopped(pid_t program)
{
    siginfo_t now = {.si_pid = 0};
    int rc = program ? waitid(P_PID, (id_t)program, &now, WSTOPPED | WNOHANG | WNOWAIT) : -1;
    return rc == 0 && now.si_pid == program;
}

/* The others, which have failed without it, may have been named. */
static void begin_ending(struct keeper *k)
{
    if (k->stage != RUNNING) return;
    if (is_stopped(k->program)) say("node %s was stopped, and did not answer the others", k->rank);
    k->stage = ENDING;
    k->until_s = clock_s() + k->grace_s;
    signal_all(k, SIGTERM);
    signal_all(k, SIGCONT); /* one that is stopped would not hear it */
}

/* ---- what happens to the program ---- */

static int status_of(int wait_status)
{
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status)
                                  : STATUS_SIGNAL + WTERMSIG(wait_status);
}

/* False when there is nobody left. */
static bool reap(struct keeper *k)
{
    int wait_status;
    pid_t pid;
    while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0) {
        if (pid != k->program) continue;
        k->program = 0;
        k->status = status_of(wait_status);
        if (k->stage == RUNNING && k->status)
            begin_killing(k);
        else
            begin_ending(k);
    }
    return pid == 0;
}

static void heed_signals(struct keeper *k)
{
    for (int signal; (signal = signals_next());) {
        if (signal == SIGCHLD || (signal == SIGNAL_OVER && !is_stopped(k->program))) continue;
        begin_ending(k);
        if (signal == SIGNAL_END || signal == SIGNAL_OVER) continue;
        if (k->stage == ENDING && (k->is_asked || signal == SIGNAL_NOW)) begin_killing(k);
        k->is_asked = true;
    }
}

static void heed_time(struct keeper *k)
{
    double now_s = clock_s();
    if (k->stage == ENDING && now_s >= k->until_s) begin_killing(k);
    if (k->stage != KILLING) return;
    signal_all(k, SIGKILL);
    if (now_s < k->until_s) return;
    say("node %s: some of its processes cannot be killed", k->rank);
    k->stage = DONE;
}

/* ---- the loop ---- */

static int timeout_ms(const struct keeper *k)
{
    switch (k->stage) {
    case RUNNING: return -1;
    case KILLING: return clock_poll_ms(clock_s() + KILL_AGAIN_S);
    default: return clock_poll_ms(k->until_s);
    }
}

static void keep(struct keeper *k)
{
    struct pollfd p = {.fd = k->signals, .events = POLLIN};
    while (k->stage != DONE) {
        poll(&p, 1, timeout_ms(k));
        heed_signals(k);
        bool is_alone = !reap(k);
        if (k->stage > RUNNING && is_alone) k->stage = DONE;
        if (k->stage != DONE) heed_time(k);
    }
}

/* Whoever writes to the program's input is to notice that the program has closed it. */
static void leave_input(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    dup2(fd, STDIN_FILENO);
    close(fd);
}

enum { LAUNCHER = 1, RANK, GRACE, PROGRAM };

int keeper_main(int argc, char **argv)
{
    if (argc <= PROGRAM) return say_and(STATUS_USAGE, "keep is for locus run alone");
    struct keeper k = {.rank = argv[RANK], .grace_s = strtod(argv[GRACE], NULL)};
    prctl(PR_SET_NAME, "locus");
    prctl(PR_SET_PDEATHSIG, SIGNAL_END);
    if (getppid() != strtol(argv[LAUNCHER], NULL, 10)) return STATUS_FAILED; /* it has died */
    family_init(&k.family);
    k.signals = signals_open();
    if (k.signals < 0)
        return say_and(STATUS_FAILED, "no pipe for a node's keeper: %s", strerror(errno));
    signals_hear_launcher();
    k.status = program_start(argv + PROGRAM, &k.program);
    leave_input();
    if (k.status == 0) keep(&k);
    family_fini(&k.family);
    return k.status;
}
