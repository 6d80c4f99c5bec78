#include "checkpoint/contents.h"

#include "base/error.h"
#include "checkpoint/files.h"
#include "checkpoint/series.h"
#include "base/floats.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int damaged(const struct contents *c, const struct manifest_file *f, const char *what)
{
    return error_set(-EBADMSG, "%s/%s is damaged: %s", c->folder, f->name, what);
}

static int cannot_read(const struct contents *c, const struct manifest_file *f, int rc)
{
    if (rc == -ENODATA || rc == -ENOENT)
        return damaged(c, f, rc == -ENOENT ? "it is missing" : "it ends too early");
    return error_set(rc, "cannot read %s/%s: %s", c->folder, f->name, files_strerror(rc));
}

static struct seal *seal_of(const struct contents *c, const struct manifest_file *f)
{
    return &c->seals[f - c->manifest->file];
}

struct seal *contents_seals(const struct manifest *m)
{
    return calloc(m->files + 1, sizeof(struct seal));
}

void contents_free_seals(struct seal *seals, const struct manifest *m)
{
    for (unsigned i = 0; seals && i < m->files; i++) seal_end(&seals[i]);
    free(seals);
}

/* ---- is it as it was written? ---- */

static int open_file(const struct contents *c, const struct manifest_file *f, uint64_t from,
                     uint64_t end, struct seal *seal)
{
    char path[SERIES_PATH];
    int rc = series_path(path, c->folder, f->name);
    if (rc) return rc;
    rc = blocks_open(c->blocks, path, from, end, seal);
    return rc ? cannot_read(c, f, rc) : 0;
}

/* The end of reading bytes from one to another: they have this digest. */
static int end_range(const struct contents *c, const struct manifest_file *f, int rc, uint64_t from,
                     uint64_t end, const char *digest, const char *what)
{
    char found[DIGEST_TEXT], sentence[128];
    blocks_close(c->blocks, found);
    if (rc) return cannot_read(c, f, rc);
    if (strcmp(found, digest) == 0) return 0;
    snprintf(sentence, sizeof sentence,
             "its %s, bytes %llu to %llu, does not have the digest that the manifest says", what,
             (unsigned long long)from, (unsigned long long)end - 1);
    return damaged(c, f, sentence);
}

static int verify_header(const struct contents *c, const struct manifest_file *f)
{
    int rc = open_file(c, f, 0, f->data_at, NULL);
    if (rc) return rc;
    rc = blocks_read(c->blocks, NULL, f->data_at);
    return end_range(c, f, rc, 0, f->data_at, f->header, "header");
}

/* Of the numbers of a section's rows, which come next: the first that its table does not have. */
static int look_at_numbers(const struct contents *c, const struct manifest_section *s,
                           int64_t *wrong)
{
    int64_t some[512];
    int rc = 0;
    for (uint64_t done = 0, n; done < s->rows && rc == 0; done += n) {
        n = s->rows - done < 512 ? s->rows - done : 512;
        rc = blocks_read(c->blocks, some, n * sizeof *some);
        for (uint64_t i = 0; i < n && rc == 0 && *wrong == 0; i++)
            if ((uint64_t)some[i] >= c->manifest->table[s->table].rows) *wrong = some[i];
    }
    return rc;
}

static int verify_data(const struct contents *c, const struct manifest_file *f)
{
    const struct manifest_section *bad = NULL;
    int64_t wrong = 0; /* no number that is wrong is 0 */
    uint64_t at = f->data_at;
    struct seal *seal = seal_of(c, f);
    if (seal_begin(seal, at, f->bytes)) return error_set(-ENOMEM, "no memory to verify with");
    int rc = open_file(c, f, at, f->bytes, seal);
    if (rc) return rc;
    for (unsigned i = 0; i < f->sections && rc == 0; i++) {
        const struct manifest_section *s = &f->section[i];
        rc = blocks_read(c->blocks, NULL, s->keys_at - at);
        if (rc == 0) rc = look_at_numbers(c, s, &wrong);
        if (wrong && !bad) bad = s;
        at = s->keys_at + s->rows * sizeof(int64_t);
    }
    if (rc == 0) rc = blocks_read(c->blocks, NULL, f->bytes - at);
    rc = end_range(c, f, rc, f->data_at, f->bytes, f->data, "data");
    if (rc || !bad) return rc;
    const struct manifest_table *t = &c->manifest->table[bad->table];
    return error_set(-EBADMSG, "%s/%s is damaged: it has row %lld of table \"%s\", which has %llu",
                     c->folder, f->name, (long long)wrong, t->name, (unsigned long long)t->rows);
}

/* Before the data: so nothing is kept in mind for what is not there. */
static int verify_length(const struct contents *c, const struct manifest_file *f)
{
    char path[SERIES_PATH];
    int rc = series_path(path, c->folder, f->name);
    if (rc) return rc;
    int fd = files->open(FILES_HERE, path, O_RDONLY);
    int64_t size = fd < 0 ? fd : files->size(fd);
    if (fd >= 0) files->close(fd);
    if (size < 0) return cannot_read(c, f, (int)size);
    if ((uint64_t)size < f->bytes) return cannot_read(c, f, -ENODATA);
    return (uint64_t)size > f->bytes ? damaged(c, f, "it is longer than the manifest says") : 0;
}

int contents_verify(const struct contents *c, const struct manifest_file *f)
{
    int rc = verify_header(c, f);
    if (rc == 0) rc = verify_length(c, f);
    return rc ? rc : verify_data(c, f);
}

/* ---- rows ---- */

static int changed(const struct contents *c, const struct manifest_file *f, int rc)
{
    bool is_other = rc == -ESTALE || rc == -ENODATA || rc == -ENOENT || rc == FILES_IRREGULAR;
    if (!is_other) return cannot_read(c, f, rc);
    return error_set(-EIO, "%s/%s has changed since it was verified", c->folder, f->name);
}

static int open_again(const struct contents *c, const struct manifest_file *f, uint64_t from,
                      uint64_t end)
{
    char path[SERIES_PATH];
    int rc = series_path(path, c->folder, f->name);
    if (rc) return rc;
    rc = blocks_open_sealed(c->blocks, path, from, end, seal_of(c, f));
    return rc ? changed(c, f, rc) : 0;
}

/* The numbers of the rows, which stand behind them. */
static int read_numbers(const struct contents *c, const struct manifest_file *f,
                        const struct manifest_section *s, int64_t *numbers)
{
    size_t bytes = s->rows * sizeof *numbers;
    int rc = open_again(c, f, s->keys_at, s->keys_at + bytes);
    if (rc) return rc;
    rc = blocks_read(c->blocks, numbers, bytes);
    blocks_close(c->blocks, NULL);
    return rc ? changed(c, f, rc) : 0;
}

static int read_rows(const struct contents *c, const struct manifest_table *t, float *values,
                     size_t count)
{
    enum { MANY = 512 };
    if (t->bytes == t->stored * sizeof *values)
        return blocks_read(c->blocks, values, count * t->bytes);
    float part[MANY / 2];
    int rc = 0;
    for (size_t row = 0; row < count; row++, values += t->length)
        for (uint32_t i = 0; i < t->length && rc == 0; i += MANY) {
            uint32_t n = t->length - i < MANY ? t->length - i : MANY;
            rc = blocks_read(c->blocks, part, row_type_words(t->element, n) * sizeof *part);
            bf16_best()->widen(values + i, part, n);
        }
    return rc;
}

static int show_rows(const struct contents *c, const struct manifest_file *f,
                     const struct manifest_section *s, const int64_t *numbers, float *values,
                     contents_each *each, void *context)
{
    const struct manifest_table *t = &c->manifest->table[s->table];
    size_t row_bytes = t->stored * sizeof(float), count, capacity = CONTENTS_BYTES / row_bytes;
    int rc = 0;
    if (capacity > CONTENTS_ROWS) capacity = CONTENTS_ROWS;
    if (capacity == 0) capacity = 1;
    for (uint64_t done = 0; done < s->rows && rc == 0; done += count) {
        count = s->rows - done < capacity ? s->rows - done : capacity;
        rc = read_rows(c, t, values, count);
        if (rc) return changed(c, f, rc);
        rc = each(context, numbers + done, count, values);
    }
    return rc;
}

int contents_rows(const struct contents *c, const struct manifest_file *f,
                  const struct manifest_section *s, contents_each *each, void *context)
{
    const struct manifest_table *t = &c->manifest->table[s->table];
    size_t row_bytes = t->stored * sizeof(float);
    int64_t *numbers = malloc(s->rows * sizeof *numbers);
    float *values = malloc(row_bytes > CONTENTS_BYTES ? row_bytes : CONTENTS_BYTES);
    int rc = numbers && values ? read_numbers(c, f, s, numbers)
                               : error_set(-ENOMEM, "no memory to read a checkpoint with");
    if (rc == 0) rc = open_again(c, f, s->rows_at, s->rows_at + s->rows * t->bytes);
    if (rc == 0) {
        rc = show_rows(c, f, s, numbers, values, each, context);
        blocks_close(c->blocks, NULL);
    }
    free(numbers);
    free(values);
    return rc;
}
