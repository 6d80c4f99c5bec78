#include "checkpoint/tensors.h"

#include "base/error.h"
#include "base/floats.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TENSOR_TEXT = 160, HEAD_MORE = 256, PAGE = 4096 };

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
    enum { MANY = 512 };
    if (of->bytes == of->stored * sizeof(float)) return append(t, values, of->bytes);
    float part[MANY / 2];
    int rc = 0;
    for (uint32_t i = 0; i < of->length && rc == 0; i += MANY) {
        uint32_t n = of->length - i < MANY ? of->length - i : MANY;
        bf16_best()->round(part, values + i, n, 0);
        rc = append(t, part, row_type_words(of->element, n) * sizeof *part);
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

static void add_tensor(struct head *h, const char *table, const char *what, json_t *about)
{
    char *name = NULL;
    if (asprintf(&name, "%s%s", table, what) < 0) name = NULL;
    if (!name) json_decref(about);
    if (!name || json_object_set_new(h->json, name, about)) h->is_wrong = true;
    free(name);
}

static json_t *about_tensor(const struct head *h, const char *type, json_t *shape, uint64_t at,
                            uint64_t bytes)
{
    return json_pack("{sssos[II]}", "dtype", type, "shape", shape, "data_offsets",
                     (json_int_t)(at - h->data_at), (json_int_t)(at + bytes - h->data_at));
}

/* Readers of the format refuse holes. */
static void pad_to(struct head *h, uint64_t at)
{
    char name[32];
    if (at == h->from) return;
    json_t *shape = json_pack("[I]", (json_int_t)(at - h->from));
    snprintf(name, sizeof name, "padding.%u", h->paddings++);
    add_tensor(h, name, "", about_tensor(h, "U8", shape, h->from, at - h->from));
}

static void describe(struct head *h, const struct manifest_table *t,
                     const struct manifest_section *s)
{
    uint64_t rows = s->rows * t->bytes, keys = s->rows * sizeof(int64_t);
    bool is_wide = t->bytes == t->stored * sizeof(float);
    json_int_t columns = is_wide ? t->bytes / 4 : t->bytes / 2;
    add_tensor(h, t->name, ".rows",
               about_tensor(h, is_wide ? "F32" : "BF16",
                            json_pack("[II]", (json_int_t)s->rows, columns), s->rows_at, rows));
    h->from = s->rows_at + rows;
    pad_to(h, s->keys_at);
    add_tensor(h, t->name, ".keys",
               about_tensor(h, "I64", json_pack("[I]", (json_int_t)s->rows), s->keys_at, keys));
    h->from = s->keys_at + keys;
}

static char *text_of(const struct tensors *t, const struct manifest_file *f)
{
    struct head h = {.json = json_object(), .from = f->data_at, .data_at = f->data_at};
    add_tensor(&h, "__metadata__", "",
               json_pack("{ssss}", "format", "locus checkpoint", "nonce", t->tables->nonce));
    for (unsigned i = 0; i < f->sections; i++) {
        pad_to(&h, f->section[i].rows_at);
        describe(&h, &t->tables->table[f->section[i].table], &f->section[i]);
    }
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
