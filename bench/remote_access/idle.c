/* What a cluster costs that has nothing to do: node 0's worker sleeps, node 1's waits in a
 * barrier. */
#include "bench.h"

#include <errno.h>
#include <time.h>

static void sleep_for(double seconds)
{
    struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

/* The kernel's own background work is in no process; asking node 1 costs it one wake-up. */
void idle_measure(struct bench *b)
{
    if (!idle_selected(b)) return;
    must(locus_barrier(b->worker), "locus_barrier");
    sleep_for(0.05); /* whoever polls for a while after work is done with it */
    struct usage before = usage_now(b, b->other);
    sleep_for(b->run.options.quick ? 0.3 : 5);
    struct usage after = usage_now(b, b->other);
    b->idle.used.here = node_figures_between(&before.here, &after.here);
    b->idle.used.there = node_figures_between(&before.there, &after.there);
    b->idle.measured = true;
}
