#include "remote.h"

#include "clock.h"
#include "say.h"
#include "ssh.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int spawn(struct remote *r, char **argv, const int in[2], const int out[2])
{
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
    int rc = posix_spawnp(&r->pid, argv[0], &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    if (rc == 0) return 0;
    r->pid = 0;
    return say_and(STATUS_FAILED, "%s cannot be started: %s", argv[0], strerror(rc));
}

int remote_start(struct remote *r, const struct host *host, const char *ssh, const char *keeper)
{
    struct ssh_words words = {0};
    int in[2], out[2], rc = ssh_command(&words, ssh, host->name, keeper, AGENT_COMMAND);
    *r = (struct remote){.host = host, .to = -1, .from = -1};
    if (rc) return rc;
    if (pipe2(in, O_CLOEXEC)) return say_and(STATUS_FAILED, "no pipe: %s", strerror(errno));
    if (pipe2(out, O_CLOEXEC)) {
        close(in[0]);
        close(in[1]);
        return say_and(STATUS_FAILED, "no pipe: %s", strerror(errno));
    }
    rc = spawn(r, words.argv, in, out);
    close(in[0]);
    close(out[1]);
    r->to = in[1];
    r->from = out[0];
    return rc;
}

bool remote_lives(const struct remote *r)
{
    return r->pid != 0;
}

void remote_tell(struct remote *r, const char *format, ...)
{
    char line[AGENT_LINE_MAX];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    /* one that has ended is noticed when it is heard */
    if (n > 0 && write(r->to, line, (size_t)n) < 0) return;
}

static void reap(struct remote *r)
{
    int status = 0;
    if (!r->pid) return;
    waitpid(r->pid, &status, 0);
    r->pid = 0;
    r->status = WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_SIGNAL + WTERMSIG(status);
}

/* False: there is no whole line. One that is too long counts as one. */
static bool take_line(struct remote *r, char line[AGENT_LINE_MAX])
{
    const char *end = memchr(r->text, '\n', r->have);
    size_t n = end ? (size_t)(end - r->text) : r->have;
    if (!end && r->have < sizeof r->text) return false;
    snprintf(line, AGENT_LINE_MAX, "%.*s", (int)(n < AGENT_LINE_MAX ? n : AGENT_LINE_MAX - 1),
             r->text);
    if (end) n++;
    r->have -= n;
    memmove(r->text, r->text + n, r->have);
    return true;
}

bool remote_hear(struct remote *r, char line[AGENT_LINE_MAX], double timeout_s)
{
    double until_s = clock_s() + timeout_s;
    struct pollfd p = {.fd = r->from, .events = POLLIN};
    while (r->pid) {
        if (take_line(r, line)) return true;
        if (poll(&p, 1, clock_poll_ms(until_s)) == 0) {
            kill(r->pid, SIGKILL);
            reap(r);
            r->status = -1;
            break;
        }
        ssize_t n = read(r->from, r->text + r->have, sizeof r->text - r->have);
        if (n > 0)
            r->have += (size_t)n;
        else if (n == 0 || errno != EINTR)
            reap(r);
    }
    return false;
}

void remote_end(struct remote *r)
{
    if (r->to >= 0) close(r->to);
    if (r->from >= 0) close(r->from);
    if (r->pid) kill(r->pid, SIGTERM);
    reap(r);
}
