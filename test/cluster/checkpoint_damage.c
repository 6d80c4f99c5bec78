/* A checkpoint that is damaged is refused, whatever byte it is, and the model stays as it was; one
 * whose writer was killed leaves the older one, or is whole. */
#include "common/folder.h"
#include "team.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4 * FOLDER_PATH_BYTES, FILES_MAX = 64 };

/* ---- every byte ---- */

enum { ROWS = 9, LENGTH = 3 };

static const struct locus_table small[] = {{.name = "a", .rows = ROWS, .length = LENGTH}};

static locus_worker *open_one(locus **node)
{
    struct team t = {.nodes = 1, .workers = 1, .shards = 1, .tables = small, .table_count = 1};
    *node = team_open(&t, 0);
    return worker_of(*node);
}

static void close_one(locus *node, locus_worker *w)
{
    CHECK_EQ(locus_worker_close(w), 0);
    CHECK_EQ(locus_close(node), 0);
}

static void set_all(locus_worker *w, float value)
{
    for (locus_key key = 0; key < ROWS; key++) {
        const float row[LENGTH] = {value, value + (float)key, -value};
        CHECK_EQ(locus_set(w, &key, 1, row), 0);
    }
}

static bool all_are(locus_worker *w, float value)
{
    for (locus_key key = 0; key < ROWS; key++) {
        float row[LENGTH];
        CHECK_EQ(locus_pull(w, &key, 1, row), 0);
        if (row[0] != value || row[1] != value + (float)key || row[2] != -value) return false;
    }
    return true;
}

struct whole {
    char name[FILES_MAX][PATH_BYTES];
    int files;
};

/* Paths of all files of a checkpoint. */
static void list_files(const char *folder, const char *checkpoint, struct whole *all)
{
    char path[PATH_BYTES / 2];
    all->files = 0;
    snprintf(path, sizeof path, "%s/%s", folder, checkpoint);
    DIR *d = opendir(path);
    CHECK(d != NULL);
    for (const struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.')
            snprintf(all->name[all->files++], PATH_BYTES, "%s/%s", path, e->d_name);
    closedir(d);
}

static void refuse(locus_worker *w, const char *folder, const char *part)
{
    CHECK_EQ(locus_restore(w, folder), -EBADMSG);
    CHECK_STR(locus_error(), part);
    CHECK(all_are(w, 5));
}

static void flip(int fd, off_t at, unsigned char mask)
{
    unsigned char byte;
    CHECK_EQ(pread(fd, &byte, 1, at), 1);
    byte ^= mask;
    CHECK_EQ(pwrite(fd, &byte, 1, at), 1);
}

TEST(checkpoint_damage, every_byte_counts)
{
    static struct whole all;
    char folder[FOLDER_PATH_BYTES];
    locus *node;
    long refused = 0;
    folder_new(folder);
    locus_worker *w = open_one(&node);
    set_all(w, 3);
    CHECK_EQ(locus_checkpoint(w, folder), 0);
    set_all(w, 5);
    list_files(folder, "checkpoint-000001", &all);
    CHECK_EQ(all.files, 2);
    for (int i = 0; i < all.files; i++) {
        int fd = open(all.name[i], O_RDWR | O_CLOEXEC);
        CHECK(fd >= 0);
        struct stat about;
        CHECK_EQ(fstat(fd, &about), 0);
        for (off_t at = 0; at < about.st_size; at += IS_SANITIZED ? 5 : 1) {
            unsigned char mask = (unsigned char)(1u << at % 8);
            flip(fd, at, mask);
            refuse(w, folder, strrchr(all.name[i], '/') + 1);
            flip(fd, at, mask);
            refused++;
        }
        close(fd);
    }
    CHECK(refused > (IS_SANITIZED ? 800 : 4096));
    CHECK_EQ(locus_restore(w, folder), 0);
    CHECK(all_are(w, 3));
    close_one(node, w);
}

TEST(checkpoint_damage, files_of_two_checkpoints_mixed_are_refused)
{
    static struct whole first, second;
    char folder[FOLDER_PATH_BYTES];
    locus *node;
    folder_new(folder);
    locus_worker *w = open_one(&node);
    set_all(w, 3);
    CHECK_EQ(locus_checkpoint(w, folder), 0);
    set_all(w, 5);
    CHECK_EQ(locus_checkpoint(w, folder), 0);
    list_files(folder, "checkpoint-000001", &first);
    list_files(folder, "checkpoint-000002", &second);
    for (int i = 0; i < first.files; i++)
        if (strstr(first.name[i], "safetensors"))
            for (int j = 0; j < second.files; j++)
                if (strstr(second.name[j], "safetensors"))
                    CHECK_EQ(rename(first.name[i], second.name[j]), 0);
    refuse(w, folder, "checkpoint-000002/0-0-0.safetensors is damaged");
    close_one(node, w);
}

/* ---- a disk that takes no more ---- */

/* A file system of this process alone, which goes with it. False: it may not have one. */
static bool mount_small(const char *folder, const char *size)
{
    return (unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) &&
           mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", folder, "tmpfs", 0, size) == 0;
}

static const struct locus_table wide[] = {{.name = "wide", .rows = 200, .length = 3000}};
enum { WIDE_ROWS = 200, WIDE_LENGTH = 3000, WIDE_FEW = 20 };

/* Rows from the beginning; the others are zero. */
static void set_wide(struct seat *s, int rows, float value)
{
    float row[WIDE_LENGTH];
    for (int i = 0; i < WIDE_LENGTH; i++) row[i] = value;
    for (locus_key key = 0; s->number == 0 && key < (unsigned)rows; key++)
        CHECK_EQ(locus_set(s->worker, &key, 1, row), 0);
    CHECK_EQ(locus_quiesce(s->worker), 0);
}

static void check_wide(struct seat *s, int rows, float value)
{
    float row[WIDE_LENGTH];
    for (locus_key key = 0; key < WIDE_ROWS; key++) {
        float right = key < (unsigned)rows ? value : 0;
        CHECK_EQ(locus_pull(s->worker, &key, 1, row), 0);
        for (int i = 0; i < WIDE_LENGTH; i++) CHECK(row[i] == right);
    }
    seat_barrier(s);
}

/* The model has 2.4 MB, the file system 1 MB: some node's disk is full first, and all are told. */
static void fill_the_disk(struct seat *s)
{
    const char *folder = s->team->shared;
    char path[PATH_BYTES];
    set_wide(s, WIDE_FEW, 3);
    CHECK_EQ(locus_checkpoint(s->worker, folder), 0);
    for (int i = 0; i < 3; i++) {
        set_wide(s, WIDE_ROWS, 5);
        CHECK_EQ(locus_checkpoint(s->worker, folder), -ENOSPC);
        CHECK_STR(locus_error(), "locus_checkpoint: node ");
        CHECK_STR(locus_error(), "cannot write ");
        CHECK_STR(locus_error(), "checkpoint-000002/");
        CHECK_STR(locus_error(), "No space left on device");
        check_wide(s, WIDE_ROWS, 5);
        snprintf(path, sizeof path, "%s/checkpoint-000002", folder);
        CHECK_EQ(access(path, F_OK), -1);
        seat_barrier(s);
    }
    CHECK_EQ(locus_restore(s->worker, folder), 0);
    check_wide(s, WIDE_FEW, 3);
    CHECK_EQ(locus_checkpoint(s->worker, folder), 0);
}

TEST(checkpoint_damage, a_full_disk_is_a_sentence_on_every_node_and_leaves_the_older_one)
{
    char folder[FOLDER_PATH_BYTES];
    folder_new(folder);
    if (!mount_small(folder, "size=1m")) {
        SKIP("this process may not mount a file system of its own");
    }
    struct team team = {.nodes = 3,
                        .workers = 2,
                        .shards = 1,
                        .is_managed = true,
                        .tables = wide,
                        .table_count = 1,
                        .shared = folder};
    team_run(&team, fill_the_disk);
    CHECK_EQ(umount(folder), 0);
}

/* ---- killed ---- */

enum { NODES = 2, LARGE_ROWS = 3000, LARGE_LENGTH = 40 };

static const struct locus_table large[] = {
    {.name = "large", .rows = LARGE_ROWS, .length = LARGE_LENGTH}};

static struct team team_of(const char *address, int nodes)
{
    struct team t = {.nodes = nodes,
                     .workers = 1,
                     .shards = 1,
                     .is_managed = true,
                     .tables = large,
                     .table_count = 1,
                     .peer_timeout_s = 20};
    snprintf(t.address, sizeof t.address, "%s", address);
    return t;
}

/* Writes one version after the other, and says which are safe; until somebody dies. */
ROLE(writer)
{
    char address[ADDRESS_BYTES], folder[FOLDER_PATH_BYTES];
    int rank, from;
    CHECK_EQ(sscanf(arguments, "%d %d %31s %255s", &rank, &from, address, folder), 4);
    struct team t = team_of(address, NODES);
    locus *node = team_open(&t, rank);
    locus_worker *w = worker_of(node);
    struct batch all = batch_of_all(node);
    parent_tell("open");
    for (int version = from;; version++) {
        for (size_t i = 0; i < all.floats; i++) all.values[i] = (float)version;
        if (rank == 0 && locus_set(w, all.keys, all.n, all.values)) break;
        if (locus_checkpoint(w, folder)) break;
        parent_tell("%d", version);
    }
    CHECK_STR(locus_error(), "node");
    locus_worker_close(w);
    CHECK_EQ(locus_close(node), -ECONNRESET);
}

/* What is there now: all rows of one version, `least` or a later one. */
static int restored_version(const char *folder, int least)
{
    struct team t = team_of("", 1);
    locus *node = team_open(&t, 0);
    locus_worker *w = worker_of(node);
    struct batch all = batch_of_all(node);
    int rc = locus_restore(w, folder), version = 0;
    if (rc == -ENOENT && least == 0) goto done;
    if (rc) test_fail(__FILE__, __LINE__, "locus_restore: %d, %s", rc, locus_error());
    CHECK_EQ(locus_pull(w, all.keys, all.n, all.values), 0);
    version = (int)all.values[0];
    for (size_t i = 0; i < all.floats; i++) CHECK(all.values[i] == (float)version);
    CHECK(version >= least);
done:
    batch_free(&all);
    close_one(node, w);
    return version;
}

/* What kills met, for who runs many of them: LOCUS_TEST_KILLS=200, and --run to see it. */
static struct {
    int kills, of_rank_0, within, new_ones;
} met;

/* Is there one that has no manifest yet? */
static bool has_unfinished(const char *folder)
{
    char path[PATH_BYTES];
    bool found = false;
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && (e = readdir(d));) {
        snprintf(path, sizeof path, "%s/%s/manifest.json", folder, e->d_name);
        found = found || (e->d_name[0] != '.' && access(path, F_OK) != 0);
    }
    if (d) closedir(d);
    return found;
}

static int wanted_kills(void)
{
    const char *text = getenv("LOCUS_TEST_KILLS");
    return text ? atoi(text) : (IS_SANITIZED ? 2 : 4) * test_seconds();
}

/* Behind the first kill, which may come before any checkpoint, there is one that is safe, however
 * slow the disk. */
static int kill_one(const char *folder, unsigned *seed, int safe)
{
    struct child c[NODES];
    char address[ADDRESS_BYTES];
    address_new(address);
    for (int rank = 0; rank < NODES; rank++)
        child_start(&c[rank], "writer", "%d %d %s %s", rank, safe + 1, address, folder);
    for (int rank = 0; rank < NODES; rank++) child_expect(&c[rank], "open");
    int victim = rand_r(seed) % NODES;
    if (safe == 0 && met.kills > 0) safe = atoi(child_hear(&c[0]));
    sleep_s(1e-6 * (rand_r(seed) % 120000));
    while (child_has_spoken(&c[0])) safe = atoi(child_hear(&c[0]));
    child_kill(&c[victim]);
    child_kill(&c[1 - victim]);
    met.kills++;
    met.of_rank_0 += victim == 0;
    met.within += has_unfinished(folder);
    int restored = restored_version(folder, safe);
    met.new_ones += restored > safe;
    return restored;
}

TEST(checkpoint_damage, who_is_killed_leaves_the_old_or_the_new_one)
{
    char folder[FOLDER_PATH_BYTES];
    unsigned seed = 7;
    int safe = 0, kills = wanted_kills();
    folder_new(folder);
    for (int i = 0; i < kills; i++) safe = kill_one(folder, &seed, safe);
    CHECK(safe > 0);
    printf(
        "%d kills, %d of rank 0 first: %d within a checkpoint; %d times the new one was there, of "
        "which nobody had heard\n",
        met.kills, met.of_rank_0, met.within, met.new_ones);
}
