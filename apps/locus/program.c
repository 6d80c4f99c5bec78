#include "program.h"

#include "say.h"
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- finding ---- */

static bool is_executable(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode) && access(path, X_OK) == 0;
}

void program_look_beside(void)
{
    const char *path = getenv("PATH");
    char here[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", here, sizeof here - 1);
    if (n <= 0) return;
    here[n] = 0;
    *strrchr(here, '/') = 0;
    if (!path) path = "/bin:/usr/bin";
    size_t bytes = strlen(path) + strlen(here) + 2;
    char *both = malloc(bytes);
    if (!both) return;
    snprintf(both, bytes, "%s:%s", path, here);
    setenv("PATH", both, 1);
    free(both);
}

static int find_in_path(const char *name)
{
    const char *path = getenv("PATH");
    char file[PATH_MAX];
    for (const char *at = path ? path : "/bin:/usr/bin", *end; *at; at = end + (*end == ':')) {
        end = at + strcspn(at, ":");
        int length = end > at ? (int)(end - at) : 1;
        int n = snprintf(file, sizeof file, "%.*s/%s", length, end > at ? at : ".", name);
        if (n < (int)sizeof file && is_executable(file)) return 0;
    }
    return say_and(STATUS_NOT_FOUND, "there is no program \"%s\" in the folders of PATH", name);
}

int program_find(const char *name)
{
    struct stat s;
    if (!strchr(name, '/')) return find_in_path(name);
    if (stat(name, &s))
        return say_and(STATUS_NOT_FOUND, "there is no program \"%s\": %s", name, strerror(errno));
    if (is_executable(name)) return 0;
    return say_and(STATUS_NOT_EXECUTABLE, "\"%s\" is not a program: %s", name,
                   S_ISDIR(s.st_mode) ? "it is a folder" : "it may not be executed (chmod +x)");
}

/* ---- starting ---- */

static _Noreturn void become(char **argv, int input, int failure, pid_t parent)
{
    signals_default();
    setpgid(0, 0);
    /* The parent may have died before it could be noticed. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent) _exit(STATUS_FAILED);
    if (input < 0 || dup2(input, STDIN_FILENO) == STDIN_FILENO) {
        signals_unblock();
        execvp(argv[0], argv);
    }
    int error = errno;
    if (write(failure, &error, sizeof error) < 0) _exit(STATUS_FAILED);
    _exit(STATUS_NOT_FOUND);
}

/* The error of an exec that failed; 0 when it has closed the pipe. */
static int read_failure(int fd)
{
    int error;
    ssize_t n;
    do n = read(fd, &error, sizeof error);
    while (n < 0 && errno == EINTR);
    return n == sizeof error ? error : 0;
}

static int failed(const char *name, int error)
{
    int status = error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
    return say_and(status, "\"%s\" cannot be started: %s", name, strerror(error));
}

int program_start(char **argv, int input, pid_t *pid)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) return failed(argv[0], errno);
    pid_t parent = getpid();
    fflush(NULL);
    signals_block();
    *pid = fork();
    if (*pid == 0) become(argv, input, ends[1], parent);
    int error = *pid < 0 ? errno : 0;
    signals_unblock();
    close(ends[1]);
    if (*pid > 0) {
        setpgid(*pid, *pid); /* whoever comes first */
        error = read_failure(ends[0]);
        if (error) waitpid(*pid, NULL, 0);
    }
    close(ends[0]);
    return error ? failed(argv[0], error) : 0;
}
