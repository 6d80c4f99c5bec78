#include "checkpoint/files.h"

#include "locus.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int result_of(int rc)
{
    return rc < 0 ? -errno : rc;
}

/* A pipe that nobody writes to would be waited for without end, and a device may have none. */
static int open_file(int folder, const char *path, int flags)
{
    struct stat about;
    int more = O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (folder == FILES_HERE ? 0 : O_NOFOLLOW);
    int fd = openat(folder, path, flags | more, 0666);
    if (fd < 0) return errno == ENXIO || errno == ELOOP ? FILES_IRREGULAR : -errno;
    int rc = fstat(fd, &about) ? -errno : S_ISREG(about.st_mode) ? fd : FILES_IRREGULAR;
    if (rc < 0) close(fd);
    return rc;
}

const char *files_strerror(int rc)
{
    return rc == FILES_IRREGULAR ? "it is no regular file" : locus_strerror(rc);
}

static int close_file(int fd)
{
    return result_of(close(fd));
}

static ssize_t read_file(int fd, void *to, size_t bytes, uint64_t at)
{
    ssize_t n;
    do n = pread(fd, to, bytes, (off_t)at);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

static ssize_t write_file(int fd, const void *from, size_t bytes, uint64_t at)
{
    ssize_t n;
    do n = pwrite(fd, from, bytes, (off_t)at);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

static void begin_sync(int fd, uint64_t at, uint64_t bytes)
{
    sync_file_range(fd, (off_t)at, (off_t)bytes, SYNC_FILE_RANGE_WRITE);
}

static void begin_read(int fd, uint64_t at, uint64_t bytes)
{
    posix_fadvise(fd, (off_t)at, (off_t)bytes, POSIX_FADV_WILLNEED);
}

static int sync_file(int fd)
{
    return result_of(fsync(fd));
}

static int64_t size_of(int fd)
{
    struct stat about;
    return fstat(fd, &about) ? -errno : about.st_size;
}

static int make_folder(const char *path)
{
    return result_of(mkdir(path, 0777));
}

static int sync_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 || fsync(fd) ? -errno : 0;
    if (fd >= 0) close(fd);
    return rc;
}

static int open_folder(int folder, const char *path)
{
    int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (folder == FILES_HERE ? 0 : O_NOFOLLOW);
    return result_of(openat(folder, path, flags));
}

static int list(int folder, files_each *each, void *context)
{
    int fd = open_folder(folder, "."), rc = 0;
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) return fd < 0 ? fd : -errno;
    for (const struct dirent *e; rc == 0 && (e = readdir(d));) rc = each(context, e->d_name);
    closedir(d);
    return rc;
}

static int rename_file(int folder, const char *from, const char *to)
{
    return result_of(renameat(folder, from, folder, to));
}

static int remove_file(int folder, const char *name)
{
    struct stat about;
    if (fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW)) return -errno;
    return S_ISREG(about.st_mode) ? result_of(unlinkat(folder, name, 0)) : FILES_IRREGULAR;
}

static int remove_folder(int folder, const char *name)
{
    return result_of(unlinkat(folder, name, AT_REMOVEDIR));
}

static int is_there(const char *path)
{
    if (access(path, F_OK) == 0) return 1;
    return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
}

static const struct files of_the_system = {
    .open = open_file,
    .open_folder = open_folder,
    .close = close_file,
    .read = read_file,
    .write = write_file,
    .begin_sync = begin_sync,
    .begin_read = begin_read,
    .sync = sync_file,
    .size = size_of,
    .make_folder = make_folder,
    .sync_folder = sync_folder,
    .list = list,
    .rename = rename_file,
    .remove = remove_file,
    .remove_folder = remove_folder,
    .is_there = is_there,
};

const struct files *files = &of_the_system;

ssize_t files_read(int fd, void *to, size_t bytes, uint64_t at)
{
    size_t done = 0;
    while (done < bytes) {
        ssize_t n = files->read(fd, (char *)to + done, bytes - done, at + done);
        if (n < 0) return n;
        if (n == 0) break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

int files_write(int fd, const void *from, size_t bytes, uint64_t at)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = files->write(fd, (const char *)from + done, bytes - done, at + done);
        if (n <= 0) return n < 0 ? (int)n : -EIO;
        done += (size_t)n;
    }
    return 0;
}
