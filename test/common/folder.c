#include "folder.h"

#include "test.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDERS_MAX = 8 };

static struct {
    pid_t process;
    unsigned count;
    char path[FOLDERS_MAX][FOLDER_PATH_BYTES];
} going;

static void go(const char *folder)
{
    char path[2 * FOLDER_PATH_BYTES];
    DIR *d = opendir(folder);
    CHECK(d != NULL);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (unlink(path)) go(path);
    }
    closedir(d);
    CHECK_EQ(rmdir(folder), 0);
}

/* Not with a child of the test. */
static void all_go(void)
{
    for (unsigned i = 0; i < going.count && going.process == getpid(); i++) go(going.path[i]);
}

void folder_goes(const char *folder)
{
    CHECK(going.count < FOLDERS_MAX);
    if (going.count == 0) CHECK_EQ(atexit(all_go), 0);
    going.process = getpid();
    snprintf(going.path[going.count++], FOLDER_PATH_BYTES, "%s", folder);
}

static char all[] = "/tmp/locus-test-XXXXXX";

void folder_begin(void)
{
    static bool is_made;
    if (is_made) return;
    is_made = true;
    CHECK(mkdtemp(all) != NULL);
    CHECK_EQ(chmod(all, 0711), 0); /* the test says who may use those in it */
    folder_goes(all);
}

void folder_new(char *folder)
{
    folder_begin();
    snprintf(folder, FOLDER_PATH_BYTES, "%s/XXXXXX", all);
    CHECK(mkdtemp(folder) != NULL);
}

const char *folder_path(const char *folder, const char *file)
{
    static char path[2 * FOLDER_PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    return path;
}

void folder_write(const char *folder, const char *file, const char *text, size_t length)
{
    FILE *f = fopen(folder_path(folder, file), "wb");
    CHECK(f != NULL);
    if (length == 0) length = strlen(text);
    CHECK_EQ(fwrite(text, 1, length, f), length);
    CHECK_EQ(fclose(f), 0);
}

const char *folder_file(const char *text, size_t length)
{
    static char folder[FOLDER_PATH_BYTES];
    folder_new(folder);
    folder_write(folder, "file", text, length);
    return folder_path(folder, "file");
}

char *folder_read(const char *folder, const char *file, size_t *length)
{
    FILE *f = fopen(folder_path(folder, file), "rb");
    CHECK(f != NULL);
    CHECK_EQ(fseek(f, 0, SEEK_END), 0);
    *length = (size_t)ftell(f);
    rewind(f);
    char *text = malloc(*length + 1);
    CHECK(text != NULL);
    CHECK_EQ(fread(text, 1, *length, f), *length);
    text[*length] = '\0';
    fclose(f);
    return text;
}
