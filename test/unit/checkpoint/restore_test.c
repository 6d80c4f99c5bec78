/* locus_restore(), on one node: rows become those of the checkpoint, or none changes. */
#include "checkpoint/series.h"
#include "common/folder.h"
#include "common/memory_files.h"
#include "one_node.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 60, LENGTH = 3 };
static const struct locus_table tables[] = {{.name = "users", .rows = ROWS, .length = LENGTH},
                                            {.name = "items", .rows = ROWS, .length = 1}};

struct scene {
    char folder[FOLDER_PATH_BYTES];
    locus *node;
    locus_worker *worker;
};

static float get(const struct scene *s, locus_key key)
{
    float row[LENGTH];
    CHECK_EQ(locus_pull(s->worker, &key, 1, row), 0);
    return row[0];
}

static void set(const struct scene *s, locus_key key, float value)
{
    const float row[LENGTH] = {value, value, value};
    CHECK_EQ(locus_set(s->worker, &key, 1, row), 0);
}

/* A checkpoint in which every third row has its key and one, and the others are zero. */
static void scene_begin(struct scene *s)
{
    *s = (struct scene){.node = node_of(tables, 2, 1, 2)};
    s->worker = worker_of(s->node);
    folder_new(s->folder);
    for (locus_key key = 0; key < 2 * ROWS; key += 3) set(s, key, (float)key + 1);
    CHECK_EQ(locus_checkpoint(s->worker, s->folder), 0);
}

static void scene_end(struct scene *s)
{
    close_both(s->node, s->worker);
}

static void check_is_restored(const struct scene *s)
{
    for (locus_key key = 0; key < 2 * ROWS; key++)
        CHECK(get(s, key) == (key % 3 == 0 ? (float)key + 1 : 0));
}

/* Everything is something else. */
static void overwrite(const struct scene *s)
{
    for (locus_key key = 0; key < 2 * ROWS; key++) set(s, key, -7);
}

/* As large as one may be, and none. */
TEST_WITH(restore, note_comes_back, scene, s)
{
    static unsigned char note[LOCUS_NOTE_MAX], found[LOCUS_NOTE_MAX];
    size_t bytes = sizeof found;
    CHECK_EQ(locus_restore_with(s->worker, s->folder, found, &bytes), 0);
    CHECK_EQ(bytes, 0);
    for (size_t i = 0; i < sizeof note; i++) note[i] = (unsigned char)(i * 7);
    REFUSED(locus_checkpoint_with(s->worker, s->folder, note, sizeof note + 1), -EINVAL,
            "a note of 1025 bytes: must be at most 1024");
    CHECK_EQ(locus_checkpoint_with(s->worker, s->folder, NULL, 1), -EINVAL);
    CHECK_EQ(locus_checkpoint_with(s->worker, s->folder, note, sizeof note), 0);
    overwrite(s);
    bytes = sizeof found - 1;
    REFUSED(locus_restore_with(s->worker, s->folder, found, &bytes), -EINVAL,
            "has a note of 1024 bytes, and there is room for 1023");
    CHECK(get(s, 1) == -7); /* nothing changed */
    CHECK_EQ(locus_restore(s->worker, s->folder), 0);
    check_is_restored(s);
    bytes = sizeof found;
    CHECK_EQ(locus_restore_with(s->worker, s->folder, found, &bytes), 0);
    CHECK_EQ(bytes, sizeof found);
    CHECK_EQ(memcmp(found, note, sizeof found), 0);
    CHECK_EQ(locus_restore_with(s->worker, s->folder, found, NULL), -EINVAL);
}

TEST_WITH(restore, takes_the_newest_unless_one_is_named, scene, s)
{
    overwrite(s);
    CHECK_EQ(locus_restore(s->worker, s->folder), 0);
    check_is_restored(s);
    overwrite(s);
    CHECK_EQ(locus_checkpoint(s->worker, s->folder), 0);
    set(s, 0, 5);
    CHECK_EQ(locus_restore(s->worker, s->folder), 0);
    CHECK(get(s, 0) == -7 && get(s, 1) == -7);
    CHECK_EQ(locus_restore(s->worker, folder_path(s->folder, "checkpoint-000001")), 0);
    check_is_restored(s);
}

/* Tables are known by their names, whatever keys they have; rows live in other shards. */
TEST(restore, finds_tables_by_name)
{
    static const struct locus_table swapped[] = {{.name = "items", .rows = ROWS, .length = 1},
                                                 {.name = "users", .rows = ROWS, .length = LENGTH}};
    struct scene s, other = {.folder = ""};
    scene_begin(&s);
    other.node = node_of(swapped, 2, 1, 1);
    other.worker = worker_of(other.node);
    CHECK_EQ(locus_restore(other.worker, s.folder), 0);
    for (locus_key key = 0; key < 2 * ROWS; key++)
        CHECK(get(&other, (key + ROWS) % (2 * ROWS)) == get(&s, key));
    close_both(other.node, other.worker);
    scene_end(&s);
}

/* ---- what is refused, before anything changes ---- */

static void refuses(const struct scene *s, const char *folder, int rc, const char *sentence)
{
    overwrite(s);
    CHECK_EQ(locus_restore(s->worker, folder), rc);
    CHECK_STR(locus_error(), "locus_restore: node 0: ");
    CHECK_STR(locus_error(), sentence);
    for (locus_key key = 0; key < 2 * ROWS; key++) CHECK(get(s, key) == -7);
}

TEST_WITH(restore, refuses_a_folder_without_checkpoints, scene, s)
{
    refuses(s, folder_path(s->folder, "none"), -ENOENT, "cannot open the folder of checkpoints");
    CHECK_EQ(unlink(folder_path(s->folder, "checkpoint-000001/" MANIFEST_NAME)), 0);
    refuses(s, s->folder, -ENOENT, "there is no checkpoint in ");
}

/* The tables of a program that has changed. */
static void check_tables(const struct scene *of, const struct locus_table *changed, size_t count,
                         const char *sentence)
{
    locus *n = node_of(changed, count, 1, 1);
    locus_worker *w = worker_of(n);
    const locus_key key = 0;
    float before[LENGTH + 1] = {-7}, after[LENGTH + 1] = {0};
    CHECK_EQ(locus_set(w, &key, 1, before), 0);
    REFUSED(locus_restore(w, of->folder), -EINVAL, sentence);
    CHECK_EQ(locus_pull(w, &key, 1, after), 0);
    CHECK(after[0] == -7);
    close_both(n, w);
}

TEST_WITH(restore, refuses_tables_that_differ, scene, s)
{
    struct locus_table t[3] = {tables[0], tables[1], {.name = "more", .rows = 1, .length = 1}};
    t[0].rows++;
    check_tables(s, t, 2, "table \"users\" has 61 rows here, 60 rows in ");
    t[0] = tables[0], t[1].length = 2;
    check_tables(s, t, 2, "table \"items\" has rows of 2 floats here, rows of 1 floats in ");
    t[1] = tables[1], t[1].flags = LOCUS_TABLE_ENCODED;
    check_tables(s, t, 2, "table \"items\" has flags 1 here, flags 0 in ");
    t[1] = tables[1], t[1].name = "things";
    check_tables(s, t, 2, " has a table \"items\", which is none of this job's");
    t[1] = tables[1];
    check_tables(s, t, 3, "there are 3 tables here, 2 in ");
    check_tables(s, t, 1, " has a table \"items\", which is none of this job's");
}

/* ---- the newest is damaged ---- */

/* Three more, in which all rows are 10, 20 and 30. */
static void write_more(const struct scene *s)
{
    for (int i = 1; i <= 3; i++) {
        for (locus_key key = 0; key < 2 * ROWS; key++) set(s, key, (float)(10 * i));
        CHECK_EQ(setenv("LOCUS_CHECKPOINTS", "9", 1), 0);
        CHECK_EQ(locus_checkpoint(s->worker, s->folder), 0);
    }
}

static void cut(const struct scene *s, const char *file)
{
    CHECK_EQ(truncate(folder_path(s->folder, file), 100), 0);
}

/* What a restore says on stderr; free() it. */
static char *restore_and_hear(const struct scene *s, int rc)
{
    size_t bytes;
    int aside = dup(STDERR_FILENO);
    int fd = open(folder_path(s->folder, "heard"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    overwrite(s);
    CHECK(aside >= 0 && fd >= 0 && dup2(fd, STDERR_FILENO) >= 0);
    int result = locus_restore(s->worker, s->folder);
    CHECK(dup2(aside, STDERR_FILENO) >= 0);
    close(fd);
    close(aside);
    CHECK_EQ(result, rc);
    return folder_read(s->folder, "heard", &bytes);
}

TEST_WITH(restore, takes_an_older_one_when_the_newest_are_damaged, scene, s)
{
    write_more(s);
    cut(s, "checkpoint-000004/" MANIFEST_NAME);
    cut(s, "checkpoint-000003/0-0-0.safetensors");
    CLOSED_BY(free_at) char *heard = restore_and_hear(s, 0);
    for (locus_key key = 0; key < 2 * ROWS; key++) CHECK(get(s, key) == 10);
    refuses(s, folder_path(s->folder, "checkpoint-000003"), -EBADMSG, "is damaged"); /* named */
    CHECK_STR(heard, "checkpoint-000004/" MANIFEST_NAME " is damaged: ");
    CHECK_STR(heard, "; going on from the one before, ");
    CHECK_STR(heard, "node 0: ");
    CHECK_STR(heard, "checkpoint-000003/0-0-0.safetensors is damaged: ");
    CHECK_STR(heard, "/checkpoint-000002\n");
}

TEST_WITH(restore, refuses_when_all_are_damaged, scene, s)
{
    write_more(s);
    for (int i = 1; i <= 4; i++) {
        char file[64];
        snprintf(file, sizeof file, "checkpoint-%06d/0-0-0.safetensors", i);
        cut(s, file);
    }
    free(restore_and_hear(s, -EBADMSG));
    CHECK_STR(locus_error(), "locus_restore: node 0: /");
    CHECK_STR(locus_error(), "checkpoint-000004/0-0-0.safetensors is damaged: ");
    for (locus_key key = 0; key < 2 * ROWS; key++) CHECK(get(s, key) == -7);
}

/* A row whose values are zero has state, too. */
static void check_comes_back(const struct locus_table *table, const struct locus_table *other,
                             const char *refusal)
{
    CLOSED_BY(scene_end) struct scene s = {.node = node_of(table, 1, 1, 2)};
    const size_t stored = locus_state_length(s.node, 0);
    float row[3 * LENGTH], found[3 * LENGTH];
    s.worker = worker_of(s.node);
    folder_new(s.folder);
    for (locus_key key = 0; key < ROWS; key += 2) {
        for (size_t i = 0; i < stored; i++) row[i] = key % 4 || i >= LENGTH ? (float)(key + i) : 0;
        CHECK_EQ(locus_set_state(s.worker, &key, 1, row), 0);
    }
    CHECK_EQ(locus_checkpoint(s.worker, s.folder), 0);
    for (locus_key key = 0; key < ROWS; key++) CHECK_EQ(locus_push(s.worker, &key, 1, row), 0);
    CHECK_EQ(locus_restore(s.worker, s.folder), 0);
    for (locus_key key = 0; key < ROWS; key++) {
        CHECK_EQ(locus_pull_state(s.worker, &key, 1, found), 0);
        for (size_t i = 0; i < stored; i++)
            CHECK(found[i] == (key % 2 || (i < LENGTH && key % 4 == 0) ? 0 : (float)(key + i)));
    }
    close_both(s.node, s.worker);
    s.node = node_of(other, 1, 1, 1);
    s.worker = worker_of(s.node);
    REFUSED(locus_restore(s.worker, s.folder), -EINVAL, refusal);
}

TEST(restore, optimizer_state_and_bf16_come_back)
{
    static const char other_optimizer[] = "table \"users\" has LOCUS_ADAMW here, LOCUS_ADAM in ",
                      other_element[] = "table \"users\" has LOCUS_F32 here, LOCUS_BF16 in ";
    struct locus_table table = {
        .name = "users", .rows = ROWS, .length = LENGTH, .optimizer = LOCUS_ADAM};
    struct locus_table other = table;
    other.optimizer = LOCUS_ADAMW;
    check_comes_back(&table, &other, other_optimizer);
    other = table;
    table.element = LOCUS_BF16;
    check_comes_back(&table, &other, other_element);
    table.optimizer = other.optimizer = LOCUS_NO_OPTIMIZER;
    check_comes_back(&table, &other, other_element);
}

/* ---- how values of 16 bits round is by chance, of which no run has another's ---- */

/* Of two workers the second has closed. */
static void begin(struct scene *s, const struct locus_table *table, unsigned workers)
{
    s->node = node_of(table, 1, workers, 2);
    s->worker = worker_of(s->node);
    if (workers == 2) CHECK_EQ(locus_worker_close(worker_of(s->node)), 0);
}

/* The job ends with its checkpoint, and the next one goes on. */
static void begin_again(struct scene *s, const struct locus_table *table, unsigned workers)
{
    CHECK_EQ(locus_checkpoint(s->worker, s->folder), 0);
    close_both(s->node, s->worker);
    begin(s, table, workers);
    CHECK_EQ(locus_restore(s->worker, s->folder), 0);
}

static void check_chance(unsigned workers)
{
    enum { JOBS = 100 };
    static const struct locus_table table = {.rows = ROWS, .length = LENGTH, .element = LOCUS_BF16};
    CLOSED_BY(scene_end) struct scene s = {.folder = "model"};
    double sum = 0, squares = 0;
    begin(&s, &table, workers);
    for (locus_key key = 0; key < ROWS; key++) set(&s, key, 256);
    for (int job = 0; job < JOBS; job++) {
        const float tenth[LENGTH] = {0.2F, 0.2F, 0.2F}; /* of the distance to the next value */
        for (locus_key key = 0; key < ROWS; key++)
            CHECK_EQ(locus_push(s.worker, &key, 1, tenth), 0);
        memory_files_begin(NULL);
        begin_again(&s, &table, workers);
        memory_files_end();
    }
    for (locus_key key = 0; key < ROWS; key++) {
        float row[LENGTH];
        CHECK_EQ(locus_pull(s.worker, &key, 1, row), 0);
        for (int i = 0; i < LENGTH; i++) sum += (row[i] - 256) / 2;
        for (int i = 0; i < LENGTH; i++) squares += (row[i] - 276) * (row[i] - 276) / 4;
    }
    CHECK(fabs(sum / (ROWS * LENGTH) - 10) < 1.5); /* 0.22 is one deviation of it */
    CHECK(fabs(sqrt(squares / (ROWS * LENGTH)) - 3) < 1);
}

TEST(restore, bf16_rounds_by_chance_over_many_restarts)
{
    check_chance(1);
    check_chance(2);
}

/* Some rows several times. */
static void train(const struct scene *s, int from, int to)
{
    locus_table_steps(s->node, 0, (uint64_t)from); /* of no effect without an optimizer */
    for (int step = from; step < to; step++) {
        locus_key keys[ROWS];
        float updates[ROWS * LENGTH];
        for (int i = 0; i < ROWS; i++) keys[i] = (locus_key)(i * step % ROWS);
        for (int i = 0; i < ROWS * LENGTH; i++) updates[i] = 1 / (float)(1 + (i + step) % 9);
        CHECK_EQ(locus_push(s->worker, keys, ROWS, updates), 0);
    }
}

TEST(restore, one_worker_goes_on_to_the_bits_of_one_that_did_not_stop)
{
    for (enum locus_optimizer o = LOCUS_NO_OPTIMIZER; o <= LOCUS_ADAM; o++) {
        const struct locus_table table = {
            .rows = ROWS, .length = LENGTH, .optimizer = o, .element = LOCUS_BF16};
        CLOSED_BY(scene_end) struct scene whole = {.node = node_of(&table, 1, 1, 2)};
        CLOSED_BY(scene_end) struct scene s = {.node = node_of(&table, 1, 1, 2)};
        whole.worker = worker_of(whole.node);
        train(&whole, 0, 20);
        s.worker = worker_of(s.node);
        folder_new(s.folder);
        train(&s, 0, 7);
        begin_again(&s, &table, 1);
        train(&s, 7, 20);
        for (locus_key key = 0; key < ROWS; key++) {
            float wanted[3 * LENGTH] = {0}, found[3 * LENGTH] = {0};
            CHECK_EQ(locus_pull_state(whole.worker, &key, 1, wanted), 0);
            CHECK_EQ(locus_pull_state(s.worker, &key, 1, found), 0);
            for (int i = 0; i < 3 * LENGTH; i++) CHECK(wanted[i] == found[i]);
        }
    }
}
