/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus_schedule.h - which parameters are updated next, and by whom (STRADS; Lee et al., 2014).
 *
 * A model-parallel program updates some of its variables at a time, each at one worker, as a
 * schedule says: dependent ones never at the same time, and those first that still change. A
 * schedule owns no parameters: they are rows of locus.h, on which all of this is built.
 *
 * Schedule   a state machine: rounds of variables, one after the other. If the order does not
 *            depend on values, each worker has its own equal schedule, and nothing is sent.
 * Scheduler  for schedules that depend on values: a thread with a schedule and a locus_worker,
 *            which writes rounds ahead into mailboxes, which are rows, too. Several schedulers
 *            share the variables.
 * Port       a worker's end of the mailboxes: schedule, push, pull, sync (STRADS, Section 2).
 *
 * Errors, output and threads are as in locus.h. A schedule and a port are each used by one thread
 * at a time. docs/reference/scheduling.md has a complete example program.
 */
#ifndef LOCUS_SCHEDULE_H
#define LOCUS_SCHEDULE_H

#include "locus.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- schedules ---- */

typedef struct locus_schedule locus_schedule;

/* Limits. Anything above them is -EINVAL. */
#define LOCUS_SCHEDULE_VARIABLES_MAX (UINT64_C(1) << 40)
#define LOCUS_SCHEDULE_WIDTH_MAX 4096   /* variables of a round */
#define LOCUS_SCHEDULE_WORKERS_MAX 4096 /* workers that a schedule serves */
#define LOCUS_SCHEDULE_AHEAD_MAX 64     /* rounds given and not yet done */

enum locus_order {
    /* one variable after the other, and again from the first */
    LOCUS_ROUND_ROBIN,
    /* variables are blocks that go round the workers: in each round each worker has another block;
     * after `variables` rounds each has had each block once. Without a filter and `changes`, and
     * for one scheduler */
    LOCUS_ROTATION,
    /* after each has had its first turn, drawn with a probability in proportion to
     * (last change)^2 + eta (STRADS, Section 3.3). Every second candidate is the next of a round
     * robin, so that each comes again in time */
    LOCUS_PRIORITY,
    /* candidates from the program's own function */
    LOCUS_OWN_ORDER,
};

/* A variable to update, and its worker: always the same one, variable % workers, except with
 * LOCUS_ROTATION. */
struct locus_part {
    uint64_t variable;
    uint32_t worker; /* 0 ... workers - 1 */
    uint32_t unused;
};

/* May this variable be updated together with `chosen`? A refused candidate comes first in the next
 * rounds, in the order of refusal; if it were dropped, it would starve. */
typedef bool locus_fits(void *context, uint64_t variable, const uint64_t *chosen, size_t count);
/* The next candidate; UINT64_MAX: there is none for this round. A candidate that is in a round, or
 * was refused and waits, is skipped. */
typedef uint64_t locus_candidate(void *context);

struct locus_schedule_config {
    enum locus_order order;
    uint64_t variables; /* 0 ... variables - 1; for rotation at least as many as workers */
    unsigned workers;   /* among which they are divided; at least 1 */
    unsigned width;     /* variables of a round, at most; for rotation it is `workers` */
    /* Consecutive rounds that workers may update at the same time. With 1, the default, all workers
     * finish a round before any begins the next. The filter applies to all variables of so many
     * rounds; with several schedulers, to those of the scheduler's own rounds among them. */
    unsigned window;
    /* If several schedules share the variables, this one has those with variable % shares == share.
     * Default: 0 of 1 */
    unsigned share, shares;
    /* priority: must be above 0, or variables at rest would never come again; default 1e-6 */
    double eta;
    uint64_t seed;         /* priority: what is drawn follows from it, and from the changes */
    locus_fits *fits;      /* the filter; NULL: all fit */
    locus_candidate *next; /* LOCUS_OWN_ORDER */
    void *context;         /* for both */
    /* Where to continue, for example from a checkpoint: the variable whose turn comes first (in a
     * rotation at worker 0) */
    uint64_t turn;
    /* and the last change of each of the `variables` (not finite: counts as the largest number), so
     * that none has a first turn. Below 0: that variable is left out, and is never in a round; each
     * share must have one that is not. Read only by the call that gets this configuration. NULL,
     * the default: each has its first turn */
    const float *changes;
};

/* Fills in the defaults: one variable of 1, one worker, a width of 1. */
LOCUS_API void locus_schedule_config_init_sized(struct locus_schedule_config *, size_t size);
#define locus_schedule_config_init(c) locus_schedule_config_init_sized((c), sizeof *(c))

/* Memory: a bit a variable of its share, 20 bytes with LOCUS_PRIORITY; a few hundred a place of a
 * round.
 *   -EINVAL  an invalid configuration: locus_error() names the field and the value
 *   -ENOMEM */
LOCUS_API int locus_schedule_new(const struct locus_schedule_config *, locus_schedule **out);
LOCUS_API void locus_schedule_free(locus_schedule *); /* NULL is allowed */

/*
 * The next round: writes at most `width` parts, of different variables, and returns how many. None
 * of them is in a round that was given and is not done (except with LOCUS_ROTATION, where a block
 * moves from worker to worker). 0: all variables are under way, or refused by the filter because of
 * those that are; such a round is never done. If nothing is under way at least one variable is
 * always found, unless the program's own function has none. If each round is done before the next
 * one, each variable comes again within 2 * variables + 8 * width rounds (with LOCUS_PRIORITY
 * within twice as many), whatever the filter says; if nothing is refused, round robin needs
 * variables / width.
 *   -EBUSY   LOCUS_SCHEDULE_AHEAD_MAX rounds are given and not done
 *   -EINVAL  the program's own function gave a candidate that is not a variable of this share;
 *            those that it gave before come first in the next round
 */
LOCUS_API int locus_schedule_next(locus_schedule *, struct locus_part *parts);
/* The last change of a variable. Not finite: counts as the largest number. Ignored unless it is a
 * variable of this share; has an effect only with LOCUS_PRIORITY. */
LOCUS_API void locus_schedule_changed(locus_schedule *, uint64_t variable, double change);
/* The oldest round that was given is done: its variables may come again. */
LOCUS_API void locus_schedule_done(locus_schedule *);

/* ---- schedulers ---- */

/*
 * A round (STRADS, Figure 2; bulk synchronous): every worker takes it (schedule), adds its partial
 * results for all of its parts (push), gets the sums over all workers (pull), writes the rows of
 * its own variables, and reports their changes (sync). Only a pull waits for other workers. A
 * variable has one worker, which reads in a later round what it has written.
 *
 * With a window of s + 1 rounds, rows are at most s rounds older: a worker may take and push so
 * many rounds before it pulls the sums of the oldest and ends it. No variable is in two of them. If
 * no variable fits beside the rounds under way, a round is empty: workers push, pull and sync it
 * like any other.
 *
 * A scheduler writes rounds without waiting for the changes of earlier ones, at most `depth` rounds
 * ahead of those that workers may have under way. So priorities are older by that many rounds, but
 * values never are (STRADS, Section 4). Several schedulers each have a share of the variables, and
 * take turns.
 *
 * A scheduler uses one of the `workers` of its node's configuration, so add one for each scheduler
 * of the node. While a scheduler is open, collectives (quiesce, barrier) of others wait for it:
 * close it before, or let workers meet by rounds. A node with LOCUS_FULL_REPLICATION opens neither
 * schedulers nor ports, because no row is the same on all nodes at once.
 */
typedef struct locus_scheduler locus_scheduler;
typedef struct locus_port locus_port;

#define LOCUS_SCHEDULERS_MAX 64
#define LOCUS_SCHEDULER_FIGURES_MAX 1024

/* Equal for all schedulers and all ports. */
struct locus_scheduler_config {
    /* The schedulers set `share` and `shares` themselves. Window plus depth is at most 63. Ports
     * read neither callbacks nor context */
    struct locus_schedule_config schedule;
    unsigned schedulers; /* 1 to LOCUS_SCHEDULERS_MAX; default 1 */
    unsigned depth;      /* rounds of each scheduler ahead of those done; 0 to 62; default 2 */
    unsigned figures;    /* floats of a part that workers sum up; default 1 */
    unsigned extra;      /* additional floats of a round that they sum up; default 0 */
    locus_key first;     /* the first key of the mailboxes: keys below are other tables */
    /* The key of variable 0; the row of variable v is variable_key + v. The worker of each variable
     * of a round intends it for the clocks of that round, which last a window. UINT64_MAX, the
     * default: nothing is intended */
    locus_key variable_key;
};
LOCUS_API void locus_scheduler_config_init_sized(struct locus_scheduler_config *, size_t size);
#define locus_scheduler_config_init(c) locus_scheduler_config_init_sized((c), sizeof *(c))

/* The tables of the mailboxes, for locus_config, one after the other, before the node opens;
 * `first` is the first key of the first table. -EINVAL as for locus_scheduler_open(). */
enum { LOCUS_SCHEDULER_TABLES = 3 };
LOCUS_API int locus_scheduler_tables(const struct locus_scheduler_config *,
                                     struct locus_table tables[LOCUS_SCHEDULER_TABLES]);

/* Starts scheduler `number` (0 ... schedulers - 1), once in the cluster. Its mailboxes must not
 * have been used before. Filter and candidates are called on its thread.
 *   -EINVAL  an invalid configuration, mailboxes that do not exist, or LOCUS_FULL_REPLICATION
 *   -EBUSY   the node's workers are all open
 *   -EAGAIN  no thread could be started */
LOCUS_API int locus_scheduler_open(locus *, const struct locus_scheduler_config *, unsigned number,
                                   locus_scheduler **out);
/* Ends it, whatever it waits for. Workers must have ended all rounds that they want. Returns the
 * error that ended it before, or 0. NULL is allowed. */
LOCUS_API int locus_scheduler_close(locus_scheduler *);

/* Of one worker: `number` is 0 ... schedule.workers - 1, each once in the cluster. */
LOCUS_API int locus_port_open(locus *, locus_worker *, const struct locus_scheduler_config *,
                              unsigned number, locus_port **out);
LOCUS_API int locus_port_close(locus_port *); /* NULL is allowed: 0 */

/* The calls of a round, in this order; another order is -EINVAL. With a window above 1, the next
 * rounds may be scheduled and pushed before a round is pulled, but not between its pull and its
 * sync. Each call may return the errors of a pull or a push; schedule and pull -ECANCELED if the
 * scheduler for which they wait has failed. */

/* schedule: the next round. Waits for its scheduler; the worker's clock advances. *parts stay valid
 * until the first call of this function after the round's sync; *count is at least 1, or with a
 * window above 1 at least 0. */
LOCUS_API int locus_port_schedule(locus_port *, const struct locus_part **parts, size_t *count);
/* push: adds count * figures floats, part by part, and behind them `extra` ones. */
LOCUS_API int locus_port_push(locus_port *, const float *partial);
/* pull: the sums of the oldest round under way. Waits until all workers have pushed; all of them
 * get the same bits. */
LOCUS_API int locus_port_pull(locus_port *, float *sums);
/* sync: the changes of the variables; of the `count` floats only those of this worker's own parts
 * are read. Ends the round here; does not wait. */
LOCUS_API int locus_port_sync(locus_port *, const float *changes);

/* Since the port was opened. */
struct locus_port_stats {
    uint64_t rounds, parts; /* ended; variables in them */
    double seconds;         /* since the first round began */
    /* of these, waiting for schedulers, and for other workers' pushes */
    double schedule_wait_s, pull_wait_s;
};
LOCUS_API void locus_port_stats_sized(const locus_port *, struct locus_port_stats *, size_t size);
#define locus_port_stats(p, s) locus_port_stats_sized((p), (s), sizeof *(s))

#ifdef __cplusplus
}
#endif
#endif
