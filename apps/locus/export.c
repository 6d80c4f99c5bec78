#include "export.h"

#include "base/error.h"
#include "checkpoint/contents.h"
#include "checkpoint/series.h"
#include "locus.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ALIGNMENT = 64, NAME_BYTES = LOCUS_NAME_MAX + sizeof MANIFEST_FILES };

struct target {
    int fd;
    const char *path;
    off_t data_at;
    size_t row_bytes, stored_bytes; /* what is written of a row; of it and its state */
};

static int failed(const char *path)
{
    int rc = -errno;
    return error_set(rc, "cannot write %s: %s", path, strerror(-rc));
}

static int write_at(const struct target *t, const void *data, size_t bytes, off_t at)
{
    for (const char *from = data; bytes > 0;) {
        ssize_t n = pwrite(t->fd, from, bytes, at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return failed(t->path);
        from += n;
        at += n;
        bytes -= (size_t)n;
    }
    return 0;
}

static int write_rows(void *target, const int64_t *rows, size_t count, const float *values)
{
    const struct target *t = target;
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = write_at(t, (const char *)values + i * t->stored_bytes, t->row_bytes,
                      t->data_at + (off_t)((size_t)rows[i] * t->row_bytes));
    return rc;
}

/* Its header; the rest is zeros as long as nobody writes there. */
static int begin(struct target *t, const struct manifest_table *table)
{
    uint64_t bytes = table->rows * t->row_bytes;
    json_t *json = json_pack("{s{sss[II]s[II]}}", table->name, "dtype", "F32", "shape",
                             (json_int_t)table->rows, (json_int_t)table->length, "data_offsets",
                             (json_int_t)0, (json_int_t)bytes);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    size_t length = text ? strlen(text) : 0,
           all = (8 + length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    char *head = text ? malloc(all + 1) : NULL;
    int rc = head ? 0 : error_set(-ENOMEM, "no memory for the header of %s", t->path);
    if (head) {
        for (unsigned i = 0; i < 8; i++) head[i] = (char)((all - 8) >> 8 * i);
        snprintf(head + 8, all - 7, "%-*s", (int)(all - 8), text);
        rc = write_at(t, head, all, 0);
    }
    t->data_at = (off_t)all;
    if (rc == 0 && ftruncate(t->fd, t->data_at + (off_t)bytes)) rc = failed(t->path);
    free(head);
    free(text);
    json_decref(json);
    return rc;
}

static int copy_rows(const struct contents *c, unsigned table, struct target *t)
{
    int rc = begin(t, &c->manifest->table[table]);
    for (unsigned i = 0; i < c->manifest->files; i++) {
        const struct manifest_file *f = &c->manifest->file[i];
        for (unsigned s = 0; s < f->sections && rc == 0; s++)
            if (f->section[s].table == table)
                rc = contents_rows(c, f, &f->section[s], write_rows, t);
    }
    if (rc == 0 && fsync(t->fd)) rc = failed(t->path);
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

/* A new file under a name of ours, which becomes the table's when it is whole. */
static int write_table(const struct contents *c, unsigned number, struct target *t, int folder,
                       const char *name)
{
    char ours[NAME_BYTES];
    snprintf(ours, sizeof ours, ".%d.%u.new", (int)getpid(), number);
    t->fd = openat(folder, ours, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (t->fd < 0) return failed(t->path);
    int rc = copy_rows(c, number, t);
    if (close(t->fd) && rc == 0) rc = failed(t->path);
    if (rc == 0 && renameat(folder, ours, folder, name)) rc = failed(t->path);
    if (rc) unlinkat(folder, ours, 0);
    return rc;
}

static int export_table(const struct contents *c, unsigned number, const char *out, int folder)
{
    const struct manifest_table *table = &c->manifest->table[number];
    char path[SERIES_PATH], name[NAME_BYTES];
    snprintf(name, sizeof name, "%s" MANIFEST_FILES, table->name);
    int rc = series_path(path, out, name);
    struct target t = {.path = path,
                       .row_bytes = table->length * sizeof(float),
                       .stored_bytes = table->stored * sizeof(float)};
    return rc ? rc : write_table(c, number, &t, folder, name);
}

static int export_all(const struct contents *c, const char *out)
{
    const struct manifest *m = c->manifest;
    int rc = 0;
    for (unsigned i = 0; i < m->files && rc == 0; i++) rc = contents_verify(c, &m->file[i]);
    if (rc) return rc;
    if (mkdir(out, 0777) && errno != EEXIST) return failed(out);
    int folder = open(out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return failed(out);
    for (unsigned i = 0; i < m->tables && rc == 0; i++) rc = export_table(c, i, out, folder);
    if (rc == 0 && fsync(folder)) rc = failed(out);
    close(folder);
    return rc;
}

int export_tables(const char *path, const struct manifest *m, const char *out)
{
    struct blocks blocks;
    int rc = 0;
    for (unsigned i = 0; i < m->tables && rc == 0; i++) rc = check_table(&m->table[i]);
    if (rc) return rc;
    struct seal *seals = contents_seals(m);
    const struct contents c = {&blocks, path, m, seals};
    rc = blocks_init(&blocks) || !seals ? error_set(-ENOMEM, "no memory to read with")
                                        : export_all(&c, out);
    blocks_fini(&blocks);
    contents_free_seals(seals, m);
    return rc;
}
