/* tensors: the files that rows are written to are safetensors without holes, of bounded size. */
#include "checkpoint/tensors.h"

#include "common/folder.h"
#include "test.h"
#include "locus.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 60, LONG = 7 };

struct scene {
    char folder[FOLDER_PATH_BYTES];
    struct manifest tables;
    struct tensors tensors;
};

/* "short" has rows of one float, "long" of LONG. */
static void scene_begin(struct scene *s)
{
    *s = (struct scene){.folder = ""};
    folder_new(s->folder);
    CHECK_EQ(manifest_add_table(&s->tables, "short", ROWS, 1, 0, LOCUS_NO_OPTIMIZER, LOCUS_F32), 0);
    CHECK_EQ(manifest_add_table(&s->tables, "long", ROWS, LONG, 0, LOCUS_NO_OPTIMIZER, LOCUS_F32),
             0);
    memset(s->tables.nonce, 'a', MANIFEST_NONCE);
    CHECK_EQ(tensors_init(&s->tensors, &s->tables, s->folder, 3, 1), 0);
}

static void scene_end(struct scene *s)
{
    tensors_fini(&s->tensors);
    manifest_fini(&s->tables);
}

static int add(struct scene *s, unsigned table, uint64_t row)
{
    float values[LONG];
    for (int i = 0; i < LONG; i++) values[i] = (float)row;
    return tensors_add(&s->tensors, table, row, values);
}

static void add_all(struct scene *s)
{
    for (unsigned table = 0; table < 2; table++)
        for (uint64_t row = 0; row < ROWS; row++) CHECK_EQ(add(s, table, row), 0);
    CHECK_EQ(tensors_end(&s->tensors), 0);
}

/* ---- where they lie ---- */

TEST_WITH(tensors, sections_are_aligned, scene, s)
{
    s->tensors.keys_max = 13;
    add_all(s);
    const struct manifest *m = &s->tensors.files;
    CHECK_EQ(m->files, 9); /* the fifth has rows of both tables */
    for (unsigned i = 0; i < m->files; i++) {
        const struct manifest_file *f = &m->file[i];
        CHECK(f->data_at % 4096 == 0 && f->bytes % TENSORS_ALIGNMENT == 0);
        CHECK(strncmp(f->name, "3-1-", 4) == 0); /* by rank and worker: nobody else's */
        for (unsigned k = 0; k < f->sections; k++)
            CHECK(f->section[k].rows_at % TENSORS_ALIGNMENT == 0 &&
                  f->section[k].keys_at % TENSORS_ALIGNMENT == 0);
    }
}

/* ---- the format ---- */

struct range {
    json_int_t from, to;
};

static int compare(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* The tensors of a header, one behind the other, from 0 to the end of the file. */
static void check_no_holes(json_t *head, uint64_t bytes)
{
    struct range range[32];
    const char *name;
    json_t *about;
    unsigned n = 0;
    json_int_t at = 0;
    json_object_foreach(head, name, about)
    {
        if (strcmp(name, "__metadata__") == 0) continue;
        CHECK(n < 32);
        json_t *offsets = json_object_get(about, "data_offsets");
        range[n].from = json_integer_value(json_array_get(offsets, 0));
        range[n++].to = json_integer_value(json_array_get(offsets, 1));
    }
    qsort(range, n, sizeof *range, compare);
    for (unsigned i = 0; i < n; at = range[i++].to) CHECK_EQ(range[i].from, at);
    CHECK_EQ(at, bytes);
}

static void check_tensor(json_t *head, const char *name, const char *type, json_int_t rows,
                         json_int_t columns)
{
    json_t *about = json_object_get(head, name), *shape = json_object_get(about, "shape");
    CHECK(about != NULL);
    CHECK_STR(json_string_value(json_object_get(about, "dtype")), type);
    CHECK_EQ(json_integer_value(json_array_get(shape, 0)), rows);
    CHECK_EQ(json_array_size(shape), columns ? 2 : 1);
    if (columns) CHECK_EQ(json_integer_value(json_array_get(shape, 1)), columns);
}

/* Eight bytes of length, JSON, and spaces up to the data. */
TEST_WITH(tensors, header_describes_every_byte, scene, s)
{
    size_t bytes;
    uint64_t head_bytes = 0;
    add_all(s);
    CHECK_EQ(s->tensors.files.files, 1);
    const struct manifest_file *f = &s->tensors.files.file[0];
    CLOSED_BY(free_at) char *file = folder_read(s->folder, f->name, &bytes);
    CHECK_EQ(bytes, f->bytes);
    for (unsigned i = 0; i < 8; i++) head_bytes |= (uint64_t)(unsigned char)file[i] << 8 * i;
    CHECK_EQ(head_bytes, f->data_at - 8);
    json_t *head = json_loadb(file + 8, head_bytes, JSON_REJECT_DUPLICATES, NULL);
    CHECK(head != NULL);
    check_no_holes(head, bytes - f->data_at);
    check_tensor(head, "short.rows", "F32", ROWS, 1);
    check_tensor(head, "short.keys", "I64", ROWS, 0);
    check_tensor(head, "long.rows", "F32", ROWS, LONG);
    check_tensor(head, "long.keys", "I64", ROWS, 0);
    json_t *about = json_object_get(head, "__metadata__");
    CHECK_STR(json_string_value(json_object_get(about, "nonce")), s->tables.nonce);
    json_decref(head);
}

/* ---- bounds ---- */

TEST_WITH(tensors, add_begins_a_file_at_the_bound_of_bytes, scene, s)
{
    s->tensors.bytes_max = 10 * LONG * sizeof(float);
    for (uint64_t row = 0; row < ROWS; row++) CHECK_EQ(add(s, 1, row), 0);
    CHECK_EQ(tensors_end(&s->tensors), 0);
    CHECK_EQ(s->tensors.files.files, ROWS / 10);
    for (unsigned i = 0; i < ROWS / 10; i++) {
        CHECK_EQ(s->tensors.files.file[i].sections, 1);
        CHECK_EQ(s->tensors.files.file[i].section[0].rows, 10);
    }
}

/* Rows come as their shards have them: a table may come twice, but not in one file, where its
 * tensors would have the same name. */
TEST_WITH(tensors, add_begins_a_file_when_a_table_comes_again, scene, s)
{
    static const unsigned order[] = {0, 0, 1, 0};
    for (uint64_t i = 0; i < 4; i++) CHECK_EQ(add(s, order[i], i), 0);
    CHECK_EQ(tensors_end(&s->tensors), 0);
    const struct manifest_file *f = s->tensors.files.file;
    CHECK_EQ(s->tensors.files.files, 2);
    CHECK_EQ(f[0].sections, 2);
    CHECK_EQ(f[0].section[0].table, 0);
    CHECK_EQ(f[0].section[0].rows, 2);
    CHECK_EQ(f[0].section[1].table, 1);
    CHECK_EQ(f[1].sections, 1);
    CHECK_EQ(f[1].section[0].table, 0);
    CHECK_EQ(f[1].section[0].rows, 1);
}

/* A name may need six bytes for one; there is room for the header all the same. */
TEST(tensors, names_that_need_quoting_fit_into_the_header)
{
    CLOSED_BY(scene_end) struct scene s = {.folder = ""};
    char name[2000];
    memset(name, 1, sizeof name - 1);
    name[sizeof name - 1] = '\0';
    folder_new(s.folder);
    CHECK_EQ(manifest_add_table(&s.tables, name, ROWS, 1, 0, LOCUS_NO_OPTIMIZER, LOCUS_F32), 0);
    CHECK_EQ(tensors_init(&s.tensors, &s.tables, s.folder, 0, 0), 0);
    CHECK_EQ(add(&s, 0, 5), 0);
    CHECK_EQ(tensors_end(&s.tensors), 0);
    CHECK_EQ(s.tensors.files.files, 1);
}
