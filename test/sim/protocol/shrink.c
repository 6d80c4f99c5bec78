#include "shrink.h"

#include "base/time.h"
#include "report.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SCHEDULES = 6, ATTEMPT_SECONDS = 10 };

bool shrink_fails(const struct run_options *o, bool silently)
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (silently && (!freopen("/dev/null", "w", stderr) || !freopen("/dev/null", "w", stdout)))
            _exit(2);
        alarm(ATTEMPT_SECONDS);
        report_silence(silently);
        bool good = run_once(o).is_good;
        fflush(stdout);
        _exit(!good);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status != 0;
}

/* Under this schedule or one of some others: a shorter script has another course. */
static bool fails_somehow(struct run_options *o)
{
    uint64_t schedule = o->schedule;
    if (shrink_fails(o, true)) return true;
    for (o->schedule = schedule + 1; o->schedule < schedule + SCHEDULES; o->schedule++)
        if (shrink_fails(o, true)) return true;
    o->schedule = schedule;
    return false;
}

static unsigned count_kept(const bool *is_dropped, unsigned count)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < count; i++) kept += !is_dropped[i];
    return kept;
}

/* Who waits for a clock that was left out would wait for ever: a failure of the script's own. */
static bool must_stay(const struct script_step *step)
{
    return step->kind == STEP_CLOCK || step->kind == STEP_BARRIER;
}

/* Drops `n` of the steps that are left, from the given one on. Returns where the next are. */
static unsigned drop(const struct script *s, bool *is_dropped, unsigned from, unsigned n)
{
    for (; from < s->count && n > 0; from++) {
        if (must_stay(&s->step[from])) continue;
        n -= !is_dropped[from];
        is_dropped[from] = true;
    }
    return from;
}

unsigned shrink(struct run_options *o, bool is_dropped[SCRIPT_STEPS_MAX], unsigned seconds)
{
    bool before[SCRIPT_STEPS_MAX];
    const struct script s = *run_script(o);
    uint64_t deadline = time_now_ns() + seconds * UINT64_C(1000000000);
    memset(is_dropped, 0, SCRIPT_STEPS_MAX * sizeof *is_dropped);
    o->is_dropped = is_dropped;
    for (unsigned n = (s.count + 1) / 2; n > 0; n = n == 1 ? 0 : (n + 1) / 2)
        for (unsigned at = 0; at < s.count && time_now_ns() < deadline;) {
            memcpy(before, is_dropped, sizeof before);
            at = drop(&s, is_dropped, at, n);
            if (!fails_somehow(o)) memcpy(is_dropped, before, sizeof before);
        }
    return count_kept(is_dropped, s.count);
}
