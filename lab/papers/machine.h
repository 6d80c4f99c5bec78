/*
 * machine.h - the machines and networks that the papers used, and today's, as constants of
 * scale/model.h and some more.
 *
 * Memory    the caller's
 * Waiting   never
 */
#ifndef BENCH_PAPERS_MACHINE_H
#define BENCH_PAPERS_MACHINE_H

#include "scale/model.h"

/* X(name, value, unit, what, where from) */
#define MACHINE(X) \
    X(step, 1000, "ns", "worker: an example that is trained with", "--baseline of the program") \
    X(replica, 31, "ns", "worker: an access of a replica, more than of a row that it owns", \
      "worker's processor time among nodes less alone") \
    X(line, 30, "ns", "worker: 64 bytes of a row that its node's shard wrote", \
      "wv on four nodes of 16 real cores") \
    X(prepare, 200, "ns", "loader: an example that is prepared", "a loader's processor time") \
    X(compare, 2, "ns", "scheduler: a value that is compared", "lasso --baseline, one worker") \
    X(look, 500, "ns", "a look into a mailbox again", "a yield, and a row that is here") \
    X(rounds, 0, "1/s", "of a shard that synchronizes, at most; 0: any", "NuPS: 0.2 to 125") \
    X(shards, 1, "", "shards of a node", "what the library chooses on the cores")

struct machine {
    struct model model;
#define X(name, value, unit, what, source) double name;
    MACHINE(X)
#undef X
};

/* false: there is no such machine. */
bool machine_init(struct machine *, const char *name);
/* As constants_change, with the names of both tables. */
bool machine_change(struct machine *, const char *changes, const char **wrong);
/* All constants, to stdout. */
void machine_show(struct machine *);

#endif
