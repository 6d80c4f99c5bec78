#include "common/folder.h"
#include "ending.h"
#include "fail.h"
#include "saving.h"
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[FOLDER_PATH_BYTES], path[2 * FOLDER_PATH_BYTES], other[2 * FOLDER_PATH_BYTES];

static void begin(void)
{
    folder_new(folder);
    snprintf(path, sizeof path, "%s/file", folder);
    snprintf(other, sizeof other, "%s/other", folder);
}

static void save(const char *to, const char *text)
{
    CLOSED_BY(saving_close) struct saving s;
    saving_open(&s, to);
    saving_put(&s, text, strlen(text));
}

static void has(const char *file, const char *text)
{
    size_t length;
    CLOSED_BY(free_at) char *content = folder_read(folder, file, &length);
    CHECK_STR(content, text);
    CHECK_EQ(length, strlen(text));
}

static unsigned files(void)
{
    unsigned count = 0;
    DIR *d = opendir(folder);
    CHECK(d != NULL);
    for (const struct dirent *e; (e = readdir(d));) count += e->d_name[0] != '.';
    closedir(d);
    return count;
}

static void check_one(const void *output)
{
    saving_check((const char *[]){output}, 1, (const char *[]){NULL, path}, 2);
}

static void check_two(const void *outputs)
{
    saving_check(outputs, 2, NULL, 0);
}

static mode_t mode_of(const char *file)
{
    struct stat about;
    CHECK_EQ(lstat(file, &about), 0);
    return about.st_mode;
}

TEST(saving, file_appears_when_it_is_complete)
{
    struct saving s;
    begin();
    folder_write(folder, "file", "old", 0);
    CHECK_EQ(chmod(path, 0640), 0);
    saving_open(&s, path);
    saving_put(&s, "new", 3);
    has("file", "old");
    saving_close(&s);
    has("file", "new");
    CHECK_EQ(mode_of(path) & 0777, 0640);
    CHECK_EQ(files(), 1);
    CHECK_EQ(symlink(path, other), 0);
    save(other, "newer"); /* through the link */
    CHECK(S_ISLNK(mode_of(other)));
    has("file", "newer");
}

TEST(saving, pipe_stays_a_pipe)
{
    begin();
    CHECK_EQ(mkfifo(path, 0600), 0);
    ends_with(check_two, (const char *[]){path, NULL}, 1, "is a pipe from which nobody reads");
    struct pollfd end = {.fd = open(path, O_RDONLY | O_NONBLOCK), .events = POLLIN};
    check_two((const char *[]){path, NULL}); /* and does not make the reader go */
    pid_t reader = fork();
    if (reader == 0) {
        char text[8] = "";
        bool has_come = poll(&end, 1, -1) == 1 && read(end.fd, text, sizeof text - 1) == 3;
        _exit(has_come && strcmp(text, "new") == 0 ? 0 : 1);
    }
    save(path, "new");
    int status;
    CHECK_EQ(waitpid(reader, &status, 0), reader);
    CHECK_EQ(status, 0);
    CHECK(S_ISFIFO(mode_of(path)));
    close(end.fd);
}

static void fail_in_the_middle(const void *to)
{
    struct saving s;
    saving_open(&s, to);
    fail("no more");
}

static void save_too_much(const void *to)
{
    static const char much[1 << 16];
    CLOSED_BY(saving_close) struct saving s;
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 12, 1 << 12});
    saving_open(&s, to);
    saving_put(&s, much, sizeof much);
}

TEST(saving, incomplete_file_is_removed)
{
    begin();
    ends_with(fail_in_the_middle, path, 1, "no more");
    ends_with(save_too_much, path, 1, "File too large");
    CHECK_EQ(files(), 0);
    ends_with(fail_in_the_middle, "/no/such/file", 1, "/no/such/file: No such file");
}

TEST(saving, signal_removes_incomplete_files_and_ends_the_program)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    begin();
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            struct saving s;
            signal(numbers[i], SIG_DFL); /* nohup ignores one */
            saving_open(&s, path);
            saving_put(&s, "some", 4);
            raise(numbers[i]);
            _exit(0);
        }
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == numbers[i]);
        CHECK_EQ(files(), 0);
    }
}

TEST(saving, a_pipe_may_have_no_name_and_has_one_output)
{
    char named[64], text[8] = "";
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    snprintf(named, sizeof named, "/dev/fd/%d", ends[1]);
    check_two((const char *[]){named, NULL});
    save(named, "new");
    CHECK_EQ(read(ends[0], text, sizeof text - 1), 3);
    CHECK_STR(text, "new");
    ends_with(check_two, (const char *[]){NULL, "/dev/fd/1"}, 1,
              "/dev/fd/1 is where stdout goes: write another file");
    ends_with(check_two, (const char *[]){named, named}, 1, "is to be written twice");
}

TEST(saving, a_name_may_be_as_long_as_names_may_be)
{
    char named[FOLDER_PATH_BYTES + 257];
    begin();
    snprintf(named, sizeof named, "%s/%0255d", folder, 7);
    check_one(named);
    save(named, "new");
    CHECK_EQ(access(named, R_OK), 0);
    CHECK_EQ(files(), 1);
}

static void check_printed(const void *output)
{
    CHECK(freopen(output, "we", stdout) != NULL);
    check_one(output);
}

static void check_as_another(const void *output)
{
    if (seteuid(65534) != 0) fail("not root");
    check_two((const char *[]){output, NULL});
}

TEST(saving, outputs_of_stdout_or_of_others_are_refused)
{
    begin();
    ends_with(check_printed, other, 1, "is where stdout goes");
    folder_write(folder, "file", "theirs", 0);
    CHECK_EQ(chmod(folder, 01777), 0);
    CHECK_EQ(chmod(path, 0666), 0);
    ends_with(check_as_another, path, 1, geteuid() == 0 ? "is somebody else's" : "not root");
    CHECK_EQ(files(), 2);
}

static void check_folder(const void *name)
{
    saving_check_folder(*(const char *)name == '/' ? name : folder_path(folder, name));
}

/* The folder is tried, and nothing of that is left. */
TEST(saving, folders_that_cannot_be_had_are_refused_before_the_work)
{
    static const char *const wrong[][2] = {{"new/er", "/new: No such file or directory"},
                                           {"file", "/file is no folder"},
                                           {"file/er", "/file/er: Not a directory"},
                                           {"link", "is a link to what does not exist"},
                                           {"/proc", "/proc/file: No such file or directory"}};
    begin();
    saving_check_folder(folder);
    check_folder("new/");
    CHECK_EQ(files(), 0);
    folder_write(folder, "file", "data", 0);
    CHECK_EQ(symlink("nowhere", folder_path(folder, "link")), 0);
    ENDS_EACH(check_folder, 1, wrong);
}

/* What locus writes may be written anew. */
TEST(saving, files_of_others_are_refused)
{
    static const char *const theirs[] = {"1\t2\t3.5\n", "<!DOCTYPE html><title>mine</title>",
                                         "3 2 1\n",
                                         "12345678{\"__metadata__\":{\"format\":\"pt\"}}"};
    static const char *const ours[] = {
        "", "<!DOCTYPE html><meta name=\"generator\" content=\"locus report\"/>", "3 2\na 1 2\n",
        "12345678{\"__metadata__\":{\"model\":\"lda\"}}",
        "12345678{\"__metadata__\": {\"model\": \"skip-gram\"}}"};
    begin();
    for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++) {
        folder_write(folder, "other", theirs[i], 0);
        ends_with(check_one, other, 1, "other is there, and locus has not written it");
        has("other", theirs[i]);
    }
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        folder_write(folder, "other", ours[i], 0);
        check_one(other);
    }
}

TEST(saving, outputs_that_cannot_be_had_are_refused_before_the_work)
{
    char linked[2 * FOLDER_PATH_BYTES];
    begin();
    folder_write(folder, "file", "data", 0);
    snprintf(linked, sizeof linked, "%s/./file", folder);
    const char *const cases[][2] = {
        {linked, "is read as well as written"},
        {"/no/such/file", "/no/such/file: the folder /no/such: No such file"},
        {folder, "is a folder, not a file"},
        {folder_path(folder, "new/"), "is the name of a folder, not of a file"},
        {"/dev/null/file", "/dev/null/file: Not a directory"}};
    ENDS_EACH(check_one, 1, cases);
    ends_with(check_two, (const char *[]){other, other}, 1, "is to be written twice");
    check_two((const char *[]){other, "/dev/null"});
    CHECK_EQ(files(), 1);
    has("file", "data");
}
