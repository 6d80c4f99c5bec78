/*
 * journal.h - what the workers did to each key and what they saw, and whether that has an order.
 *
 * Memory    an array of events a key, kept from run to run
 * Waiting   never
 * Life      journal_begin, journal_issue / journal_done as workers go, journal_judge
 */
#ifndef LOCUS_SIM_JOURNAL_H
#define LOCUS_SIM_JOURNAL_H

#include "sim/content.h"
#include "locus.h"

enum {
    JOURNAL_KEYS_MAX = 16,
    JOURNAL_WORKERS_MAX = 16,
    JOURNAL_EVENTS_MAX = 400,    /* of a key */
    JOURNAL_SET_EVENTS_MAX = 60, /* of a key that is also set: order.h searches */
    JOURNAL_SET_UPDATES_MAX = 36,
};
#define JOURNAL_NEVER UINT64_MAX

enum journal_kind { JOURNAL_READ, JOURNAL_ADD, JOURNAL_SET };

struct journal_event {
    enum journal_kind kind;
    unsigned worker;   /* of all nodes */
    uint64_t call;     /* number of the worker's call; 0: in no order with its other calls */
    unsigned number;   /* of the update or set */
    locus_clock clock; /* of its worker, when it was called; of a read, that it must be fresh to */
    uint64_t called, done; /* JOURNAL_NEVER: not yet */
    /* quiesces that its worker had behind it: a write when done, a read when called */
    unsigned quiesced;
    bool is_optional;    /* it may be in no row: a node was lost */
    struct content seen; /* by a read */
};

struct journal_key {
    struct content_layout layout;
    bool has_sets;
    bool was_replicated;    /* then reads may be stale, within bounds */
    bool is_doubtful;       /* a write may be in the row twice: nothing that it holds is judged */
    unsigned capacity;      /* updates that its row has fields for */
    unsigned updates, sets; /* made so far */
    struct content issued, done; /* updates */
    /* The row was lost with a node. What was called before the moment `whole`, when the others had
     * another row, is optional, and what was read before goes for nothing; JOURNAL_NEVER: they have
     * none yet. */
    uint64_t whole;
    unsigned count;
    struct journal_event event[JOURNAL_EVENTS_MAX];
};

void journal_begin(unsigned keys);
/* The worker's clock; to which it has waited for all copies. Of what it calls from now on. */
void journal_clock(unsigned worker, locus_clock);
void journal_bound(unsigned worker, locus_clock);
/* NULL, or what is wrong with a copy that is to hold everything done before the clock. */
const char *journal_check_fresh(locus_key, locus_clock, const struct content *);

void journal_key_init(struct content_layout, bool has_sets);
struct journal_key *journal_key(locus_key);

uint64_t journal_tick(void); /* moments of the workers' calls and returns */

/* A node was lost: what these workers did is optional from now on, and what they do from now on is
 * no event. */
void journal_lose_workers(unsigned first, unsigned count);
bool journal_is_lost(unsigned worker);
void journal_lose_row(locus_key);
/* Other workers come where they were: nobody waits for their clocks, nor they for a quiesce. */
void journal_workers_come_back(unsigned first, unsigned count);
void journal_row_is_whole(locus_key);

/* Can one more event of this kind be taken down? */
bool journal_has_room(locus_key, enum journal_kind);
/* An operation on a key begins; the place of its event. For a write `row` gets what is to be
 * written. */
unsigned journal_issue(locus_key, enum journal_kind, unsigned worker, uint64_t call, float *row);
/* It is complete. A read: `row` is what was seen. NULL, or what is wrong with that. */
const char *journal_done(locus_key, unsigned event, const float *row);
/* A local read that was never issued, complete at once. */
const char *journal_saw(locus_key, unsigned worker, uint64_t called, const float *row);

/* The worker begins a quiesce, or it has returned. */
void journal_quiesce(unsigned worker, bool returned);

enum journal_verdict { JOURNAL_GOOD, JOURNAL_BAD, JOURNAL_UNDECIDED };
/* Is there one order of all that was done to the key, in which every operation takes effect between
 * its call and its end, each worker's in the order of its calls, and every read sees what was done
 * before it? For a key that was replicated: does every read have what its worker had done before,
 * and what was done before the last quiesce? */
enum journal_verdict journal_judge(locus_key);
void journal_print(locus_key);

#endif
