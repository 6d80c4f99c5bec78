#include "checkpoint/contents.h"

#include "checkpoint/tensors.h"
#include "common/folder.h"
#include "locus.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 100, LONG = 7 };

/* Rows of two tables, some at a time, in files of few rows. */
struct scene {
    char folder[FOLDER_PATH_BYTES];
    struct manifest manifest;
    struct blocks blocks;
    struct contents contents;
};

static void row_of(unsigned table, uint64_t row, float *values)
{
    for (unsigned i = 0; i < (table ? LONG : 1); i++)
        values[i] = (float)row * 10 + (float)table + (float)i / 10;
}

/* The rows of a table, every other one, backwards. */
static void add_rows(struct tensors *t, unsigned table)
{
    float values[LONG];
    for (uint64_t row = ROWS; row-- > 0; row--) {
        row_of(table, row, values);
        CHECK_EQ(tensors_add(t, table, row, values), 0);
    }
}

static struct scene *scene(uint64_t keys_max)
{
    static struct scene s;
    struct tensors t;
    folder_new(s.folder);
    CHECK_EQ(manifest_add_table(&s.manifest, "short", ROWS, 1, 0), 0);
    CHECK_EQ(manifest_add_table(&s.manifest, "long", ROWS, LONG, 0), 0);
    memset(s.manifest.nonce, 'a', MANIFEST_NONCE);
    CHECK_EQ(tensors_init(&t, &s.manifest, s.folder, 3, 1), 0);
    t.keys_max = keys_max;
    add_rows(&t, 0);
    add_rows(&t, 1);
    CHECK_EQ(tensors_end(&t), 0);
    CHECK_EQ(manifest_move_files(&s.manifest, &t.files), 0);
    tensors_fini(&t);
    CHECK_EQ(blocks_init(&s.blocks), 0);
    s.contents = (struct contents){&s.blocks, s.folder, &s.manifest};
    return &s;
}

static void end(struct scene *s)
{
    blocks_fini(&s->blocks);
    manifest_fini(&s->manifest);
    folder_remove(s->folder);
}

struct found {
    unsigned table, count;
    bool row[ROWS];
    int rc;
};

static int find(void *context, const int64_t *rows, size_t count, const float *values)
{
    struct found *f = context;
    unsigned length = f->table ? LONG : 1;
    float expected[LONG];
    for (size_t i = 0; i < count; i++, f->count++) {
        CHECK(rows[i] % 2 == 1 && !f->row[rows[i]]);
        f->row[rows[i]] = true;
        row_of(f->table, (uint64_t)rows[i], expected);
        CHECK_EQ(memcmp(values + i * length, expected, length * sizeof *values), 0);
    }
    return f->rc;
}

/* All rows of a table, of all files. */
static unsigned read_table(const struct scene *s, unsigned table)
{
    struct found found = {.table = table};
    for (unsigned i = 0; i < s->manifest.files; i++) {
        const struct manifest_file *f = &s->manifest.file[i];
        for (unsigned k = 0; k < f->sections; k++)
            if (f->section[k].table == table)
                CHECK_EQ(contents_rows(&s->contents, f, &f->section[k], find, &found), 0);
    }
    return found.count;
}

static void check_rows(uint64_t keys_max, unsigned files)
{
    struct scene *s = scene(keys_max);
    CHECK_EQ(s->manifest.files, files);
    for (unsigned i = 0; i < files; i++)
        CHECK_EQ(contents_verify(&s->contents, &s->manifest.file[i]), 0);
    CHECK_EQ(read_table(s, 0), ROWS / 2);
    CHECK_EQ(read_table(s, 1), ROWS / 2);
    CHECK_EQ(manifest_rows(&s->manifest, 0), ROWS / 2);
    end(s);
}

TEST(contents, rows_are_those_that_were_written)
{
    check_rows(TENSORS_KEYS, 1);
    check_rows(ROWS / 2, 2); /* a file for each table */
}

TEST(contents, rows_are_those_that_were_written_to_several_files)
{
    check_rows(20, 5); /* the third has rows of both tables */
}

/* ---- damage ---- */

static void is_damaged(const struct scene *s, const char *part)
{
    CHECK_EQ(contents_verify(&s->contents, &s->manifest.file[0]), -EBADMSG);
    CHECK_STR(locus_error(), s->manifest.file[0].name);
    CHECK_STR(locus_error(), part);
}

static int open_file(const struct scene *s)
{
    int fd = open(folder_path(s->folder, s->manifest.file[0].name), O_RDWR);
    CHECK(fd >= 0);
    return fd;
}

static void flip(int fd, uint64_t at)
{
    unsigned char byte;
    CHECK_EQ(pread(fd, &byte, 1, (off_t)at), 1);
    byte ^= 1;
    CHECK_EQ(pwrite(fd, &byte, 1, (off_t)at), 1);
}

TEST(contents, a_byte_that_changed_is_found_and_where)
{
    struct scene *s = scene(TENSORS_KEYS);
    const struct manifest_file *f = &s->manifest.file[0];
    const uint64_t places[] = {0, f->data_at - 1, f->data_at, f->bytes - 1};
    int fd = open_file(s);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        flip(fd, places[i]);
        is_damaged(s, places[i] < f->data_at ? "its header" : "its data");
        flip(fd, places[i]);
        CHECK_EQ(contents_verify(&s->contents, f), 0);
    }
    close(fd);
    end(s);
}

TEST(contents, a_file_that_was_cut_or_grew_or_is_gone_is_damaged)
{
    struct scene *s = scene(TENSORS_KEYS);
    const struct manifest_file *f = &s->manifest.file[0];
    int fd = open_file(s);
    CHECK_EQ(ftruncate(fd, (off_t)f->bytes + 1), 0);
    is_damaged(s, "it is longer than the manifest says");
    CHECK_EQ(ftruncate(fd, (off_t)f->bytes - 1), 0);
    is_damaged(s, "it ends too early");
    close(fd);
    CHECK_EQ(unlink(folder_path(s->folder, f->name)), 0);
    is_damaged(s, "it is missing");
    end(s);
}

TEST(contents, a_row_that_the_table_does_not_have_is_damage)
{
    struct scene *s = scene(TENSORS_KEYS);
    const struct manifest_file *f = &s->manifest.file[0];
    const int64_t wrong[] = {ROWS, -1};
    struct found found = {.table = 0};
    int fd = open_file(s);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(pwrite(fd, &wrong[i], sizeof wrong[i], (off_t)f->section[0].keys_at),
                 sizeof wrong[i]);
        CHECK_EQ(contents_rows(&s->contents, f, &f->section[0], find, &found), -EBADMSG);
        CHECK_STR(locus_error(), "it names a row that the table does not have");
    }
    CHECK_EQ(found.count, 0);
    close(fd);
    end(s);
}

TEST(contents, who_reads_may_end_it)
{
    struct scene *s = scene(TENSORS_KEYS);
    const struct manifest_file *f = &s->manifest.file[0];
    struct found found = {.rc = -ECANCELED};
    CHECK_EQ(contents_rows(&s->contents, f, &f->section[0], find, &found), -ECANCELED);
    end(s);
}
