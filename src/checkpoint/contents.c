#include "checkpoint/contents.h"

#include "base/error.h"
#include "checkpoint/files.h"

#include <errno.h>
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

static int open_file(const struct contents *c, const struct manifest_file *f, uint64_t from,
                     uint64_t end)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", c->folder, f->name);
    if (n >= (int)sizeof path) return error_set(-ENAMETOOLONG, "%.100s...: too long", path);
    int rc = blocks_open(c->blocks, path, from, end);
    return rc ? cannot_read(c, f, rc) : 0;
}

/* Its bytes from one to another have this digest. */
static int verify_range(const struct contents *c, const struct manifest_file *f, uint64_t from,
                        uint64_t end, const char *digest, const char *what)
{
    char found[DIGEST_TEXT], sentence[128];
    int rc = open_file(c, f, from, end);
    if (rc) return rc;
    rc = blocks_pass(c->blocks, end - from);
    blocks_close(c->blocks, found);
    if (rc) return cannot_read(c, f, rc);
    if (strcmp(found, digest) == 0) return 0;
    snprintf(sentence, sizeof sentence,
             "its %s, bytes %llu to %llu, does not have the digest that the manifest says", what,
             (unsigned long long)from, (unsigned long long)end - 1);
    return damaged(c, f, sentence);
}

static int verify_length(const struct contents *c, const struct manifest_file *f)
{
    int rc = open_file(c, f, f->bytes, f->bytes + 1);
    if (rc) return rc;
    rc = blocks_pass(c->blocks, 1);
    blocks_close(c->blocks, NULL);
    if (rc == 0) return damaged(c, f, "it is longer than the manifest says");
    return rc == -ENODATA ? 0 : cannot_read(c, f, rc);
}

int contents_verify(const struct contents *c, const struct manifest_file *f)
{
    int rc = verify_range(c, f, 0, f->data_at, f->header, "header");
    if (rc == 0) rc = verify_range(c, f, f->data_at, f->bytes, f->data, "data");
    return rc ? rc : verify_length(c, f);
}

/* The numbers of the rows, which stand behind them. */
static int read_numbers(const struct contents *c, const struct manifest_file *f,
                        const struct manifest_section *s, int64_t *numbers)
{
    size_t bytes = s->rows * sizeof *numbers;
    uint64_t rows = c->manifest->table[s->table].rows;
    int rc = open_file(c, f, s->keys_at, s->keys_at + bytes);
    if (rc) return rc;
    rc = blocks_read(c->blocks, numbers, bytes);
    blocks_close(c->blocks, NULL);
    if (rc) return cannot_read(c, f, rc);
    for (uint64_t i = 0; i < s->rows; i++)
        if ((uint64_t)numbers[i] >= rows)
            return damaged(c, f, "it names a row that the table does not have");
    return 0;
}

static int show_rows(const struct contents *c, const struct manifest_file *f,
                     const struct manifest_section *s, const int64_t *numbers, float *values,
                     contents_each *each, void *context)
{
    size_t row_bytes = c->manifest->table[s->table].length * sizeof(float), count,
           capacity = CONTENTS_BYTES / row_bytes;
    int rc = 0;
    if (capacity > CONTENTS_ROWS) capacity = CONTENTS_ROWS;
    if (capacity == 0) capacity = 1;
    for (uint64_t done = 0; done < s->rows && rc == 0; done += count) {
        count = s->rows - done < capacity ? s->rows - done : capacity;
        rc = blocks_read(c->blocks, values, count * row_bytes);
        if (rc) return cannot_read(c, f, rc);
        rc = each(context, numbers + done, count, values);
    }
    return rc;
}

int contents_rows(const struct contents *c, const struct manifest_file *f,
                  const struct manifest_section *s, contents_each *each, void *context)
{
    size_t row_bytes = c->manifest->table[s->table].length * sizeof(float);
    int64_t *numbers = malloc(s->rows * sizeof *numbers);
    float *values = malloc(row_bytes > CONTENTS_BYTES ? row_bytes : CONTENTS_BYTES);
    int rc = numbers && values ? read_numbers(c, f, s, numbers)
                               : error_set(-ENOMEM, "no memory to read a checkpoint with");
    if (rc == 0) rc = open_file(c, f, s->rows_at, s->rows_at + s->rows * row_bytes);
    if (rc == 0) {
        rc = show_rows(c, f, s, numbers, values, each, context);
        blocks_close(c->blocks, NULL);
    }
    free(numbers);
    free(values);
    return rc;
}
