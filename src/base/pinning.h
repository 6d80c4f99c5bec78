/*
 * pinning.h - where the threads of a node should run and their memory should lie: a plan, made from
 * the machine.
 *
 * All nodes of a host make the same plan from the same facts, each for itself, without
 * communicating:
 *
 *     the host's cores    0  1  2  3  4  5  6  7 |  8  9 10 11 12 13 14 15   two NUMA nodes
 *     two nodes           [      node 0         ] [       node 1          ]  a slice each
 *     their threads       w0 w1 w2 w3       s1 s0  w0 w1 w2 w3       s1 s0  4 workers, 2 shards
 *
 * Shards are spread over the NUMA nodes of the slice, each on a core of its own while there are
 * enough. They take the last cores of a NUMA node, because users who bind their own threads count
 * from the first. Workers are the user's threads: for them the plan is only advice.
 *
 * Callers   the thread that opens the node; pinning_apply is for each shard's thread
 * Memory    the caller's, without pointers into it. For a machine with several NUMA nodes hwloc's
 *           topology is kept, too
 * Waiting   never; loading the machine reads some files of the kernel, which takes milliseconds
 * Life      pinning_machine_load, any number of plans and bindings, pinning_machine_fini
 */
#ifndef LOCUS_BASE_PINNING_H
#define LOCUS_BASE_PINNING_H

#include "locus.h"

#include <sys/types.h>

struct hwloc_topology;

enum {
    PINNING_UNITS_MAX = 1024,  /* that cpu_set_t can name; others are left to others */
    PINNING_SIBLINGS_MAX = 8,  /* hyper-threads of a core; more are left to others */
    PINNING_CORES_A_SHARD = 8, /* that pinning_choose_shards aims at */
    PINNING_SLICE_NS = 500000,
    PINNING_NONE = -1,
};

/* A core with the processing units (hyper-threads) that this process may use, at least one. */
struct pinning_core {
    uint16_t socket, numa; /* counted from 0 in the order of the cores */
    uint16_t units;
    uint16_t unit[PINNING_SIBLINGS_MAX]; /* the kernel's numbers */
};

/* What a plan needs to know of the machine: the cores that the process may use; those of a NUMA
 * node, and those of a socket, are consecutive. */
struct pinning_machine {
    unsigned cores, units, numa_nodes, sockets;
    struct pinning_core core[PINNING_UNITS_MAX];
    uint16_t numa_number[PINNING_UNITS_MAX]; /* of each NUMA node, the kernel's */
    /* for pinning_bind_memory; NULL: there is nothing to bind */
    struct hwloc_topology *topology;
};

/*
 * This machine, as far as the process may use it: the processing units that the cpuset of its
 * cgroup allows and to which any of its threads is bound. (Not only the caller's: a runtime may
 * have bound the main thread to one core for itself.) Limits on processor time of a cgroup are not
 * considered. Tests make up a machine, "package:2 numa:1 core:8 pu:1", of which the process may use
 * the units of a list, "0-3,8". NULL: this machine; all.
 *
 * 0, or -ENOMEM, -ENODEV or the error of hwloc, with the sentence. The machine is then empty; plans
 * for it are allowed and pin nothing.
 */
int pinning_machine_load(struct pinning_machine *, const char *made_up, const char *list);
void pinning_machine_fini(struct pinning_machine *);

/* Numbers are the kernel's, as taskset and numactl show them; or both are PINNING_NONE. */
struct pinning_place {
    int unit;
    int numa;
};

struct pinning_plan {
    unsigned shards, workers;
    /* our slice of the machine; empty if there are more nodes than cores */
    unsigned first_core, cores;
    /* No shard shares its core with another shard, or with a worker that follows the advice: shards
     * may spin. */
    bool has_own_core;
    /* There are more threads than processing units, here or in the slice of another node: no thread
     * of the host is pinned, and threads that spin must yield. */
    bool is_oversubscribed;
    struct pinning_place shard[LOCUS_SHARDS_MAX];
    struct pinning_place worker[LOCUS_WORKERS_MAX]; /* advice */
};

/*
 * The plan of one node: number `our_index` of the `nodes_here`, at least 1, that share this machine.
 * (Nodes that are bound to other processing units see another machine.) There are 1 to
 * LOCUS_SHARDS_MAX shards and at most LOCUS_WORKERS_MAX workers; if the nodes differ, pass the
 * greatest number, so that all agree on whether there are enough units.
 *
 * Slices differ by at most one core. There is one exception: a border within a quarter of a slice
 * of a border between NUMA nodes or sockets moves there, unless the threads of a node would no
 * longer fit. Threads get different cores first. If there are too few cores but enough
 * hyper-threads, workers share cores with workers before they share with shards.
 */
void pinning_plan(const struct pinning_machine *, unsigned nodes_here, unsigned our_index,
                  unsigned shards, unsigned workers, struct pinning_plan *out);

/*
 * A good number of shards for a node with so many workers. Few are enough: a shard works only for
 * what is not local, and each additional shard costs a link to every peer and puts less into each
 * message. So: one for every 8 cores of the node's slice, but no more than workers; at least one
 * for each NUMA node of the slice, so that rows can be near all workers; and never more than the
 * cores that the workers leave free, but always one.
 */
unsigned pinning_choose_shards(const struct pinning_machine *, unsigned nodes_here,
                               unsigned workers);

/* The units of the socket on which a launcher starts node `index` of `nodes`: as many nodes on
 * each, in their order. Returns how many units; 0: there is one socket, or not as many nodes for
 * each. So a node's workers stay where its rows are, and other nodes are reached through memory. */
unsigned pinning_socket(const struct pinning_machine *, unsigned nodes, unsigned index,
                        uint16_t unit[PINNING_UNITS_MAX]);

/* Binds the calling thread to its unit; PINNING_NONE: does nothing. 0, or a negative errno with the
 * sentence: the thread runs on as before. */
int pinning_apply(struct pinning_place);

/* Asks the kernel for time slices of PINNING_SLICE_NS, so that the calling thread runs soon after
 * it is woken, for a short time, even beside threads that compute. Its share of the processor does
 * not change. A thread that was scheduled otherwise (chrt) stays so. Kernels before 6.12 ignore it.
 * (For the length see lab/design/links-and-threads.md.) */
void pinning_shorten_slices(void);

/* May the calling thread do another one's work: does it run as soon as that would? Not if it is
 * nicer, or was scheduled otherwise. */
bool pinning_is_as_soon(pid_t thread);

/* Asks that untouched pages of [from, from + bytes) come from the place's NUMA node while it has
 * free memory; PINNING_NONE, or only one NUMA node: does nothing. 0, or a negative errno with the
 * sentence. */
int pinning_bind_memory(const struct pinning_machine *, void *from, size_t bytes,
                        struct pinning_place);

#endif
