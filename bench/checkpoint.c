/*
 * checkpoint.c - how fast a node writes its rows to files, and reads them back.
 *
 * Floors of the same repetition, on the same file system: the same bytes written in blocks of 1 MiB
 * and synced once, which is what `dd bs=1M conv=fsync` does; the same bytes read; all rows set.
 */
#include "common/clock.h"
#include "common/fail.h"
#include "common/must.h"
#include "common/run.h"
#include "locus.h"

#include <dirent.h>
#include <fcntl.h>
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

/* A moment, by the clock and by the processor time of this process: what others use of the machine
 * makes the first longer, the second hardly. */
struct moment {
    uint64_t ns;
    double cpu_s;
};

static struct moment now(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    double s = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec);
    return (struct moment){clock_ns(),
                           s + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec)};
}

struct span {
    double seconds, cpu_s;
};

static struct span since(struct moment from)
{
    struct moment to = now();
    return (struct span){1e-9 * (double)(to.ns - from.ns), to.cpu_s - from.cpu_s};
}

static struct span write_floor(const char *path, const char *block, size_t bytes)
{
    struct moment from = now();
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) fail("cannot write %s", path);
    for (size_t done = 0; done < bytes; done += BLOCK)
        if (write(fd, block, BLOCK) != BLOCK) fail("cannot write %s", path);
    if (fsync(fd) || close(fd)) fail("cannot sync %s", path);
    return since(from);
}

static struct span read_floor(const char *path, char *block)
{
    struct moment from = now();
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (read(fd, block, BLOCK) > 0) {
    }
    close(fd);
    return since(from);
}

static struct span set_all(locus_worker *w, uint64_t rows, float *values, float value)
{
    locus_key keys[BATCH];
    struct moment from = now();
    for (size_t i = 0; i < (size_t)BATCH * LENGTH; i++) values[i] = value + (float)i;
    for (uint64_t row = 0; row < rows; row += BATCH) {
        for (uint64_t i = 0; i < BATCH; i++) keys[i] = row + i;
        must(locus_set(w, keys, BATCH, values), "locus_set");
    }
    return since(from);
}

/* Removes what a repetition wrote. */
static void sweep(const char *path)
{
    char file[2 * PATH];
    DIR *d = opendir(path);
    for (const struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        snprintf(file, sizeof file, "%s/%s", path, e->d_name);
        if (unlink(file)) sweep(file);
    }
    if (d) closedir(d);
    rmdir(path);
}

static long resident_kb(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

static void repeat(locus_worker *w, uint64_t rows, struct span took[KINDS], long *more_kb)
{
    char path[PATH], file[2 * PATH];
    float *values = must_alloc((size_t)BATCH * LENGTH * sizeof *values);
    char *block = must_alloc(BLOCK);
    size_t bytes = rows * LENGTH * sizeof(float);
    snprintf(path, sizeof path, "%s/locus-bench-checkpoint-%d", folder, (int)getpid());
    snprintf(file, sizeof file, "%s.floor", path);
    memset(block, 'x', BLOCK);
    took[SET] = set_all(w, rows, values, 1);
    took[WRITE] = write_floor(file, block, bytes);
    long before_kb = resident_kb();
    struct moment from = now();
    must(locus_checkpoint(w, path), "locus_checkpoint");
    took[SAVE] = since(from);
    *more_kb = resident_kb() - before_kb;
    took[READ] = read_floor(file, block);
    from = now();
    must(locus_restore(w, path), "locus_restore");
    took[RESTORE] = since(from);
    unlink(file);
    sweep(path);
    free(values);
    free(block);
}

static void open_worker(uint64_t rows, locus **node, locus_worker **w)
{
    const struct locus_table table = {.name = "rows", .rows = rows, .length = LENGTH};
    struct locus_config c;
    locus_config_init(&c);
    c.tables = &table;
    c.table_count = 1;
    must(locus_open(&c, node), "locus_open");
    must(locus_worker_open(*node, w), "locus_worker_open");
}

int main(int argc, char **argv)
{
    static double seconds[KINDS][REPETITIONS_MAX], cpu_s[KINDS][REPETITIONS_MAX];
    struct run r = {0};
    locus *node;
    locus_worker *w;
    run_parse(&r,
              &(struct program){.name = "checkpoint",
                                .about = about,
                                .more = more,
                                .more_count = 1,
                                .has_no_demo = true},
              argc, argv);
    run_repeat(&r, (struct run_repetitions){.quick = 1, .full = 5});
    run_begin(&r, true);
    uint64_t rows = r.options.quick ? 1 << 15 : 1 << 20;
    open_worker(rows, &node, &w);
    long kb = 0;
    for (unsigned i = 0; i < r.repetitions; i++) {
        struct span one[KINDS];
        long more_kb;
        repeat(w, rows, one, &more_kb);
        if (more_kb > kb) kb = more_kb;
        for (unsigned k = 0; k < KINDS; k++) {
            seconds[k][i] = one[k].seconds;
            cpu_s[k][i] = one[k].cpu_s;
        }
    }
    for (unsigned k = 0; k < KINDS; k++) {
        run_cell(&r, names[k]);
        run_values(&r, "seconds", seconds[k]);
        run_values(&r, "cpu_s", cpu_s[k]);
        json_count(&r.json, "bytes", rows * LENGTH * sizeof(float));
        if (k == SAVE) json_count(&r.json, "bytes_beside", (uint64_t)kb << 10);
        json_end(&r.json);
    }
    run_end(&r);
    must(locus_worker_close(w), "locus_worker_close");
    must(locus_close(node), "locus_close");
    return 0;
}
