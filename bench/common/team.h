/*
 * team.h - runs the same work on several threads at once and times it.
 *
 * Callers   one thread; it is lane 0 itself, so a single lane runs without a second thread
 * Memory    threads live for one call
 * Waiting   team_time() returns when all lanes are through
 */
#ifndef BENCH_TEAM_H
#define BENCH_TEAM_H

enum { TEAM_MAX = 256 };

/* Called once for each lane, on its thread. */
typedef void team_work(void *context, unsigned lane);

/*
 * Each lane first does `warm` (not timed: caches, first touch), then all wait for each other, then
 * each does `timed`. Returns the nanoseconds from the first lane's start to the last lane's end.
 */
double team_time(unsigned lanes, team_work *warm, team_work *timed, void *context);

/* Processors that this process may use. */
unsigned team_processors(void);

#endif
