#include "checkpoint/series.h"

#include "base/error.h"
#include "checkpoint/files.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN "nonce"
#define UNFINISHED MANIFEST_NAME ".new"
#define PREFIX "checkpoint-"

int series_path(char path[SERIES_PATH], const char *a, const char *b)
{
    const char *between = *b ? "/" : "";
    int n = snprintf(path, SERIES_PATH, "%s%s%s", a, between, b);
    return n < SERIES_PATH ? 0 : error_set(-ENAMETOOLONG, "the path %.100s... is too long", a);
}

/* `rc`, with a sentence where it is a failure. */
static int judged(int rc, const char *what, const char *path)
{
    return rc < 0 ? error_set(rc, "cannot %s %s: %s", what, path, strerror(-rc)) : 0;
}

int series_sync(const char *path)
{
    return judged(files()->sync_folder(path), "sync the folder", path);
}

/* ---- names ---- */

/* The number in a name; 0: it is none of ours. */
static uint64_t number_of(const char *name)
{
    char *end, again[SERIES_NAME];
    if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0) return 0;
    unsigned long long number = strtoull(name + sizeof PREFIX - 1, &end, 10);
    snprintf(again, sizeof again, PREFIX "%06llu", number);
    return strcmp(again, name) == 0 ? number : 0;
}

struct numbers {
    uint64_t *number;
    size_t count;
};

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

/* A files_each. */
static int add_number(void *numbers, const char *name)
{
    struct numbers *all = numbers;
    uint64_t number = number_of(name);
    if (number == 0) return 0;
    uint64_t *larger = realloc(all->number, (all->count + 1) * sizeof *larger);
    if (!larger) return -ENOMEM;
    all->number = larger;
    all->number[all->count++] = number;
    return 0;
}

/* All that there are, whole or not, the newest first. */
static int find_numbers(const char *dir, struct numbers *all)
{
    *all = (struct numbers){NULL, 0};
    int rc = files()->list(dir, add_number, all);
    if (all->count > 0) qsort(all->number, all->count, sizeof *all->number, compare);
    return judged(rc, "open the folder of checkpoints", dir);
}

static int path_of(char path[SERIES_PATH], const char *dir, uint64_t number)
{
    char name[SERIES_NAME];
    snprintf(name, sizeof name, PREFIX "%06llu", (unsigned long long)number);
    return series_path(path, dir, name);
}

/* 1: it is; 0. */
static int is_whole(const char *path)
{
    char manifest[SERIES_PATH];
    int rc = series_path(manifest, path, MANIFEST_NAME);
    if (rc) return rc;
    rc = files()->is_there(manifest);
    return rc < 0 ? judged(rc, "look for", manifest) : rc;
}

/* ---- making one ---- */

static int write_token(const char *path, const char *nonce)
{
    char token[SERIES_PATH];
    int rc = series_path(token, path, TOKEN);
    if (rc) return rc;
    int fd = files()->open(token, O_WRONLY | O_CREAT | O_EXCL);
    rc = fd < 0 ? fd : files_write(fd, nonce, MANIFEST_NONCE, 0);
    if (rc == 0) rc = files()->sync(fd);
    if (fd >= 0) files()->close(fd);
    return judged(rc, "write", token);
}

/* The folder of all, and what holds it: a new one's name would be gone after a crash. */
static int make_series(const char *dir)
{
    char parent[SERIES_PATH];
    int rc = files()->make_folder(dir);
    if (rc == -EEXIST) return 0;
    if (rc) return judged(rc, "make the folder of checkpoints", dir);
    rc = series_path(parent, dir, "");
    return rc ? rc : series_sync(dirname(parent));
}

int series_create(const char *dir, char name[SERIES_NAME], char nonce[MANIFEST_NONCE + 1])
{
    unsigned char raw[MANIFEST_NONCE / 2];
    char path[SERIES_PATH];
    struct numbers all;
    int rc = make_series(dir);
    if (rc) return rc;
    rc = find_numbers(dir, &all);
    uint64_t number = all.count > 0 ? all.number[0] + 1 : 1;
    free(all.number);
    snprintf(name, SERIES_NAME, PREFIX "%06llu", (unsigned long long)number);
    if (rc == 0) rc = series_path(path, dir, name);
    if (rc == 0) rc = judged(files()->make_folder(path), "make the folder", path);
    if (rc) return rc;
    randombytes_buf(raw, sizeof raw);
    sodium_bin2hex(nonce, MANIFEST_NONCE + 1, raw, sizeof raw);
    rc = write_token(path, nonce);
    if (rc == 0) rc = series_sync(path);
    if (rc) series_remove(path);
    return rc;
}

int series_check(const char *path, const char *nonce)
{
    char token[SERIES_PATH], text[MANIFEST_NONCE] = "";
    int rc = series_path(token, path, TOKEN);
    if (rc) return rc;
    int fd = files()->open(token, O_RDONLY);
    ssize_t n = fd < 0 ? fd : files_read(fd, text, sizeof text, 0);
    if (fd >= 0) files()->close(fd);
    if (n < 0 && n != -ENOENT) return judged((int)n, "read", token);
    if (n == MANIFEST_NONCE && memcmp(text, nonce, MANIFEST_NONCE) == 0) return 0;
    return error_set(
        -ENOENT,
        "%s is not there, where node 0 has just made it: all nodes must see one folder, as of a network file system",
        token);
}

static void remove_in(const char *path, const char *name)
{
    char file[SERIES_PATH];
    if (series_path(file, path, name) == 0) files()->remove(file);
}

int series_commit(const char *dir, const char *name, const struct manifest *m)
{
    char path[SERIES_PATH], unfinished[SERIES_PATH], finished[SERIES_PATH] = "";
    int rc = series_path(path, dir, name);
    if (rc == 0) rc = series_path(unfinished, path, UNFINISHED);
    if (rc == 0) rc = series_path(finished, path, MANIFEST_NAME);
    if (rc == 0) rc = manifest_write(m, unfinished);
    if (rc == 0) rc = series_sync(dir);
    if (rc == 0) rc = judged(files()->rename(unfinished, finished), "rename", unfinished);
    if (rc == 0) rc = series_sync(path);
    if (rc) return rc;
    remove_in(path, TOKEN);
    return 0;
}

/* A files_each. */
static int remove_one(void *path, const char *name)
{
    if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) remove_in(path, name);
    return 0;
}

void series_remove(const char *path)
{
    remove_in(path, MANIFEST_NAME);
    files()->sync_folder(path);
    files()->list(path, remove_one, (void *)(uintptr_t)path);
    files()->remove_folder(path);
}

/* ---- those that there are ---- */

int series_list(const char *dir, series_each *each, void *context)
{
    struct numbers all;
    int rc = find_numbers(dir, &all);
    for (size_t i = 0; i < all.count && rc == 0; i++) {
        char path[SERIES_PATH];
        rc = path_of(path, dir, all.number[i]);
        if (rc == 0) rc = is_whole(path);
        if (rc > 0) rc = each(context, strrchr(path, '/') + 1);
    }
    free(all.number);
    return rc;
}

static int take_first(void *context, const char *name)
{
    snprintf(context, SERIES_NAME, "%s", name);
    return 1;
}

int series_newest(const char *dir, char name[SERIES_NAME])
{
    name[0] = '\0';
    int rc = is_whole(dir);
    if (rc) return rc < 0 ? rc : 0;
    rc = series_list(dir, take_first, name);
    if (rc < 0) return rc;
    return rc ? 0 : error_set(-ENOENT, "there is no checkpoint in %s", dir);
}

void series_retain(const char *dir, unsigned keep)
{
    struct numbers all;
    unsigned kept = 0;
    if (find_numbers(dir, &all)) all.count = 0;
    for (size_t i = 0; i < all.count; i++) {
        char path[SERIES_PATH];
        if (path_of(path, dir, all.number[i])) continue;
        /* One that is newer than all whole ones is somebody's who is at work. */
        int whole = is_whole(path);
        if (whole > 0) kept++;
        if (kept > keep || (kept > 0 && whole == 0)) series_remove(path);
    }
    free(all.number);
}

int series_keeps(unsigned *keep)
{
    const char *text = getenv("LOCUS_CHECKPOINTS");
    char *end;
    *keep = SERIES_KEEP;
    if (!text || !*text) return 0;
    unsigned long n = strtoul(text, &end, 10);
    if (*end || *text < '0' || *text > '9' || n < 1 || n > SERIES_KEEP_MAX)
        return error_set(
            -EINVAL, "LOCUS_CHECKPOINTS is \"%s\": must be how many checkpoints to keep, 1 to %d",
            text, SERIES_KEEP_MAX);
    *keep = (unsigned)n;
    return 0;
}
