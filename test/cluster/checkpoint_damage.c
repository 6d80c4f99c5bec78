/* A checkpoint whose disk is full, or whose writer was killed, leaves the older one, or is whole. What
 * is damaged: unit/checkpoint, unit/api/restore_test.c. */
#include "common/folder.h"
#include "team.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

enum { PATH_BYTES = 4 * FOLDER_PATH_BYTES };

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
    struct team team = {TEAM_OF(3, 2, 1, LOCUS_ADAPTIVE, wide, 1), .shared = folder};
    team_run(&team, fill_the_disk);
    CHECK_EQ(umount(folder), 0);
}

/* ---- killed ---- */

enum { NODES = 2, LARGE_ROWS = 3000, LARGE_LENGTH = 40 };

static const struct locus_table large[] = {
    {.name = "large", .rows = LARGE_ROWS, .length = LARGE_LENGTH}};

static struct team team_of(const char *address, int nodes)
{
    struct team t = {TEAM_OF(nodes, 1, 1, LOCUS_ADAPTIVE, large, 1), .peer_timeout_s = 20};
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
    CHECK_EQ(locus_worker_close(w), 0);
    CHECK_EQ(locus_close(node), 0);
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
