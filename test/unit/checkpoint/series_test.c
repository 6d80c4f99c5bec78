#include "checkpoint/series.h"

#include "common/folder.h"
#include "locus.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A whole one, without tables; its number. */
static unsigned long commit(const char *f)
{
    char name[SERIES_NAME], nonce[MANIFEST_NONCE + 1];
    struct manifest m = {.number = 1, .nodes = 1};
    CHECK_EQ(series_create(f, name, nonce), 0);
    memcpy(m.nonce, nonce, sizeof nonce);
    CHECK_EQ(series_commit(f, name, &m), 0);
    return strtoul(strrchr(name, '-') + 1, NULL, 10);
}

struct seen {
    unsigned long number[16];
    unsigned count;
};

static int see(void *context, const char *name)
{
    struct seen *s = context;
    CHECK(s->count < 16);
    s->number[s->count++] = strtoul(strrchr(name, '-') + 1, NULL, 10);
    return 0;
}

/* "7 6 5": the whole ones. */
static void has(const char *f, const char *numbers)
{
    char text[256] = "";
    struct seen s = {.count = 0};
    CHECK_EQ(series_list(f, see, &s), 0);
    for (unsigned i = 0; i < s.count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), i ? " %lu" : "%lu", s.number[i]);
    CHECK_EQ(strcmp(text, numbers), 0);
}

TEST(series, the_newest_that_is_whole_is_found)
{
    char f[FOLDER_PATH_BYTES];
    folder_new(f);
    char name[SERIES_NAME], unfinished[SERIES_NAME], nonce[MANIFEST_NONCE + 1];
    CHECK_EQ(series_newest(f, name), -ENOENT);
    CHECK_STR(locus_error(), "there is no checkpoint in ");
    CHECK_EQ(commit(f), 1);
    CHECK_EQ(commit(f), 2);
    CHECK_EQ(series_create(f, unfinished, nonce), 0);
    CHECK_EQ(series_newest(f, name), 0);
    CHECK_EQ(strcmp(name, "checkpoint-000002"), 0);
    has(f, "2 1");
    CHECK_EQ(commit(f), 4); /* the number of one that was begun is not used again */
    CHECK_EQ(series_newest(folder_path(f, "checkpoint-000004"), name), 0);
    CHECK_EQ(strcmp(name, ""), 0); /* it is one itself */
    folder_remove(f);
}

TEST(series, a_folder_that_is_not_there_is_made_but_not_its_parent)
{
    char f[FOLDER_PATH_BYTES];
    folder_new(f);
    char name[SERIES_NAME], nonce[MANIFEST_NONCE + 1];
    CHECK_EQ(series_create(folder_path(f, "new"), name, nonce), 0);
    CHECK_EQ(series_create(folder_path(f, "no/new"), name, nonce), -ENOENT);
    CHECK_STR(locus_error(), "cannot make the folder of checkpoints");
    CHECK_EQ(series_newest(folder_path(f, "none"), name), -ENOENT);
    folder_remove(f);
}

/* A folder of the same name on another node's own disk has another token, or none. */
TEST(series, the_token_says_that_it_is_one_folder)
{
    char f[FOLDER_PATH_BYTES];
    folder_new(f);
    char name[SERIES_NAME], nonce[MANIFEST_NONCE + 1], other[MANIFEST_NONCE + 1];
    CHECK_EQ(series_create(f, name, nonce), 0);
    CHECK_EQ(strlen(nonce), MANIFEST_NONCE);
    CHECK_EQ(series_check(folder_path(f, name), nonce), 0);
    memcpy(other, nonce, sizeof other);
    other[0] = other[0] == 'a' ? 'b' : 'a';
    CHECK_EQ(series_check(folder_path(f, name), other), -ENOENT);
    CHECK_EQ(series_check(folder_path(f, "checkpoint-000009"), nonce), -ENOENT);
    CHECK_STR(locus_error(), "all nodes must see one folder");
    folder_remove(f);
}

TEST(series, older_ones_go_and_what_was_never_finished)
{
    char f[FOLDER_PATH_BYTES];
    folder_new(f);
    char name[SERIES_NAME], nonce[MANIFEST_NONCE + 1];
    CHECK_EQ(commit(f), 1);
    CHECK_EQ(series_create(f, name, nonce), 0); /* 2: given up */
    CHECK_EQ(commit(f), 3);
    CHECK_EQ(commit(f), 4);
    CHECK_EQ(series_create(f, name, nonce), 0); /* 5: somebody is at work */
    series_retain(f, 2);
    has(f, "4 3");
    CHECK(access(folder_path(f, "checkpoint-000002"), F_OK) != 0);
    CHECK_EQ(access(folder_path(f, "checkpoint-000005"), F_OK), 0);
    folder_remove(f);
}

TEST(series, other_names_are_nobodys_business)
{
    static const char *const others[] = {"checkpoint-1", "checkpoint-00000a", "checkpoint-0000001",
                                         "notes"};
    char f[FOLDER_PATH_BYTES];
    folder_new(f);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CHECK_EQ(mkdir(folder_path(f, others[i]), 0700), 0);
    CHECK_EQ(commit(f), 1);
    series_retain(f, 1);
    has(f, "1");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CHECK_EQ(access(folder_path(f, others[i]), F_OK), 0);
    folder_remove(f);
}

static void keeps(const char *text, int rc, unsigned expected)
{
    unsigned keep = 0;
    setenv("LOCUS_CHECKPOINTS", text, 1);
    CHECK_EQ(series_keeps(&keep), rc);
    CHECK_EQ(keep, expected);
    if (rc) CHECK_STR(locus_error(), "must be how many checkpoints to keep, 1 to ");
}

TEST(series, the_environment_says_how_many_are_kept)
{
    keeps("", 0, SERIES_KEEP);
    keeps("1", 0, 1);
    keeps("1000000", 0, SERIES_KEEP_MAX);
    keeps("0", -EINVAL, SERIES_KEEP);
    keeps("-1", -EINVAL, SERIES_KEEP);
    keeps("2x", -EINVAL, SERIES_KEEP);
    keeps("1000001", -EINVAL, SERIES_KEEP);
}

TEST(series, a_path_that_is_too_long_is_none)
{
    static char path[SERIES_PATH], longer[SERIES_PATH + 1];
    memset(longer, 'a', SERIES_PATH);
    CHECK_EQ(series_path(path, "a", "b"), 0);
    CHECK_EQ(strcmp(path, "a/b"), 0);
    CHECK_EQ(series_path(path, "a", ""), 0);
    CHECK_EQ(strcmp(path, "a"), 0);
    CHECK_EQ(series_path(path, longer, "b"), -ENAMETOOLONG);
}
