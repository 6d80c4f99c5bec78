#include "team.h"

#include "clock.h"

#include <linux/perf_event.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Processors ---- */

static struct {
    cpu_set_t all;
    int order[TEAM_MAX];
    unsigned count;
} processors;

static bool is_first_of_core(int cpu)
{
    char path[96];
    int first = cpu;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    FILE *f = fopen(path, "r");
    if (f == NULL) return true;
    if (fscanf(f, "%d", &first) != 1) first = cpu;
    fclose(f);
    return first == cpu;
}

unsigned team_processors(void)
{
    if (processors.count > 0) return processors.count;
    if (sched_getaffinity(0, sizeof processors.all, &processors.all) != 0) return 1;
    for (int others = 0; others < 2; others++)
        for (int cpu = 0; cpu < CPU_SETSIZE && processors.count < TEAM_MAX; cpu++)
            if (CPU_ISSET(cpu, &processors.all) && is_first_of_core(cpu) != others)
                processors.order[processors.count++] = cpu;
    return processors.count;
}

void team_pin(unsigned n)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    if (n >= team_processors() || processors.count == 0) return;
    CPU_SET(processors.order[n], &one);
    sched_setaffinity(0, sizeof one, &one);
}

void team_unpin(void)
{
    if (processors.count > 0) sched_setaffinity(0, sizeof processors.all, &processors.all);
}

/* ---- Counters ---- */

/* Of the calling thread, outside of the kernel; -1: the machine or the kernel has none. */
static int counter_open(uint64_t event)
{
    struct perf_event_attr wanted = {.type = PERF_TYPE_HARDWARE,
                                     .size = sizeof wanted,
                                     .config = event,
                                     .disabled = 1,
                                     .exclude_kernel = 1,
                                     .exclude_hv = 1,
                                     .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
                                                    PERF_FORMAT_TOTAL_TIME_RUNNING};
    return (int)syscall(SYS_perf_event_open, &wanted, 0, -1, -1, 0UL);
}

/* Closes it. If it had to take turns with others, what it would have counted. */
static double counter_close(int fd)
{
    uint64_t got[3]; /* the count; how long it was wanted, and how long it counted */
    bool is_read = fd >= 0 && read(fd, got, sizeof got) == sizeof got && got[2] > 0;
    if (fd >= 0) close(fd);
    return is_read ? (double)got[0] * ((double)got[1] / (double)got[2]) : NAN;
}

/* ---- A team ---- */

struct team {
    unsigned lanes;
    team_work *warm, *timed;
    void *context;
    atomic_uint ready;
    uint64_t begin[TEAM_MAX], end[TEAM_MAX];
    double count[TEAM_MAX][TEAM_COUNTS];
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
    double *count = team->count[m->lane];
    team_pin(m->lane % team_processors());
    team->warm(team->context, m->lane);
    int cycles = counter_open(PERF_COUNT_HW_CPU_CYCLES);
    int misses = counter_open(PERF_COUNT_HW_CACHE_MISSES);
    wait_for_all(team);
    uint64_t cpu_ns = clock_read(CLOCK_THREAD_CPUTIME_ID);
    prctl(PR_TASK_PERF_EVENTS_ENABLE);
    team->begin[m->lane] = clock_ns();
    team->timed(team->context, m->lane);
    team->end[m->lane] = clock_ns();
    count[TEAM_CPU_NS] = (double)(clock_read(CLOCK_THREAD_CPUTIME_ID) - cpu_ns);
    count[TEAM_CYCLES] = counter_close(cycles);
    count[TEAM_CACHE_MISSES] = counter_close(misses);
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

struct team_figures team_run(unsigned lanes, team_work *warm, team_work *timed, void *context)
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
    team_unpin();
    struct team_figures all = {.ns = first_begin_to_last_end(&team)};
    for (unsigned i = 0; i < lanes * TEAM_COUNTS; i++)
        all.count[i % TEAM_COUNTS] += team.count[i / TEAM_COUNTS][i % TEAM_COUNTS];
    return all;
}
