/*
 * pinning.h - where the threads of a node should run and their memory should lie: a plan, made from
 * the machine.
 *
 * All nodes of a host make the same plan from the same facts, each its own part, without asking one
 * another:
 *
 *     the host's cores    0  1  2  3  4  5  6  7 |  8  9 10 11 12 13 14 15   two NUMA nodes
 *     two nodes           [      node 0         ] [       node 1          ]  a slice each
 *     their threads       w0 w1 w2 w3       s1 s0  w0 w1 w2 w3       s1 s0  4 workers, 2 shards
 *
 * A slice is a run of neighbouring cores. Shards are spread over its NUMA nodes, each on a core of
 * its own as long as there are enough; they take the last cores of a NUMA node, because whoever
 * binds his own threads, or asks where a worker should run, counts from the first. Workers are the
 * user's threads: for them the plan is advice.
 *
 * Callers   cluster.c when it opens a node; pinning_apply is for each shard's thread
 * Memory    the caller's, no pointers into it. A machine of several NUMA nodes also keeps hwloc's
 *           view of it
 * Waiting   never; loading the machine reads some files of the kernel, milliseconds
 * Life      pinning_machine_load, any number of plans and bindings, pinning_machine_fini
 */
#ifndef LOCUS_ACTORS_PINNING_H
#define LOCUS_ACTORS_PINNING_H

#include "locus.h"

struct hwloc_topology;

enum {
    /* what cpu_set_t can name; processing units numbered beyond are left to others */
    PINNING_UNITS_MAX = 1024,
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

/* What a plan needs of the machine. Neighbours in the machine are neighbours here, the cores of a
 * NUMA node and of a socket come one after the other. Cores that the process may not use (cpuset,
 * affinity) do not occur. */
struct pinning_machine {
    unsigned cores, units, numa_nodes, sockets;
    struct pinning_core core[PINNING_UNITS_MAX];
    uint16_t numa_number[PINNING_UNITS_MAX]; /* of each NUMA node, the kernel's */
    /* for pinning_bind_memory; NULL: there is nothing to bind */
    struct hwloc_topology *topology;
};

/*
 * This machine, as far as the process may use it: what the cpuset of its cgroup allows, of that
 * what any of its threads is bound to. (Not the caller alone: a runtime may have bound the main
 * thread to one core for itself.) CPU time that a cgroup rations is not considered.
 *
 * 0, or -ENOMEM, -ENODEV or what hwloc failed with, and the sentence in locus_error(). The machine
 * is then empty; plans for it are allowed and pin nothing.
 */
int pinning_machine_load(struct pinning_machine *);
/* One that does not exist, for tests: hwloc's synthetic description, "package:2 numa:1 core:8
 * pu:1", and the list of processing units that the process may use, "0-3,8"; NULL: all. -EINVAL:
 * one of the two cannot be read. */
int pinning_machine_load_synthetic(struct pinning_machine *, const char *description,
                                   const char *allowed);
void pinning_machine_fini(struct pinning_machine *);

/* Numbers are the kernel's, as taskset and numactl show them. Both are given, or both are
 * PINNING_NONE. */
struct pinning_place {
    int unit;
    int numa;
};

struct pinning_plan {
    unsigned shards, workers;
    /* our slice of the machine; empty when there are more nodes than cores */
    unsigned first_core, cores;
    /* No shard shares its core with another shard or a worker (that takes the advice): shards may
     * spin. */
    bool has_own_core;
    /* There are more threads than processing units, here or in the slice of another node: nobody is
     * pinned, whoever spins must yield. The same verdict on all nodes of the host. */
    bool is_oversubscribed;
    struct pinning_place shard[LOCUS_SHARDS_MAX];
    struct pinning_place worker[LOCUS_WORKERS_MAX]; /* advice */
    /* of each worker; near shards get the same number of workers */
    uint16_t nearest_shard[LOCUS_WORKERS_MAX];
};

/*
 * Fills in the plan of one node: a pure function of its arguments.
 *
 * `nodes_here` nodes (at least 1) share this machine and we are number `our_index` of them. Nodes
 * of this host that were bound to processing units of their own are not counted: they see another
 * machine. 1 to LOCUS_SHARDS_MAX shards, at most LOCUS_WORKERS_MAX workers; where the nodes here
 * differ, the greatest number, so that all agree on whether threads and units suffice.
 *
 * Slices are equal to within a core, except that a border within a quarter of a slice of one of
 * NUMA nodes or sockets moves there unless somebody's threads would no longer fit. Threads get
 * different cores first. When cores are short, but not their hyper-threads, workers share with
 * workers before they share with shards.
 */
void pinning_plan(const struct pinning_machine *, unsigned nodes_here, unsigned our_index,
                  unsigned shards, unsigned workers, struct pinning_plan *out);

/*
 * How many shards are a good choice for a node with so many workers. Few suffice: a shard has work
 * only for what is not local, one serves several workers, and each more costs a link to every peer
 * and thins out what a message carries. So: one for every 8 cores of the node's slice, but no more
 * than workers; yet one for each NUMA node of it, so that rows can lie near everybody; and never
 * more than the cores that the workers leave, except for the one that must be.
 */
unsigned pinning_choose_shards(const struct pinning_machine *, unsigned nodes_here,
                               unsigned workers);

/* Binds the calling thread to its unit; PINNING_NONE: does nothing. A failure is no reason to stop:
 * the thread runs on as before; negative errno with the sentence in locus_error(). */
int pinning_apply(struct pinning_place);

/* The calling thread shall run soon after it is woken, for a short time, where it has to share a
 * processor with threads that compute: it asks for slices of PINNING_SLICE_NS. Its share stays what
 * it is. Kernels before 6.12 do not heed it. (Why so long: docs/design/links-and-threads.md.) */
void pinning_shorten_slices(void);

/* Asks that pages of [from, from + bytes) that are not yet touched come from the place's NUMA node
 * while it has free memory. Does nothing for PINNING_NONE and where there is only one node. Failure
 * as above. */
int pinning_bind_memory(const struct pinning_machine *, void *from, size_t bytes,
                        struct pinning_place);

#endif
