/*
 * team.h - runs the same work on several threads at once, each on a processor of its own where there
 * are so many; times it, and counts what the processors' counters count.
 *
 * Callers   one thread; it is lane 0 itself, so a single lane runs without a second thread
 * Memory    threads live for one call
 * Waiting   team_run() returns when all lanes are through
 */
#ifndef BENCH_TEAM_H
#define BENCH_TEAM_H

enum { TEAM_MAX = 256 };
/* What is counted beside the time: the counters of processors, and their time in ns. */
enum team_count { TEAM_CYCLES, TEAM_CACHE_MISSES, TEAM_CPU_NS, TEAM_COUNTS };

/* Called once for each lane, on its thread. */
typedef void team_work(void *context, unsigned lane);

struct team_figures {
    double ns;                 /* from the first lane's start to the last lane's end */
    double count[TEAM_COUNTS]; /* sums of the lanes; NAN: nobody counts */
};

/* Each lane first does `warm` (not timed: caches, first touch), then all wait for each other, then
 * each does `timed`. */
struct team_figures team_run(unsigned lanes, team_work *warm, team_work *timed, void *context);

/* Processors that this process might use when this was first called. */
unsigned team_processors(void);
/* The calling thread runs on the n-th of them from now on, if there are so many; on any again. One of
 * each core comes first, since threads of one core share it. */
void team_pin(unsigned n);
void team_unpin(void);

#endif
