#include "base/pinning.h"

#include "base/error.h"
#include "base/sync.h"

#include <errno.h>
#include <hwloc.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <string.h>
#include <unistd.h>

_Static_assert((int)PINNING_UNITS_MAX == CPU_SETSIZE, "every unit of a machine can be named");

/* ---- the machine ---- */

/* The NUMA node nearest to a unit: the one with the fewest other units. If there are several, as
 * with fast memory beside ordinary memory, the first, which is the ordinary one. */
static hwloc_obj_t numa_of(hwloc_topology_t t, hwloc_obj_t pu)
{
    hwloc_obj_t nearest = NULL;
    int fewest = 0;
    for (hwloc_obj_t n = NULL; (n = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE, n));) {
        int units = hwloc_bitmap_weight(n->cpuset);
        if (!hwloc_bitmap_isset(n->cpuset, pu->os_index) || (nearest && units >= fewest)) continue;
        nearest = n;
        fewest = units;
    }
    /* The process may use none of its own: take what there is. */
    return nearest ? nearest : hwloc_get_obj_by_type(t, HWLOC_OBJ_NUMANODE, 0);
}

/* The index of the NUMA node that the kernel calls `number`, seen before or not. */
static unsigned numa_index(struct pinning_machine *m, unsigned number)
{
    for (unsigned i = 0; i < m->numa_nodes; i++)
        if (m->numa_number[i] == number) return i;
    m->numa_number[m->numa_nodes] = (uint16_t)number;
    return m->numa_nodes++;
}

/* hwloc lists units in the order of the tree: the units of a core are consecutive, and so are the
 * cores of a NUMA node or socket. A virtual machine may show no cores or sockets. */
static void add_units(struct pinning_machine *m, hwloc_topology_t t, hwloc_const_bitmap_t allowed)
{
    hwloc_obj_t last_socket = NULL, last_core = NULL;
    for (hwloc_obj_t pu = NULL; (pu = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_PU, pu));) {
        if (pu->os_index >= PINNING_UNITS_MAX || !hwloc_bitmap_isset(allowed, pu->os_index))
            continue;
        hwloc_obj_t socket = hwloc_get_ancestor_obj_by_type(t, HWLOC_OBJ_PACKAGE, pu);
        hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(t, HWLOC_OBJ_CORE, pu);
        if (!core) core = pu;
        if (socket != last_socket || m->sockets == 0) m->sockets++;
        if (core != last_core)
            m->core[m->cores++] =
                (struct pinning_core){.socket = (uint16_t)(m->sockets - 1),
                                      .numa = (uint16_t)numa_index(m, numa_of(t, pu)->os_index)};
        last_socket = socket;
        last_core = core;
        struct pinning_core *c = &m->core[m->cores - 1];
        if (c->units == PINNING_SIBLINGS_MAX) continue;
        c->unit[c->units++] = (uint16_t)pu->os_index;
        m->units++;
    }
}

/* What of the allowed units some thread of the process is bound to; all when that is not known. */
static void restrict_to_affinity(hwloc_topology_t t, hwloc_bitmap_t allowed)
{
    if (hwloc_get_cpubind(t, allowed, HWLOC_CPUBIND_PROCESS) != 0 || hwloc_bitmap_iszero(allowed))
        hwloc_bitmap_fill(allowed);
    hwloc_bitmap_and(allowed, allowed, hwloc_topology_get_allowed_cpuset(t));
}

static int load(struct pinning_machine *m, const char *made_up, const char *list)
{
    const char *what = made_up ? made_up : "the processors of this machine cannot be listed";
    hwloc_topology_t t = NULL;
    memset(m, 0, sizeof *m);
    hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
    int rc = allowed && hwloc_topology_init(&t) == 0 ? 0 : -ENOMEM;
    if (rc == 0 && made_up && hwloc_topology_set_synthetic(t, made_up) != 0) rc = -EINVAL;
    errno = 0;
    if (rc == 0 && hwloc_topology_load(t) != 0) rc = errno ? -errno : -ENODEV;
    if (rc == 0 && list) {
        rc = hwloc_bitmap_list_sscanf(allowed, list) ? -EINVAL : 0;
        what = list;
    }
    if (rc == 0 && !list) restrict_to_affinity(t, allowed);
    if (rc == 0) add_units(m, t, allowed);
    hwloc_bitmap_free(allowed);
    if (m->numa_nodes > 1)
        m->topology = t;
    else if (t)
        hwloc_topology_destroy(t);
    if (rc) return error_set(rc, "%s: %s", what, strerror(-rc));
    if (m->cores) return 0;
    return error_set(-ENODEV, "this process may use none of the machine's processing units");
}

int pinning_machine_load(struct pinning_machine *m, const char *made_up, const char *list)
{
    mapping_begin();
    int rc = load(m, made_up, list);
    mapping_end();
    return rc;
}

void pinning_machine_fini(struct pinning_machine *m)
{
    mapping_begin();
    if (m->topology) hwloc_topology_destroy(m->topology);
    mapping_end();
    memset(m, 0, sizeof *m);
}

unsigned pinning_socket(const struct pinning_machine *m, unsigned nodes, unsigned index,
                        uint16_t unit[PINNING_UNITS_MAX])
{
    unsigned count = 0;
    if (m->sockets < 2 || nodes % m->sockets != 0) return 0;
    for (const struct pinning_core *c = m->core; c < m->core + m->cores; c++)
        for (unsigned u = 0; u < c->units && c->socket == index / (nodes / m->sockets); u++)
            unit[count++] = c->unit[u];
    return count;
}

/* ---- slices: the cores of one node of several on this host ---- */

/* Of a NUMA node or socket. */
static bool is_border(const struct pinning_machine *m, unsigned core)
{
    if (core == 0 || core == m->cores) return true;
    if (core > m->cores) return false;
    const struct pinning_core *c = &m->core[core];
    return c[0].numa != c[-1].numa || c[0].socket != c[-1].socket;
}

/* The core at which slice `k` begins, and slice k-1 ends. Two even cuts are a slice apart, and to
 * be aligned each moves by at most a quarter of it: so they stay in order, and no slice is empty. */
static unsigned cut(const struct pinning_machine *m, unsigned nodes, unsigned k, bool is_aligned)
{
    unsigned even = (unsigned)((uint64_t)k * m->cores / nodes), reach = m->cores / nodes / 4;
    for (unsigned d = 0; is_aligned && d <= reach; d++) {
        if (is_border(m, even - d)) return even - d;
        if (is_border(m, even + d)) return even + d;
    }
    return even;
}

/* How well a node's threads fit into its slice: that of the node which has it worst. */
enum fit { FIT_NOT, FIT_UNITS, FIT_CORES };

static enum fit worst_fit(const struct pinning_machine *m, unsigned nodes, unsigned threads,
                          bool is_aligned)
{
    enum fit worst = FIT_CORES;
    for (unsigned k = 0; k < nodes; k++) {
        unsigned first = cut(m, nodes, k, is_aligned), end = cut(m, nodes, k + 1, is_aligned);
        unsigned units = 0;
        for (unsigned c = first; c < end; c++) units += m->core[c].units;
        if (threads > units) return FIT_NOT;
        if (threads > end - first) worst = FIT_UNITS;
    }
    return worst;
}

/* ---- threads onto the cores of a slice ---- */

enum kind { SHARD, WORKER, KINDS };

/* Where threads were put so far. */
struct occupancy {
    const struct pinning_machine *machine;
    unsigned first, end; /* the slice */
    uint16_t threads[PINNING_UNITS_MAX][KINDS];
    uint16_t in_numa[PINNING_UNITS_MAX][KINDS];
    uint16_t in_socket[PINNING_UNITS_MAX][KINDS];
};

static unsigned threads_on(const struct occupancy *o, unsigned core)
{
    return (unsigned)o->threads[core][SHARD] + o->threads[core][WORKER];
}

/* The lower the better. First: few threads on the core, and a worker shares with shards last. Then:
 * few threads of this kind in the NUMA node, then in the socket. Then: the first NUMA node. */
static uint64_t cost(const struct occupancy *o, unsigned core, enum kind kind)
{
    const struct pinning_core *c = &o->machine->core[core];
    uint64_t crowd = threads_on(o, core);
    if (kind == WORKER && o->threads[core][SHARD]) crowd += PINNING_SIBLINGS_MAX;
    return crowd << 48 | (uint64_t)o->in_numa[c->numa][kind] << 32 |
           (uint64_t)o->in_socket[c->socket][kind] << 16 | c->numa;
}

/* The best core for one thread more: of equal ones the first for a worker, the last for a shard. */
static unsigned choose_core(const struct occupancy *o, enum kind kind)
{
    unsigned best = o->end;
    uint64_t best_cost = UINT64_MAX;
    for (unsigned core = o->first; core < o->end; core++) {
        if (threads_on(o, core) == o->machine->core[core].units) continue;
        uint64_t c = cost(o, core, kind);
        if (c > best_cost || (c == best_cost && kind == WORKER)) continue;
        best = core;
        best_cost = c;
    }
    INVARIANT(best < o->end, "a thread was to be pinned where no processing unit is left");
    return best;
}

/* Puts one thread on the core; where that is. */
static struct pinning_place occupy(struct occupancy *o, unsigned core, enum kind kind)
{
    const struct pinning_core *c = &o->machine->core[core];
    struct pinning_place place = {c->unit[threads_on(o, core)], o->machine->numa_number[c->numa]};
    o->threads[core][kind]++;
    o->in_numa[c->numa][kind]++;
    o->in_socket[c->socket][kind]++;
    return place;
}

static void seat_all(struct occupancy *o, struct pinning_plan *p)
{
    unsigned core[LOCUS_SHARDS_MAX], shards = p->shards;
    for (unsigned s = 0; s < shards; s++) {
        core[s] = choose_core(o, SHARD);
        p->shard[s] = occupy(o, core[s], SHARD);
    }
    for (unsigned w = 0; w < p->workers; w++)
        p->worker[w] = occupy(o, choose_core(o, WORKER), WORKER);
    p->has_own_core = true;
    for (unsigned s = 0; s < shards; s++) p->has_own_core &= threads_on(o, core[s]) == 1;
}

void pinning_plan(const struct pinning_machine *m, unsigned nodes_here, unsigned our_index,
                  unsigned shards, unsigned workers, struct pinning_plan *out)
{
    const struct pinning_place nowhere = {PINNING_NONE, PINNING_NONE};
    /* Aligned slices unless even ones fit better. */
    enum fit even = worst_fit(m, nodes_here, shards + workers, false),
             aligned = worst_fit(m, nodes_here, shards + workers, true);
    struct occupancy o = {.machine = m,
                          .first = cut(m, nodes_here, our_index, aligned >= even),
                          .end = cut(m, nodes_here, our_index + 1, aligned >= even)};
    *out = (struct pinning_plan){.shards = shards,
                                 .workers = workers,
                                 .first_core = o.first,
                                 .cores = o.end - o.first,
                                 .is_oversubscribed = even == FIT_NOT && aligned == FIT_NOT};
    for (unsigned s = 0; s < shards; s++) out->shard[s] = nowhere;
    for (unsigned w = 0; w < workers; w++) out->worker[w] = nowhere;
    if (!out->is_oversubscribed) seat_all(&o, out);
}

unsigned pinning_choose_shards(const struct pinning_machine *m, unsigned nodes_here,
                               unsigned workers)
{
    unsigned cores = m->cores / nodes_here,
             numa_nodes = (m->numa_nodes + nodes_here - 1) / nodes_here;
    unsigned shards = cores / PINNING_CORES_A_SHARD, left = cores > workers ? cores - workers : 0;
    if (shards > workers) shards = workers;
    if (shards < numa_nodes) shards = numa_nodes;
    if (shards > left) shards = left;
    if (shards > LOCUS_SHARDS_MAX) shards = LOCUS_SHARDS_MAX;
    return shards ? shards : 1;
}

/* ---- doing it ---- */

int pinning_apply(struct pinning_place place)
{
    if (place.unit == PINNING_NONE) return 0;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((unsigned)place.unit, &set);
    int rc = pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    if (rc == 0) return 0;
    return error_set(-rc, "a thread cannot be bound to processing unit %d: %s", place.unit,
                     strerror(rc));
}

void pinning_shorten_slices(void)
{
    /* The call below sets the policy, too. */
    if (sched_getscheduler(0) != SCHED_OTHER) return;
    /* The kernel's struct sched_attr, of which some C libraries know and others do not. */
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attributes = {.size = sizeof attributes, .policy = SCHED_OTHER, .runtime = PINNING_SLICE_NS};
    _Static_assert(sizeof attributes == 48, "the first version of sched_attr");
    errno = 0;
    attributes.nice = getpriority(PRIO_PROCESS, (id_t)gettid());
    if (errno == 0) syscall(SYS_sched_setattr, 0, &attributes, 0);
}

bool pinning_is_as_soon(pid_t thread)
{
    return sched_getscheduler(0) == sched_getscheduler(thread) &&
           getpriority(PRIO_PROCESS, (id_t)gettid()) <= getpriority(PRIO_PROCESS, (id_t)thread);
}

int pinning_bind_memory(const struct pinning_machine *m, void *from, size_t bytes,
                        struct pinning_place place)
{
    if (!m->topology || place.numa == PINNING_NONE || bytes == 0) return 0;
    hwloc_bitmap_t node = hwloc_bitmap_alloc();
    errno = ENOMEM;
    /* Not strict: a full node sends the pages elsewhere instead of ending the process. */
    bool is_bound = node && hwloc_bitmap_only(node, (unsigned)place.numa) == 0 &&
                    hwloc_set_area_membind(m->topology, from, bytes, node, HWLOC_MEMBIND_BIND,
                                           HWLOC_MEMBIND_BYNODESET) == 0;
    int rc = is_bound ? 0 : -errno;
    hwloc_bitmap_free(node);
    if (rc == 0) return 0;
    return error_set(rc, "memory cannot be bound to NUMA node %d: %s", place.numa, strerror(-rc));
}
