#include "checkpoint.h"

#include "base/sync.h"
#include "common/memory_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Calls. A checkpoint of a small cluster has about a hundred; it is decided by few of them, around
 * the one that renames its manifest. */
enum { SOON = 90, LATER = 400, AROUND = 4, BEHIND = 20 };

static struct {
    struct dice dice;
    uint64_t calls, fails_at, crash_at[FOUND_MAX];
    unsigned changes_at; /* an opening of rows from now on; 0: none */
    bool has_changed;
    unsigned damages;                 /* checkpoints still to be damaged */
    char damaged[sizeof FOLDER + 40]; /* the last one's folder */
    int error, met;
    bool fails_around, crashes_around; /* the next one that renames */
    unsigned crashes, count;
    struct found found[FOUND_MAX];
} faults;

int story_old, story_new;

static uint64_t throw(void *dice)
{
    return dice_throw(dice) >> 20;
}

/* As it would be found after a crash now, which does not happen here. */
static void crash(void)
{
    if (faults.count == FOUND_MAX) return;
    struct disk *goes_on = memory_files_copy();
    memory_files_crash(throw, &faults.dice);
    faults.found[faults.count++] = (struct found){memory_files_copy(), story_old, story_new};
    memory_files_take(goes_on);
}

/* It is near: where the fault is, and a crash. */
static void meet_rename(uint64_t number)
{
    if (faults.fails_around) faults.fails_at = number + dice_below(&faults.dice, AROUND);
    if (faults.crashes_around) faults.crash_at[0] = number + dice_below(&faults.dice, BEHIND);
    faults.fails_around = faults.crashes_around = false;
}

/* Whatever byte it is: nobody has said so. Rows of few bytes are behind a header of many. */
static void change(const char *path)
{
    enum { HEADER = 4096 };
    size_t bytes;
    unsigned char *file = memory_files_bytes(path, &bytes);
    size_t from = bytes > HEADER && throw(&faults.dice) % 2 ? HEADER : 0;
    file[from + throw(&faults.dice) % (bytes - from)] ^=
        (unsigned char)(1u << throw(&faults.dice) % 8);
    faults.has_changed = true;
}

void faults_damage(unsigned checkpoints)
{
    faults.damages = checkpoints;
    faults.damaged[0] = '\0';
}

/* A file with rows is opened. */
static void open_rows(const char *path)
{
    size_t folder = (size_t)(strrchr(path, '/') - path);
    if (faults.changes_at && --faults.changes_at == 0) change(path);
    if (!faults.damages || strncmp(path, faults.damaged, folder) == 0) return;
    faults.damages--;
    snprintf(faults.damaged, sizeof faults.damaged, "%.*s", (int)folder, path);
    change(path);
}

void faults_change(unsigned opening)
{
    faults.changes_at = opening;
    faults.has_changed = false;
}

bool faults_has_changed(void)
{
    return faults.has_changed;
}

/* A memory_files_before. Others go on meanwhile. */
static int before(const char *call, const char *path)
{
    if (strcmp(call, "open") == 0 && strstr(path, ".safetensors")) open_rows(path);
    uint64_t number = ++faults.calls;
    if (strcmp(call, "rename") == 0) meet_rename(number);
    for (unsigned i = 0; i < faults.crashes; i++)
        if (number == faults.crash_at[i]) crash();
    locus_fiber_yield();
    if (number != faults.fails_at) return 0;
    faults.met = faults.error;
    return faults.error;
}

void faults_begin(struct dice dice)
{
    faults.dice = dice;
    faults.calls = faults.fails_at = 0;
    faults.met = 0;
    faults_change(0);
    faults_damage(0);
    faults.crashes = faults.count = 0;
    story_old = story_new = -1;
    memory_files_begin(before);
}

void faults_end(void)
{
    memory_files_end();
}

void faults_arm(bool is_wanted)
{
    static const int errors[] = {-EIO, -ENOSPC, -EDQUOT};
    faults.met = 0;
    faults.fails_at = is_wanted ? faults.calls + 1 + dice_below(&faults.dice, SOON) : 0;
    faults.fails_around = is_wanted && dice_below(&faults.dice, 2);
    faults.crashes_around = faults.crashes > 0 && dice_below(&faults.dice, 2);
    faults.error = errors[dice_below(&faults.dice, 3)];
}

int faults_met(void)
{
    return faults.met;
}

void faults_crash(unsigned times)
{
    faults.crashes = times;
    for (unsigned i = 0; i < times; i++)
        faults.crash_at[i] = faults.calls + 1 + dice_below(&faults.dice, LATER);
}

unsigned faults_found(struct found found[FOUND_MAX])
{
    for (unsigned i = 0; i < faults.count; i++) found[i] = faults.found[i];
    faults.crashes = 0;
    unsigned count = faults.count;
    faults.count = 0;
    return count;
}
