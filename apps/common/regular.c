#include "regular.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char irregular[] = "it is not a regular file";

int regular_open(const char *path, const char **why)
{
    struct stat about;
    /* that a pipe has no writer is no reason to wait; a socket cannot even be opened */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &about))
        *why = errno == ENXIO ? irregular : strerror(errno);
    else if (S_ISDIR(about.st_mode))
        *why = "it is a folder, not a file";
    else if (!S_ISREG(about.st_mode))
        *why = irregular;
    else
        return fd;
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
