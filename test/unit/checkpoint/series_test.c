#include "checkpoint/series.h"

#include "common/folder.h"
#include "test.h"
#include "locus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The test's folder, and what series_create() says. */
static char f[FOLDER_PATH_BYTES], name[SERIES_NAME], nonce[MANIFEST_NONCE + 1];

/* A whole one, without tables; its number. */
static unsigned long commit(const char *folder)
{
    char file[2 * SERIES_NAME];
    struct manifest m = {.nodes = 1};
    CHECK_EQ(series_create(folder, name, nonce), 0);
    m.number = strtoul(strrchr(name, '-') + 1, NULL, 10);
    memcpy(m.nonce, nonce, sizeof nonce);
    CHECK_EQ(manifest_add_table(&m, "one", 10, 4, 0, LOCUS_NO_OPTIMIZER, LOCUS_F32), 0);
    snprintf(file, sizeof file, "%s/0-0-0.safetensors", name);
    folder_write(folder, file, "rows", 4);
    CHECK_EQ(series_commit(folder, name, &m), 0);
    unsigned long number = m.number;
    manifest_fini(&m);
    return number;
}

struct seen {
    unsigned long number[16];
    unsigned count;
};

static int see(void *context, const char *found)
{
    struct seen *s = context;
    CHECK(s->count < 16);
    s->number[s->count++] = strtoul(strrchr(found, '-') + 1, NULL, 10);
    return 0;
}

/* "7 6 5": the whole ones. */
static void has(const char *folder, const char *numbers)
{
    char text[256] = "";
    struct seen s = {.count = 0};
    CHECK_EQ(series_list(folder, see, &s), 0);
    for (unsigned i = 0; i < s.count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), i ? " %lu" : "%lu", s.number[i]);
    CHECK_EQ(strcmp(text, numbers), 0);
}

TEST(series, newest_is_the_newest_whole_one)
{
    folder_new(f);
    char unfinished[SERIES_NAME];
    REFUSED(series_newest(f, name), -ENOENT, "there is no checkpoint in ");
    CHECK_EQ(commit(f), 1);
    CHECK_EQ(commit(f), 2);
    CHECK_EQ(series_create(f, unfinished, nonce), 0);
    CHECK_EQ(series_newest(f, name), 0);
    CHECK_EQ(strcmp(name, "checkpoint-000002"), 0);
    has(f, "2 1");
    CHECK_EQ(commit(f), 4); /* the number of one that was begun is not used again */
    CHECK_EQ(series_newest(folder_path(f, "checkpoint-000004"), name), 0);
    CHECK_EQ(strcmp(name, ""), 0); /* it is one itself */
}

TEST(series, retain_removes_older_and_unfinished_ones)
{
    folder_new(f);
    CHECK_EQ(commit(f), 1);
    CHECK_EQ(series_create(f, name, nonce), 0); /* 2: given up */
    CHECK_EQ(commit(f), 3);
    CHECK_EQ(commit(f), 4);
    CHECK_EQ(series_create(f, name, nonce), 0); /* 5: somebody is at work */
    series_retain(f, 2);
    has(f, "4 3");
    CHECK(access(folder_path(f, "checkpoint-000002"), F_OK) != 0);
    CHECK_EQ(access(folder_path(f, "checkpoint-000005"), F_OK), 0);
}

/* ---- what is not ours ---- */

static bool is_there(const char *folder, const char *file)
{
    struct stat about;
    return lstat(folder_path(folder, file), &about) == 0;
}

/* As other programs name folders, with names in them that locus also uses. */
TEST(series, retain_keeps_folders_of_other_programs)
{
    static const char *const theirs[] = {
        "pytorch_model.bin", "0-0-0.safetensors", "nonce", "0.part",
        "manifest.json.new", "manifest.json"};
    enum { THEIRS = sizeof theirs / sizeof *theirs };
    char path[64], file[128];
    folder_new(f);
    CHECK_EQ(commit(f), 1);
    /* with no manifest, and with one */
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "checkpoint-%06d", i ? 100000 : 2);
        CHECK_EQ(mkdir(folder_path(f, path), 0700), 0);
        for (int k = 0; k < THEIRS - 1 + i; k++) {
            snprintf(file, sizeof file, "%s/%s", path, theirs[k]);
            folder_write(f, file, "{\"name\": \"an app\"}", 18);
        }
    }
    CHECK_EQ(commit(f), 100001);
    series_retain(f, 1);
    CHECK_EQ(commit(f), 100002);
    series_retain(f, 1);
    CHECK(!is_there(f, "checkpoint-000001") && !is_there(f, "checkpoint-100001"));
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < THEIRS - 1 + i; k++) {
            snprintf(path, sizeof path, "checkpoint-%06d/%s", i ? 100000 : 2, theirs[k]);
            CHECK(is_there(f, path));
        }
    CHECK_EQ(series_newest(f, name), 0);
    CHECK_STR(name, "checkpoint-100002");
}

TEST(series, retain_keeps_files_of_others_in_a_checkpoint)
{
    folder_new(f);
    CHECK_EQ(commit(f), 1);
    folder_write(f, "checkpoint-000001/notes.txt", "mine", 4);
    CHECK_EQ(symlink("notes.txt", folder_path(f, "checkpoint-000001/1-0-0.safetensors")), 0);
    CHECK_EQ(mkdir(folder_path(f, "checkpoint-000001/2-0-0.safetensors"), 0700), 0);
    CHECK_EQ(commit(f), 2);
    series_retain(f, 1);
    CHECK(is_there(f, "checkpoint-000001/notes.txt"));
    CHECK(is_there(f, "checkpoint-000001/1-0-0.safetensors"));
    CHECK(is_there(f, "checkpoint-000001/2-0-0.safetensors"));
    CHECK(!is_there(f, "checkpoint-000001/0-0-0.safetensors"));
    CHECK(!is_there(f, "checkpoint-000001/manifest.json"));
    has(f, "2");
}

TEST(series, retain_removes_nothing_through_links)
{
    char archive[FOLDER_PATH_BYTES], path[2 * FOLDER_PATH_BYTES];
    folder_new(f);
    folder_new(archive);
    CHECK_EQ(commit(archive), 1);
    CHECK_EQ(commit(archive), 2);
    CHECK_EQ(series_create(archive, name, nonce), 0);
    for (int i = 1; i <= 3; i++) {
        snprintf(path, sizeof path, "%s/checkpoint-%06d", archive, i);
        snprintf(name, sizeof name, "checkpoint-%06d", i);
        CHECK_EQ(symlink(path, folder_path(f, name)), 0);
    }
    CHECK_EQ(commit(f), 4);
    CHECK_EQ(commit(f), 5);
    series_retain(f, 1);
    has(f, "5 2 1"); /* they are read */
    has(archive, "2 1");
    CHECK(is_there(archive, "checkpoint-000001/0-0-0.safetensors"));
    CHECK(is_there(archive, "checkpoint-000003/nonce"));
    /* a manifest that is a link says nothing of its folder */
    CHECK_EQ(unlink(folder_path(f, "checkpoint-000003")), 0);
    CHECK_EQ(mkdir(folder_path(f, "checkpoint-000003"), 0700), 0);
    folder_write(f, "checkpoint-000003/0-0-0.safetensors", "rows", 4);
    CHECK_EQ(symlink("../checkpoint-000005/manifest.json",
                     folder_path(f, "checkpoint-000003/manifest.json")),
             0);
    series_retain(f, 1);
    CHECK(is_there(f, "checkpoint-000003/0-0-0.safetensors"));
}

TEST(series, list_ignores_names_that_are_no_checkpoints)
{
    static const char *const others[] = {
        "checkpoint-18446744073709551615", "checkpoint-18446744073709551614",
        "checkpoint-9223372036854775807", "checkpoint-9223372036854775806",
        "checkpoint-1000000000000000",
        /* no numbers of checkpoints */
        "checkpoint-1", "checkpoint-00000a", "checkpoint-0000001", "notes"};
    folder_new(f);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CHECK_EQ(mkdir(folder_path(f, others[i]), 0700), 0);
    folder_write(f, "manifest.json", "{\"name\": \"an app\"}", 18);
    CHECK_EQ(commit(f), 1);
    has(f, "1");
    CHECK_EQ(series_newest(f, name), 0);
    CHECK_EQ(series_older(f, name), -ENOENT);
    series_retain(f, 1);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CHECK_EQ(access(folder_path(f, others[i]), F_OK), 0);
    CHECK_EQ(mkdir(folder_path(f, "checkpoint-999999999999998"), 0700), 0);
    CHECK_EQ(commit(f), 999999999999999);
    has(f, "999999999999999 1");
    REFUSED(series_create(f, name, nonce), -EOVERFLOW,
            "checkpoint-999999999999999 has the last number");
}

static void keeps(const char *text, int rc, unsigned expected)
{
    unsigned keep = 0;
    setenv("LOCUS_CHECKPOINTS", text, 1);
    CHECK_EQ(series_keeps(&keep), rc);
    CHECK_EQ(keep, expected);
    if (rc) CHECK_STR(locus_error(), "must be how many checkpoints to keep, 1 to ");
}

TEST(series, keeps_reads_the_environment)
{
    keeps("", 0, SERIES_KEEP);
    keeps("1", 0, 1);
    keeps("1000000", 0, SERIES_KEEP_MAX);
    keeps("0", -EINVAL, SERIES_KEEP);
    keeps("-1", -EINVAL, SERIES_KEEP);
    keeps("2x", -EINVAL, SERIES_KEEP);
    keeps("1000001", -EINVAL, SERIES_KEEP);
}
