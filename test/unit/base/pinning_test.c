/* Plans for machines that hwloc makes up, and what can be tried on the machine that runs the
 * test. */
#include "threads.h"

#include "base/pinning.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- machines ---- */

/* The kernel numbers the second hyper-threads of all cores after the first ones: core 3 has the
 * units 3 and 19. */
#define TWO_SOCKETS "package:2 numa:1 l3:1 core:8 pu:1"
#define TWO_SOCKETS_SMT "package:2 numa:1 l3:1 core:8 pu:2(indexes=2*16:1*2)"
#define FOUR_NUMA "package:2 numa:2 core:4 pu:1"

enum { NODES_MAX = 4, SHARDS_MAX = 16, WORKERS_MAX = 32 };

static const struct {
    const char *description;
    bool is_large; /* too large for every plan there is */
} machines[] = {
    {"core:1 pu:1", false},
    {"package:1 core:2 pu:1", false},
    {"package:1 core:2 pu:2", false},
    {"package:1 core:7 pu:2", false},
    {"package:2 core:4 pu:1", false}, /* two sockets, one NUMA node */
    {"package:1 numa:4 core:8 pu:1", false},
    {"package:3 numa:1 core:5 pu:2", false},
    {"numa:2 core:2 pu:4", false},
    {TWO_SOCKETS, false},
    {TWO_SOCKETS_SMT, false},
    {FOUR_NUMA, false},
    {"package:4 numa:1 l3:1 core:16 pu:1", true},
    {"package:4 numa:1 l3:1 core:16 pu:2(indexes=2*64:1*2)", true},
};
enum { MACHINES = sizeof machines / sizeof machines[0], SMALL_MACHINES = MACHINES - 2 };

static struct pinning_machine machine;
static struct pinning_plan plans[NODES_MAX]; /* those of all nodes of a host */

static const struct pinning_machine *load(const char *description, const char *allowed)
{
    pinning_machine_fini(&machine);
    CHECK_EQ(pinning_machine_load(&machine, description, allowed), 0);
    return &machine;
}

/* ---- what holds for every plan ---- */

static const struct pinning_core *core_of(const struct pinning_machine *m, int unit)
{
    for (unsigned c = 0; c < m->cores; c++)
        for (unsigned u = 0; u < m->core[c].units; u++)
            if (m->core[c].unit[u] == unit) return &m->core[c];
    return NULL;
}

static unsigned slice_units(const struct pinning_machine *m, const struct pinning_plan *p)
{
    unsigned units = 0;
    for (unsigned c = p->first_core; c < p->first_core + p->cores; c++) units += m->core[c].units;
    return units;
}

/* Slices lie one after the other and are the machine; none is smaller by half than an equal
 * share. */
static void check_slices(const struct pinning_machine *m, unsigned nodes)
{
    unsigned next = 0;
    for (unsigned i = 0; i < nodes; i++) {
        CHECK_EQ(plans[i].first_core, next);
        CHECK(plans[i].cores >= (m->cores / nodes + 1) / 2);
        next += plans[i].cores;
    }
    CHECK_EQ(next, m->cores);
}

/* All nodes say the same, and it is the truth. */
static void check_verdict(const struct pinning_machine *m, unsigned nodes)
{
    unsigned threads = plans[0].shards + plans[0].workers, least = m->units;
    for (unsigned i = 0; i < nodes; i++) {
        unsigned units = slice_units(m, &plans[i]);
        if (units < least) least = units;
        CHECK_EQ(plans[i].is_oversubscribed, plans[0].is_oversubscribed);
    }
    CHECK_EQ(plans[0].is_oversubscribed, threads > least);
    if (nodes * threads > m->units) CHECK(plans[0].is_oversubscribed);
    for (unsigned i = 0; i < nodes; i++) {
        if (nodes * threads <= m->cores) CHECK(plans[i].has_own_core);
        if (plans[i].is_oversubscribed) CHECK(!plans[i].has_own_core);
    }
}

/* How many threads each unit and core has, from the plans of all nodes. */
struct load {
    unsigned on_unit[PINNING_UNITS_MAX], on_core[PINNING_UNITS_MAX];
};

static void check_place(const struct pinning_machine *m, const struct pinning_plan *p,
                        struct pinning_place place, struct load *l)
{
    if (p->is_oversubscribed) {
        CHECK_EQ(place.unit, PINNING_NONE);
        CHECK_EQ(place.numa, PINNING_NONE);
        return;
    }
    const struct pinning_core *c = core_of(m, place.unit);
    CHECK(c);
    unsigned core = (unsigned)(c - m->core);
    CHECK(core >= p->first_core && core < p->first_core + p->cores);
    CHECK_EQ(place.numa, m->numa_number[c->numa]);
    CHECK_EQ(++l->on_unit[place.unit], 1);
    l->on_core[core]++;
}

static void check_places(const struct pinning_machine *m, unsigned nodes, struct load *l)
{
    memset(l, 0, sizeof *l);
    for (unsigned i = 0; i < nodes; i++) {
        for (unsigned s = 0; s < plans[i].shards; s++)
            check_place(m, &plans[i], plans[i].shard[s], l);
        for (unsigned w = 0; w < plans[i].workers; w++)
            check_place(m, &plans[i], plans[i].worker[w], l);
    }
}

/* No core is shared while another is free, and no shard's while the workers fit elsewhere. */
static void check_cores(const struct pinning_machine *m, const struct pinning_plan *p,
                        const struct load *l)
{
    bool is_core_free = false, is_core_shared = false, own = true;
    unsigned elsewhere = slice_units(m, p);
    if (p->is_oversubscribed) return;
    for (unsigned c = p->first_core; c < p->first_core + p->cores; c++) {
        is_core_free |= l->on_core[c] == 0;
        is_core_shared |= l->on_core[c] > 1;
    }
    CHECK(!(is_core_free && is_core_shared));
    for (unsigned s = 0; s < p->shards; s++) {
        const struct pinning_core *c = core_of(m, p->shard[s].unit);
        own &= l->on_core[c - m->core] == 1;
        elsewhere -= c->units;
    }
    CHECK_EQ(p->has_own_core, own);
    if (p->shards <= p->cores) CHECK_EQ(own, p->workers <= elsewhere);
}

/* A NUMA node has two shards less than another only if it has no core left for one. */
static void check_spread(const struct pinning_machine *m, const struct pinning_plan *p)
{
    unsigned shards[PINNING_UNITS_MAX] = {0}, cores[PINNING_UNITS_MAX] = {0};
    if (p->is_oversubscribed || p->shards > p->cores) return;
    for (unsigned s = 0; s < p->shards; s++) shards[core_of(m, p->shard[s].unit)->numa]++;
    for (unsigned c = p->first_core; c < p->first_core + p->cores; c++) cores[m->core[c].numa]++;
    for (unsigned a = 0; a < m->numa_nodes; a++)
        for (unsigned b = 0; b < m->numa_nodes; b++)
            if (shards[a] + 1 < shards[b]) CHECK_EQ(shards[a], cores[a]);
}

/* A plan never has to share because of what was chosen. */
static void check_choice(const struct pinning_machine *m, unsigned nodes, unsigned workers)
{
    unsigned shards = pinning_choose_shards(m, nodes, workers);
    CHECK(shards >= 1 && shards <= LOCUS_SHARDS_MAX);
    if (workers >= m->cores / nodes) return;
    pinning_plan(m, nodes, 0, shards, workers, &plans[0]);
    CHECK(plans[0].has_own_core);
}

static void check_plans(const struct pinning_machine *m, unsigned nodes, unsigned shards,
                        unsigned workers)
{
    static struct load l;
    for (unsigned i = 0; i < nodes; i++) pinning_plan(m, nodes, i, shards, workers, &plans[i]);
    check_slices(m, nodes);
    check_verdict(m, nodes);
    check_places(m, nodes, &l);
    for (unsigned i = 0; i < nodes; i++) {
        check_cores(m, &plans[i], &l);
        check_spread(m, &plans[i]);
    }
}

TEST(pinning, plan_keeps_its_promises_on_every_machine)
{
    for (unsigned i = 0; i < MACHINES; i++) {
        unsigned step = machines[i].is_large ? 5 : 1;
        load(machines[i].description, NULL);
        for (unsigned nodes = 1; nodes <= NODES_MAX; nodes++)
            for (unsigned workers = 0; workers <= WORKERS_MAX; workers++)
                check_choice(&machine, nodes, workers);
        for (unsigned nodes = 1; nodes <= NODES_MAX; nodes++)
            for (unsigned shards = 1; shards <= SHARDS_MAX; shards += step)
                for (unsigned workers = 0; workers <= WORKERS_MAX; workers += step)
                    check_plans(&machine, nodes, shards, workers);
    }
}

static unsigned draw(unsigned bound)
{
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(state >> 33) % bound;
}

/* A list of units, each of which is in it with a probability of 1/2 to 7/8; never empty. */
static const char *draw_allowed(unsigned units)
{
    static char text[32768];
    unsigned bound = 2 + draw(7);
    int end = sprintf(text, "%u", draw(units));
    for (unsigned u = 0; u < units; u++)
        if (draw(bound) > 0) end += sprintf(text + end, ",%u", u);
    return text;
}

TEST(pinning, plan_keeps_its_promises_in_any_cpuset)
{
    for (unsigned i = 0; i < 20 * SMALL_MACHINES; i++) {
        const char *description = machines[i % SMALL_MACHINES].description;
        unsigned units = load(description, NULL)->units;
        load(description, draw_allowed(units));
        for (unsigned j = 0; j < 100; j++)
            check_plans(&machine, 1 + draw(NODES_MAX), 1 + draw(SHARDS_MAX), draw(WORKERS_MAX + 1));
    }
}

/* The greatest numbers there may be, and none. */
TEST(pinning, plan_of_a_thousand_units_and_of_none)
{
    load("package:16 numa:1 core:64 pu:2", NULL);
    CHECK_EQ(machine.units, PINNING_UNITS_MAX); /* the second half cannot be named */
    CHECK_EQ(machine.numa_nodes, 8);
    pinning_plan(&machine, 1, 0, LOCUS_SHARDS_MAX, PINNING_UNITS_MAX - LOCUS_SHARDS_MAX, &plans[0]);
    CHECK(!plans[0].is_oversubscribed);
    pinning_plan(&machine, 4096, 4095, LOCUS_SHARDS_MAX, LOCUS_WORKERS_MAX, &plans[0]);
    CHECK(plans[0].is_oversubscribed);
    pinning_machine_fini(&machine);
    pinning_plan(&machine, 1, 0, 2, 2, &plans[0]);
    CHECK(plans[0].is_oversubscribed && plans[0].shard[1].unit == PINNING_NONE);
    CHECK_EQ(pinning_choose_shards(&machine, 1, 4), 1);
}

/* ---- the machine ---- */

TEST(pinning, socket_of_a_node_has_as_many_nodes_as_each_other)
{
    static const struct {
        const char *machine, *allowed;
        unsigned nodes, index, units, first, last;
    } cases[] = {
        {TWO_SOCKETS, NULL, 2, 0, 8, 0, 7},
        {TWO_SOCKETS, NULL, 2, 1, 8, 8, 15},
        {TWO_SOCKETS, NULL, 4, 1, 8, 0, 7},
        {TWO_SOCKETS, NULL, 4, 2, 8, 8, 15},
        {TWO_SOCKETS, "0-3,10-11", 2, 1, 2, 10, 11},
        {"package:2 numa:1 core:2 pu:2(indexes=2*4:1*2)", NULL, 2, 1, 4, 2, 7},
        {TWO_SOCKETS, NULL, 3, 0, 0, 0, 0},
        {TWO_SOCKETS, "0-7", 2, 0, 0, 0, 0},
        {"package:1 numa:2 core:8 pu:1", NULL, 2, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint16_t unit[PINNING_UNITS_MAX] = {0};
        load(cases[i].machine, cases[i].allowed);
        unsigned units = pinning_socket(&machine, cases[i].nodes, cases[i].index, unit);
        if (units != cases[i].units || unit[0] != cases[i].first ||
            (units > 0 && unit[units - 1] != cases[i].last))
            test_fail(__FILE__, __LINE__, "case %zu: %u units from %u", i, units, unit[0]);
    }
}

/* What may be used of it. By fast memory: a NUMA node of it beside each ordinary one, and one that
 * belongs to all; hwloc numbers the fast ones 1 and 3, the common one 4. */
TEST(pinning, machine_has_the_cores_sockets_and_numa_nodes_that_may_be_used)
{
    static const struct {
        const char *machine, *allowed;
        unsigned cores, units, sockets, numa_nodes, first_numa, last_numa;
    } cases[] = {
        {TWO_SOCKETS_SMT, NULL, 16, 32, 2, 2, 0, 1},
        {FOUR_NUMA, "4-5,12", 3, 3, 2, 2, 1, 3},
        {"[numa] package:2 [numa(memory=8589934592)] [numa(memory=1073741824)] core:2 pu:1", NULL,
         4, 4, 2, 2, 0, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct pinning_machine *m = load(cases[i].machine, cases[i].allowed);
        const struct pinning_core *last = &m->core[m->cores - 1];
        if (m->cores != cases[i].cores || m->units != cases[i].units ||
            m->sockets != cases[i].sockets || m->numa_nodes != cases[i].numa_nodes ||
            m->numa_number[m->core[0].numa] != cases[i].first_numa ||
            m->numa_number[last->numa] != cases[i].last_numa || last->socket != m->sockets - 1)
            test_fail(__FILE__, __LINE__, "case %zu: %u cores, %u units, NUMA nodes %u to %u", i,
                      m->cores, m->units, m->numa_number[m->core[0].numa],
                      m->numa_number[last->numa]);
    }
    load(TWO_SOCKETS_SMT, NULL);
    for (unsigned c = 0; c < 16; c++)
        CHECK(machine.core[c].units == 2 && machine.core[c].unit[0] == c &&
              machine.core[c].unit[1] == c + 16 && machine.core[c].socket == c / 8);
}

TEST(pinning, machine_load_refuses_what_it_cannot_read)
{
    REFUSED(pinning_machine_load(&machine, "package:two", NULL), -EINVAL, "package:two");
    REFUSED(pinning_machine_load(&machine, TWO_SOCKETS, "0-x"), -EINVAL, "0-x");
    CHECK_EQ(pinning_machine_load(&machine, TWO_SOCKETS, "99"), -ENODEV);
    CHECK_EQ(machine.cores, 0);
}

/* ---- this machine ---- */

static cpu_set_t affinity(void)
{
    cpu_set_t set;
    CHECK_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    return set;
}

static int first_unit(const cpu_set_t *set)
{
    int unit = 0;
    while (!CPU_ISSET((unsigned)unit, set)) unit++;
    return unit;
}

/* Of all threads: a runner or sanitizer may have some of its own. */
static void bind_process(int unit)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((unsigned)unit, &set);
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks) SKIP("/proc does not show the threads of this process");
    for (struct dirent *e; (e = readdir(tasks));)
        if (e->d_name[0] != '.')
            sched_setaffinity((int)strtol(e->d_name, NULL, 10), sizeof set, &set);
    closedir(tasks);
}

static void *wait_for_end_of_pipe(void *fd)
{
    char byte;
    return read(*(int *)fd, &byte, 1) == 0 ? NULL : fd;
}

/* What other threads may use counts where the caller alone is bound. */
TEST(pinning, apply_binds_the_calling_thread_and_load_sees_what_the_process_may_use)
{
    cpu_set_t before = affinity();
    struct pinning_place place = {first_unit(&before), 0};
    int ends[2];
    pthread_t other;
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(pthread_create(&other, NULL, wait_for_end_of_pipe, &ends[0]), 0);
    CHECK_EQ(pinning_apply((struct pinning_place){PINNING_NONE, PINNING_NONE}), 0);
    cpu_set_t same = affinity();
    CHECK(CPU_EQUAL(&before, &same));
    if (!CPU_ISSET(PINNING_UNITS_MAX - 1, &before)) /* or this machine has all units */
        REFUSED(pinning_apply((struct pinning_place){PINNING_UNITS_MAX - 1, 0}), -EINVAL,
                "processing unit 1023");
    CHECK_EQ(pinning_apply(place), 0);
    cpu_set_t after = affinity();
    CHECK_EQ(CPU_COUNT(&after), 1);
    CHECK_EQ(sched_getcpu(), place.unit);
    CHECK_EQ(pinning_machine_load(&machine, NULL, NULL), 0);
    CHECK_EQ(machine.units, CPU_COUNT(&before));
    CHECK(machine.cores >= 1 && machine.numa_nodes >= 1);
    for (unsigned c = 0; c < machine.cores; c++)
        for (unsigned u = 0; u < machine.core[c].units; u++)
            CHECK(CPU_ISSET(machine.core[c].unit[u], &before));
    close(ends[1]);
    CHECK_EQ(pthread_join(other, NULL), 0);
    close(ends[0]);
    bind_process(place.unit);
    CHECK_EQ(pinning_machine_load(&machine, NULL, NULL), 0);
    CHECK_EQ(machine.units, 1);
    CHECK_EQ(machine.core[0].unit[0], place.unit);
    pinning_machine_fini(&machine);
}

static void *batch(void *policy)
{
    if (sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0})) return NULL;
    pinning_shorten_slices();
    *(int *)policy = sched_getscheduler(0);
    return NULL;
}

TEST(pinning, shorten_slices_keeps_the_policy)
{
    int policy = -1;
    threads_run(batch, &policy, 0, 1);
    if (policy == -1) SKIP("threads may not be scheduled otherwise here");
    CHECK_EQ(policy, SCHED_BATCH);
}

static void *become_nicer(void *thread)
{
    pid_t other = *(pid_t *)thread;
    int nice = getpriority(PRIO_PROCESS, (id_t)gettid());
    CHECK(pinning_is_as_soon(other));
    bool is_nicer = nice < 19 && setpriority(PRIO_PROCESS, (id_t)gettid(), nice + 1) == 0;
    CHECK_EQ(pinning_is_as_soon(other), !is_nicer);
    return NULL;
}

TEST(pinning, is_as_soon_knows_a_nicer_thread)
{
    pid_t own = gettid();
    threads_run(become_nicer, &own, 0, 1);
    CHECK(pinning_is_as_soon(own));
}

TEST(pinning, bind_memory_leaves_it_usable)
{
    enum { BYTES = 1 << 20 };
    char *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED);
    CHECK_EQ(pinning_machine_load(&machine, NULL, NULL), 0);
    struct pinning_place nowhere = {PINNING_NONE, PINNING_NONE},
                         first = {0, machine.numa_number[0]};
    CHECK_EQ(pinning_bind_memory(&machine, p, BYTES, nowhere), 0);
    int rc = pinning_bind_memory(&machine, p, BYTES, first);
    /* a container may forbid it where it is not for nothing */
    CHECK(rc == 0 || machine.numa_nodes > 1);
    memset(p, 1, BYTES);
    /* hwloc does nothing for a machine that does not exist, but looks at what it is asked. */
    load(TWO_SOCKETS, NULL);
    CHECK_EQ(pinning_bind_memory(&machine, p, BYTES, (struct pinning_place){8, 1}), 0);
    CHECK(pinning_bind_memory(&machine, p, BYTES, (struct pinning_place){8, 7}) < 0);
    CHECK_STR(locus_error(), "NUMA node 7");
    pinning_machine_fini(&machine);
    munmap(p, BYTES);
}
