#include "node.h"

#include "base/pinning.h"
#include "say.h"
#include "signals.h"
#include "ssh.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { SMALL_PIPE = 65536 };

/* ---- what it prints ---- */

/* A pseudo-terminal rather than a pipe, so that programs write line by line as they would on ours;
 * without what a terminal does to the bytes. */
static bool open_terminal(int ends[2])
{
    char name[64];
    struct termios how;
    struct winsize size;
    ends[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (ends[0] < 0) return false;
    ends[1] = -1;
    if (grantpt(ends[0]) == 0 && unlockpt(ends[0]) == 0 &&
        ptsname_r(ends[0], name, sizeof name) == 0)
        ends[1] = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (ends[1] < 0 || tcgetattr(ends[1], &how)) {
        close(ends[0]);
        if (ends[1] >= 0) close(ends[1]);
        return false;
    }
    cfmakeraw(&how);
    tcsetattr(ends[1], TCSANOW, &how);
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) ioctl(ends[1], TIOCSWINSZ, &size);
    return true;
}

/* Returns the end that the node writes to, or -1 with errno. */
static int open_output(struct output *o, const struct node *n, int to,
                       const struct output_style *style)
{
    int ends[2];
    bool is_terminal = to == STDOUT_FILENO && !n->host && isatty(to);
    if (!(is_terminal && open_terminal(ends)) && pipe2(ends, O_CLOEXEC)) return -1;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    if (output_init(o, ends[0], to, n->rank, style)) return ends[1];
    close(ends[0]);
    close(ends[1]);
    errno = ENOMEM;
    return -1;
}

/* ---- its process ---- */

struct descriptors {
    int control, out, err; /* the node's ends; -1: inherited */
};

static void close_all(const struct descriptors *d)
{
    if (d->control >= 0) close(d->control);
    if (d->out >= 0) close(d->out);
    if (d->err >= 0) close(d->err);
}

/* To end now is for a keeper to hear when it can: until then it would be lost where it is ignored,
 * and else end the keeper alone. */
static void keep_for_later(posix_spawnattr_t *attributes)
{
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    sigaddset(&blocked, SIGNAL_NOW);
    posix_spawnattr_setsigmask(attributes, &blocked);
}

/* argv[0] of an absolute path is looked for nowhere else. */
static int spawn(struct node *n, char **argv, const struct descriptors *d, int input)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | (n->host ? 0 : POSIX_SPAWN_SETSIGMASK));
    posix_spawnattr_setpgroup(&attributes, 0);
    keep_for_later(&attributes);
    if (input < 0)
        posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    else
        posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
    if (d->out >= 0) posix_spawn_file_actions_adddup2(&files, d->out, STDOUT_FILENO);
    if (d->err >= 0) posix_spawn_file_actions_adddup2(&files, d->err, STDERR_FILENO);
    /* Onto itself: only so that it stays open behind exec. */
    if (input != d->control) posix_spawn_file_actions_adddup2(&files, d->control, d->control);
    int rc = posix_spawnp(&n->pid, argv[0], &files, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (rc == 0) return 0;
    n->pid = 0;
    return say_and(STATUS_FAILED, "node %u: %s cannot be started: %s", n->rank, argv[0],
                   strerror(rc));
}

/* Its units are inherited by all that the node starts. Refused: slower, not wrong. */
static void go_to_socket(const struct node *n, const struct node_manner *m)
{
    uint16_t unit[PINNING_UNITS_MAX];
    unsigned units = m->machine ? pinning_socket(m->machine, m->nodes, n->rank, unit) : 0;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (unsigned i = 0; i < units; i++) CPU_SET(unit[i], &set);
    if (units > 0) sched_setaffinity(0, sizeof set, &set);
}

static int spawn_here(struct node *n, const struct node_manner *m, const struct descriptors *d)
{
    char path[] = "/proc/self/exe", keep[] = "keep", number[16];
    char *argv[] = {path, keep, number, NULL};
    snprintf(number, sizeof number, "%d", d->control);
    cpu_set_t ours;
    bool is_known = sched_getaffinity(0, sizeof ours, &ours) == 0;
    if (is_known) go_to_socket(n, m);
    int rc = spawn(n, argv, d, n->rank == 0 && !m->carries_input ? STDIN_FILENO : -1);
    if (is_known) sched_setaffinity(0, sizeof ours, &ours);
    return rc;
}

static int spawn_there(struct node *n, const struct node_manner *m, const struct descriptors *d)
{
    struct ssh_words words = {0};
    int rc = ssh_command(&words, m->ssh, n->host->name, m->keeper, "keep");
    return rc ? rc : spawn(n, words.argv, d, d->control);
}

/* ---- its control stream ---- */

/* All orders must fit into the pipe: nobody waits for a keeper to read. */
static int write_orders(struct node *n, const struct control_text *orders)
{
    if (orders->length > SMALL_PIPE) fcntl(n->control, F_SETPIPE_SZ, CONTROL_TEXT_MAX);
    ssize_t written = write(n->control, orders->bytes, orders->length);
    if (written == (ssize_t)orders->length) return 0;
    return say_and(
        STATUS_FAILED,
        "node %u: arguments and variables have %zu bytes, more than the system's pipes hold",
        n->rank, orders->length);
}

static int open_control(struct node *n, struct descriptors *d)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) return -1;
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    d->control = ends[0];
    n->control = ends[1];
    return 0;
}

int node_start(struct node *n, const struct node_manner *m, const struct control_text *orders)
{
    struct descriptors d = {-1, -1, -1};
    bool ok = open_control(n, &d) == 0;
    if (ok && m->shows_out) ok = (d.out = open_output(&n->out, n, STDOUT_FILENO, &m->out)) >= 0;
    if (ok && m->shows_err) ok = (d.err = open_output(&n->err, n, STDERR_FILENO, &m->err)) >= 0;
    int rc = 0;
    if (!ok)
        rc = say_and(STATUS_FAILED, "node %u: no pipe for it: %s%s", n->rank, strerror(errno),
                     errno == EMFILE ? "; raise `ulimit -n`" : "");
    if (rc == 0) rc = write_orders(n, orders);
    if (rc == 0) rc = n->host ? spawn_there(n, m, &d) : spawn_here(n, m, &d);
    close_all(&d);
    return rc;
}

void node_end(struct node *n)
{
    if (n->control >= 0)
        close(n->control);
    else if (n->pid)
        kill(n->pid, n->host ? SIGTERM : SIGNAL_NOW); /* ssh knows only the former */
    n->control = -1;
}

void node_kill(struct node *n)
{
    if (n->pid) kill(n->pid, SIGKILL);
}

void node_beat(const struct node *n)
{
    char frame[CONTROL_HEADER];
    /* A full pipe is a sign of life, too, and a broken one is noticed elsewhere. */
    if (n->control >= 0 && write(n->control, frame, control_frame(frame, CONTROL_BEAT, "", 0)) < 0)
        return;
}

void node_fini(struct node *n)
{
    if (n->control >= 0) close(n->control);
    output_fini(&n->out);
    output_fini(&n->err);
}

enum { BEAT_S = 5 };

void beats_init(struct beats *b, const struct node *node, const unsigned *nodes)
{
    *b = (struct beats){.node = node, .nodes = nodes};
    pthread_mutex_init(&b->mutex, NULL);
    pthread_cond_init(&b->over, NULL);
}

void beats_hold(struct beats *b)
{
    pthread_mutex_lock(&b->mutex);
}

void beats_go_on(struct beats *b)
{
    pthread_mutex_unlock(&b->mutex);
}

static void *beat(void *beats)
{
    struct beats *b = beats;
    beats_hold(b);
    while (!b->must_stop) {
        struct timespec until;
        for (unsigned i = 0; i < *b->nodes; i++) node_beat(&b->node[i]);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += BEAT_S;
        pthread_cond_timedwait(&b->over, &b->mutex, &until);
    }
    beats_go_on(b);
    return NULL;
}

int beats_start(struct beats *b)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* they are the loop's */
    int rc = pthread_create(&b->thread, NULL, beat, b);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    b->is_running = rc == 0;
    return rc ? say_and(STATUS_FAILED, "no thread: %s", strerror(rc)) : 0;
}

void beats_stop(struct beats *b)
{
    if (!b->is_running) return;
    beats_hold(b);
    b->must_stop = true;
    pthread_cond_signal(&b->over);
    beats_go_on(b);
    pthread_join(b->thread, NULL);
    b->is_running = false;
}
