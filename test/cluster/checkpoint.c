/*
 * Checkpoints: whatever number of nodes, shards and technique wrote one, any other goes on from it;
 * Python with numpy and `locus checkpoint` read its files; a full disk or a killed writer leaves the
 * older one. While rows travel, are copied and leave meanwhile, and with what was not finished: the
 * simulation of checkpoints. What is damaged: unit/checkpoint, unit/checkpoint/restore_test.c.
 */
#include "checkpoint/series.h"
#include "common/folder.h"
#include "command.h"
#include "team.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

static struct locus_table tables[] = {
    {.name = "entities", .rows = 700, .length = 5},
    {.name = "relations \"&\" \xc3\xa9", .rows = 33, .length = 130},
    {.name = "empty", .rows = 5000000, .length = 3},
};
enum { TABLES = sizeof tables / sizeof *tables, WRITTEN = 700 + 33 };

static const enum locus_technique techniques[] = {LOCUS_ADAPTIVE, LOCUS_STATIC, LOCUS_RELOCATE,
                                                  LOCUS_REPLICATE, LOCUS_FULL_REPLICATION};
enum { TECHNIQUES = sizeof techniques / sizeof *techniques };

struct plan {
    char folder[FOLDER_PATH_BYTES];
    float version; /* of the values */
};

static struct team team_of(struct plan *p, int nodes, unsigned workers, unsigned shards,
                           enum locus_technique technique)
{
    return (struct team){TEAM_OF(nodes, workers, shards, technique, tables, TABLES), .shared = p};
}

/* Of every third row nothing is written. No two floats are the same; some are not ordinary. */
static float value_of(locus_key key, uint32_t i, float version)
{
    if (key % 3 == 2) return 0;
    if (i == 1) return key % 2 ? -0.0f : INFINITY;
    return version + (float)key * 131 + (float)i / 256;
}

static struct batch batch_of_written(const locus *n, float version)
{
    struct batch b = batch_new(n, WRITTEN, 700 * 5 + 33 * 130);
    for (locus_key key = 0; key < WRITTEN; key++) {
        float *row = batch_add(&b, key);
        for (uint32_t i = 0; i < locus_length(n, key); i++) row[i] = value_of(key, i, version);
    }
    return b;
}

static void write_all(struct seat *s, float version)
{
    struct batch b = batch_of_written(s->node, version);
    BATCH_FOREACH(c, &b)
    if (c.key % 3 != 2 && (int)(c.key % (unsigned)s->seats) == s->number)
        CHECK_EQ(locus_set(s->worker, &c.key, 1, c.row), 0);
    batch_free(&b);
    CHECK_EQ(locus_quiesce(s->worker), 0);
}

static void check_all(struct seat *s, float version)
{
    struct batch right = batch_of_written(s->node, version), b = batch_of_written(s->node, 0);
    CHECK_EQ(locus_pull(s->worker, b.keys, b.n, b.values), 0);
    CHECK_EQ(memcmp(b.values, right.values, b.floats * sizeof(float)), 0);
    batch_free(&right);
    batch_free(&b);
    seat_barrier(s);
}

/* Rows away from their homes, and copies of some on several nodes. */
static void scatter(struct seat *s)
{
    locus_key keys[WRITTEN];
    size_t n = 0;
    locus_clock now = locus_current_clock(s->worker);
    for (locus_key key = 0; key < WRITTEN; key++)
        if ((int)(key / 2 % (unsigned)s->seats) == s->number || key % 7 == 0) keys[n++] = key;
    CHECK_EQ(locus_intent(s->worker, keys, n, now, now + 1), 0);
    CHECK_EQ(locus_localize(s->worker, keys, n), 0);
    CHECK_EQ(locus_quiesce(s->worker), 0);
}

/* Each written row is in it once. */
static void check_counts(const char *folder)
{
    char name[SERIES_NAME], path[SERIES_PATH];
    CLOSED_BY(manifest_fini) struct manifest m;
    CHECK_EQ(series_newest(folder, name), 0);
    snprintf(path, sizeof path, "%.255s/%s/" MANIFEST_NAME, folder, name);
    CHECK_EQ(manifest_read(&m, FILES_HERE, path, NULL), 0);
    CHECK_EQ(manifest_rows(&m, 0), 467);
    CHECK_EQ(manifest_rows(&m, 1), 22);
    if (m.tables == TABLES) CHECK_EQ(manifest_rows(&m, 2), 0);
}

static void save(struct seat *s)
{
    struct plan *p = s->team->shared;
    scatter(s);
    write_all(s, p->version);
    int rc = locus_checkpoint(s->worker, p->folder);
    if (rc) test_fail(__FILE__, __LINE__, "locus_checkpoint: %d, %s", rc, locus_error());
    if (s->number == 0) check_counts(p->folder);
    check_all(s, p->version);
}

/* Where something else is: rows that the checkpoint does not have are zero afterwards. */
static void spoil(struct seat *s)
{
    locus_key key = (locus_key)(2 + 3 * s->number), far = 733 + 1000 * (locus_key)s->number;
    const float row[130] = {1, 2, 3, 4, 5};
    write_all(s, -7);
    CHECK_EQ(locus_push(s->worker, &key, 1, row), 0);
    CHECK_EQ(locus_push(s->worker, &far, 1, row), 0);
    CHECK_EQ(locus_quiesce(s->worker), 0);
}

static void check_far(struct seat *s)
{
    for (int i = 0; i < s->seats; i++) {
        locus_key far = 733 + 1000 * (locus_key)i;
        float row[3] = {1, 1, 1};
        CHECK_EQ(locus_pull(s->worker, &far, 1, row), 0);
        CHECK(row[0] == 0 && row[1] == 0 && row[2] == 0);
    }
    seat_barrier(s);
}

static void restore(struct seat *s)
{
    struct plan *p = s->team->shared;
    spoil(s);
    int rc = locus_restore(s->worker, p->folder);
    if (rc) test_fail(__FILE__, __LINE__, "locus_restore: %d, %s", rc, locus_error());
    check_all(s, p->version);
    check_far(s);
}

/* ---- any to any ---- */

TEST(checkpoint, restore_by_any_number_of_nodes_of_what_any_wrote)
{
    struct plan p = {.version = 1};
    folder_new(p.folder);
    for (int i = 0; i < (IS_SANITIZED ? 4 : 8); i++) {
        static const int nodes[] = {1, 2, 4, 3, 1, 4, 2, 3};
        unsigned shards = 1 + (unsigned)i % 3, workers = 1 + (unsigned)i % 2;
        struct team team = team_of(&p, nodes[i], workers, shards, techniques[i % TECHNIQUES]);
        team_run(&team, i == 0 ? save : restore);
        p.version = (float)(i + 2);
        team_run(&team, save);
    }
}

/* ---- what others see ---- */

/* A folder with one checkpoint of the first two tables, by two nodes of two workers. */
static void make(struct plan *p)
{
    p->version = 1;
    folder_new(p->folder);
    struct team team = team_of(p, 2, 2, 2, LOCUS_ADAPTIVE);
    team.table_count = 2;
    team_run(&team, save);
}

static struct command c;

/* The system's may have it where the first one found has not. */
static const char *python(void)
{
    static const char *const names[] = {"python3", "/usr/bin/python3"};
    for (int i = 0; i < 2; i++)
        if (command_run(&c, "%s -c 'import numpy'", names[i]) == 0) return names[i];
    SKIP("there is no python3 with numpy here");
}

/* A file ends with the rows of "entities". */
static void check_file(const char *folder, const char *name)
{
    enum { ROWS = 700, LENGTH = 5 };
    size_t bytes;
    CLOSED_BY(free_at) char *text = folder_read(folder, name, &bytes);
    float row[LENGTH];
    CHECK(bytes >= ROWS * sizeof row);
    for (locus_key key = 0; key < ROWS; key++) {
        for (uint32_t i = 0; i < LENGTH; i++) row[i] = value_of(key, i, 1);
        CHECK_EQ(memcmp(text + bytes - (ROWS - key) * sizeof row, row, sizeof row), 0);
    }
}

TEST(checkpoint, files_are_read_by_python_and_numpy)
{
    struct plan p;
    const char *interpreter = python();
    make(&p);
    command_must(&c, "%s %s %s/checkpoint-000001 entities %s/rows", interpreter,
                 source_path("test/python/checkpoint.py"), p.folder, p.folder);
    CHECK_STR(c.out.text, "entities 700 x 5, 467 written");
    check_file(p.folder, "rows");
    command_must(&c, "%s %s %s/checkpoint-000001 'relations \"&\" \xc3\xa9' %s/rows", interpreter,
                 source_path("test/python/checkpoint.py"), p.folder, p.folder);
    CHECK_STR(c.out.text, "33 x 130, 22 written");
}

/* `locus checkpoint` in the folder of checkpoints: what it is told, how it ends, what it says. */
static const struct {
    const char *arguments;
    int status;
    const char *says;
} asked[] = {
    {"list .", 0, "2 nodes  2 tables  489 rows"},
    {"list checkpoint-000001", 0, "2 nodes  2 tables  489 rows"},
    {"show checkpoint-000001", 0,
     "table entities: 467 of 700 rows of 5 floats, with the state of LOCUS_ADAM"},
    {"verify .", 0, "is whole"},
    {"list", 2, "list"},
    {"verify nowhere", 1, "cannot open the folder of checkpoints"},
    {"list none", 1, "there is no checkpoint in"},
    {"verify ''", 2, "verify: the name of a folder is empty"},
};

TEST(checkpoint, command_lists_shows_verifies_and_exports)
{
    struct plan p;
    char out[FOLDER_PATH_BYTES + 8];
    tables[0].optimizer = LOCUS_ADAM; /* whose state is not exported */
    make(&p);
    command_must(&c, "mkdir %s/none", p.folder);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        int status = command_run(&c, "cd %s && %s checkpoint %s", p.folder, locus_path(),
                                 asked[i].arguments);
        if (status != asked[i].status)
            test_fail(__FILE__, __LINE__, "%s: status %d", asked[i].arguments, status);
        CHECK_STR(status ? c.err.text : c.out.text, asked[i].says);
    }
    snprintf(out, sizeof out, "%s/out", p.folder);
    command_must(&c, "%s checkpoint export %s %s", locus_path(), p.folder, out);
    check_file(out, "entities.safetensors");
    command_must(&c, "for f in %s/*/*.safetensors; do echo x >> $f; done", p.folder);
    CHECK_EQ(command_run(&c, "%s checkpoint verify %s", locus_path(), p.folder), 1);
    CHECK_STR(c.err.text, ".safetensors is damaged: it is longer than the manifest says");
}

/* What was there stays until the table is whole, and a link is no way to another file. */
TEST(checkpoint, export_replaces_files_and_writes_through_no_link)
{
    struct plan p;
    make(&p);
    command_must(
        &c,
        "cd %s && mkdir out && echo mine > mine && ln mine out/entities.safetensors && "
        "ln -s ../checkpoint-000001/manifest.json 'out/relations \"&\" \xc3\xa9.safetensors' && "
        "%s checkpoint export . out && %s checkpoint verify . && cat mine && ls -A out | wc -l",
        p.folder, locus_path(), locus_path());
    CHECK_STR(c.out.text, "is whole");
    CHECK_STR(c.out.text, "\nmine\n2\n");
    command_must(&c,
                 "cd %s && echo old > out/entities.safetensors && ulimit -f 1 && "
                 "! %s checkpoint export . out && cat out/entities.safetensors && "
                 "ls -A out | wc -l",
                 p.folder, locus_path());
    CHECK_STR(c.out.text, "old\n2\n");
}

TEST(checkpoint, export_refuses_rows_that_are_encoded)
{
    struct plan p;
    tables[0].flags = LOCUS_TABLE_ENCODED;
    make(&p);
    command_must(&c, "%s checkpoint show %s", locus_path(), p.folder);
    CHECK_STR(c.out.text, "467 of 700 rows of 5 floats, encoded by its program");
    CHECK_EQ(command_run(&c, "%s checkpoint export %s %s/out", locus_path(), p.folder, p.folder),
             1);
    CHECK_STR(c.err.text, "table \"entities\" holds differences to first values");
    command_must(&c, "test ! -e %s/out", p.folder);
}

/* ---- what is wrong ---- */

/* Each node has a folder of its own. */
static void save_apart(struct seat *s)
{
    const char *parent = s->team->shared;
    char folder[2 * FOLDER_PATH_BYTES];
    snprintf(folder, sizeof folder, "%s/%d", parent, s->rank);
    write_all(s, -7);
    CHECK_EQ(locus_checkpoint(s->worker, folder), -ENOENT);
    CHECK_STR(locus_error(), "all nodes must see one folder");
    check_all(s, -7);
    CHECK_EQ(access(folder, F_OK), s->rank == 0 ? 0 : -1);
}

TEST(checkpoint, folder_that_not_all_nodes_see_is_refused)
{
    char folder[FOLDER_PATH_BYTES];
    folder_new(folder);
    team_run(&(struct team){TEAM_OF(3, 1, 1, LOCUS_ADAPTIVE, tables, TABLES), .shared = folder},
             save_apart);
}

/* ---- a disk that takes no more ---- */

/* A file system of this process alone, which goes with it. False: it may not have one. */
static bool mount_small(const char *folder, const char *size)
{
    return (unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) &&
           mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", folder, "tmpfs", 0, size) == 0;
}

enum { LARGE_ROWS = 3000, LARGE_LENGTH = 40, FEW = 300 };

static const struct locus_table large[] = {
    {.name = "large", .rows = LARGE_ROWS, .length = LARGE_LENGTH}};

/* Of all rows the first ones; the others are zero, unless they were set before. */
static int set_first(locus_worker *w, struct batch *all, size_t rows, float value)
{
    for (size_t i = 0; i < all->floats; i++) all->values[i] = value;
    return locus_set(w, all->keys, rows, all->values);
}

static void check_first(locus_worker *w, struct batch *all, size_t rows, float value)
{
    CHECK_EQ(locus_pull(w, all->keys, all->n, all->values), 0);
    for (size_t i = 0; i < all->floats; i++)
        CHECK(all->values[i] == (i < rows * LARGE_LENGTH ? value : 0));
}

/* The model has 480 KB, the file system 256: some node's disk is full first, and all are told. */
static void fill_the_disk(struct seat *s)
{
    const char *folder = s->team->shared;
    char path[2 * FOLDER_PATH_BYTES];
    CLOSED_BY(batch_free) struct batch all = batch_of_all(s->node);
    CHECK_EQ(set_first(s->worker, &all, FEW, 3), 0);
    CHECK_EQ(locus_checkpoint(s->worker, folder), 0);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(set_first(s->worker, &all, LARGE_ROWS, 5), 0);
        CHECK_EQ(locus_checkpoint(s->worker, folder), -ENOSPC);
        CHECK_STR(locus_error(), "locus_checkpoint: node ");
        CHECK_STR(locus_error(), "cannot write ");
        CHECK_STR(locus_error(), "checkpoint-000002/");
        CHECK_STR(locus_error(), "No space left on device");
        check_first(s->worker, &all, LARGE_ROWS, 5);
        seat_barrier(s); /* it is removed */
        snprintf(path, sizeof path, "%s/checkpoint-000002", folder);
        CHECK_EQ(access(path, F_OK), -1);
        seat_barrier(s);
    }
    CHECK_EQ(locus_restore(s->worker, folder), 0);
    check_first(s->worker, &all, FEW, 3);
    seat_barrier(s);
    CHECK_EQ(locus_checkpoint(s->worker, folder), 0);
}

TEST(checkpoint, full_disk_is_named_by_every_node_and_leaves_the_older_one)
{
    char folder[FOLDER_PATH_BYTES];
    folder_new(folder);
    if (!mount_small(folder, "size=256k"))
        SKIP("this process may not mount a file system of its own");
    struct team team = {TEAM_OF(3, 2, 1, LOCUS_ADAPTIVE, large, 1), .shared = folder};
    team_run(&team, fill_the_disk);
    CHECK_EQ(umount(folder), 0);
}

/* ---- killed ---- */

enum { WRITERS = 2 };

static struct team writers_at(const char *address, int nodes)
{
    struct team t = {TEAM_OF(nodes, 1, 1, LOCUS_ADAPTIVE, large, 1), .peer_timeout_s = 20};
    snprintf(t.address, sizeof t.address, "%s", address);
    return t;
}

/* Writes one version after the other, and says which are safe; until somebody dies. */
ROLE(checkpoint_writer)
{
    char address[ADDRESS_BYTES], folder[FOLDER_PATH_BYTES];
    int rank, from;
    CHECK_EQ(sscanf(arguments, "%d %d %31s %255s", &rank, &from, address, folder), 4);
    struct team t = writers_at(address, WRITERS);
    locus *node = team_open(&t, rank);
    locus_worker *w = worker_of(node);
    struct batch all = batch_of_all(node);
    parent_tell("open");
    for (int version = from;; version++) {
        if (rank == 0 && set_first(w, &all, LARGE_ROWS, (float)version)) break;
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
    struct team t = writers_at("", 1);
    locus *node = team_open(&t, 0);
    locus_worker *w = worker_of(node);
    struct batch all = batch_of_all(node);
    int rc = locus_restore(w, folder), version = 0;
    if (rc == -ENOENT && least == 0) goto done;
    if (rc) test_fail(__FILE__, __LINE__, "locus_restore: %d, %s", rc, locus_error());
    CHECK_EQ(locus_pull(w, all.keys, all.n, all.values), 0);
    version = (int)all.values[0];
    check_first(w, &all, LARGE_ROWS, (float)version);
    CHECK(version >= least);
done:
    batch_free(&all);
    CHECK_EQ(locus_worker_close(w), 0);
    CHECK_EQ(locus_close(node), 0);
    return version;
}

/* Behind the first kill, which may come before any checkpoint, there is one that is safe, however
 * slow the disk. */
static int kill_one(const char *folder, unsigned *seed, int safe, bool is_first)
{
    struct child writer[WRITERS];
    char address[ADDRESS_BYTES];
    address_new(address);
    for (int rank = 0; rank < WRITERS; rank++)
        child_start(&writer[rank], "checkpoint_writer", "%d %d %s %s", rank, safe + 1, address,
                    folder);
    for (int rank = 0; rank < WRITERS; rank++) child_expect(&writer[rank], "open");
    int victim = rand_r(seed) % WRITERS;
    if (safe == 0 && !is_first) safe = atoi(child_hear(&writer[0]));
    sleep_s(1e-6 * (rand_r(seed) % 120000));
    while (child_has_spoken(&writer[0])) safe = atoi(child_hear(&writer[0]));
    child_kill(&writer[victim]);
    child_kill(&writer[1 - victim]);
    return restored_version(folder, safe);
}

TEST(checkpoint, killed_writer_leaves_the_old_or_the_new_one)
{
    char folder[FOLDER_PATH_BYTES];
    unsigned seed = 7;
    int safe = 0, kills = (IS_SANITIZED ? 2 : 4) * test_seconds();
    folder_new(folder);
    for (int i = 0; i < kills; i++) safe = kill_one(folder, &seed, safe, i == 0);
    CHECK(safe > 0);
}
