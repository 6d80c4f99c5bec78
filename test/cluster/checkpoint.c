/* Checkpoints: whatever number of nodes, shards and technique wrote one, any other goes on from it.
 * While rows travel, and with what is damaged or was not finished: the simulation of checkpoints. */
#include "checkpoint/series.h"
#include "common/folder.h"
#include "team.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct locus_table tables[] = {
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
    CHECK_EQ(m.tables, TABLES);
    CHECK_EQ(manifest_rows(&m, 0), 467);
    CHECK_EQ(manifest_rows(&m, 1), 22);
    CHECK_EQ(manifest_rows(&m, 2), 0);
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

TEST(checkpoint, any_number_of_nodes_goes_on_from_any)
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

/* ---- what is wrong ---- */

/* Each node has a folder of its own. */
static void save_apart(struct seat *s)
{
    const struct plan *p = s->team->shared;
    char folder[2 * FOLDER_PATH_BYTES];
    snprintf(folder, sizeof folder, "%s/%d", p->folder, s->rank);
    write_all(s, -7);
    CHECK_EQ(locus_checkpoint(s->worker, folder), -ENOENT);
    CHECK_STR(locus_error(), "all nodes must see one folder");
    check_all(s, -7);
    CHECK_EQ(access(folder, F_OK), s->rank == 0 ? 0 : -1);
}

TEST(checkpoint, a_folder_that_not_all_nodes_see_is_a_sentence)
{
    struct plan p = {.version = 1};
    folder_new(p.folder);
    struct team team = team_of(&p, 3, 1, 1, LOCUS_ADAPTIVE);
    team_run(&team, save_apart);
}
