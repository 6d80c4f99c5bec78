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

static char other[2 * FOLDER_PATH_BYTES], last[2 * FOLDER_PATH_BYTES];

/* Of a file that may be there already, and of two others. */
static void write_three(const char *first, const char *second, const char *third)
{
    if (first) folder_write(folder, "packed", first, 0);
    folder_write(folder, "other", second, 0);
    folder_write(folder, "last", third, 0);
}

static void from_three(const void *none)
{
    const char *files[] = {path, other, last};
    (void)none;
    snprintf(path, sizeof path, "%s/packed", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    snprintf(last, sizeof last, "%s/last", folder);
    read_all(lines_join(files, 3));
}

/* Whatever each of them is, begins with and ends with. A heading is no row in any of them, and no
 * other heading is taken for one; what no heading is comes as often as it does. */
TEST(unpack, several_files_are_one)
{
    static const char words[] = "a,b,x\nb,c,y\na,c,x\n", numbers[] = "a,1\nb,2\nc,3\nd,4\n",
                      heading[] = "/last:2: is another heading than the first file's";
    static const struct {
        const char *files[3];
        int status;
        const char *said;
    } cases[] = {{{NULL, "\xEF\xBB\xBF# of May\na,1\nc,3", "d,4\n"},
                  0,
                  "a/1/b/2/a/1/c/3/d/4/;a/1/b/2/a/1/c/3/d/4/;"},
                 {{"x,y\n1,2\n", "x,y\n3,4", "\n5,6\n"}, 0, "1/2/3/4/5/6/;1/2/3/4/5/6/;"},
                 {{"x,y\n1,2\n", "x,y\n3,4", "\n5,6\n7,8,9\n"}, 1, "/last:3: "},
                 {{"user,item,type\n", words, "#\nItem,user,kind\nb,a,x\n"}, 1, heading},
                 {{"tint,age\n", numbers, "\ncolour,years\na,1\n"}, 1, heading},
                 {{words, "", "\nsource,target,type\na,b,x\n"}, 1, heading},
                 {{"follower,followee\na,b\nb,c\na,c\n", "", "followee,follower\nb,a\n"},
                  1,
                  "/packed:1: may be a heading or a row"}};
    pack("xz");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_three(cases[i].files[0], cases[i].files[1], cases[i].files[2]);
        ends_with(from_three, NULL, cases[i].status, cases[i].said);
    }
    folder_new(folder);
    folder_write(folder, "packed", "a,1\n", 0);
    ends_with(from_three, NULL, 1, "/other: No such file");
}

TEST(unpack, stdin_faults_are_named)
{
    folder_new(folder);
    folder_write(folder, "plain", "a,1\nb,2,3\n", 0);
    snprintf(path, sizeof path, "%s/plain", folder);
    ends_with(from_stdin, path, 1, "stdin:2: ");
}
