#include "node.h"

#include "base/pinning.h"
#include "say.h"
#include "signals.h"

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
#include <unistd.h>

extern char **environ;

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
    bool is_terminal = to == STDOUT_FILENO && isatty(to);
    if (!(is_terminal && open_terminal(ends)) && pipe2(ends, O_CLOEXEC)) return -1;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    if (output_init(o, ends[0], to, n->rank, style)) return ends[1];
    close(ends[0]);
    close(ends[1]);
    errno = ENOMEM;
    return -1;
}

/* ---- its process ---- */

/* What is asked of a keeper is for it to hear when it can: until then it would be lost where it is
 * ignored, and else end the keeper alone. */
static void keep_for_later(posix_spawnattr_t *attributes)
{
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    sigaddset(&blocked, SIGNAL_END);
    sigaddset(&blocked, SIGNAL_NOW);
    posix_spawnattr_setsigmask(attributes, &blocked);
}

static int spawn(struct node *n, char **argv, const int standard[3])
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes, 0);
    keep_for_later(&attributes);
    if (standard[STDIN_FILENO] < 0)
        posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    for (int to = STDIN_FILENO; to <= STDERR_FILENO; to++)
        if (standard[to] >= 0) posix_spawn_file_actions_adddup2(&files, standard[to], to);
    int rc = posix_spawn(&n->pid, argv[0], &files, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (rc == 0) return 0;
    n->pid = 0;
    return say_and(STATUS_FAILED, "node %u cannot be started: %s", n->rank, strerror(rc));
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

static int spawn_keeper(struct node *n, const struct node_manner *m, const int standard[3])
{
    char exe[] = "/proc/self/exe", keep[] = "keep", launcher[16], rank[16], grace[32];
    char *begin[] = {exe, keep, launcher, rank, grace};
    enum { BEGIN = sizeof begin / sizeof *begin };
    size_t words = 0;
    while (m->argv[words++]) continue;
    char **argv = malloc((BEGIN + words) * sizeof *argv);
    if (!argv) return say_and(STATUS_FAILED, "node %u: no memory for arguments", n->rank);
    snprintf(launcher, sizeof launcher, "%ld", (long)getpid());
    snprintf(rank, sizeof rank, "%u", n->rank);
    snprintf(grace, sizeof grace, "%g", m->grace_s);
    memcpy(argv, begin, sizeof begin);
    memcpy(argv + BEGIN, m->argv, words * sizeof *argv);
    cpu_set_t ours;
    bool is_known = sched_getaffinity(0, sizeof ours, &ours) == 0;
    if (is_known) go_to_socket(n, m);
    int rc = spawn(n, argv, standard);
    if (is_known) sched_setaffinity(0, sizeof ours, &ours);
    free(argv);
    return rc;
}

int node_start(struct node *n, const struct node_manner *m, int input)
{
    int standard[3] = {input, -1, -1}, *out = &standard[STDOUT_FILENO],
        *err = &standard[STDERR_FILENO];
    bool ok = !m->shows_out || (*out = open_output(&n->out, n, STDOUT_FILENO, &m->out)) >= 0;
    if (ok && m->shows_err) ok = (*err = open_output(&n->err, n, STDERR_FILENO, &m->err)) >= 0;
    int rc = ok ? spawn_keeper(n, m, standard)
                : say_and(STATUS_FAILED, "node %u: no pipe for it: %s%s", n->rank, strerror(errno),
                          errno == EMFILE ? "; raise `ulimit -n`" : "");
    if (*out >= 0) close(*out);
    if (*err >= 0) close(*err);
    return rc;
}

void node_end(struct node *n)
{
    if (n->pid) kill(n->pid, n->is_asked ? SIGNAL_NOW : SIGNAL_END);
    n->is_asked = true;
}

void node_end_stopped(const struct node *n)
{
    if (n->pid) kill(n->pid, SIGNAL_OVER);
}

void node_kill(struct node *n)
{
    if (n->pid) kill(n->pid, SIGKILL);
}

void node_fini(struct node *n)
{
    output_fini(&n->out);
    output_fini(&n->err);
}
