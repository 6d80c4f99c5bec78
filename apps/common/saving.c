#include "saving.h"

#include "fail.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

/* The file at `path` behind all links, or, when there is none yet, `path`. What is no regular file
 * may have no other name. free() it. */
static char *behind_links(const char *path)
{
    struct stat about;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) return copy_of(path);
    char *real = realpath(path, NULL);
    if (real) return real;
    if (errno != ENOENT) fail("%s: %s", path, strerror(errno));
    if (lstat(path, &about) == 0 && S_ISLNK(about.st_mode))
        fail("%s is a link to what does not exist", path);
    return copy_of(path);
}

enum { NAMES_MAX = 100, NAME_STEM_MAX = 200, NAME_ENDING_BYTES = 32 };

/* The i-th name beside `path` that only this process has. free() it. */
static char *name_beside(const char *path, int i)
{
    size_t folder = strrchr(path, '/') ? (size_t)(strrchr(path, '/') - path) + 1 : 0;
    size_t bytes = strlen(path) + NAME_ENDING_BYTES;
    char *name = take_memory(bytes, 1);
    snprintf(name, bytes, "%.*s%.*s.%d-%d", (int)folder, path, NAME_STEM_MAX, path + folder,
             (int)getpid(), i);
    return name;
}

/* A new file beside `path`, for fail_removes(); sets its name, to be free()d. Negative: none, says
 * errno. */
static int open_beside(const char *path, char **name)
{
    int fd = -1;
    *name = NULL;
    for (int i = 0; fd < 0 && i < NAMES_MAX; i++) {
        free(*name);
        *name = name_beside(path, i);
        fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST) break;
    }
    if (fd >= 0) fail_removes(*name);
    return fd;
}

/* In a folder like /tmp nobody may replace a file of somebody else's, whatever its mode. */
static bool may_be_replaced(const char *path, const struct stat *old)
{
    struct stat folder;
    char *copy = copy_of(path);
    bool known = stat(dirname(copy), &folder) == 0;
    free(copy);
    uid_t us = geteuid();
    return !known || !(folder.st_mode & S_ISVTX) || us == 0 || old->st_uid == us ||
           folder.st_uid == us;
}

static _Noreturn void refuse(const char *path, int error)
{
    struct stat about;
    const char *folder = dirname(copy_of(path));
    if (stat(folder, &about) != 0 || error == EACCES || error == EROFS)
        fail("%s: the folder %s: %s", path, folder, strerror(error));
    fail("%s: %s", path, strerror(error));
}

/* Writing is tried: folders refuse for many reasons. */
static void try_beside(const char *path)
{
    char *name;
    int fd = open_beside(path, &name);
    if (fd < 0) refuse(path, errno);
    close(fd);
    unlink(name);
    fail_removes(NULL);
    free(name);
}

enum { LOOKS_FOR_READER = 20, LOOK_EACH_MS = 50 };

/* A pipe for writing, once somebody reads from it, who was perhaps started beside us. */
static int open_pipe(const char *path)
{
    int fd = -1;
    for (int i = 0; i < LOOKS_FOR_READER; i++) {
        if (i > 0) usleep(LOOK_EACH_MS * 1000);
        fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0 || errno != ENXIO) break;
    }
    if (fd < 0 && errno == ENXIO)
        fail("%s is a pipe from which nobody reads: begin to read before, or write a file", path);
    if (fd < 0 || fcntl(fd, F_SETFL, 0) != 0) fail("%s: %s", path, strerror(errno));
    return fd;
}

static void check_one(const char *path)
{
    struct stat about;
    char *real = behind_links(path);
    bool exists = stat(real, &about) == 0;
    if (exists && S_ISDIR(about.st_mode)) fail("%s is a folder, not a file", path);
    if (exists && S_ISSOCK(about.st_mode)) fail("%s is a socket, not a file", path);
    if (exists && access(real, W_OK) != 0) fail("%s: %s", path, strerror(errno));
    if (exists && S_ISREG(about.st_mode) && !may_be_replaced(real, &about))
        fail("%s is somebody else's, in a folder where only they may replace it", path);
    if (!exists && path[strlen(path) - 1] == '/')
        fail("%s is the name of a folder, not of a file", path);
    if (!exists || S_ISREG(about.st_mode)) try_beside(real);
    if (exists && S_ISFIFO(about.st_mode)) open_pipe(real); /* to the end: its reader would go */
    free(real);
}

/* Who means a folder of that name writes ./- instead. */
static void check_no_stdout(const char *path)
{
    if (strcmp(path, "-") == 0) fail("- would be stdout, and must be a folder");
}

/* Not `path` itself: other nodes try the same, and it may never be needed. */
static void try_folder_beside(const char *path)
{
    int rc = -1, error = EEXIST;
    for (int i = 0; rc != 0 && error == EEXIST && i < NAMES_MAX; i++) {
        char *name = name_beside(path, i);
        rc = mkdir(name, 0777);
        error = errno;
        if (rc == 0) rmdir(name);
        free(name);
    }
    if (rc != 0) refuse(path, error);
}

void saving_check_folder(const char *path)
{
    struct stat about;
    size_t length = strlen(path), bytes = length + sizeof "/file";
    check_no_stdout(path);
    while (length > 1 && path[length - 1] == '/') length--;
    char *name = take_memory(bytes, 1);
    snprintf(name, bytes, "%.*s", (int)length, path);
    if (stat(name, &about) == 0) {
        if (!S_ISDIR(about.st_mode)) fail("%s is no folder", path);
        snprintf(name + length, bytes - length, "/file");
        try_beside(name);
    } else {
        if (errno != ENOENT && errno != EACCES) fail("%s: %s", path, strerror(errno));
        if (lstat(name, &about) == 0) fail("%s is a link to what does not exist", path);
        try_folder_beside(name);
    }
    free(name);
}

/* Devices take what several write: /dev/null, a terminal. */
static bool are_one(const struct stat *x, const struct stat *y)
{
    bool has_place = S_ISREG(x->st_mode) || S_ISFIFO(x->st_mode);
    return has_place && x->st_dev == y->st_dev && x->st_ino == y->st_ino;
}

/* Of what is not there yet: the same name in the same folder. */
static bool will_be_one(const char *a, const char *b)
{
    struct stat x, y;
    char *names[] = {copy_of(a), copy_of(b)}, *folders[] = {copy_of(a), copy_of(b)};
    bool are_there = stat(dirname(folders[0]), &x) == 0 && stat(dirname(folders[1]), &y) == 0;
    bool is_one = are_there && x.st_dev == y.st_dev && x.st_ino == y.st_ino &&
                  strcmp(basename(names[0]), basename(names[1])) == 0;
    for (int i = 0; i < 2; i++) {
        free(names[i]);
        free(folders[i]);
    }
    return is_one;
}

static bool are_one_file(const char *a, const char *b)
{
    struct stat x, y;
    bool has_a = stat(a, &x) == 0, has_b = stat(b, &y) == 0;
    return has_a && has_b ? are_one(&x, &y) : !has_a && !has_b && will_be_one(a, b);
}

/* A file that is replaced would leave what is printed without a name; a pipe would have both. */
static void check_not_printed_to(const char *path, int fd, const char *what)
{
    struct stat file, open;
    if (stat(path, &file) == 0 && fstat(fd, &open) == 0 && are_one(&file, &open))
        fail("%s is where %s goes: write another file", path, what);
}

/* By how it begins: a model, the page of a run, or word vectors as text. Empty files are nobody's. */
static bool is_ours(const char *path)
{
    static const char page[] = "content=\"locus report\"", model[] = "{\"__metadata__\":";
    char start[512], end;
    unsigned long long rows, columns;
    FILE *file = fopen(path, "re");
    size_t n = file ? fread(start, 1, sizeof start - 1, file) : 0;
    if (file) fclose(file);
    start[n] = '\0';
    return n == 0 || memmem(start, n, page, sizeof page - 1) ||
           (n > 8 && strncmp(start + 8, model, sizeof model - 1) == 0 &&
            strstr(start + 8, "{\"model\":")) ||
           (sscanf(start, "%llu %llu%c", &rows, &columns, &end) == 3 && end == '\n');
}

static void check_not_others(const char *path)
{
    struct stat about;
    if (stat(path, &about) == 0 && S_ISREG(about.st_mode) && !is_ours(path))
        fail("%s is there, and locus has not written it: write another file, or remove this one",
             path);
}

void saving_check(const char *const *outputs, size_t output_count, const char *const *inputs,
                  size_t input_count)
{
    for (size_t i = 0; i < output_count; i++) {
        if (!outputs[i]) continue;
        check_one(outputs[i]);
        check_not_printed_to(outputs[i], STDOUT_FILENO, "stdout");
        check_not_printed_to(outputs[i], STDERR_FILENO, "stderr");
        for (size_t j = 0; j < input_count; j++) {
            if (inputs[j] && are_one_file(outputs[i], inputs[j]))
                fail("%s is read as well as written: write another file", outputs[i]);
        }
        for (size_t j = 0; j < i; j++) {
            if (outputs[j] && are_one_file(outputs[i], outputs[j]))
                fail("%s is to be written twice", outputs[i]);
        }
        check_not_others(outputs[i]);
    }
}

/* ---- writing ---- */

static _Noreturn void give_up(const struct saving *s)
{
    fail("%s: %s", s->path, strerror(errno));
}

/* With the mode of what it will replace; a new file has the mode that the process gives to new
 * ones. */
static int open_partial(struct saving *s, const struct stat *old)
{
    int fd = open_beside(s->path, &s->partial);
    if (fd < 0) give_up(s);
    if (old && fchmod(fd, old->st_mode & 0777) != 0) give_up(s);
    return fd;
}

void saving_open(struct saving *s, const char *path)
{
    struct stat about;
    *s = (struct saving){.path = behind_links(path)};
    bool exists = stat(s->path, &about) == 0;
    bool is_replaced = !exists || S_ISREG(about.st_mode);
    int fd = is_replaced               ? open_partial(s, exists ? &about : NULL)
             : S_ISFIFO(about.st_mode) ? open_pipe(s->path)
                                       : open(s->path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0) s->file = fdopen(fd, "wb");
    if (!s->file) give_up(s);
}

void saving_open_in(struct saving *s, const char *folder, const char *name)
{
    char path[PATH_MAX];
    check_no_stdout(folder);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) fail("%s: %s", folder, strerror(errno));
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        fail("the path \"%.60s...\" is too long", folder);
    saving_open(s, path);
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
