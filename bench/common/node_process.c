#include "node_process.h"

#include "clock.h"
#include "must.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Where a node process finds its side of the socket. */
enum { CHANNEL = 3, ARGUMENTS_MAX = 16, TRIES = 100 };

struct node_process {
    char name[32];
    pid_t pid;
    int channel;
    pthread_t watcher;
    atomic_bool may_end;
    siginfo_t how; /* it ended; for who has joined the watcher */
};

/* ---- Figures ---- */

struct node_figures node_figures(const locus *node)
{
    struct node_figures f = {.time_ns = clock_ns()};
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    f.cpu_ns = clock_read(CLOCK_PROCESS_CPUTIME_ID);
    f.switches_voluntary = (uint64_t)usage.ru_nvcsw;
    f.switches_involuntary = (uint64_t)usage.ru_nivcsw;
    if (node != NULL) locus_stats_read(node, &f.stats);
    return f;
}

/* ---- Starting, watching, ending ---- */

/* Leaves the process unreaped, so that its number stays its own until node_process_end(). */
static void *watch(void *argument)
{
    struct node_process *p = argument;
    while (waitid(P_PID, (id_t)p->pid, &p->how, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
    if (atomic_load(&p->may_end)) return NULL;
    if (p->how.si_code == CLD_EXITED)
        fail("%s ended by itself, with status %d", p->name, p->how.si_status);
    fail("%s was ended by signal %d (%s)", p->name, p->how.si_status, strsignal(p->how.si_status));
}

static pid_t spawn(const char *const *arguments, int channel)
{
    char *argv[ARGUMENTS_MAX + 1] = {program_invocation_name};
    for (int i = 0; arguments[i] != NULL && i + 1 < ARGUMENTS_MAX; i++)
        argv[i + 1] = (char *)(uintptr_t)arguments[i];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, channel, CHANNEL);
    pid_t pid;
    int rc = posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (rc != 0) fail("cannot start another process: %s", strerror(rc));
    return pid;
}

struct node_process *node_process_start(const char *name, const char *const *arguments)
{
    struct node_process *p = calloc(1, sizeof *p);
    int ends[2];
    if (p == NULL) fail("no memory");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        fail("socketpair: %s", strerror(errno));
    snprintf(p->name, sizeof p->name, "%s", name);
    p->channel = ends[0];
    p->pid = spawn(arguments, ends[1]);
    close(ends[1]);
    if (pthread_create(&p->watcher, NULL, watch, p) != 0) fail("cannot start a thread");
    return p;
}

/* A process that has gone is the watcher's to report: it knows how. */
static _Noreturn void no_answer(const struct node_process *p, const char *what)
{
    sleep(1);
    fail("%s: %s", p->name, what);
}

void node_process_ask(struct node_process *p, const struct node_question *question, void *answer,
                      size_t bytes, double seconds)
{
    struct pollfd readable = {.fd = p->channel, .events = POLLIN};
    if (send(p->channel, question, sizeof *question, MSG_NOSIGNAL) < 0)
        no_answer(p, "cannot be asked");
    int count;
    while ((count = poll(&readable, 1, (int)(seconds * 1000))) < 0 && errno == EINTR) {
    }
    if (count == 0) fail("%s has not answered for %.0f s", p->name, seconds);
    ssize_t got = recv(p->channel, answer, bytes, 0);
    if (got != (ssize_t)bytes) no_answer(p, "gives no answer");
}

struct node_figures node_process_figures(struct node_process *p)
{
    struct node_figures f;
    node_process_ask(p, &(struct node_question){.what = NODE_FIGURES}, &f, sizeof f, 10);
    return f;
}

void node_process_dismiss(struct node_process *p)
{
    atomic_store(&p->may_end, true);
}

void node_process_end(struct node_process *p, double seconds)
{
    struct timespec until;
    node_process_dismiss(p);
    close(p->channel);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)seconds;
    if (pthread_timedjoin_np(p->watcher, NULL, &until) != 0) {
        fprintf(stderr, "%s: %s has not ended after %.0f s: killed\n",
                program_invocation_short_name, p->name, seconds);
        kill(p->pid, SIGKILL);
        pthread_join(p->watcher, NULL);
    }
    waitpid(p->pid, NULL, 0);
    bool by_itself = p->how.si_code == CLD_EXITED;
    if (!by_itself || p->how.si_status != 0)
        fail("%s ended with %s %d", p->name, by_itself ? "status" : "signal", p->how.si_status);
    free(p);
}

static void end_all(int signal)
{
    static const char sentence[] = "not done after all the time that it may take: ended\n";
    (void)signal;
    _exit(write(STDERR_FILENO, sentence, sizeof sentence - 1) < 0 ? 2 : 1);
}

void node_process_limit(double seconds)
{
    signal(SIGALRM, end_all);
    alarm((unsigned)seconds);
}

/* ---- A port ---- */

static bool is_free(unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool free = s >= 0 && bind(s, (struct sockaddr *)&address, sizeof address) == 0;
    if (s >= 0) close(s);
    return free;
}

unsigned node_process_port(void)
{
    enum { FIRST = 20000, COUNT = 12000 };
    uint64_t start = clock_ns() / 1000 + (uint64_t)getpid() * 97;
    for (uint64_t i = 0; i < TRIES; i++) {
        unsigned port = FIRST + (unsigned)((start + i * 61) % COUNT);
        if (is_free(port)) return port;
    }
    fail("found no free port on 127.0.0.1");
}

/* ---- The other side ---- */

bool node_process_is(int argc, char **argv, const char *what)
{
    if (argc < 2 || strcmp(argv[1], what) != 0) return false;
    fail_set_program(program_invocation_short_name);
    /* At once when the parent dies, even if the thread that reads the channel does not get to
     * run. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    fcntl(CHANNEL, F_SETFD, FD_CLOEXEC);
    return true;
}

void node_process_question(struct node_question *q)
{
    ssize_t got;
    while ((got = recv(CHANNEL, q, sizeof *q, 0)) < 0 && errno == EINTR) {
    }
    if (got != (ssize_t)sizeof *q) _exit(0);
}

void node_process_answer(const void *answer, size_t bytes)
{
    if (send(CHANNEL, answer, bytes, MSG_NOSIGNAL) < 0) _exit(0);
}
