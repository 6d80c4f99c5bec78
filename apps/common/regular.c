#include "regular.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* NULL: it is a regular file. */
static const char *wrong_kind(mode_t mode)
{
    if (S_ISREG(mode)) return NULL;
    if (S_ISDIR(mode)) return "it is a folder, not a file";
    if (S_ISFIFO(mode)) return "it is a pipe, not a regular file";
    return "it is a device, not a regular file";
}

int regular_open(const char *path, const char **why)
{
    struct stat about;
    /* that a pipe has no writer is no reason to wait */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool is_known = fd >= 0 && fstat(fd, &about) == 0;
    /* a socket cannot even be opened */
    *why = is_known         ? wrong_kind(about.st_mode)
           : errno == ENXIO ? "it is a socket, not a regular file"
                            : strerror(errno);
    if (!*why) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

FILE *regular_stream(const char *path, const char **why)
{
    int fd = regular_open(path, why);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
    if (fd >= 0 && !f) {
        *why = strerror(errno);
        close(fd);
    }
    return f;
}
