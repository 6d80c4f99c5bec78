#include "command.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- starting ---- */

/* Several processes write there; without O_APPEND they would overwrite each other's lines. */
static int open_file(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_EQ(fcntl(fd, F_SETFL, O_APPEND), 0);
    return fd;
}

static void start(struct command *c, const char *format, va_list arguments)
{
    int n = vsnprintf(c->line, sizeof c->line, format, arguments);
    CHECK(n < (int)sizeof c->line);
    c->out.fd = open_file("stdout");
    c->err.fd = open_file("stderr");
    fflush(NULL);
    c->pid = fork();
    CHECK(c->pid >= 0);
    if (c->pid) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    dup2(c->out.fd, STDOUT_FILENO);
    dup2(c->err.fd, STDERR_FILENO);
    execl("/bin/sh", "sh", "-c", c->line, (char *)NULL);
    _exit(127);
}

void command_start(struct command *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    start(c, format, arguments);
    va_end(arguments);
}

/* ---- its end ---- */

static void read_file(struct printed *p)
{
    ssize_t n = pread(p->fd, p->text, sizeof p->text - 1, 0);
    p->text[n > 0 ? n : 0] = '\0';
    close(p->fd);
}

void command_signal(const struct command *c, int signal)
{
    CHECK_EQ(kill(c->pid, signal), 0);
}

int command_wait(struct command *c)
{
    int status;
    double end = now_s() + HANG_S;
    bool has_ended = false;
    while (!has_ended && now_s() < end) {
        has_ended = waitpid(c->pid, &status, WNOHANG) != 0;
        if (!has_ended) sleep_s(0.002);
    }
    read_file(&c->out);
    read_file(&c->err);
    if (!has_ended)
        test_fail(__FILE__, __LINE__, "the command does not end: %s%s", c->out.text, c->err.text);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int command_run(struct command *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    start(c, format, arguments);
    va_end(arguments);
    return command_wait(c);
}

void command_must(struct command *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    start(c, format, arguments);
    va_end(arguments);
    int status = command_wait(c);
    if (status)
        test_fail(__FILE__, __LINE__, "%s: status %d: %s%s", c->line, status, c->out.text,
                  c->err.text);
}

/* ---- programs ---- */

static void self(char path[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    CHECK(n > 0);
    path[n] = '\0';
}

/* build/VARIANT/test/cluster -> build/VARIANT/bin/locus */
const char *locus_path(void)
{
    static char path[PATH_MAX + 16];
    char test[PATH_MAX];
    self(test);
    for (int i = 0; i < 2; i++) *strrchr(test, '/') = '\0';
    snprintf(path, sizeof path, "%s/bin/locus", test);
    CHECK_EQ(access(path, X_OK), 0);
    return path;
}

const char *source_path(const char *file)
{
    static char path[2 * PATH_MAX];
    char top[PATH_MAX];
    self(top);
    for (int i = 0; i < 4; i++) *strrchr(top, '/') = '\0';
    snprintf(path, sizeof path, "%s/%s", top, file);
    CHECK_EQ(access(path, R_OK), 0);
    return path;
}

const char *role_command(const char *role)
{
    static char text[PATH_MAX + 64];
    char path[PATH_MAX];
    self(path);
    snprintf(text, sizeof text, "%s --role %s", path, role);
    return text;
}
