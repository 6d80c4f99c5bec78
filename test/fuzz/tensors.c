/* The files of a checkpoint: whatever tables and rows there are, each is a safetensors file, as a
 * reader sees it that knows nothing of us, with all that was added; and a byte that changes, or is
 * missing, does not pass. */
#include "input.h"

#include "base/notation.h"
#include "checkpoint/contents.h"
#include "checkpoint/files.h"
#include "checkpoint/tensors.h"
#include "common/memory_files.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TABLES_MAX = 4, ROWS = 40, LENGTH_MAX = 20, NAME_MAX_BYTES = 24, TENSORS_MAX = 64 };
#define FOLDER "folder"

static struct {
    struct manifest manifest;
    bool has_row[TABLES_MAX][ROWS];
    bool is_text; /* names are text: others may have no header */
} made;

/* ---- writing ---- */

static float value_of(unsigned table, uint64_t row, uint32_t i)
{
    return (float)(1 + table * 10000 + row * 100 + i);
}

/* Different names, for who opens a cluster may have no others. */
static void make_tables(struct input *in)
{
    unsigned tables = 1 + input_below(in, TABLES_MAX);
    memset(&made, 0, sizeof made);
    memset(made.manifest.nonce, 'a', MANIFEST_NONCE);
    made.is_text = true;
    for (unsigned i = 0; i < tables; i++) {
        char name[NAME_MAX_BYTES + 4];
        size_t bytes, most = input_below(in, NAME_MAX_BYTES) + 1u;
        const uint8_t *from = input_bytes(in, most, &bytes);
        snprintf(name, sizeof name, "%.*s%u", (int)bytes, (const char *)from, i);
        made.is_text = made.is_text && notation_is_text(name);
        MUST(manifest_add_table(&made.manifest, name, ROWS, 1 + input_below(in, LENGTH_MAX), 0,
                                LOCUS_NO_OPTIMIZER, LOCUS_F32) == 0);
    }
}

static int add_row(struct tensors *t, unsigned table, uint64_t row)
{
    float values[LENGTH_MAX];
    for (uint32_t i = 0; i < LENGTH_MAX; i++) values[i] = value_of(table, row, i);
    if (made.has_row[table][row]) return 0;
    made.has_row[table][row] = true;
    return tensors_add(t, table, row, values);
}

static int write_files(struct input *in)
{
    struct tensors t;
    MUST(tensors_init(&t, &made.manifest, FOLDER, 0, 0) == 0);
    t.keys_max = 1 + input_below(in, ROWS);
    t.bytes_max = 1 + 64 * (uint64_t)input_byte(in);
    int rc = 0;
    while (rc == 0 && input_left(in) > 8)
        rc = add_row(&t, input_below(in, made.manifest.tables), input_below(in, ROWS));
    if (rc == 0) rc = tensors_end(&t);
    if (rc == 0) MUST(manifest_move_files(&made.manifest, &t.files) == 0);
    tensors_fini(&t);
    return rc;
}

/* ---- what a reader sees ---- */

struct seen {
    const char *name;
    uint64_t from, end;
};

static int by_place(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

static uint64_t number(const json_t *list, size_t i)
{
    const json_t *n = json_array_get(list, i);
    MUST(json_is_integer(n) && json_integer_value(n) >= 0);
    return (uint64_t)json_integer_value(n);
}

static void look_at_tensor(const char *name, const json_t *about, struct seen *s)
{
    const json_t *shape = json_object_get(about, "shape"),
                 *offsets = json_object_get(about, "data_offsets");
    const char *type = json_string_value(json_object_get(about, "dtype"));
    MUST(type && json_array_size(offsets) == 2 && json_object_size(about) == 3);
    uint64_t bytes = strcmp(type, "F32") == 0 ? 4 : strcmp(type, "I64") == 0 ? 8 : 1;
    MUST(bytes > 1 || strcmp(type, "U8") == 0);
    for (size_t i = 0; i < json_array_size(shape); i++) bytes *= number(shape, i);
    *s = (struct seen){name, number(offsets, 0), number(offsets, 1)};
    MUST(s->end - s->from == bytes && bytes > 0);
}

/* A table's tensor is where the manifest says. */
static void look_for(const struct seen *seen, size_t count, const char *table, const char *what,
                     uint64_t at)
{
    char name[2 * NAME_MAX_BYTES];
    size_t i = 0;
    snprintf(name, sizeof name, "%s.%s", table, what);
    while (i < count && strcmp(seen[i].name, name) != 0) i++;
    MUST(i < count && seen[i].from == at);
}

static void look_at_head(const struct manifest_file *f, const unsigned char *bytes)
{
    struct seen seen[TENSORS_MAX];
    size_t count = 0;
    uint64_t length = 0, end = 0;
    const char *name;
    json_t *about;
    for (int i = 8; i-- > 0;) length = length << 8 | bytes[i];
    MUST(length == f->data_at - 8 && f->data_at % TENSORS_ALIGNMENT == 0);
    json_t *head = json_loadb((const char *)bytes + 8, length, JSON_REJECT_DUPLICATES, NULL);
    MUST(head != NULL);
    json_object_foreach(head, name, about)
    {
        if (strcmp(name, "__metadata__") == 0) continue;
        MUST(count < TENSORS_MAX);
        look_at_tensor(name, about, &seen[count++]);
    }
    qsort(seen, count, sizeof *seen, by_place);
    for (size_t i = 0; i < count; end = seen[i++].end) MUST(seen[i].from == end); /* no holes */
    MUST(end == f->bytes - f->data_at);
    for (unsigned i = 0; i < f->sections; i++) {
        const struct manifest_section *s = &f->section[i];
        const char *table = made.manifest.table[s->table].name;
        MUST(s->rows_at % TENSORS_ALIGNMENT == 0 && s->keys_at % TENSORS_ALIGNMENT == 0);
        look_for(seen, count, table, "rows", s->rows_at - f->data_at);
        look_for(seen, count, table, "keys", s->keys_at - f->data_at);
    }
    json_decref(head);
}

/* ---- what a restore sees ---- */

static int take_rows(void *section, const int64_t *rows, size_t count, const float *values)
{
    const struct manifest_section *s = section;
    uint32_t length = made.manifest.table[s->table].length;
    for (size_t i = 0; i < count; i++) {
        MUST(rows[i] < ROWS && made.has_row[s->table][rows[i]]);
        made.has_row[s->table][rows[i]] = false; /* each once */
        for (uint32_t k = 0; k < length; k++)
            MUST((int)values[i * length + k] == (int)value_of(s->table, (uint64_t)rows[i], k));
    }
    return 0;
}

static void spoil(const struct contents *c, const struct manifest_file *f, unsigned char *bytes,
                  struct input *in)
{
    uint64_t at = input_number(in, 4) % f->bytes;
    unsigned char by = (unsigned char)(1 + input_below(in, 255));
    bytes[at] ^= by;
    MUST(contents_verify(c, f) == -EBADMSG);
    bytes[at] ^= by;
    struct manifest_file other = *f;
    other.bytes = at;
    other.data_at = at < f->data_at ? at : f->data_at;
    MUST(contents_verify(c, &other) == -EBADMSG); /* the file is longer than that */
    MUST(contents_verify(c, f) == 0);
}

static void look_at_file(struct manifest_file *f, struct input *in)
{
    struct blocks blocks;
    size_t bytes;
    char path[64];
    MUST(blocks_init(&blocks) == 0);
    const struct contents c = {&blocks, FOLDER, &made.manifest, contents_seals(&made.manifest)};
    MUST(c.seals != NULL);
    snprintf(path, sizeof path, FOLDER "/%s", f->name);
    unsigned char *data = memory_files_bytes(path, &bytes);
    MUST(data && bytes == f->bytes);
    look_at_head(f, data);
    MUST(contents_verify(&c, f) == 0);
    for (unsigned i = 0; i < f->sections; i++)
        MUST(contents_rows(&c, f, &f->section[i], take_rows, &f->section[i]) == 0);
    spoil(&c, f, data, in);
    blocks_fini(&blocks);
    contents_free_seals(c.seals, &made.manifest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = input_of(data, size);
    memory_files_begin(NULL);
    MUST(files->make_folder(FOLDER) == 0);
    make_tables(&in);
    int rc = write_files(&in);
    MUST(rc == 0 || !made.is_text);
    for (unsigned i = 0; rc == 0 && i < made.manifest.files; i++)
        look_at_file(&made.manifest.file[i], &in);
    for (unsigned t = 0; rc == 0 && t < TABLES_MAX; t++)
        for (unsigned row = 0; row < ROWS; row++) MUST(!made.has_row[t][row]);
    MUST(memory_files_open() == 0);
    manifest_fini(&made.manifest);
    memory_files_end();
    return 0;
}
