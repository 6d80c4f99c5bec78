#include "checkpoint/tensors.h"

#include "common/folder.h"
#include "locus.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
    CHECK_EQ(manifest_add_table(&s.manifest, "short", ROWS, 1, 0, LOCUS_NO_OPTIMIZER, LOCUS_F32),
             0);
    CHECK_EQ(manifest_add_table(&s.manifest, "long", ROWS, LONG, 0, LOCUS_NO_OPTIMIZER, LOCUS_F32),
             0);
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

static void end(struct scene **at)
{
    struct scene *s = *at;
    blocks_fini(&s->blocks);
    manifest_fini(&s->manifest);
}

struct found {
    unsigned count[2];
    bool row[2][ROWS];
};

static int find(void *context, const struct manifest_section *s, const int64_t *rows, size_t count,
                const float *values)
{
    struct found *f = context;
    unsigned length = s->table ? LONG : 1;
    float expected[LONG];
    for (size_t i = 0; i < count; i++, f->count[s->table]++) {
        CHECK(rows[i] % 2 == 1 && !f->row[s->table][rows[i]]);
        f->row[s->table][rows[i]] = true;
        row_of(s->table, (uint64_t)rows[i], expected);
        CHECK_EQ(memcmp(values + i * length, expected, length * sizeof *values), 0);
    }
    return 0;
}

static void check_rows(uint64_t keys_max, unsigned count)
{
    CLOSED_BY(end) struct scene *s = scene(keys_max);
    CHECK_EQ(s->manifest.files, count);
    for (unsigned i = 0; i < count; i++)
        CHECK_EQ(contents_verify(&s->contents, &s->manifest.file[i]), 0);
    struct found found = {.count = {0, 0}};
    for (unsigned i = 0; i < count; i++)
        CHECK_EQ(contents_rows(&s->contents, &s->manifest.file[i], find, &found), 0);
    CHECK_EQ(found.count[0], ROWS / 2);
    CHECK_EQ(found.count[1], ROWS / 2);
    CHECK_EQ(manifest_rows(&s->manifest, 0), ROWS / 2);
}

TEST(contents, rows_are_those_written_to_one_file_or_several)
{
    check_rows(TENSORS_KEYS, 1);
    check_rows(ROWS / 2, 2); /* a file for each table */
    check_rows(20, 5);       /* the third has rows of both tables */
}

/* ---- damage ---- */

static void is_damaged(const struct scene *s, const char *part)
{
    REFUSED(contents_verify(&s->contents, &s->manifest.file[0]), -EBADMSG,
            s->manifest.file[0].name);
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

TEST(contents, verify_finds_each_changed_byte)
{
    CLOSED_BY(end) struct scene *s = scene(TENSORS_KEYS);
    const struct manifest_file *f = &s->manifest.file[0];
    int fd = open_file(s);
    for (uint64_t at = 0; at < f->bytes; at++) {
        flip(fd, at);
        is_damaged(s, at < f->data_at ? "its header" : "its data");
        flip(fd, at);
    }
    CHECK_EQ(contents_verify(&s->contents, f), 0);
    close(fd);
}

TEST(contents, verify_finds_a_cut_grown_or_missing_file)
{
    CLOSED_BY(end) struct scene *s = scene(TENSORS_KEYS);
    const struct manifest_file *f = &s->manifest.file[0];
    int fd = open_file(s);
    CHECK_EQ(ftruncate(fd, (off_t)f->bytes + 1), 0);
    is_damaged(s, "it is longer than the manifest says");
    CHECK_EQ(ftruncate(fd, (off_t)f->bytes - 1), 0);
    is_damaged(s, "it ends too early");
    close(fd);
    CHECK_EQ(unlink(folder_path(s->folder, f->name)), 0);
    is_damaged(s, "it is missing");
}

/* A number in a section is another one, and the digest is right. */
static void write_number(struct scene *s, unsigned section, int64_t number)
{
    struct manifest_file *f = &s->manifest.file[0];
    size_t bytes = f->bytes - f->data_at;
    char *data = malloc(bytes);
    int fd = open_file(s);
    CHECK(data != NULL);
    CHECK_EQ(pwrite(fd, &number, sizeof number, (off_t)f->section[section].keys_at + 8),
             sizeof number);
    CHECK_EQ(pread(fd, data, bytes, (off_t)f->data_at), (ssize_t)bytes);
    digest_of(data, bytes, f->data);
    free(data);
    close(fd);
}

TEST(contents, verify_finds_row_numbers_out_of_range)
{
    CLOSED_BY(end) struct scene *s = scene(TENSORS_KEYS);
    write_number(s, 1, ROWS);
    is_damaged(s, "it has row 100 of table \"long\", which has 100");
    write_number(s, 0, -1);
    is_damaged(s, "it has row -1 of table \"short\", which has 100");
    write_number(s, 0, 0);
    write_number(s, 1, 0);
    CHECK_EQ(contents_verify(&s->contents, &s->manifest.file[0]), 0);
}

/* ---- what was verified is what is read ---- */

/* A byte that is another one until rows are given out. */
struct passing {
    int fd;
    uint64_t at; /* 0: there is none any more */
};

/* Whatever they are, the tables have them. */
static int take(void *context, const struct manifest_section *s, const int64_t *rows, size_t count,
                const float *values)
{
    struct passing *p = context;
    (void)s, (void)values;
    for (size_t i = 0; i < count; i++) CHECK(rows[i] >= 0 && rows[i] < ROWS);
    if (p->at) flip(p->fd, p->at);
    p->at = 0;
    return 0;
}

static void has_changed(const struct scene *s, struct passing *p)
{
    REFUSED(contents_rows(&s->contents, &s->manifest.file[0], take, p), -EIO,
            "has changed since it was verified");
}

TEST(contents, rows_finds_each_byte_changed_since_verify)
{
    CLOSED_BY(end) struct scene *s = scene(TENSORS_KEYS);
    const struct manifest_file *f = &s->manifest.file[0];
    struct passing none = {.at = 0};
    int fd = open_file(s);
    CHECK_EQ(contents_verify(&s->contents, f), 0);
    for (uint64_t at = f->data_at; at < f->bytes; at++) {
        flip(fd, at);
        has_changed(s, &none);
        flip(fd, at);
    }
    CHECK_EQ(contents_rows(&s->contents, f, take, &none), 0);
    close(fd);
}

/* Row 99 was taken for another one, and the digest is right again. */
TEST(contents, rows_finds_a_number_that_was_another_for_a_moment)
{
    CLOSED_BY(end) struct scene *s = scene(TENSORS_KEYS);
    int fd = open_file(s);
    struct passing number = {fd, s->manifest.file[0].section[0].keys_at};
    flip(fd, number.at);
    has_changed(s, &number);
    CHECK_EQ(contents_rows(&s->contents, &s->manifest.file[0], take, &number), 0);
    close(fd);
}

TEST(contents, rows_refuses_a_file_replaced_since_verify)
{
    CLOSED_BY(end) struct scene *s = scene(TENSORS_KEYS);
    const struct manifest_file *f = &s->manifest.file[0];
    struct passing none = {.at = 0};
    char path[2 * FOLDER_PATH_BYTES];
    snprintf(path, sizeof path, "%s", folder_path(s->folder, f->name));
    CHECK_EQ(contents_verify(&s->contents, f), 0);
    CHECK_EQ(truncate(path, (off_t)f->data_at), 0);
    has_changed(s, &none);
    CHECK_EQ(unlink(path), 0);
    has_changed(s, &none);
    CHECK_EQ(mkfifo(path, 0600), 0);
    has_changed(s, &none);
    REFUSED(contents_verify(&s->contents, f), -EBADMSG, "it is no regular file");
}
