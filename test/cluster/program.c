#include "program.h"

#include "command.h"
#include "common/folder.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
    ENTITIES = 60,
    SHIFTS = 6,
    SENTENCES = 400,
    WORDS = 12,
    RATED = 40,
    CLICKS = 400,
    PATH_BYTES = 128
};

const char *program_path(const char *name)
{
    static char path[2][PATH_MAX + 32];
    static int next;
    char *to = path[next++ % 2];
    const char *beside = locus_path();
    snprintf(to, sizeof path[0], "%.*s/locus-%s", (int)(strrchr(beside, '/') - beside), beside,
             name);
    CHECK_EQ(access(to, X_OK), 0);
    return to;
}

static FILE *create(const char *folder, const char *name)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "we");
    CHECK(f != NULL);
    return f;
}

static void write_graph(const char *folder)
{
    static const char *const names[] = {"graph/train.txt", "graph/valid.txt", "graph/test.txt"};
    char path[PATH_BYTES];
    FILE *files[3];
    snprintf(path, sizeof path, "%s/graph", folder);
    CHECK_EQ(mkdir(path, 0777), 0);
    for (int i = 0; i < 3; i++) files[i] = create(folder, names[i]);
    for (int e = 0; e < ENTITIES; e++) {
        for (int k = 1; k <= SHIFTS; k++) {
            int mark = (e * 7 + k * 5) % 12;
            FILE *to = files[mark == 0 ? 1 : mark == 6 ? 2 : 0];
            fprintf(to, "entity %d\tnext_%d\tentity %d\n", e, k, (e + k) % ENTITIES);
        }
    }
    for (int i = 0; i < 3; i++) CHECK_EQ(fclose(files[i]), 0);
}

static void write_text(const char *folder)
{
    FILE *f = create(folder, "text");
    for (int i = 0; i < SENTENCES; i++) {
        for (int j = 0; j < WORDS; j++) fprintf(f, "w%d ", (i * 7 + j * (1 + i % 3)) % 50);
        fputc('\n', f);
    }
    CHECK_EQ(fclose(f), 0);
}

static void write_ratings(const char *folder)
{
    FILE *f = create(folder, "ratings");
    for (int i = 0; i < RATED; i++)
        for (int j = i % 3; j < RATED; j += 3)
            fprintf(f, "%d %d %d\n", i + 1, j + 1, 1 + (i * j) % 5);
    CHECK_EQ(fclose(f), 0);
}

static void write_clicks(const char *folder)
{
    FILE *f = create(folder, "clicks");
    for (int i = 0; i < CLICKS; i++)
        fprintf(f, "%d %d:1 %d:1 %d:0.5\n", i % 7 % 3 == 0, 1 + i % 7, 10 + i % 11, 30 + i % 5);
    CHECK_EQ(fclose(f), 0);
}

/* In memory, if there is enough: checkpoints are made one after the other, and a busy disk takes
 * seconds to sync each. Tests of checkpoints themselves use a disk. */
static bool has_room(const char *path)
{
    enum { ROOM_MB = 256 };
    struct statvfs s;
    return statvfs(path, &s) == 0 && s.f_bavail * s.f_frsize >> 20 >= ROOM_MB &&
           access(path, W_OK) == 0;
}

void program_folder(char folder[PROGRAM_FOLDER_BYTES])
{
    snprintf(folder, PROGRAM_FOLDER_BYTES, "%s/locus-program-XXXXXX",
             has_room("/dev/shm") ? "/dev/shm" : "/tmp");
    CHECK(mkdtemp(folder) != NULL);
    folder_goes(folder);
    write_graph(folder);
    write_text(folder);
    write_ratings(folder);
    write_clicks(folder);
}
