#include "common/memory_files.h"

#include "checkpoint/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAMES_MAX = 600,
    NODES_MAX = 1200,
    OPEN_MAX = 64,
    PATH_BYTES = 200,
    FIRST_FD = 1000000, /* nobody else's */
    NONE = -1
};

/* A file or a folder, whatever its names. */
struct inode {
    bool is_folder;
    unsigned char *now, *kept;
    size_t now_bytes, kept_bytes;
};

struct name {
    char path[PATH_BYTES];
    int now, kept; /* inodes; kept: on the disk */
};

static struct disk {
    struct inode node[NODES_MAX];
    struct name name[NAMES_MAX];
    int open[OPEN_MAX]; /* inodes; NONE */
    char open_path[OPEN_MAX][PATH_BYTES];
    unsigned nodes, names;
    uint64_t calls;
    memory_files_before *before;
} disk;

static int begin_call(const char *call, const char *path)
{
    disk.calls++;
    return disk.before ? disk.before(call, path) : 0;
}

/* ---- names ---- */

static struct name *find(const char *path)
{
    for (unsigned i = 0; i < disk.names; i++)
        if (strcmp(disk.name[i].path, path) == 0) return &disk.name[i];
    return NULL;
}

static struct name *find_or_add(const char *path)
{
    struct name *n = find(path);
    if (n) return n;
    if (disk.names == NAMES_MAX || strlen(path) >= PATH_BYTES) abort();
    n = &disk.name[disk.names++];
    *n = (struct name){.now = NONE, .kept = NONE};
    snprintf(n->path, sizeof n->path, "%s", path);
    return n;
}

static struct inode *node_at(const char *path)
{
    const struct name *n = find(path);
    return n && n->now != NONE ? &disk.node[n->now] : NULL;
}

/* "." of a path without a slash. */
static void parent_of(const char *path, char parent[PATH_BYTES])
{
    const char *slash = strrchr(path, '/');
    snprintf(parent, PATH_BYTES, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
}

static bool is_in(const char *path, const char *folder)
{
    char parent[PATH_BYTES];
    parent_of(path, parent);
    return strcmp(parent, folder) == 0 && strcmp(path, ".") != 0;
}

static bool has_folder(const char *path)
{
    char parent[PATH_BYTES];
    parent_of(path, parent);
    const struct inode *n = node_at(parent);
    return n && n->is_folder;
}

static int new_node(bool is_folder)
{
    if (disk.nodes == NODES_MAX) abort();
    disk.node[disk.nodes] = (struct inode){.is_folder = is_folder};
    return (int)disk.nodes++;
}

static void *copy_of(const void *bytes, size_t n)
{
    void *copy = malloc(n + 1);
    if (!copy) abort();
    if (n) memcpy(copy, bytes, n);
    return copy;
}

/* ---- files ---- */

/* A free place among those that are open; NULL: there is none. */
static int open_node(int node, const char *path)
{
    int fd = 0;
    while (fd < OPEN_MAX && disk.open[fd] != NONE) fd++;
    if (fd == OPEN_MAX) return -EMFILE;
    disk.open[fd] = node;
    snprintf(disk.open_path[fd], PATH_BYTES, "%s", path);
    return FIRST_FD + fd;
}

static struct inode *node_of(int fd)
{
    if (fd < FIRST_FD || fd >= FIRST_FD + OPEN_MAX || disk.open[fd - FIRST_FD] == NONE) abort();
    return &disk.node[disk.open[fd - FIRST_FD]];
}

static const char *path_of(int fd)
{
    return disk.open_path[fd - FIRST_FD];
}

/* The path of a name in a folder that is open, or of a path. */
static const char *path_in(int folder, const char *name, char path[PATH_BYTES])
{
    if (folder == FILES_HERE) return name;
    (void)node_of(folder);
    if (snprintf(path, PATH_BYTES, "%s/%s", path_of(folder), name) >= PATH_BYTES) abort();
    return path;
}

static int open_folder(int folder, const char *name)
{
    char in[PATH_BYTES];
    const char *path = path_in(folder, name, in);
    int rc = begin_call("open_folder", path);
    if (rc) return rc;
    const struct name *n = find(path);
    if (!n || n->now == NONE) return -ENOENT;
    return disk.node[n->now].is_folder ? open_node(n->now, path) : -ENOTDIR;
}

static int open_file(int folder, const char *name, int flags)
{
    char in[PATH_BYTES];
    const char *path = path_in(folder, name, in);
    int rc = begin_call("open", path);
    if (rc) return rc;
    struct name *n = find(path);
    bool is_there = n && n->now != NONE;
    if (!is_there && !(flags & O_CREAT)) return -ENOENT;
    if (is_there && flags & O_EXCL) return -EEXIST;
    if (!has_folder(path)) return -ENOENT;
    if (is_there && disk.node[n->now].is_folder) return FILES_IRREGULAR;
    if (!is_there) n = find_or_add(path), n->now = new_node(false);
    if (flags & O_TRUNC) disk.node[n->now].now_bytes = 0;
    return open_node(n->now, path);
}

static int close_file(int fd)
{
    (void)node_of(fd);
    disk.open[fd - FIRST_FD] = NONE;
    return begin_call("close", path_of(fd));
}

static ssize_t read_file(int fd, void *to, size_t bytes, uint64_t at)
{
    int rc = begin_call("read", path_of(fd));
    if (rc) return rc;
    const struct inode *n = node_of(fd);
    size_t left = at < n->now_bytes ? n->now_bytes - at : 0, take = bytes < left ? bytes : left;
    if (take > 1 && take == bytes && disk.calls % 7 == 0) take /= 2;
    if (take) memcpy(to, n->now + at, take);
    return (ssize_t)take;
}

static ssize_t write_file(int fd, const void *from, size_t bytes, uint64_t at)
{
    int rc = begin_call("write", path_of(fd));
    if (rc) return rc;
    struct inode *n = node_of(fd);
    if (bytes > 1 && disk.calls % 5 == 0) bytes /= 2;
    if (at + bytes > n->now_bytes) {
        n->now = realloc(n->now, at + bytes);
        if (!n->now) abort();
        if (at > n->now_bytes) memset(n->now + n->now_bytes, 0, at - n->now_bytes);
        n->now_bytes = at + bytes;
    }
    memcpy(n->now + at, from, bytes);
    return (ssize_t)bytes;
}

static void begin_nothing(int fd, uint64_t at, uint64_t bytes)
{
    (void)fd, (void)at, (void)bytes;
}

static int64_t size_of(int fd)
{
    int rc = begin_call("size", path_of(fd));
    return rc ? rc : (int64_t)node_of(fd)->now_bytes;
}

/* ---- folders ---- */

static int make_folder(const char *path)
{
    int rc = begin_call("make_folder", path);
    if (rc) return rc;
    if (node_at(path)) return -EEXIST;
    if (!has_folder(path)) return -ENOENT;
    find_or_add(path)->now = new_node(true);
    return 0;
}

static int sync_folder(const char *path)
{
    int rc = begin_call("sync_folder", path);
    if (rc) return rc;
    if (!node_at(path)) return -ENOENT;
    for (unsigned i = 0; i < disk.names; i++)
        if (is_in(disk.name[i].path, path)) disk.name[i].kept = disk.name[i].now;
    return 0;
}

static int sync_file(int fd)
{
    struct inode *n = node_of(fd);
    if (n->is_folder) return sync_folder(path_of(fd));
    int rc = begin_call("sync", path_of(fd));
    if (rc) return rc;
    free(n->kept);
    n->kept = copy_of(n->now, n->now_bytes);
    n->kept_bytes = n->now_bytes;
    return 0;
}

static int list(int folder, files_each *each, void *context)
{
    const char *path = path_of(folder);
    int rc = begin_call("list", path);
    if (rc) return rc;
    (void)node_of(folder);
    for (unsigned i = 0; i < disk.names && rc == 0; i++)
        if (disk.name[i].now != NONE && is_in(disk.name[i].path, path))
            rc = each(context, strrchr(disk.name[i].path, '/') + 1);
    return rc;
}

static int rename_file(int folder, const char *from, const char *to)
{
    char old[PATH_BYTES], new[PATH_BYTES];
    from = path_in(folder, from, old);
    to = path_in(folder, to, new);
    int rc = begin_call("rename", from);
    if (rc) return rc;
    struct name *n = find(from);
    if (!n || n->now == NONE || !has_folder(to)) return -ENOENT;
    int node = n->now;
    n->now = NONE;
    find_or_add(to)->now = node;
    return 0;
}

static int remove_file(int folder, const char *name)
{
    char in[PATH_BYTES];
    const char *path = path_in(folder, name, in);
    int rc = begin_call("remove", path);
    struct name *n = find(path);
    if (rc) return rc;
    if (!n || n->now == NONE) return -ENOENT;
    if (disk.node[n->now].is_folder) return FILES_IRREGULAR;
    n->now = NONE;
    return 0;
}

static int remove_folder(int folder, const char *name)
{
    char in[PATH_BYTES];
    const char *path = path_in(folder, name, in);
    int rc = begin_call("remove_folder", path);
    struct name *n = find(path);
    if (rc) return rc;
    if (!n || n->now == NONE) return -ENOENT;
    for (unsigned i = 0; i < disk.names; i++)
        if (disk.name[i].now != NONE && is_in(disk.name[i].path, path)) return -ENOTEMPTY;
    n->now = NONE;
    return 0;
}

static int is_there(const char *path)
{
    int rc = begin_call("is_there", path);
    return rc ? rc : node_at(path) != NULL;
}

static const struct files in_memory = {
    .open = open_file,
    .open_folder = open_folder,
    .close = close_file,
    .read = read_file,
    .write = write_file,
    .begin_sync = begin_nothing,
    .begin_read = begin_nothing,
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

/* ---- a crash ---- */

/* Old bytes and new ones, page by page, as long as one of both. */
static void mix(struct inode *n, uint64_t (*throw)(void *), void *context)
{
    enum { PAGE = 512 };
    size_t bytes = throw(context) % 2 ? n->now_bytes : n->kept_bytes;
    unsigned char *all = calloc(1, bytes + 1);
    if (!all) abort();
    for (size_t at = 0; at < bytes; at += PAGE) {
        bool is_new = throw(context) % 2;
        const unsigned char *from = is_new ? n->now : n->kept;
        size_t have = is_new ? n->now_bytes : n->kept_bytes, page = bytes - at;
        if (page > PAGE) page = PAGE;
        if (at < have) memcpy(all + at, from + at, page < have - at ? page : have - at);
    }
    free(n->now);
    free(n->kept);
    n->now = all;
    n->kept = copy_of(all, bytes);
    n->now_bytes = n->kept_bytes = bytes;
}

static bool is_synced(const struct inode *n)
{
    return n->kept && n->now_bytes == n->kept_bytes &&
           (n->now_bytes == 0 || memcmp(n->now, n->kept, n->now_bytes) == 0);
}

void memory_files_crash(uint64_t (*throw)(void *), void *context)
{
    bool changes = true;
    for (unsigned i = 0; i < OPEN_MAX; i++) disk.open[i] = NONE;
    for (unsigned i = 0; i < disk.nodes; i++)
        if (!disk.node[i].is_folder && !is_synced(&disk.node[i]))
            mix(&disk.node[i], throw, context);
    for (unsigned i = 0; i < disk.names; i++) {
        struct name *n = &disk.name[i];
        if (n->now != n->kept && throw(context) % 2) n->now = n->kept;
    }
    /* What was in a folder that is gone. */
    while (changes) {
        changes = false;
        for (unsigned i = 0; i < disk.names; i++)
            if (disk.name[i].now != NONE && !has_folder(disk.name[i].path)) {
                disk.name[i].now = NONE;
                changes = true;
            }
    }
    for (unsigned i = 0; i < disk.names; i++) disk.name[i].kept = disk.name[i].now;
}

/* ---- life ---- */

static const struct files *of_the_system;

void memory_files_begin(memory_files_before *before)
{
    memset(&disk, 0, sizeof disk);
    for (unsigned i = 0; i < OPEN_MAX; i++) disk.open[i] = NONE;
    struct name *root = find_or_add(".");
    root->now = root->kept = new_node(true);
    disk.before = before;
    of_the_system = files;
    files = &in_memory;
}

static void free_nodes(void)
{
    for (unsigned i = 0; i < disk.nodes; i++) {
        free(disk.node[i].now);
        free(disk.node[i].kept);
    }
    disk.nodes = 0;
}

void memory_files_end(void)
{
    files = of_the_system;
    free_nodes();
}

struct disk *memory_files_copy(void)
{
    struct disk *d = copy_of(&disk, sizeof disk);
    for (unsigned i = 0; i < d->nodes; i++) {
        struct inode *n = &d->node[i];
        if (n->now) n->now = copy_of(n->now, n->now_bytes);
        if (n->kept) n->kept = copy_of(n->kept, n->kept_bytes);
    }
    return d;
}

void memory_files_take(struct disk *d)
{
    free_nodes();
    disk = *d;
    free(d);
}

uint64_t memory_files_calls(void)
{
    return disk.calls;
}

unsigned memory_files_open(void)
{
    unsigned open = 0;
    for (unsigned i = 0; i < OPEN_MAX; i++) open += disk.open[i] != NONE;
    return open;
}

unsigned char *memory_files_bytes(const char *path, size_t *bytes)
{
    struct inode *n = node_at(path);
    *bytes = n ? n->now_bytes : 0;
    return n ? n->now : NULL;
}
