#include "folder.h"

#include "test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void folder_new(char *folder)
{
    snprintf(folder, FOLDER_PATH_BYTES, "/tmp/locus-test-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
}

void folder_remove(const char *folder)
{
    char path[2 * FOLDER_PATH_BYTES];
    DIR *d = opendir(folder);
    CHECK(d != NULL);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (unlink(path)) folder_remove(path);
    }
    closedir(d);
    CHECK_EQ(rmdir(folder), 0);
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
