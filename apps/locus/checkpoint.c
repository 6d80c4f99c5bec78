#include "commands.h"

#include "base/error.h"
#include "checkpoint/manifest.h"
#include "checkpoint/series.h"
#include "checkpoint/tensors.h"
#include "locus.h"
#include "plain.h"
#include "say.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- tables as dense files ---- */

enum { DATA_AT = 4096, NAME_BYTES = LOCUS_NAME_MAX + sizeof MANIFEST_FILES };

/* Each table is a new file under a name of ours, which becomes the table's when all are whole. */
struct dense {
    const struct manifest *manifest;
    const char *out; /* the folder, */
    int folder;      /*   open */
    int fd;          /* of the file that is open; -1: none is, for there may be many */
    unsigned table;  /*   whose it is */
};

static int folder_not_written(const char *out)
{
    int rc = -errno;
    return error_set(rc, "cannot write %s: %s", out, strerror(-rc));
}

static int not_written(const struct dense *x, unsigned table)
{
    int rc = -errno;
    return error_set(rc, "cannot write %s/%s" MANIFEST_FILES ": %s", x->out,
                     x->manifest->table[table].name, strerror(-rc));
}

static void name_ours(char name[NAME_BYTES], unsigned table)
{
    snprintf(name, NAME_BYTES, ".%d.%u.new", (int)getpid(), table);
}

/* That file is the open one. */
static int enter(struct dense *x, unsigned table, int flags)
{
    char ours[NAME_BYTES];
    if (x->fd >= 0 && x->table == table) return 0;
    if (x->fd >= 0 && close(x->fd)) {
        x->fd = -1;
        return not_written(x, x->table);
    }
    name_ours(ours, table);
    x->fd = openat(x->folder, ours, O_WRONLY | O_CLOEXEC | flags, 0666);
    x->table = table;
    return x->fd < 0 ? not_written(x, table) : 0;
}

/* To the file that is open. */
static int write_at(const struct dense *x, const void *data, size_t bytes, off_t at)
{
    for (const char *from = data; bytes > 0;) {
        ssize_t n = pwrite(x->fd, from, bytes, at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return not_written(x, x->table);
        from += n;
        at += n;
        bytes -= (size_t)n;
    }
    return 0;
}

/* A contents_each. */
static int write_rows(void *dense, const struct manifest_section *s, const int64_t *rows,
                      size_t count, const float *values)
{
    struct dense *x = dense;
    const struct manifest_table *t = &x->manifest->table[s->table];
    size_t row_bytes = t->length * sizeof *values;
    int rc = enter(x, s->table, 0);
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = write_at(x, values + i * t->stored, row_bytes,
                      DATA_AT + (off_t)((size_t)rows[i] * row_bytes));
    return rc;
}

/* Its header, padded with spaces; the rest is zeros as long as nobody writes there. */
static int begin_table(struct dense *x, unsigned table)
{
    const struct manifest_table *t = &x->manifest->table[table];
    uint64_t bytes = t->rows * t->length * sizeof(float), text_bytes = DATA_AT - sizeof bytes;
    char head[DATA_AT + 1];
    json_t *json = json_pack("{s{sss[II]s[II]}}", t->name, "dtype", "F32", "shape",
                             (json_int_t)t->rows, (json_int_t)t->length, "data_offsets",
                             (json_int_t)0, (json_int_t)bytes);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    int rc = text ? enter(x, table, O_CREAT | O_EXCL) : error_set(-ENOMEM, "no memory for JSON");
    memcpy(head, &text_bytes, sizeof text_bytes);
    snprintf(head + sizeof text_bytes, text_bytes + 1, "%-*s", (int)text_bytes, text ? text : "");
    if (rc == 0) rc = write_at(x, head, DATA_AT, 0);
    if (rc == 0 && ftruncate(x->fd, (off_t)(DATA_AT + bytes))) rc = not_written(x, table);
    free(text);
    json_decref(json);
    return rc;
}

static int end_table(struct dense *x, unsigned table)
{
    char ours[NAME_BYTES], name[NAME_BYTES];
    int rc = enter(x, table, 0);
    if (rc == 0 && fsync(x->fd)) rc = not_written(x, table);
    name_ours(ours, table);
    snprintf(name, sizeof name, "%s" MANIFEST_FILES, x->manifest->table[table].name);
    if (rc == 0 && renameat(x->folder, ours, x->folder, name)) rc = not_written(x, table);
    return rc;
}

static int write_tables(struct dense *x, const struct contents *c)
{
    const struct manifest *m = x->manifest;
    char ours[NAME_BYTES];
    int rc = 0;
    for (unsigned i = 0; i < m->tables && rc == 0; i++) rc = begin_table(x, i);
    for (unsigned i = 0; i < m->files && rc == 0; i++)
        rc = contents_rows(c, &m->file[i], write_rows, x);
    for (unsigned i = 0; i < m->tables && rc == 0; i++) rc = end_table(x, i);
    if (rc == 0 && fsync(x->folder)) rc = folder_not_written(x->out);
    for (unsigned i = 0; i < m->tables && rc; i++) {
        name_ours(ours, i);
        unlinkat(x->folder, ours, 0);
    }
    return rc;
}

static int export_all(const struct contents *c, const char *out)
{
    const struct manifest *m = c->manifest;
    struct dense x = {.manifest = m, .out = out, .fd = -1};
    int rc = 0;
    for (unsigned i = 0; i < m->files && rc == 0; i++) rc = contents_verify(c, &m->file[i]);
    if (rc) return rc;
    if (mkdir(out, 0777) && errno != EEXIST) return folder_not_written(out);
    x.folder = open(out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (x.folder < 0) return folder_not_written(out);
    rc = write_tables(&x, c);
    if (x.fd >= 0) close(x.fd);
    close(x.folder);
    return rc;
}

static int check_table(const struct manifest_table *t)
{
    if (t->flags & LOCUS_TABLE_ENCODED)
        return error_set(
            -EINVAL,
            "table \"%s\" holds differences to first values, or optimizer state, that its "
            "program alone understands: export from the program that trained it; with "
            "locus.torch Job.restore() and Job.export()",
            t->name);
    if (strchr(t->name, '/') || t->name[0] == '.')
        return error_set(-EINVAL, "table \"%s\" cannot be the name of a file", t->name);
    return 0;
}

/* Of the checkpoint at `path`, whose manifest it is, to the folder `out`, which is made if need be.
 * Verifies what it reads. 0, or a negative errno with the sentence. */
static int export_tables(const char *path, const struct manifest *m, const char *out)
{
    struct blocks blocks;
    const struct contents c = {&blocks, path, m};
    int rc = 0;
    for (unsigned i = 0; i < m->tables && rc == 0; i++) rc = check_table(&m->table[i]);
    if (rc) return rc;
    rc = blocks_init(&blocks) ? error_set(-ENOMEM, "no memory to read with") : export_all(&c, out);
    blocks_fini(&blocks);
    return rc;
}

static const char help[] =
    "usage: locus checkpoint list DIR\n"
    "       locus checkpoint verify DIR\n"
    "       locus checkpoint show DIR\n"
    "       locus checkpoint export DIR OUT\n"
    "\n"
    "Reads the checkpoints of a job. DIR is the folder that it writes them to; verify, show and export take the newest one\n"
    "in it. Or it is one checkpoint: model/checkpoint-000007. docs/guides/checkpoints.md describes the files.\n"
    "\n"
    "  list      a line for each, the newest first: when it was written, by how many nodes, rows and bytes\n"
    "  verify    reads every byte; status 1, and a sentence, if something is damaged\n"
    "  show      its tables and files\n"
    "  export    writes OUT/TABLE.safetensors for each table, with all of its rows, in one tensor, TABLE; tables of\n"
    "            locus.torch are refused: Job.export() writes them\n";

static int failed(void)
{
    return say_and(STATUS_FAILED, "%s", locus_error());
}

/* The manifest of a checkpoint in a folder; name "": of the folder itself. */
static int read_one(const char *dir, const char *name, char path[SERIES_PATH], struct manifest *m)
{
    char manifest[SERIES_PATH];
    int rc = series_path(path, dir, name);
    if (rc == 0) rc = series_path(manifest, path, MANIFEST_NAME);
    return rc ? rc : manifest_read(m, FILES_HERE, manifest, NULL);
}

static int read_newest(const char *dir, char path[SERIES_PATH], struct manifest *m)
{
    char name[SERIES_NAME];
    int rc = series_newest(dir, name);
    return rc ? rc : read_one(dir, name, path, m);
}

static uint64_t all_rows(const struct manifest *m)
{
    uint64_t rows = 0;
    for (unsigned i = 0; i < m->tables; i++) rows += manifest_rows(m, i);
    return rows;
}

static void print_line(const char *name, const struct manifest *m)
{
    char when[64] = "";
    time_t at = (time_t)m->time;
    struct tm tm;
    if (localtime_r(&at, &tm)) strftime(when, sizeof when, "%F %T", &tm);
    plain_print("%s  %s  %u node%s  %u table%s  %llu row%s  %llu bytes\n", name, when, m->nodes,
                plain_s(m->nodes), m->tables, plain_s(m->tables), (unsigned long long)all_rows(m),
                plain_s(all_rows(m)), (unsigned long long)manifest_bytes(m));
}

struct listing {
    const char *dir;
    unsigned count;
};

/* One that is damaged does not hide the others. */
static int list_one(void *context, const char *name)
{
    struct listing *l = context;
    char path[SERIES_PATH];
    struct manifest m;
    l->count++;
    if (read_one(l->dir, name, path, &m)) {
        plain_print("%s  damaged: %s\n", name, locus_error());
        return 0;
    }
    print_line(name, &m);
    manifest_fini(&m);
    return 0;
}

static int list(char *dir, const char *out)
{
    char name[SERIES_NAME], path[SERIES_PATH];
    struct listing l = {.dir = dir};
    struct manifest m;
    (void)out;
    if (series_list(dir, list_one, &l)) return failed();
    if (l.count > 0) return 0;
    if (series_newest(dir, name) || read_one(dir, name, path, &m)) return failed();
    print_line(path, &m); /* it is one itself */
    manifest_fini(&m);
    return 0;
}

static int verify_all(const struct contents *c)
{
    int damaged = 0;
    for (unsigned i = 0; i < c->manifest->files; i++)
        if (contents_verify(c, &c->manifest->file[i])) damaged = failed();
    return damaged;
}

static int verify(char *dir, const char *out)
{
    char path[SERIES_PATH];
    struct manifest m;
    struct blocks blocks;
    (void)out;
    if (read_newest(dir, path, &m)) return failed();
    const struct contents c = {&blocks, path, &m};
    int status = blocks_init(&blocks) ? say_and(STATUS_FAILED, "no memory") : verify_all(&c);
    if (status == 0)
        plain_print("%s is whole: %u file%s, %llu bytes\n", path, m.files, plain_s(m.files),
                    (unsigned long long)manifest_bytes(&m));
    blocks_fini(&blocks);
    manifest_fini(&m);
    return status;
}

static int show(char *dir, const char *out)
{
    char path[SERIES_PATH];
    struct manifest m;
    (void)out;
    if (read_newest(dir, path, &m)) return failed();
    print_line(path, &m);
    for (unsigned i = 0; i < m.tables; i++)
        plain_print("  table %s: %llu of %llu rows of %u float%s%s%s%s%s\n", m.table[i].name,
                    (unsigned long long)manifest_rows(&m, i), (unsigned long long)m.table[i].rows,
                    m.table[i].length, plain_s(m.table[i].length),
                    m.table[i].element ? " in two bytes each" : "",
                    m.table[i].flags ? ", encoded by its program" : "",
                    m.table[i].optimizer ? ", with the state of " : "",
                    m.table[i].optimizer ? row_type_name(m.table[i].optimizer) : "");
    for (unsigned i = 0; i < m.files; i++)
        plain_print("  file %s: %llu bytes, %u table%s\n", m.file[i].name,
                    (unsigned long long)m.file[i].bytes, m.file[i].sections,
                    plain_s(m.file[i].sections));
    manifest_fini(&m);
    return 0;
}

static int export(char *dir, const char *out)
{
    char path[SERIES_PATH];
    struct manifest m;
    signal(SIGXFSZ, SIG_IGN); /* then writing fails, with a reason */
    if (read_newest(dir, path, &m)) return failed();
    int status = export_tables(path, &m, out) ? failed() : 0;
    manifest_fini(&m);
    return status;
}

static const struct deed {
    const char *name;
    int arguments;
    int (*main)(char *dir, const char *out);
} deeds[] = {{"list", 3, list}, {"verify", 3, verify}, {"show", 3, show}, {"export", 4, export}};

int checkpoint_main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "--help";
    say_as("locus checkpoint");
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return fputs(help, stdout) < 0 || fflush(stdout) ? STATUS_FAILED : 0;
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++) {
        const struct deed *d = &deeds[i];
        if (strcmp(word, d->name) != 0) continue;
        if (argc != d->arguments)
            return say_and(STATUS_USAGE, "%s takes %s", word,
                           d->arguments == 3 ? "one folder" : "a folder, and one to write to");
        for (int j = 2; j < argc; j++)
            if (!*argv[j]) return say_and(STATUS_USAGE, "%s: the name of a folder is empty", word);
        int status = d->main(argv[2], argc > 3 ? argv[3] : NULL);
        return fflush(stdout) ? STATUS_FAILED : status;
    }
    return say_and(STATUS_USAGE, "there is no \"%s\": it is list, verify, show or export", word);
}
