#include "team.h"

#include "clock.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct team {
    unsigned lanes;
    team_work *warm, *timed;
    void *context;
    atomic_uint ready;
    uint64_t begin[TEAM_MAX], end[TEAM_MAX];
};

struct member {
    struct team *team;
    unsigned lane;
    pthread_t thread;
};

/* Spins, because a sleeping lane would start tens of microseconds late; yields, because there may
 * be fewer processors than lanes. */
static void wait_for_all(struct team *team)
{
    atomic_fetch_add(&team->ready, 1);
    while (atomic_load(&team->ready) < team->lanes) sched_yield();
}

static void *run_lane(void *argument)
{
    struct member *m = argument;
    struct team *team = m->team;
    team->warm(team->context, m->lane);
    wait_for_all(team);
    team->begin[m->lane] = clock_ns();
    team->timed(team->context, m->lane);
    team->end[m->lane] = clock_ns();
    return NULL;
}

static double first_begin_to_last_end(const struct team *team)
{
    uint64_t begin = team->begin[0], end = team->end[0];
    for (unsigned i = 1; i < team->lanes; i++) {
        if (team->begin[i] < begin) begin = team->begin[i];
        if (team->end[i] > end) end = team->end[i];
    }
    return (double)(end - begin);
}

double team_time(unsigned lanes, team_work *warm, team_work *timed, void *context)
{
    struct team team = {.lanes = lanes, .warm = warm, .timed = timed, .context = context};
    struct member members[TEAM_MAX] = {{.team = &team, .lane = 0}};
    for (unsigned i = 1; i < lanes; i++) {
        members[i] = (struct member){.team = &team, .lane = i};
        if (pthread_create(&members[i].thread, NULL, run_lane, &members[i]) != 0) {
            fprintf(stderr, "cannot start %u threads; try fewer: --threads N\n", lanes);
            exit(1);
        }
    }
    run_lane(&members[0]);
    for (unsigned i = 1; i < lanes; i++) pthread_join(members[i].thread, NULL);
    return first_begin_to_last_end(&team);
}

unsigned team_processors(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count < TEAM_MAX ? (unsigned)count : TEAM_MAX;
}
