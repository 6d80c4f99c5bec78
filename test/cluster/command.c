#include "command.h"

#include <dirent.h>
#include <errno.h>
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

static void make_mark(struct command *c)
{
    static unsigned next;
    unsigned n = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
    snprintf(c->mark, sizeof c->mark, "LOCUS_TEST_MARK=%ld-%u-%.0f", (long)getpid(), n,
             now_s() * 1e3);
}

static _Noreturn void become_shell(const struct command *c, const char *text)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_DFL); /* a shell that started us in the background ignores it */
    signal(SIGHUP, SIG_DFL); /* nohup does */
    putenv(strdup(c->mark));
    execl("/bin/sh", "sh", "-c", text, (char *)NULL);
    _exit(127);
}

/* Several processes write there; without O_APPEND they would overwrite each other's lines. */
static int open_file(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_EQ(fcntl(fd, F_SETFL, O_APPEND), 0);
    return fd;
}

static void start_with_files(struct command *c, const char *text)
{
    c->out.fd = open_file("stdout");
    c->err.fd = open_file("stderr");
    c->pid = fork();
    CHECK(c->pid >= 0);
    if (c->pid) return;
    int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(c->out.fd, STDOUT_FILENO);
    dup2(c->err.fd, STDERR_FILENO);
    become_shell(c, text);
}

static void start(struct command *c, const char *format, va_list arguments)
{
    char text[4096];
    CHECK(vsnprintf(text, sizeof text, format, arguments) < (int)sizeof text);
    memset(c, 0, sizeof *c);
    make_mark(c);
    fflush(NULL);
    start_with_files(c, text);
}

void command_start(struct command *c, enum command_kind kind, const char *format, ...)
{
    va_list arguments;
    (void)kind;
    va_start(arguments, format);
    start(c, format, arguments);
    va_end(arguments);
}

/* ---- what it prints ---- */

static void read_file(struct printed *p)
{
    ssize_t n = pread(p->fd, p->text + p->length, sizeof p->text - 1 - p->length, (off_t)p->length);
    if (n > 0) p->length += (size_t)n;
    p->text[p->length] = '\0';
}

static void read_all(struct command *c)
{
    read_file(&c->out);
    read_file(&c->err);
}

static void show(const struct command *c)
{
    printf("--- stdout\n%s\n--- stderr\n%s\n---\n", c->out.text, c->err.text);
    fflush(stdout);
}

void command_await(struct command *c, struct printed *p, const char *text)
{
    double end = now_s() + HANG_S;
    for (read_all(c); !strstr(p->text, text); read_all(c)) {
        if (now_s() > end) {
            show(c);
            test_fail(__FILE__, __LINE__, "\"%s\" was not printed", text);
        }
        sleep_s(0.01);
    }
}

/* ---- its end ---- */

void command_signal(const struct command *c, int signal)
{
    CHECK_EQ(kill(c->pid, signal), 0);
}

int command_wait(struct command *c)
{
    int status;
    double end = now_s() + HANG_S;
    while (waitpid(c->pid, &status, WNOHANG) == 0) {
        read_all(c);
        if (now_s() > end) {
            show(c);
            test_fail(__FILE__, __LINE__, "the command does not end");
        }
        sleep_s(0.002);
    }
    read_all(c);
    close(c->out.fd);
    close(c->err.fd);
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
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    CHECK(vsnprintf(text, sizeof text, format, arguments) < (int)sizeof text);
    va_end(arguments);
    int status = command_run(c, "%s", text);
    if (status)
        test_fail(__FILE__, __LINE__, "%s: status %d: %s%s", text, status, c->out.text,
                  c->err.text);
}

/* ---- what it leaves ---- */

static bool has_mark(pid_t pid, const char *mark)
{
    char path[64], text[16384];
    snprintf(path, sizeof path, "/proc/%ld/environ", (long)pid);
    FILE *f = fopen(path, "re");
    if (!f) return false;
    size_t n = fread(text, 1, sizeof text, f);
    fclose(f);
    return memmem(text, n, mark, strlen(mark)) != NULL; /* of one that has ended it is empty */
}

void command_for_each(const struct command *c, void (*visit)(void *context, pid_t), void *context)
{
    DIR *all = opendir("/proc");
    CHECK(all != NULL);
    for (const struct dirent *e; (e = readdir(all));) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        if (pid > 0 && has_mark(pid, c->mark)) visit(context, pid);
    }
    closedir(all);
}

static void count(void *context, pid_t pid)
{
    (void)pid;
    ++*(int *)context;
}

int command_left(const struct command *c, double seconds)
{
    double end = now_s() + seconds;
    int n;
    do {
        n = 0;
        command_for_each(c, count, &n);
        if (n) sleep_s(0.02);
    } while (n && now_s() < end);
    return n;
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
