#include "checkpoint/tensors.h"

#include "base/error.h"
#include "base/floats.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MANY = 512,
    IS_OTHER = -ESTALE, /* than what was verified */
    TENSOR_TEXT = 160,
    HEAD_MORE = 256,
    PAGE = 4096,
};

/* ---- files, read ---- */

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
    int64_t size = files->size(r->contents->blocks->fd);
    if (size < 0) return judged(r, (int)size);
    if ((uint64_t)size < r->file->bytes) return judged(r, -ENODATA);
    return (uint64_t)size > r->file->bytes ? damaged(r, "it is longer than the manifest says") : 0;
}

static const struct manifest_table *table_of(const struct reading *r,
                                             const struct manifest_section *s)
{
    return &r->contents->manifest->table[s->table];
}

/* They stand behind the rows. One that its table does not have is given to nobody. */
static int read_numbers(struct reading *r, const struct manifest_section *s)
{
    size_t bytes = s->rows * sizeof *r->numbers;
    int rc = judged(r, files_read(r->contents->blocks->fd, r->numbers, bytes, s->keys_at));
    for (uint64_t i = 0; i < s->rows && rc == 0 && !r->bad; i++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): allocated where there are rows */
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
            size_t bytes = row_type_packed(t->element, n) * sizeof *part;
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
    if (!r->each) rc = verify_length(r);
    if (rc == 0) rc = read_sections(r);
    if (rc == 0) rc = judged(r, blocks_pass(r->contents->blocks, f->bytes));
    return end_range(r, rc, f->data_at, f->bytes, f->data, "data");
}

int contents_verify(const struct contents *c, const struct manifest_file *f)
{
    struct reading r = {.contents = c, .file = f};
    int rc = verify_header(&r);
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

/* ---- files, written ---- */

int tensors_init(struct tensors *t, const struct manifest *tables, const char *folder, int rank,
                 int worker)
{
    *t = (struct tensors){.tables = tables,
                          .folder = folder,
                          .rank = rank,
                          .worker = worker,
                          .keys_max = TENSORS_KEYS,
                          .bytes_max = TENSORS_BYTES};
    t->keys = malloc(TENSORS_KEYS * sizeof *t->keys);
    int rc = t->keys ? blocks_init(&t->blocks) : -ENOMEM;
    return rc ? error_set(rc, "no memory to write a checkpoint with") : 0;
}

void tensors_fini(struct tensors *t)
{
    blocks_fini(&t->blocks);
    manifest_fini(&t->files);
    free(t->keys);
}

static struct manifest_file *file_of(const struct tensors *t)
{
    return &t->files.file[t->files.files - 1];
}

static int failed(const struct tensors *t, int rc)
{
    return error_set(rc, "cannot write %s/%s: %s", t->folder, file_of(t)->name, strerror(-rc));
}

/* The size of the header of a file with all tables; the rest is filled with spaces. A character of
 * a name may need six. */
static uint64_t room_for_head(const struct manifest *m)
{
    uint64_t bytes = HEAD_MORE;
    for (unsigned i = 0; i < m->tables; i++)
        bytes += 4 * TENSOR_TEXT + 12 * strlen(m->table[i].name);
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static int begin_file(struct tensors *t)
{
    char name[SERIES_NAME + 24], path[SERIES_PATH];
    snprintf(name, sizeof name, "%d-%d-%u" MANIFEST_FILES, t->rank, t->worker, t->number++);
    struct manifest_file *f = manifest_add_file(&t->files, name);
    if (!f) return error_set(-ENOMEM, "no memory for the list of files");
    f->data_at = t->at = room_for_head(t->tables);
    t->is_open = true;
    t->rows = 0;
    int rc = series_path(path, t->folder, name);
    if (rc) return rc;
    rc = blocks_create(&t->blocks, path, t->at);
    return rc ? failed(t, rc) : 0;
}

/* ---- sections ---- */

static int append(struct tensors *t, const void *data, size_t bytes)
{
    int rc = blocks_append(&t->blocks, data, bytes);
    t->at += bytes;
    return rc ? failed(t, rc) : 0;
}

/* Values that have 16 bits, as floats, are not rounded. */
static int append_row(struct tensors *t, const struct manifest_table *of, const float *values)
{
    if (of->bytes == of->stored * sizeof(float)) return append(t, values, of->bytes);
    float part[MANY / 2];
    int rc = 0;
    for (uint32_t i = 0; i < of->length && rc == 0; i += MANY) {
        uint32_t n = of->length - i < MANY ? of->length - i : MANY;
        bf16_best()->round(part, values + i, n, 0);
        rc = append(t, part, row_type_packed(of->element, n) * sizeof *part);
    }
    return rc;
}

static int align(struct tensors *t)
{
    static const char zeros[TENSORS_ALIGNMENT];
    size_t over = t->at % TENSORS_ALIGNMENT;
    return over ? append(t, zeros, TENSORS_ALIGNMENT - over) : 0;
}

static int end_section(struct tensors *t)
{
    if (t->rows == 0) return 0;
    int rc = align(t);
    const struct manifest_section s = {
        .table = t->table, .rows = t->rows, .rows_at = t->rows_at, .keys_at = t->at};
    if (rc == 0) rc = append(t, t->keys, t->rows * sizeof *t->keys);
    if (rc == 0) rc = align(t);
    if (rc == 0 && manifest_add_section(file_of(t), &s))
        rc = error_set(-ENOMEM, "no memory for the list of files");
    t->rows = 0;
    return rc;
}

/* ---- the header ---- */

struct head {
    json_t *json;
    uint64_t from, data_at; /* what has a tensor up to here */
    unsigned paddings;
    bool is_wrong; /* something is not in it */
};

/* `columns` 0: it has one dimension. */
static void add_tensor(struct head *h, const char *table, const char *what, const char *type,
                       uint64_t count, uint64_t columns, uint64_t bytes)
{
    char *name = NULL;
    json_int_t n = (json_int_t)count, at = (json_int_t)(h->from - h->data_at);
    json_t *shape = columns ? json_pack("[II]", n, (json_int_t)columns) : json_pack("[I]", n);
    json_t *about = json_pack("{sssos[II]}", "dtype", type, "shape", shape, "data_offsets", at,
                              at + (json_int_t)bytes);
    if (asprintf(&name, "%s%s", table, what) < 0) name = NULL;
    if (!name) json_decref(about);
    if (!name || json_object_set_new(h->json, name, about)) h->is_wrong = true;
    free(name);
    h->from += bytes;
}

/* Readers of the format refuse holes. */
static void pad_to(struct head *h, uint64_t at)
{
    char name[32];
    if (at == h->from) return;
    snprintf(name, sizeof name, "padding.%u", h->paddings++);
    add_tensor(h, name, "", "U8", at - h->from, 0, at - h->from);
}

static void describe(struct head *h, const struct manifest_table *t,
                     const struct manifest_section *s)
{
    bool is_wide = t->bytes == t->stored * sizeof(float);
    pad_to(h, s->rows_at);
    add_tensor(h, t->name, ".rows", is_wide ? "F32" : "BF16", s->rows, t->bytes / (is_wide ? 4 : 2),
               s->rows * t->bytes);
    pad_to(h, s->keys_at);
    add_tensor(h, t->name, ".keys", "I64", s->rows, 0, s->rows * sizeof(int64_t));
}

static char *text_of(const struct tensors *t, const struct manifest_file *f)
{
    struct head h = {.json = json_object(), .from = f->data_at, .data_at = f->data_at};
    json_t *about = json_pack("{ssss}", "format", "locus checkpoint", "nonce", t->tables->nonce);
    if (json_object_set_new(h.json, "__metadata__", about)) h.is_wrong = true;
    for (unsigned i = 0; i < f->sections; i++)
        describe(&h, &t->tables->table[f->section[i].table], &f->section[i]);
    pad_to(&h, f->bytes);
    char *text = h.is_wrong ? NULL : json_dumps(h.json, JSON_COMPACT);
    json_decref(h.json);
    return text;
}

/* The length of the text, in 8 bytes, the text, spaces. NULL: no memory. */
static unsigned char *head_of(const struct tensors *t, const struct manifest_file *f)
{
    unsigned char *head = malloc(f->data_at + 1); /* snprintf's zero behind it */
    char *text = text_of(t, f);
    uint64_t bytes = f->data_at - 8;
    bool fits = head && text && strlen(text) <= bytes;
    if (fits) {
        for (unsigned i = 0; i < 8; i++) head[i] = (unsigned char)(bytes >> 8 * i);
        snprintf((char *)head + 8, bytes + 1, "%-*s", (int)bytes, text);
    }
    free(text);
    if (fits) return head;
    free(head);
    return NULL;
}

static int end_file(struct tensors *t)
{
    int rc = end_section(t);
    struct manifest_file *f = file_of(t);
    f->bytes = t->at;
    t->is_open = false;
    unsigned char *head = head_of(t, f);
    if (!head && rc == 0) rc = error_set(-ENOMEM, "no memory for the header of %s", f->name);
    if (head) digest_of(head, f->data_at, f->header);
    int finished = blocks_finish(&t->blocks, head, head ? f->data_at : 0, f->data);
    free(head);
    if (rc) return rc;
    return finished ? failed(t, finished) : 0;
}

/* ---- */

static int begin_section(struct tensors *t, unsigned table)
{
    int rc = t->is_open ? end_section(t) : begin_file(t);
    t->table = table;
    t->rows_at = t->at;
    return rc;
}

static bool is_full(const struct tensors *t)
{
    return t->rows == t->keys_max || t->at - file_of(t)->data_at >= t->bytes_max;
}

int tensors_add(struct tensors *t, unsigned table, uint64_t row, const float *values)
{
    int rc = 0;
    if (t->is_open && (is_full(t) || table < t->table)) rc = end_file(t);
    if (rc == 0 && (!t->is_open || t->rows == 0 || t->table != table)) rc = begin_section(t, table);
    if (rc == 0) rc = append_row(t, &t->tables->table[table], values);
    t->keys[t->rows] = (int64_t)row;
    t->rows++;
    return rc;
}

int tensors_end(struct tensors *t)
{
    return t->is_open ? end_file(t) : 0;
}
