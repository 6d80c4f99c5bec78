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

#define OURS "locus-"

/* ---- finding ---- */

static bool is_executable(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode) && access(path, X_OK) == 0;
}

/* The folder of this command; false: unknown. */
static bool find_here(char here[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", here, PATH_MAX - 1);
    if (n <= 0) return false;
    here[n] = 0;
    *strrchr(here, '/') = 0;
    return true;
}

static bool is_in(char path[PATH_MAX], const char *folder, int length, const char *prefix,
                  const char *name)
{
    int n = snprintf(path, PATH_MAX, "%.*s/%s%s", length, folder, prefix, name);
    return n < PATH_MAX && is_executable(path);
}

/* As a shell does: an empty part is where we are. */
static bool is_in_path(char path[PATH_MAX], const char *prefix, const char *name)
{
    const char *all = getenv("PATH");
    for (const char *at = all ? all : "/bin:/usr/bin", *end; *at; at = end + (*end == ':')) {
        end = at + strcspn(at, ":");
        int length = (int)(end - at);
        if (is_in(path, length ? at : ".", length ? length : 1, prefix, name)) return true;
    }
    return false;
}

bool program_find_ours(const char *name, char path[PATH_MAX])
{
    char here[PATH_MAX];
    return (find_here(here) && is_in(path, here, (int)strlen(here), OURS, name)) ||
           is_in_path(path, OURS, name);
}

/* The programs that come with this command are installed beside it as locus-NAME, so that their
 * names are taken from nobody; documents call them NAME. */
static int find_by_name(const char *name, char path[PATH_MAX])
{
    char here[PATH_MAX];
    struct stat s;
    bool is_known = find_here(here);
    if (is_known && is_in(path, here, (int)strlen(here), OURS, name)) return 0;
    if (is_in_path(path, "", name) || is_in_path(path, OURS, name)) return 0;
    if (is_known && is_in(path, here, (int)strlen(here), "", name)) return 0;
    bool is_here = stat(name, &s) == 0 && S_ISREG(s.st_mode);
    return say_and(
        STATUS_NOT_FOUND, "there is no program \"%s\", nor " OURS "%s, in the folders of PATH%s%s",
        name, name, is_here ? "; for the one in this folder write ./" : "", is_here ? name : "");
}

int program_find(const char *name, char path[PATH_MAX])
{
    struct stat s;
    if (!strchr(name, '/')) return find_by_name(name, path);
    if (snprintf(path, PATH_MAX, "%s", name) >= PATH_MAX)
        return say_and(STATUS_NOT_FOUND, "the path \"%.100s...\" is too long", name);
    if (stat(name, &s))
        return say_and(STATUS_NOT_FOUND, "there is no program \"%s\": %s", name, strerror(errno));
    if (is_executable(name)) return 0;
    return say_and(STATUS_NOT_EXECUTABLE, "\"%s\" is not a program: %s", name,
                   S_ISDIR(s.st_mode) ? "it is a folder" : "it may not be executed (chmod +x)");
}

/* ---- starting ---- */

static _Noreturn void become(const char *path, char **argv, int failure, pid_t parent)
{
    signals_default();
    setpgid(0, 0);
    /* The parent may have died before it could be noticed. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent) _exit(STATUS_FAILED);
    signals_unblock();
    execvp(path, argv);
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

int program_start(char **argv, pid_t *pid)
{
    char path[PATH_MAX];
    int ends[2], rc = program_find(argv[0], path);
    if (rc) return rc;
    if (pipe2(ends, O_CLOEXEC)) return failed(argv[0], errno);
    pid_t parent = getpid();
    fflush(NULL);
    signals_block();
    *pid = fork();
    if (*pid == 0) become(path, argv, ends[1], parent);
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
