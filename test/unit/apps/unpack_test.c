/* Compressed files are read as what is in them, and stdin as a file. */
#include "common/folder.h"
#include "ending.h"
#include "fields.h"
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[FOLDER_PATH_BYTES], path[2 * FOLDER_PATH_BYTES];

/* All fields of all rows, read twice, as readers do that look before. */
static void read_all(const void *file)
{
    struct fields f;
    for (int i = 0; i < 2; i++) {
        fields_open(&f, file, &(struct fields_wanted){.least = 2});
        while (fields_next(&f))
            for (size_t k = 0; k < f.count; k++)
                printf("%.*s/", (int)f.field[k].length, f.field[k].text);
        fields_close(&f);
        printf(";");
    }
}

static void from_stdin(const void *file)
{
    int fd = open(file, O_RDONLY);
    CHECK(fd >= 0);
    CHECK_EQ(dup2(fd, STDIN_FILENO), STDIN_FILENO);
    read_all("-");
}

static void pack(const char *tool)
{
    char line[6 * FOLDER_PATH_BYTES];
    folder_new(folder);
    folder_write(folder, "plain", "a,1\nb,2\n", 0);
    snprintf(path, sizeof path, "%s/packed", folder);
    snprintf(line, sizeof line, "command -v %s > %s/place && %s -c < %s/plain > %s", tool, folder,
             tool, folder, path);
    if (system(line) != 0) SKIP("a tool is not here");
}

TEST(unpack, gzip_xz_and_zstd_are_known_by_their_first_bytes)
{
    static const char *const tools[] = {"gzip", "xz", "zstd"};
    for (size_t i = 0; i < 3; i++) {
        pack(tools[i]);
        ends_with(read_all, path, 0, "a/1/b/2/;a/1/b/2/;");
        ends_with(from_stdin, path, 0, "a/1/b/2/;a/1/b/2/;");
    }
}

TEST(unpack, a_damaged_file_is_refused)
{
    size_t length;
    pack("gzip");
    char *packed = folder_read(folder, "packed", &length);
    folder_write(folder, "packed", packed, length - 5);
    free(packed);
    ends_with(read_all, path, 1, "gzip could not decompress it");
    setenv("PATH", "/nowhere", 1);
    ends_with(read_all, path, 1, "is compressed by gzip, which does not start here");
}

static void from_three(const void *last)
{
    static char names[3][2 * FOLDER_PATH_BYTES];
    const char *texts[] = {"x,y\n1,2", "\xEF\xBB\xBF# of May\nx,y\n3,4", last}, *files[3];
    folder_new(folder);
    for (int i = 0; i < 3; i++) {
        snprintf(names[i], sizeof names[i], "%s/%d", folder, i);
        files[i] = names[i];
        if (i < 2 || last) folder_write(folder, names[i] + strlen(folder) + 1, texts[i], 0);
    }
    read_all(lines_join(files, 3));
}

/* A heading is no row in any of them. Other headings are test/programs/test_refusals.py's. */
TEST(unpack, several_files_are_one)
{
    static const char *const wrong[][2] = {{"\n5,6\n7,8,9\n", "/2:3: "},
                                           {"\n%%MatrixMarket\n", "/2:2: is MatrixMarket's banner"},
                                           {"\nu,v\n5,6\n", "/2:2: is another heading"},
                                           {NULL, "/2: No such file"}};
    ends_with(from_three, "\n5,6\n", 0, "1/2/3/4/5/6/;1/2/3/4/5/6/;");
    ENDS_EACH(from_three, 1, wrong);
}

TEST(unpack, stdin_faults_are_named)
{
    folder_new(folder);
    folder_write(folder, "plain", "a,1\nb,2,3\n", 0);
    snprintf(path, sizeof path, "%s/plain", folder);
    ends_with(from_stdin, path, 1, "stdin:2: ");
}
