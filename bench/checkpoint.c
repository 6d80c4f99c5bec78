/*
 * checkpoint.c - how fast a node writes its rows to files, and reads them back.
 *
 * Floors of the same repetition, on the same file system: the same bytes written in blocks of 1 MiB
 * and synced once, which is what `dd bs=1M conv=fsync` does; the same bytes read; all rows set.
 */
#include "common/clock.h"
#include "common/cluster.h"
#include "common/must.h"
#include "common/run.h"
#include "locus.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const char *const about =
    "Times locus_checkpoint and locus_restore of one worker (GB of files a second) against writing\n"
    "and syncing as many bytes, reading them, and setting all rows.";

enum { LENGTH = 128, BLOCK = 1 << 20, BATCH = 1024, PATH = 512 };

static const char *folder = ".";
static const struct args_option more[] = {
    OPTION_TEXT("--folder", "DIR", &folder, 0, "where files are written, and removed again"),
};

/* Of one repetition. */
enum { WRITE, SAVE, READ, SET, RESTORE, KINDS };
static const char *const names[KINDS] = {"write and sync", "locus_checkpoint", "read", "locus_set",
                                         "locus_restore"};
static struct cell *cells[KINDS];

/* What has happened since: by the clock and by the processor time of this process. What others use of
 * the machine makes the first longer, the second hardly. */
static void note(unsigned kind, struct node_figures from)
{
    struct node_figures now = node_figures(NULL);
    *cell_figure(cells[kind], "seconds") = 1e-9 * (double)(now.time_ns - from.time_ns);
    *cell_figure(cells[kind], "cpu_s") = 1e-9 * (double)(now.cpu_ns - from.cpu_ns);
}

static void write_floor(const char *path, const char *block, size_t bytes)
{
    struct node_figures from = node_figures(NULL);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) fail("cannot write %s", path);
    for (size_t done = 0; done < bytes; done += BLOCK)
        if (write(fd, block, BLOCK) != BLOCK) fail("cannot write %s", path);
    if (fsync(fd) || close(fd)) fail("cannot sync %s", path);
    note(WRITE, from);
}

static void read_floor(const char *path, char *block)
{
    struct node_figures from = node_figures(NULL);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (read(fd, block, BLOCK) > 0) {
    }
    close(fd);
    note(READ, from);
}

static void set_all(locus_worker *w, uint64_t rows, float *values)
{
    locus_key keys[BATCH];
    struct node_figures from = node_figures(NULL);
    for (size_t i = 0; i < (size_t)BATCH * LENGTH; i++) values[i] = 1 + (float)i;
    for (uint64_t row = 0; row < rows; row += BATCH) {
        for (uint64_t i = 0; i < BATCH; i++) keys[i] = row + i;
        must(locus_set(w, keys, BATCH, values), "locus_set");
    }
    note(SET, from);
}

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *f)
{
    (void)s, (void)kind, (void)f;
    return remove(path);
}

/* At most so far. */
static uint64_t resident_bytes(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (uint64_t)u.ru_maxrss << 10;
}

static void repeat(locus_worker *w, uint64_t rows)
{
    char path[PATH], file[2 * PATH];
    float *values = must_alloc((size_t)BATCH * LENGTH * sizeof *values);
    char *block = must_alloc(BLOCK);
    uint64_t *most = cell_count(cells[SAVE], "bytes_beside");
    snprintf(path, sizeof path, "%s/locus-bench-checkpoint-%d", folder, (int)getpid());
    snprintf(file, sizeof file, "%s.floor", path);
    memset(block, 'x', BLOCK);
    set_all(w, rows, values);
    write_floor(file, block, rows * LENGTH * sizeof *values);
    uint64_t before = resident_bytes();
    struct node_figures from = node_figures(NULL);
    must(locus_checkpoint(w, path), "locus_checkpoint");
    note(SAVE, from);
    uint64_t beside = resident_bytes() - before;
    if (beside > *most) *most = beside;
    read_floor(file, block);
    from = node_figures(NULL);
    must(locus_restore(w, path), "locus_restore");
    note(RESTORE, from);
    unlink(file);
    nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(values);
    free(block);
}

int main(int argc, char **argv)
{
    const struct program program = {
        .name = "checkpoint", .about = about, .more = more, .more_count = 1, .quick = 1, .full = 5};
    run_parse(&program, argc, argv);
    uint64_t rows = run.quick ? 1 << 15 : 1 << 20;
    const struct locus_table table = {.name = "rows", .rows = rows, .length = LENGTH};
    struct locus_config config = cluster_config(&table, 1, LOCUS_ADAPTIVE, 0, 1, NULL);
    locus *node;
    locus_worker *w;
    for (unsigned k = 0; k < KINDS; k++) {
        cells[k] = run_cell(NULL, NULL, true, "%s", names[k]);
        *cell_count(cells[k], "bytes") = rows * LENGTH * sizeof(float);
    }
    run_begin();
    cluster_open(&config, &node, &w);
    for (run.repetition = 0; run.repetition < run.repetitions; run.repetition++) repeat(w, rows);
    run_report(NULL);
    run_end();
    cluster_close(node, w);
    return 0;
}
