#include "checkpoint.h"

#include "common/memory_files.h"
#include "store/yield.h"

#include <errno.h>

/* Calls, counted by the disk. A checkpoint of a small cluster has some hundreds. */
enum { SOON = 90, LATER = 400 };

static struct {
    struct dice dice;
    uint64_t calls, fails_at, crash_at[FOUND_MAX];
    int error, met;
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
    struct disk *goes_on = memory_files_copy();
    memory_files_crash(throw, &faults.dice);
    faults.found[faults.count++] = (struct found){memory_files_copy(), story_old, story_new};
    memory_files_take(goes_on);
}

/* A memory_files_before. Others go on meanwhile. */
static int before(const char *call, const char *path)
{
    (void)call, (void)path;
    uint64_t number = ++faults.calls;
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
