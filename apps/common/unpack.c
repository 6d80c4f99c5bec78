#include "unpack.h"

#include "fail.h"
#include "lines.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MAGIC_BYTES = 6, FILES_MAX = 64 };

static const struct tool {
    const char *name, *magic;
    size_t bytes;
} tools[] = {{"gzip", "\x1f\x8b", 2},
             {"xz",
              "\xfd"
              "7zXZ\0",
              6},
             {"zstd", "\x28\xb5\x2f\xfd", 4}};

/* Those that are there already. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct unpacked {
    struct stat about;
    int fd;
} files[FILES_MAX];
static size_t file_count;
static int of_stdin = -1;

static const struct tool *tool_of(int fd)
{
    char magic[MAGIC_BYTES];
    ssize_t n = pread(fd, magic, sizeof magic, 0);
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        if (n >= (ssize_t)tools[i].bytes && memcmp(magic, tools[i].magic, tools[i].bytes) == 0)
            return &tools[i];
    return NULL;
}

int unpack_nameless(void)
{
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder) folder = "/tmp";
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) fail("%s: a file for what is read: %s", folder, strerror(errno));
    return fd;
}

void unpack_write(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t n = write(fd, bytes, count);
        if (n < 0) fail("a copy of what is read: %s", strerror(errno));
        bytes += n;
        count -= (size_t)n;
    }
}

static int run(const struct tool *tool, const char *path, int fd)
{
    char *argv[] = {(char *)(uintptr_t)tool->name, (char *)(uintptr_t) "-dc", NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int to = unpack_nameless(), status = 0;
    if (lseek(fd, 0, SEEK_SET) < 0 || posix_spawn_file_actions_init(&actions) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO) != 0)
        fail("%s: it cannot be decompressed: %s", path, strerror(errno));
    int rc = posix_spawnp(&child, tool->name, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (rc != 0)
        fail("%s is compressed by %s, which does not start here: %s; install it, or decompress the "
             "file",
             path, tool->name, strerror(rc));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) fail("%s: waiting for %s: %s", path, tool->name, strerror(errno));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail("%s: %s could not decompress it: it is damaged, or TMPDIR has no room", path,
             tool->name);
    return to;
}

static int copy_of(const char *path, int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) fail("%s: %s", path, strerror(errno));
    return copy;
}

int unpack(const char *path, int fd, const struct stat *about)
{
    const struct tool *tool = tool_of(fd);
    size_t i = 0;
    if (!tool) return copy_of(path, fd);
    pthread_mutex_lock(&mutex);
    while (i < file_count && !lines_is_same(&files[i].about, about)) i++;
    if (i == FILES_MAX) fail("%s is one compressed file too many: decompress some", path);
    if (i == file_count) {
        files[i] = (struct unpacked){*about, run(tool, path, fd)};
        file_count++;
    }
    int copy = copy_of(path, files[i].fd);
    pthread_mutex_unlock(&mutex);
    return copy;
}

static int spool(void)
{
    char bytes[1 << 16];
    int to = unpack_nameless();
    for (ssize_t n; (n = read(STDIN_FILENO, bytes, sizeof bytes)) != 0;) {
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail("stdin: %s", strerror(errno));
        unpack_write(to, bytes, (size_t)n);
    }
    const struct tool *tool = tool_of(to);
    return tool ? run(tool, "stdin", to) : to;
}

int unpack_stdin(void)
{
    pthread_mutex_lock(&mutex);
    if (of_stdin < 0) of_stdin = spool();
    int copy = copy_of("stdin", of_stdin);
    pthread_mutex_unlock(&mutex);
    return copy;
}
