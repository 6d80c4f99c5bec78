/* locus_checkpoint(), on one node: what it writes and refuses. What a failure leaves: files_test.c. */
#include "checkpoint/series.h"
#include "common/folder.h"
#include "worker/node.h"
#include "pair.h"

#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

enum { ROWS = 50 };
static const struct locus_table tables[] = {{.name = "users", .rows = ROWS, .length = 3},
                                            {.name = "items", .rows = ROWS, .length = 1}};

static void set(locus_worker *w, locus_key key, float value)
{
    const float row[3] = {value, value + 1, value + 2};
    CHECK_EQ(locus_set(w, &key, 1, row), 0);
}

static struct manifest manifest_of(const char *folder, const char *name)
{
    struct manifest m;
    char path[SERIES_PATH];
    CHECK_EQ(series_path(path, folder_path(folder, name), MANIFEST_NAME), 0);
    CHECK_EQ(manifest_read(&m, FILES_HERE, path, NULL), 0);
    return m;
}

/* How many names a folder has. */
static unsigned names_in(const char *folder)
{
    unsigned n = 0;
    DIR *d = opendir(folder);
    CHECK(d != NULL);
    for (const struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

TEST(save, checkpoint_has_the_rows_that_are_not_zero)
{
    char f[FOLDER_PATH_BYTES];
    locus *n = node_of(tables, 2, 1, 2);
    locus_worker *w = worker_of(n);
    folder_new(f);
    for (locus_key key = 0; key < ROWS; key += 2) set(w, key, (float)key);
    set(w, ROWS + 7, 5);
    CHECK_EQ(locus_checkpoint(w, f), 0);
    struct manifest m = manifest_of(f, "checkpoint-000001");
    CHECK_EQ(m.number, 1);
    CHECK_EQ(m.nodes, 1);
    CHECK_EQ(m.tables, 2);
    CHECK_STR(m.table[1].name, "items");
    CHECK_EQ(manifest_rows(&m, 0), ROWS / 2);
    CHECK_EQ(manifest_rows(&m, 1), 1);
    /* what helped to write it is gone: its files and the manifest are there */
    CHECK_EQ(names_in(folder_path(f, "checkpoint-000001")), m.files + 1);
    manifest_fini(&m);
    CHECK_EQ(setenv("LOCUS_CHECKPOINTS", "2", 1), 0);
    for (int i = 2; i <= 4; i++) CHECK_EQ(locus_checkpoint(w, f), 0);
    CHECK_EQ(names_in(f), 2);
    close_both(n, w);
}

static void save_and_restore(struct pair *p, int rank)
{
    CHECK_EQ(locus_checkpoint(p->worker[rank], p->context), 0);
    CHECK_EQ(locus_restore(p->worker[rank], p->context), 0);
}

/* Those of one node's home are at the other, so that it waits for them. */
TEST(save, rows_of_checkpoints_and_restores_are_no_accesses)
{
    static const struct locus_table table = {.rows = ROWS, .length = 3};
    char f[FOLDER_PATH_BYTES];
    uint64_t blocked[2], rows = 0;
    struct locus_stats before[2], after;
    CLOSED_BY(pair_end) struct pair p;
    pair_init(&p, &table, 1);
    p.config.technique = LOCUS_RELOCATE;
    pair_open(&p);
    folder_new(f);
    p.context = f;
    for (locus_key key = 0; key < ROWS; key++) {
        CHECK_EQ(locus_localize(p.worker[0], &key, 1), 0);
        set(p.worker[0], key, (float)key + 1);
    }
    for (int i = 0; i < 2; i++) {
        before[i] = stats_of(p.node[i]);
        blocked[i] = p.worker[i]->operations.blocked.sum;
    }
    pair_do(&p, save_and_restore);
    CHECK(p.worker[1]->operations.blocked.sum > blocked[1]);
    for (int i = 0; i < 2; i++) {
        after = stats_of(p.node[i]);
        CHECK_EQ(memcmp(&before[i], &after, offsetof(struct locus_stats, relocated_in)), 0);
        rows += p.worker[i]->counters.checkpoint_rows;
    }
    CHECK_EQ(rows, 2 * ROWS);
}

/* ---- what fails ---- */

static void refuses(locus_worker *w, const char *folder, int rc, const char *sentence)
{
    CHECK_EQ(locus_checkpoint(w, folder), rc);
    CHECK_STR(locus_error(), "locus_checkpoint: node 0: ");
    CHECK_STR(locus_error(), sentence);
}

TEST(save, checkpoint_names_folders_it_cannot_make)
{
    char f[FOLDER_PATH_BYTES];
    locus *n = node_of(tables, 2, 1, 1);
    locus_worker *w = worker_of(n);
    folder_new(f);
    CHECK_EQ(setenv("LOCUS_CHECKPOINTS", "none", 1), 0);
    refuses(w, f, -EINVAL, "LOCUS_CHECKPOINTS is \"none\"");
    CHECK_EQ(unsetenv("LOCUS_CHECKPOINTS"), 0);
    CHECK_EQ(names_in(f), 0);
    refuses(w, folder_path(f, "no/such"), -ENOENT, "cannot make the folder of checkpoints");
    folder_write(f, "file", "no folder", 0);
    refuses(w, folder_path(f, "file"), -ENOTDIR, "file: Not a directory");
    CHECK_EQ(locus_checkpoint(w, f), 0); /* nothing of that lasts */
    close_both(n, w);
}

/* ---- `ulimit -f` ---- */

enum { MANY = 20000, FEW_BYTES = 4096 };

static void write_too_much(struct pair *p, int rank)
{
    static float ones[MANY];
    static locus_key keys[MANY];
    locus_worker *w = p->worker[rank];
    for (locus_key key = 0; key < MANY && rank == 0; key++) keys[key] = key, ones[key] = 1;
    if (rank == 0) CHECK_EQ(locus_set(w, keys, MANY, ones), 0);
    for (int i = 0; i < FEW_BYTES / 16; i++)
        CHECK_EQ(locus_report_value(p->node[rank], "loss", 0.5), 0);
    CHECK_EQ(locus_checkpoint(w, p->context), -EFBIG);
    CHECK_STR(locus_error(), "locus_checkpoint: ");
}

/* No node needs the files of its links, of its report or its trace; and the system's default would
 * end a program that has not thought of the signal. */
TEST(save, files_that_may_not_grow_end_no_program)
{
    const struct locus_table table = {.rows = MANY, .length = 1};
    const struct rlimit few = {.rlim_cur = FEW_BYTES, .rlim_max = RLIM_INFINITY};
    char f[FOLDER_PATH_BYTES];
    struct pair p;
    folder_new(f);
    CHECK_EQ(setenv("LOCUS_REPORT", folder_path(f, "report"), 1), 0);
    CHECK_EQ(setenv("LOCUS_TRACE", folder_path(f, "trace"), 1), 0);
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &few), 0);
    signal(SIGXFSZ, SIG_DFL);
    pair_init(&p, &table, 1);
    p.context = f;
    pair_open(&p);
    pair_do(&p, write_too_much);
    pair_end(&p);
    CHECK_EQ(names_in(f), 4); /* two reports, two traces, and nothing of the checkpoint */
}
