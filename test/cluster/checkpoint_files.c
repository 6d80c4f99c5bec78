/* The files of a checkpoint, as others see them: Python with numpy, and `locus checkpoint`. */
#include "common/folder.h"
#include "team.h"
#include "trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct locus_table tables[] = {
    {.name = "entities", .rows = 3000, .length = 7},
    {.name = "a \"name\" \xc3\xa9", .rows = 33, .length = 1},
};
enum { FLOATS = 3000 * 7, ROWS = 3000 };

static struct command c;

static float value_of(locus_key key, uint32_t i)
{
    return key % 3 == 2 ? 0 : (float)key + (float)i / 8;
}

static void save(struct seat *s)
{
    CLOSED_BY(batch_free) struct batch b = batch_of_all(s->node);
    BATCH_FOREACH(row, &b)
    for (uint32_t i = 0; i < row.length; i++) row.row[i] = value_of(row.key, i);
    if (s->number == 0) CHECK_EQ(locus_set(s->worker, b.keys, b.n, b.values), 0);
    CHECK_EQ(locus_checkpoint(s->worker, s->team->shared), 0);
}

/* A folder with one checkpoint, by two nodes of two workers. */
static void make(char *folder)
{
    folder_new(folder);
    struct team team = {TEAM_OF(2, 2, 2, LOCUS_ADAPTIVE, tables, 2), .shared = folder};
    team_run(&team, save);
}

/* The system's may have it where the first one found has not. */
static const char *python(void)
{
    static const char *const names[] = {"python3", "/usr/bin/python3"};
    for (int i = 0; i < 2; i++)
        if (command_run(&c, "%s -c 'import numpy'", names[i]) == 0) return names[i];
    SKIP("there is no python3 with numpy here");
}

/* The last FLOATS of a file are the rows of "entities". */
static void check_rows(const char *folder, const char *name)
{
    size_t bytes;
    CLOSED_BY(free_at) char *text = folder_read(folder, name, &bytes);
    CHECK(bytes >= FLOATS * sizeof(float));
    const char *at = text + bytes - FLOATS * sizeof(float);
    for (locus_key key = 0; key < ROWS; key++)
        for (uint32_t i = 0; i < 7; i++, at += sizeof(float)) {
            float value;
            memcpy(&value, at, sizeof value);
            CHECK(value == value_of(key, i));
        }
}

TEST(checkpoint_files, python_and_numpy_read_them)
{
    char folder[FOLDER_PATH_BYTES];
    const char *interpreter = python();
    make(folder);
    int status = command_run(&c, "%s %s %s/checkpoint-000001 entities %s/rows", interpreter,
                             trainer_script("checkpoint.py"), folder, folder);
    if (status) test_fail(__FILE__, __LINE__, "status %d: %s", status, c.err.text);
    CHECK_STR(c.out.text, "entities 3000 x 7, 2000 written");
    check_rows(folder, "rows");
    command_must(&c, "%s %s %s/checkpoint-000001 'a \"name\" \xc3\xa9' %s/rows", interpreter,
                 trainer_script("checkpoint.py"), folder, folder);
    CHECK_STR(c.out.text, "33 x 1, 22 written");
}

TEST(checkpoint_files, the_command_shows_and_exports_them)
{
    char folder[FOLDER_PATH_BYTES], out[FOLDER_PATH_BYTES + 8];
    tables[0].optimizer = LOCUS_ADAM; /* whose state is not exported */
    make(folder);
    command_must(&c, "%s checkpoint list %s", locus_path(), folder);
    CHECK_STR(c.out.text, "2 nodes  2 tables  2022 rows");
    command_must(&c, "%s checkpoint list %s/checkpoint-000001", locus_path(), folder);
    CHECK_STR(c.out.text, "2 nodes  2 tables  2022 rows");
    command_must(&c, "%s checkpoint show %s/checkpoint-000001", locus_path(), folder);
    CHECK_STR(c.out.text,
              "table entities: 2000 of 3000 rows of 7 floats, with the state of LOCUS_ADAM");
    command_must(&c, "%s checkpoint verify %s", locus_path(), folder);
    CHECK_STR(c.out.text, "is whole");
    snprintf(out, sizeof out, "%s/out", folder);
    command_must(&c, "%s checkpoint export %s %s", locus_path(), folder, out);
    check_rows(out, "entities.safetensors");
}

/* What was there stays until the table is whole, and a link is no way to another file. */
TEST(checkpoint_files, an_export_replaces_files_and_writes_through_no_link)
{
    char folder[FOLDER_PATH_BYTES];
    make(folder);
    command_must(
        &c,
        "cd %s && mkdir out && echo mine > mine && ln mine out/entities.safetensors && "
        "ln -s ../checkpoint-000001/manifest.json 'out/a \"name\" \xc3\xa9.safetensors' && "
        "%s checkpoint export . out && %s checkpoint verify . && cat mine && ls -A out | wc -l",
        folder, locus_path(), locus_path());
    CHECK_STR(c.out.text, "is whole");
    CHECK_STR(c.out.text, "\nmine\n2\n");
    command_must(&c,
                 "cd %s && echo old > out/entities.safetensors && ulimit -f 1 && "
                 "! %s checkpoint export . out && cat out/entities.safetensors && "
                 "ls -A out | wc -l",
                 folder, locus_path());
    CHECK_STR(c.out.text, "old\n2\n");
}

TEST(checkpoint_files, what_only_its_program_understands_is_not_exported)
{
    char folder[FOLDER_PATH_BYTES];
    tables[0].flags = LOCUS_TABLE_ENCODED;
    make(folder);
    command_must(&c, "%s checkpoint show %s", locus_path(), folder);
    CHECK_STR(c.out.text, "2000 of 3000 rows of 7 floats, encoded by its program");
    CHECK_EQ(command_run(&c, "%s checkpoint export %s %s/out", locus_path(), folder, folder), 1);
    CHECK_STR(c.err.text, "table \"entities\" holds differences to first values");
    command_must(&c, "test ! -e %s/out", folder);
}

TEST(checkpoint_files, the_command_names_what_is_damaged)
{
    char folder[FOLDER_PATH_BYTES];
    make(folder);
    command_must(&c, "for f in %s/*/*.safetensors; do echo x >> $f; done", folder);
    CHECK_EQ(command_run(&c, "%s checkpoint verify %s", locus_path(), folder), 1);
    CHECK_STR(c.err.text, ".safetensors is damaged: it is longer than the manifest says");
    CHECK_EQ(command_run(&c, "%s checkpoint list", locus_path()), 2);
    CHECK_EQ(command_run(&c, "%s checkpoint verify %s/nowhere", locus_path(), folder), 1);
    CHECK_STR(c.err.text, "cannot open the folder of checkpoints");
    CHECK_EQ(
        command_run(&c, "mkdir %s/none; %s checkpoint list %s/none", folder, locus_path(), folder),
        1);
    CHECK_STR(c.err.text, "there is no checkpoint in");
    CHECK_EQ(command_run(&c, "%s checkpoint verify ''", locus_path()), 2);
    CHECK_STR(c.err.text, "verify: the name of a folder is empty");
}
