/*
 * What is no regular file where a file is expected: a pipe without a writer would be waited for
 * without end, a device may have none. Every reader of the command says so, at once.
 */
#include "command.h"
#include "program.h"
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char folder[PROGRAM_FOLDER_BYTES];

/* "file" in the folder, as a pipe, a socket, a device and a folder in turn. */
static void make(int kind)
{
    char path[128];
    snprintf(path, sizeof path, "%s/file", folder);
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = -1;
    switch (kind) {
    case 0: CHECK_EQ(mkfifo(path, 0600), 0); break;
    case 1:
        snprintf(a.sun_path, sizeof a.sun_path, "%.100s", path);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK_EQ(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
        close(fd);
        break;
    case 2: CHECK_EQ(symlink("/dev/zero", path), 0); break;
    default: CHECK_EQ(mkdir(path, 0700), 0);
    }
}

/* Whoever waits is ended, with status 124. */
static void is_refused(const char *line, const char *part)
{
    static struct command c;
    /* A sanitizer wants more addresses than there are. */
    const char *limit = IS_SANITIZED ? "unlimited" : "4000000";
    int status = command_run(&c, "cd %s && ulimit -v %s && timeout 60 %s %s", folder, limit,
                             locus_path(), line);
    if (status != 1 && status != 2)
        test_fail(__FILE__, __LINE__, "%s: status %d: %s", line, status, c.err.text);
    if (!strstr(c.err.text, part) && !strstr(c.out.text, part))
        test_fail(__FILE__, __LINE__, "%s: %s%s", line, c.out.text, c.err.text);
}

TEST(irregular, files_are_refused_by_the_command)
{
    static struct command c;
    program_folder(folder);
    command_must(&c,
                 "cd %s && mkdir model && ln -s file file.0.report.jsonl && "
                 "ln -s ../file model/manifest.json",
                 folder);
    for (int kind = 0; kind < 4; kind++) {
        make(kind);
        is_refused("run --hosts file true", "the list of hosts \"file\" cannot be opened: it is ");
        is_refused("doctor --hosts file", "the list of hosts \"file\" cannot be opened: it is ");
        is_refused("trace file", "cannot read file: it is ");
        is_refused("report file", "file.0.report.jsonl cannot be read: it is ");
        is_refused("checkpoint verify model", "manifest.json: it is no regular file");
        command_must(&c, "cd %s && rm -rf file", folder);
    }
}
