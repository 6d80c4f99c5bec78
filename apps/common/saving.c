#include "saving.h"

#include "fail.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *copy_of(const char *text)
{
    size_t bytes = strlen(text) + 1;
    return memcpy(take_memory(bytes, 1), text, bytes);
}

/* ---- before ---- */

static void check_folder_of(const char *path)
{
    char *copy = copy_of(path);
    const char *folder = dirname(copy);
    struct stat about;
    if (stat(folder, &about) != 0) fail("%s: the folder %s: %s", path, folder, strerror(errno));
    if (!S_ISDIR(about.st_mode)) fail("%s: %s is no folder", path, folder);
    if (access(folder, W_OK | X_OK) != 0) fail("%s: the folder %s: %s", path, folder, strerror(errno));
    free(copy);
}

/* The file at `path` behind all links, or, when there is none yet, `path`. free() it. */
static char *behind_links(const char *path)
{
    struct stat about;
    char *real = realpath(path, NULL);
    if (real) return real;
    if (errno != ENOENT) fail("%s: %s", path, strerror(errno));
    if (lstat(path, &about) == 0 && S_ISLNK(about.st_mode)) fail("%s is a link to what does not exist", path);
    return copy_of(path);
}

static void check_one(const char *path)
{
    struct stat about;
    char *real = behind_links(path);
    bool exists = stat(real, &about) == 0;
    if (exists && S_ISDIR(about.st_mode)) fail("%s is a folder, not a file", path);
    if (exists && access(real, W_OK) != 0) fail("%s: %s", path, strerror(errno));
    if (!exists || S_ISREG(about.st_mode)) check_folder_of(real);
    free(real);
}

static bool are_one_file(const char *a, const char *b)
{
    struct stat x, y;
    if (stat(a, &x) != 0 || stat(b, &y) != 0) return strcmp(a, b) == 0;
    return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

void saving_check(const char *const *outputs, size_t output_count, const char *const *inputs, size_t input_count)
{
    for (size_t i = 0; i < output_count; i++) {
        if (!outputs[i]) continue;
        check_one(outputs[i]);
        for (size_t j = 0; j < input_count; j++) {
            if (inputs[j] && are_one_file(outputs[i], inputs[j]))
                fail("%s is read as well as written: write another file", outputs[i]);
        }
        for (size_t j = 0; j < i; j++) {
            if (outputs[j] && are_one_file(outputs[i], outputs[j])) fail("%s is to be written twice", outputs[i]);
        }
    }
}

/* ---- writing ---- */

static _Noreturn void give_up(const struct saving *s)
{
    fail("%s: %s", s->path, strerror(errno));
}

enum { NAMES_MAX = 100, NAME_ENDING_BYTES = 32 };

/* Beside what it will replace, with that one's mode; a new file has the mode that the process gives to new ones. */
static int open_partial(struct saving *s, const struct stat *old)
{
    size_t bytes = strlen(s->path) + NAME_ENDING_BYTES;
    int fd = -1;
    s->partial = take_memory(bytes, 1);
    for (int i = 0; fd < 0 && i < NAMES_MAX; i++) {
        snprintf(s->partial, bytes, "%s.%d-%d", s->path, (int)getpid(), i);
        fd = open(s->partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST) break;
    }
    if (fd < 0) give_up(s);
    fail_removes(s->partial);
    if (old && fchmod(fd, old->st_mode & 0777) != 0) give_up(s);
    return fd;
}

void saving_open(struct saving *s, const char *path)
{
    struct stat about;
    *s = (struct saving){.path = behind_links(path)};
    bool exists = stat(s->path, &about) == 0;
    bool is_replaced = !exists || S_ISREG(about.st_mode);
    int fd = is_replaced ? open_partial(s, exists ? &about : NULL) : open(s->path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0) s->file = fdopen(fd, "wb");
    if (!s->file) give_up(s);
}

void saving_put(struct saving *s, const void *bytes, size_t count)
{
    if (count && fwrite(bytes, 1, count, s->file) != count) give_up(s);
}

void saving_close(struct saving *s)
{
    if (ferror(s->file) || fflush(s->file) != 0) give_up(s);
    if (s->partial && fsync(fileno(s->file)) != 0) give_up(s);
    if (fclose(s->file) != 0) give_up(s);
    if (s->partial && rename(s->partial, s->path) != 0) give_up(s);
    fail_removes(NULL);
    free(s->path);
    free(s->partial);
    *s = (struct saving){0};
}
