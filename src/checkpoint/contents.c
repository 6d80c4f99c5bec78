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

enum { MANY = 512, IS_OTHER = -ESTALE /* than what was verified */ };

struct reading {
    const struct contents *contents;
    const struct manifest_file *file;
    contents_each *each; /* NULL: it is verified */
    void *context;
    int64_t *numbers;                   /* of a section's rows */
    float *values;                      /* of some of them */
    const struct manifest_section *bad; /* has a row that its table does not have, */
    int64_t wrong;                      /*   of this number, which is not 0 */
};

static int damaged(const struct reading *r, const char *what)
{
    return error_set(-EBADMSG, "%s/%s is damaged: %s", r->contents->folder, r->file->name, what);
}

/* `rc`, with a sentence where it is a failure of reading. */
static int judged(const struct reading *r, int rc)
{
    const char *folder = r->contents->folder, *name = r->file->name;
    if (rc == 0) return 0;
    bool is_short = rc == -ENODATA, is_gone = rc == -ENOENT, is_other = rc == IS_OTHER;
    if (r->each && (is_short || is_gone || is_other || rc == FILES_IRREGULAR))
        return error_set(-EIO, "%s/%s has changed since it was verified", folder, name);
    if (is_short || is_gone) return damaged(r, is_gone ? "it is missing" : "it ends too early");
    return error_set(rc, "cannot read %s/%s: %s", folder, name, files_strerror(rc));
}

/* ---- bytes from one to another ---- */

static int begin_range(const struct reading *r, uint64_t from, uint64_t end)
{
    char path[SERIES_PATH];
    int rc = series_path(path, r->contents->folder, r->file->name);
    return rc ? rc : judged(r, blocks_open(r->contents->blocks, path, from, end));
}

/* They have this digest. */
static int end_range(const struct reading *r, int rc, uint64_t from, uint64_t end,
                     const char *digest, const char *what)
{
    char found[DIGEST_TEXT], sentence[128];
    blocks_close(r->contents->blocks, found);
    if (rc || strcmp(found, digest) == 0) return rc;
    if (r->each) return judged(r, IS_OTHER);
    snprintf(sentence, sizeof sentence,
             "its %s, bytes %llu to %llu, does not have the digest that the manifest says", what,
             (unsigned long long)from, (unsigned long long)end - 1);
    return damaged(r, sentence);
}

static int verify_header(const struct reading *r)
{
    const struct manifest_file *f = r->file;
    int rc = begin_range(r, 0, f->data_at);
    if (rc) return rc;
    rc = judged(r, blocks_pass(r->contents->blocks, f->data_at));
    return end_range(r, rc, 0, f->data_at, f->header, "header");
}

static int verify_length(const struct reading *r)
{
    char path[SERIES_PATH];
    int rc = series_path(path, r->contents->folder, r->file->name);
    if (rc) return rc;
    int fd = files->open(FILES_HERE, path, O_RDONLY);
    int64_t size = fd < 0 ? fd : files->size(fd);
    if (fd >= 0) files->close(fd);
    if (size < 0) return judged(r, (int)size);
    if ((uint64_t)size < r->file->bytes) return judged(r, -ENODATA);
    return (uint64_t)size > r->file->bytes ? damaged(r, "it is longer than the manifest says") : 0;
}

/* ---- rows ---- */

static const struct manifest_table *table_of(const struct reading *r,
                                             const struct manifest_section *s)
{
    return &r->contents->manifest->table[s->table];
}

/* They stand behind the rows. One that its table does not have is given to nobody. */
static int read_numbers(struct reading *r, const struct manifest_section *s)
{
    size_t bytes = s->rows * sizeof *r->numbers;
    int rc = judged(r, blocks_peek(r->contents->blocks, r->numbers, bytes, s->keys_at));
    for (uint64_t i = 0; i < s->rows && rc == 0 && !r->bad; i++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): they are allocated where there are rows */
        if ((uint64_t)r->numbers[i] < table_of(r, s)->rows) continue;
        r->bad = s;
        r->wrong = r->numbers[i];
    }
    return r->each && r->bad ? judged(r, IS_OTHER) : rc;
}

/* They come by: are they those that were used? */
static int compare_numbers(const struct reading *r, const struct manifest_section *s)
{
    int64_t some[MANY];
    int rc = 0;
    for (uint64_t done = 0, n; done < s->rows && rc == 0; done += n) {
        n = s->rows - done < MANY ? s->rows - done : MANY;
        rc = blocks_read(r->contents->blocks, some, n * sizeof *some);
        if (rc == 0 && memcmp(some, r->numbers + done, n * sizeof *some) != 0) rc = IS_OTHER;
    }
    return judged(r, rc);
}

static int read_rows(const struct reading *r, const struct manifest_table *t, size_t count)
{
    float part[MANY / 2], *values = r->values;
    if (t->bytes == t->stored * sizeof *values)
        return judged(r, blocks_read(r->contents->blocks, values, count * t->bytes));
    int rc = 0;
    for (size_t row = 0; row < count; row++, values += t->length)
        for (uint32_t i = 0; i < t->length && rc == 0; i += MANY) {
            uint32_t n = t->length - i < MANY ? t->length - i : MANY;
            size_t bytes = row_type_words(t->element, n) * sizeof *part;
            rc = blocks_read(r->contents->blocks, part, bytes);
            bf16_best()->widen(values + i, part, n);
        }
    return judged(r, rc);
}

static int give_rows(const struct reading *r, const struct manifest_section *s)
{
    const struct manifest_table *t = table_of(r, s);
    size_t row_bytes = t->stored * sizeof(float), count, capacity = CONTENTS_BYTES / row_bytes;
    int rc = 0;
    if (capacity > CONTENTS_ROWS) capacity = CONTENTS_ROWS;
    if (capacity == 0) capacity = 1;
    for (uint64_t done = 0; done < s->rows && rc == 0; done += count) {
        count = s->rows - done < capacity ? s->rows - done : capacity;
        rc = read_rows(r, t, count);
        if (rc == 0) rc = r->each(r->context, s, r->numbers + done, count, r->values);
    }
    return rc;
}

static int read_section(struct reading *r, const struct manifest_section *s)
{
    struct blocks *b = r->contents->blocks;
    int rc = read_numbers(r, s);
    if (rc || !r->each) return rc;
    rc = judged(r, blocks_pass(b, s->rows_at));
    if (rc == 0) rc = give_rows(r, s);
    if (rc == 0) rc = judged(r, blocks_pass(b, s->keys_at));
    return rc ? rc : compare_numbers(r, s);
}

static int read_sections(struct reading *r)
{
    int rc = 0;
    r->numbers = malloc(MANIFEST_ROWS_MAX * sizeof *r->numbers);
    r->values = malloc(LOCUS_LENGTH_MAX * sizeof *r->values);
    if (!r->numbers || !r->values) rc = error_set(-ENOMEM, "no memory to read a checkpoint with");
    for (unsigned i = 0; i < r->file->sections && rc == 0; i++)
        rc = read_section(r, &r->file->section[i]);
    free(r->numbers);
    free(r->values);
    return rc;
}

static int read_data(struct reading *r)
{
    const struct manifest_file *f = r->file;
    int rc = begin_range(r, f->data_at, f->bytes);
    if (rc) return rc;
    rc = read_sections(r);
    if (rc == 0) rc = judged(r, blocks_pass(r->contents->blocks, f->bytes));
    return end_range(r, rc, f->data_at, f->bytes, f->data, "data");
}

/* ---- */

int contents_verify(const struct contents *c, const struct manifest_file *f)
{
    struct reading r = {.contents = c, .file = f};
    int rc = verify_header(&r);
    if (rc == 0) rc = verify_length(&r);
    if (rc == 0) rc = read_data(&r);
    if (rc || !r.bad) return rc;
    const struct manifest_table *t = table_of(&r, r.bad);
    return error_set(-EBADMSG, "%s/%s is damaged: it has row %lld of table \"%s\", which has %llu",
                     c->folder, f->name, (long long)r.wrong, t->name, (unsigned long long)t->rows);
}

int contents_rows(const struct contents *c, const struct manifest_file *f, contents_each *each,
                  void *context)
{
    struct reading r = {.contents = c, .file = f, .each = each, .context = context};
    return read_data(&r);
}
