/*
 * `locus keep`: runs one node's program and sees to it that nothing of it is left.
 *
 * Between the launcher and every program there is a keeper: on this host a child of the launcher,
 * on others what ssh starts. It hears what to run over a stream (control.h). When the stream ends,
 * for whatever reason, the launcher's death or that of the connection included, it ends the node:
 * SIGTERM, after a grace SIGKILL, until no process is left that descends from the program
 * (family.h). When the keeper dies itself, the kernel kills the program; what that had started
 * falls to the launcher.
 *
 *              program failed: at once
 *     RUNNING ------------------------------------> KILLING --- none is left ---> its status
 *        |   \                                        ^  |
 *        |    the stream ended, SIGTERM,              |  after KILL_TIMEOUT_S some cannot be
 *        |    or the program is done                  |  killed: the same
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
#include "control.h"
#include "family.h"
#include "program.h"
#include "say.h"
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const double START_TIMEOUT_S = 60; /* for the launcher to say what to run */
static const double KILL_TIMEOUT_S = 5, KILL_AGAIN_S = 0.02;

enum stage { STARTING, RUNNING, ENDING, KILLING, DONE };

struct keeper {
    struct control_reader control;
    struct family family;
    struct pollfd polled[3]; /* signals, control, input */
    char rank[16];
    char **argv; /* NULL at its end */
    size_t argc;
    double grace_s, silence_s;
    bool has_pipe, is_asked; /* by a signal, to end */
    pid_t program;           /* 0: not started, or reaped */
    int status;
    int input; /* to the program's stdin; -1: none */
    const char *pending;
    size_t pending_bytes; /* input that the pipe had no room for: nothing else is read meanwhile */
    enum stage stage;
    double until_s; /* when the stage ends */
    double heard_s;
};

enum { SIGNALS, CONTROL, INPUT };

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
    if (k->stage == STARTING) k->stage = DONE;
    if (k->stage != RUNNING) return;
    if (is_stopped(k->program)) say("node %s was stopped, and did not answer the others", k->rank);
    k->stage = ENDING;
    k->until_s = clock_s() + k->grace_s;
    signal_all(k, SIGTERM);
    signal_all(k, SIGCONT); /* one that is stopped would not hear it */
}

/* ---- the program's input ---- */

static void close_input(struct keeper *k)
{
    if (k->input >= 0) close(k->input);
    k->input = -1;
    k->pending_bytes = 0;
}

static void write_input(struct keeper *k)
{
    ssize_t n = write(k->input, k->pending, k->pending_bytes);
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        close_input(k); /* the program does not want it */
    } else if (n > 0) {
        k->pending += n;
        k->pending_bytes -= (size_t)n;
    }
}

static void take_input(struct keeper *k, const char *bytes, size_t length)
{
    if (k->input < 0) return;
    k->pending = bytes;
    k->pending_bytes = length;
    write_input(k);
}

/* ---- what the launcher says ---- */

static int add_argument(struct keeper *k, const char *text)
{
    char **more = realloc(k->argv, (k->argc + 2) * sizeof *more);
    if (!more) return say_and(STATUS_FAILED, "node %s: no memory for arguments", k->rank);
    k->argv = more;
    k->argv[k->argc] = strdup(text);
    if (!k->argv[k->argc])
        return say_and(STATUS_FAILED, "node %s: no memory for arguments", k->rank);
    k->argv[++k->argc] = NULL;
    return 0;
}

static int set_variable(const struct keeper *k, char *text)
{
    char *equals = strchr(text, '=');
    if (equals) *equals = '\0';
    if (equals && setenv(text, equals + 1, 1) == 0) return 0;
    return say_and(STATUS_FAILED, "node %s: the variable %s cannot be set", k->rank, text);
}

static int enter_directory(const struct keeper *k, const char *path)
{
    if (chdir(path) == 0) return 0;
    return say_and(STATUS_FAILED,
                   "node %s: cannot go to the directory \"%s\": %s; name another with --directory",
                   k->rank, path, strerror(errno));
}

static int greet(const struct keeper *k, const char *version)
{
    (void)k;
    if (strcmp(version, CONTROL_VERSION) == 0) return 0;
    return say_and(
        STATUS_FAILED,
        "the launcher speaks \"%s\", this host \"%s\": install the same release of locus on all hosts",
        version, CONTROL_VERSION);
}

static int open_input(struct keeper *k, int ends[2])
{
    if (pipe2(ends, O_CLOEXEC))
        return say_and(STATUS_FAILED, "node %s: no pipe for its input: %s", k->rank,
                       strerror(errno));
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    k->input = ends[1];
    return 0;
}

static int start(struct keeper *k)
{
    int ends[2] = {-1, -1};
    if (!k->argv) return say_and(STATUS_FAILED, "the launcher names no program");
    if (k->has_pipe) {
        int rc = open_input(k, ends);
        if (rc) return rc;
    } else if (k->control.fd == STDIN_FILENO) {
        ends[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    int rc = program_start(k->argv, ends[0], &k->program);
    if (ends[0] >= 0) close(ends[0]);
    if (rc) k->program = 0;
    k->stage = RUNNING;
    return rc;
}

/* 0, or the status with which to end. */
static int obey(struct keeper *k, enum control_kind kind, char *body, size_t length)
{
    switch (kind) {
    case CONTROL_HELLO: return greet(k, body);
    case CONTROL_RANK: strncpy(k->rank, body, sizeof k->rank - 1); return 0;
    case CONTROL_DIRECTORY: return enter_directory(k, body);
    case CONTROL_VARIABLE: return set_variable(k, body);
    case CONTROL_ARGUMENT: return add_argument(k, body);
    case CONTROL_GRACE: k->grace_s = strtod(body, NULL); return 0;
    case CONTROL_SILENCE: k->silence_s = strtod(body, NULL); return 0;
    case CONTROL_PIPE: k->has_pipe = true; return 0;
    case CONTROL_START: return k->stage == STARTING ? start(k) : 0;
    case CONTROL_INPUT: take_input(k, body, length); return 0;
    case CONTROL_INPUT_END: close_input(k); return 0;
    case CONTROL_BEAT: return 0;
    }
    return say_and(STATUS_FAILED, "node %s: the launcher sent what makes no sense", k->rank);
}

static int obey_all(struct keeper *k)
{
    enum control_kind kind;
    char *body;
    size_t length;
    int rc = 0, next = 1;
    while (rc == 0 && k->pending_bytes == 0 &&
           (next = control_next(&k->control, &kind, &body, &length)) == 1)
        rc = obey(k, kind, body, length);
    if (rc == 0 && next < 0)
        rc = say_and(STATUS_FAILED, "node %s: the launcher sent what makes no sense", k->rank);
    return rc;
}

/* A failure in here ends the node. */
static void fail(struct keeper *k, int status)
{
    k->status = status;
    if (k->stage == STARTING || !k->program)
        k->stage = DONE;
    else
        begin_killing(k);
}

static void hear(struct keeper *k)
{
    if (control_read(&k->control) > 0) {
        k->heard_s = clock_s();
        int status = obey_all(k);
        if (status) fail(k, status);
        return;
    }
    k->polled[CONTROL].fd = -1;
    close_input(k);
    begin_ending(k);
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
        if (signal == SIGCHLD) continue;
        begin_ending(k);
        if (k->stage == ENDING && (k->is_asked || signal == SIGNAL_NOW)) begin_killing(k);
        k->is_asked = true;
    }
}

static void heed_time(struct keeper *k)
{
    double now_s = clock_s();
    bool hears = k->polled[CONTROL].fd >= 0 && k->pending_bytes == 0;
    if (k->stage == STARTING && now_s >= k->until_s) k->stage = DONE;
    if (k->stage == RUNNING && hears && k->silence_s > 0 && now_s >= k->heard_s + k->silence_s)
        begin_ending(k);
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
    case RUNNING: return k->silence_s > 0 ? clock_poll_ms(k->heard_s + k->silence_s) : -1;
    case KILLING: return clock_poll_ms(clock_s() + KILL_AGAIN_S);
    default: return clock_poll_ms(k->until_s);
    }
}

static void wait_and_handle(struct keeper *k)
{
    bool is_full = k->pending_bytes > 0;
    /* While input is waiting, only that the stream was cut off is of interest. */
    k->polled[CONTROL].events = is_full ? POLLRDHUP : POLLIN;
    k->polled[INPUT] = (struct pollfd){.fd = is_full ? k->input : -1, .events = POLLOUT};
    if (poll(k->polled, 3, timeout_ms(k)) < 0) return;
    if (is_full && k->polled[INPUT].revents) write_input(k);
    if (is_full && !k->pending_bytes) {
        int rc = obey_all(k);
        if (rc) fail(k, rc);
    } else if (is_full && k->polled[CONTROL].revents) {
        k->polled[CONTROL].fd = -1;
        begin_ending(k);
    } else if (k->polled[CONTROL].revents) {
        hear(k);
    }
}

static void keep(struct keeper *k)
{
    while (k->stage != DONE) {
        wait_and_handle(k);
        heed_signals(k);
        bool is_alone = !reap(k);
        if (k->stage > RUNNING && is_alone) k->stage = DONE;
        if (k->stage != DONE) heed_time(k);
    }
}

static void fini(struct keeper *k)
{
    close_input(k);
    for (size_t i = 0; i < k->argc; i++) free(k->argv[i]);
    free(k->argv);
    family_fini(&k->family);
    control_reader_fini(&k->control);
}

int keeper_main(int argc, char **argv)
{
    struct keeper k = {.status = STATUS_FAILED, .input = -1, .grace_s = 5, .heard_s = clock_s()};
    int stream = argc > 1 ? (int)strtol(argv[1], NULL, 10) : STDIN_FILENO;
    prctl(PR_SET_NAME, "locus");
    fcntl(stream, F_SETFD, FD_CLOEXEC);
    if (!control_reader_init(&k.control, stream))
        return say_and(STATUS_FAILED, "no memory for a node's keeper");
    family_init(&k.family);
    k.until_s = clock_s() + START_TIMEOUT_S;
    k.polled[SIGNALS] = (struct pollfd){.fd = signals_open(), .events = POLLIN};
    k.polled[CONTROL] = (struct pollfd){.fd = stream, .events = POLLIN};
    signals_tell_now();
    if (k.polled[SIGNALS].fd < 0)
        return say_and(STATUS_FAILED, "no pipe for a node's keeper: %s", strerror(errno));
    keep(&k);
    fini(&k);
    return k.status;
}
