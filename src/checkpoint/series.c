#include "checkpoint/series.h"

#include "base/error.h"
#include "checkpoint/files.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN "nonce"
#define UNFINISHED MANIFEST_NAME ".new"
#define PREFIX "checkpoint-"
#define TOKEN_PREFIX "locus checkpoint " /* then the nonce */
enum { TOKEN_BYTES = sizeof TOKEN_PREFIX - 1 + MANIFEST_NONCE };

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
    return judged(files->sync_folder(path), "sync the folder", path);
}

/* ---- names ---- */

/* The number in a name; 0: it is none of ours. Other programs' may be of any size: larger ones than
 * ours can become are passed over, so that there is a next one. */
static uint64_t number_of(const char *name)
{
    char *end, again[SERIES_NAME];
    if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0) return 0;
    unsigned long long number = strtoull(name + sizeof PREFIX - 1, &end, 10);
    snprintf(again, sizeof again, PREFIX "%06llu", number);
    return strcmp(again, name) == 0 && number <= MANIFEST_NUMBER_MAX ? number : 0;
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
    int folder = files->open_folder(FILES_HERE, dir);
    int rc = folder < 0 ? folder : files->list(folder, add_number, all);
    if (folder >= 0) files->close(folder);
    if (all->count > 0) qsort(all->number, all->count, sizeof *all->number, compare);
    return judged(rc, "open the folder of checkpoints", dir);
}

static void name_of(char name[SERIES_NAME], uint64_t number)
{
    snprintf(name, SERIES_NAME, PREFIX "%06llu", (unsigned long long)number);
}

/* 1: it is; 0. */
static int is_whole(const char *path)
{
    char manifest[SERIES_PATH];
    int rc = series_path(manifest, path, MANIFEST_NAME);
    if (rc) return rc;
    rc = files->is_there(manifest);
    return rc < 0 ? judged(rc, "look for", manifest) : rc;
}

/* ---- making one ---- */

static void token_of(const char *nonce, char text[TOKEN_BYTES + 1])
{
    snprintf(text, TOKEN_BYTES + 1, TOKEN_PREFIX "%s", nonce);
}

static int write_token(const char *path, const char *nonce)
{
    char token[SERIES_PATH], text[TOKEN_BYTES + 1];
    int rc = series_path(token, path, TOKEN);
    if (rc) return rc;
    token_of(nonce, text);
    int fd = files->open(FILES_HERE, token, O_WRONLY | O_CREAT | O_EXCL);
    rc = fd < 0 ? fd : files_write(fd, text, TOKEN_BYTES, 0);
    if (rc == 0) rc = files->sync(fd);
    if (fd >= 0) files->close(fd);
    return judged(rc, "write", token);
}

/* What stands in a token; "": nothing, or it is too short. 0 or a negative errno. */
static int read_token(int folder, const char *path, char text[TOKEN_BYTES + 1])
{
    int fd = files->open(folder, path, O_RDONLY);
    int rc = fd < 0 ? fd : files_read(fd, text, TOKEN_BYTES, 0);
    if (fd >= 0) files->close(fd);
    text[rc ? 0 : TOKEN_BYTES] = '\0';
    return rc == -ENODATA ? 0 : rc;
}

/* The folder of all, and what holds it: a new one's name would be gone after a crash. Until there
 * is a first checkpoint, who made it may not have come so far. */
static int make_series(const char *dir)
{
    char parent[SERIES_PATH], name[SERIES_NAME] = "";
    int rc = files->make_folder(dir);
    bool is_new = rc == 0;
    if (rc && rc != -EEXIST) return judged(rc, "make the folder of checkpoints", dir);
    if (!is_new && series_older(dir, name) == 0) return 0;
    rc = series_path(parent, dir, "");
    if (rc == 0) rc = series_sync(dirname(parent));
    return rc == -EACCES && !is_new ? 0 : rc;
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
    if (rc == 0 && number > MANIFEST_NUMBER_MAX)
        rc = error_set(-EOVERFLOW,
                       "%s/" PREFIX
                       "%llu has the last number that a checkpoint can have: rename it",
                       dir, (unsigned long long)number - 1);
    name_of(name, number);
    if (rc == 0) rc = series_path(path, dir, name);
    if (rc == 0) rc = judged(files->make_folder(path), "make the folder", path);
    if (rc) return rc;
    randombytes_buf(raw, sizeof raw);
    sodium_bin2hex(nonce, MANIFEST_NONCE + 1, raw, sizeof raw);
    rc = write_token(path, nonce);
    if (rc == 0) rc = series_sync(path);
    if (rc) series_remove(dir, name);
    return rc;
}

int series_check(const char *path, const char *nonce)
{
    char token[SERIES_PATH], text[TOKEN_BYTES + 1], right[TOKEN_BYTES + 1];
    int rc = series_path(token, path, TOKEN);
    if (rc) return rc;
    token_of(nonce, right);
    rc = read_token(FILES_HERE, token, text);
    if (rc && rc != -ENOENT) return judged(rc, "read", token);
    if (rc == 0 && strcmp(text, right) == 0) return 0;
    return error_set(
        -ENOENT,
        "%s is not there, where node 0 has just made it: all nodes must see one folder, as of a network file system",
        token);
}

static bool is_part(const char *name)
{
    char *end;
    return *name >= '0' && *name <= '9' && strtoul(name, &end, 10) <= INT_MAX &&
           strcmp(end, SERIES_PART) == 0;
}

/* A files_each: what nobody needs behind the commit. */
static int remove_helper(void *folder, const char *name)
{
    if (strcmp(name, TOKEN) == 0 || is_part(name)) files->remove(*(int *)folder, name);
    return 0;
}

int series_commit(const char *dir, const char *name, const struct manifest *m)
{
    char path[SERIES_PATH], unfinished[SERIES_PATH];
    int rc = series_path(path, dir, name);
    if (rc == 0) rc = series_path(unfinished, path, UNFINISHED);
    if (rc == 0) rc = manifest_write(m, unfinished);
    if (rc == 0) rc = series_sync(dir);
    int folder = rc ? -1 : files->open_folder(FILES_HERE, path);
    if (rc == 0) rc = judged(folder, "open the folder", path);
    if (rc == 0)
        rc = judged(files->rename(folder, UNFINISHED, MANIFEST_NAME), "rename", unfinished);
    if (rc == 0) rc = series_sync(path);
    if (rc == 0) files->list(folder, remove_helper, &folder);
    if (folder >= 0) files->close(folder);
    return rc;
}

/* ---- removing ---- */

/* May locus have written it? Names that tell whose folder it is go last. */
static bool is_our_name(const char *name)
{
    return manifest_is_file(name) || is_part(name) || strcmp(name, MANIFEST_NAME) == 0;
}

/* -ENOENT: there is no such manifest. -EBADMSG: it is not one of this folder. */
static int read_manifest(int folder, const char *manifest, const char *name)
{
    struct manifest m;
    int rc = manifest_read(&m, folder, manifest, NULL);
    if (rc) return rc;
    if (m.number != number_of(name)) rc = -EBADMSG;
    manifest_fini(&m);
    return rc;
}

/* Whose is a folder? Its manifest says so, or where there is none one that was to become it, or
 * has been it, or the token. */
enum owner { OTHERS, OURS_UNFINISHED, OURS_WHOLE };

static enum owner owner_of(int folder, const char *name)
{
    char text[TOKEN_BYTES + 1];
    int rc = read_manifest(folder, MANIFEST_NAME, name);
    if (rc != -ENOENT) return rc ? OTHERS : OURS_WHOLE;
    bool is_ours = read_manifest(folder, UNFINISHED, name) == 0 ||
                   (read_token(folder, TOKEN, text) == 0 &&
                    strncmp(text, TOKEN_PREFIX, sizeof TOKEN_PREFIX - 1) == 0);
    return is_ours ? OURS_UNFINISHED : OTHERS;
}

/* A files_each. */
static int remove_one(void *folder, const char *name)
{
    if (is_our_name(name)) files->remove(*(int *)folder, name);
    return 0;
}

/* First it is not whole any more, for good; then its files go; last what says whose it is, so that
 * the next checkpoint can go on with it. What else is in it stays, and with that the folder. */
static void remove_own(int dir, int folder, const char *name)
{
    int rc = files->rename(folder, MANIFEST_NAME, UNFINISHED);
    if (rc == 0) rc = files->sync(folder);
    if (rc && rc != -ENOENT) return;
    files->list(folder, remove_one, &folder);
    files->remove(folder, UNFINISHED);
    files->remove(folder, TOKEN);
    files->remove_folder(dir, name);
}

void series_remove(const char *path, const char *name)
{
    int dir = files->open_folder(FILES_HERE, path);
    int folder = dir < 0 ? dir : files->open_folder(dir, name);
    if (folder >= 0) {
        remove_own(dir, folder, name);
        files->close(folder);
    }
    if (dir >= 0) files->close(dir);
}

/* ---- those that there are ---- */

int series_list(const char *dir, series_each *each, void *context)
{
    struct numbers all;
    int rc = find_numbers(dir, &all);
    for (size_t i = 0; i < all.count && rc == 0; i++) {
        char name[SERIES_NAME], path[SERIES_PATH];
        name_of(name, all.number[i]);
        rc = series_path(path, dir, name);
        if (rc == 0) rc = is_whole(path);
        if (rc > 0) rc = each(context, name);
    }
    free(all.number);
    return rc;
}

/* A series_each: the first that is older than `name`; "": any. */
static int take_older(void *context, const char *name)
{
    char *than = context;
    if (*than && number_of(name) >= number_of(than)) return 0;
    snprintf(than, SERIES_NAME, "%s", name);
    return 1;
}

int series_older(const char *dir, char name[SERIES_NAME])
{
    int rc = series_list(dir, take_older, name);
    if (rc < 0) return rc;
    return rc ? 0 : error_set(-ENOENT, "there is no checkpoint in %s", dir);
}

int series_newest(const char *dir, char name[SERIES_NAME])
{
    name[0] = '\0';
    int rc = series_older(dir, name), one = rc == -ENOENT ? is_whole(dir) : 0;
    return one > 0 ? 0 : one < 0 ? one : rc;
}

void series_retain(const char *path, unsigned keep)
{
    struct numbers all;
    unsigned kept = 0;
    int dir = files->open_folder(FILES_HERE, path);
    if (find_numbers(path, &all) || dir < 0) all.count = 0;
    for (size_t i = 0; i < all.count; i++) {
        char name[SERIES_NAME];
        name_of(name, all.number[i]);
        int folder = files->open_folder(dir, name);
        if (folder < 0) continue;
        enum owner owner = owner_of(folder, name);
        if (owner == OURS_WHOLE) kept++;
        /* One that is newer than all whole ones is somebody's who is at work. */
        if (owner != OTHERS && (kept > keep || (kept > 0 && owner == OURS_UNFINISHED)))
            remove_own(dir, folder, name);
        files->close(folder);
    }
    if (dir >= 0) files->close(dir);
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
