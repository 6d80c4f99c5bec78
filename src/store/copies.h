/*
 * copies.h - workers' copies of rows that several workers of a node write at the same time: each of
 * these workers reads and changes a copy of its own, and exchanges it with the row now and then.
 *
 * A row gets copies when two workers have found its latch taken several times within a few
 * milliseconds. Its word then says so (directory.h): the latch bit stays set, so every access takes
 * the slow path. A worker finds its copy there, or makes one. Who reads the row itself, sets it or
 * takes it away (a set, a checkpoint, a relocation) ends the copies first: their updates are added
 * to the row, and the row is as before. Who changes the row for other nodes, or collects what they
 * must hear of (a round), does so beside the copies, which are exchanged with it soon; before this
 * node says that all is told up to a clock, they give what they have.
 *
 * The row is a main copy or a replica, and may have an optimizer or values of 16 bits. A copy is
 * what the row was at the last exchange plus the worker's updates since. Their sum is its
 * difference from what it was then, which is kept when the first of them comes; with an optimizer
 * it is the delta of its steps (row_type.h), so steps of several workers come to the row as those
 * of several nodes do. It is exchanged after COPIES_USES uses or COPIES_AGE_NS, whichever comes
 * first; the age is looked at with every use of any copy of the worker (COPIES_LAG_NS), of a call
 * with many keys once in 64 keys. What a worker keeps that uses no copies any more is added to the
 * rows by whichever worker does, or a shard, for other nodes. Copies end by themselves when they
 * are used so seldom that they do not pay, and when nobody else has written the row for some
 * exchanges.
 *
 * The word has a second latch while the row has copies (its WAITERS bit); who holds it may take
 * those of copies, and never the other way round. Only its worker uses a copy, so it nearly always
 * finds the copy's latch free.
 *
 * Callers   copies_hold, copies_release, copies_view, copies_contended, copies_begin: the worker;
 *           the others any thread
 * Memory    for each worker of a node that has several: 70 bytes and two rows a copy, at most
 *           COPIES_MAX of them and 1 MiB of rows; used only for copies
 * Waiting   for latches
 * Life      copies_open after store_open, copies_close before store_fini
 */
#ifndef LOCUS_STORE_COPIES_H
#define LOCUS_STORE_COPIES_H

#include "store/store.h"

#ifdef LOCUS_FIBERS
enum { COPIES_MAX = 4, COPIES_USES = 3 }; /* simulations are short */
#else
enum { COPIES_MAX = 1024, COPIES_USES = 64 };
#endif
enum {
    COPIES_AGE_NS = 500000,
    COPIES_LAG_NS = 2 * COPIES_AGE_NS, /* no older is what a worker reads in a copy */
};

/* One worker's. */
struct copies;

struct copy {
    int latch;
    int waiters;        /* atomic: how many wait for it before its worker's next access */
    bool is_dirty;      /* there are updates since the last exchange */
    uint32_t uses;      /* since then */
    uint32_t lonely;    /* exchanges one after the other without a change by anybody else */
    uint64_t since_ns;  /* when that was */
    uint64_t version;   /* of the row then */
    uint64_t section;   /* in which the worker last viewed it */
    struct row_ref row; /* whose copy it is */
} __attribute__((aligned(64)));

/* All workers' copies of a store; 0 or -ENOMEM with the sentence in locus_error(). */
int copies_open(struct store *, unsigned workers);
void copies_close(struct store *);
/* Whose reader must not lose what it views; NULL if the store has no copies. */
struct copies *copies_of(const struct store *, unsigned worker, const struct reader *);

/* The worker's copy of a row whose word says that it has copies, latched; NULL: it has none any
 * more, look again. */
struct copy *copies_hold(struct copies *, struct row_ref);
/* It was used. May exchange it. */
void copies_release(struct copies *, struct copy *);
/* Of a copy that is held: what the worker reads, and what the row does not have yet. */
float *copies_row(const struct copies *, const struct copy *);
float *copies_unsent(const struct copies *, const struct copy *);
/* How its next change rounds (floats.h): as no other worker's, nor any other change of its own. */
uint64_t copies_draw(const struct copies *, const struct copy *);
/* From here on the first use alone looks how old copies are; at the end each does again. NULL: a
 * worker without. */
void copies_use_many(struct copies *, bool begin);
/* The copy for a view: valid until the end of the reader's section. NULL as copies_hold(). */
const float *copies_view(struct copies *, struct row_ref);

/* The worker found the row's latch taken, and has it now: shall the row have copies? */
bool copies_contended(struct copies *, struct row_ref);
/* The row has copies from now on; it is latched, w was its word before, and it has changed. */
void copies_begin(struct row_ref, directory_word w);
/* The row has no copies any more, if it had some: all updates are in it. */
void copies_end(struct row_ref);
/* The word of a row that has copies, which nobody exchanges until unlatch() (change.h) gives it
 * back; 0: it has none. */
directory_word copies_hold_word(directory_word *);
/* Ends the copies of workers that have used none for some milliseconds. Returns when to call it
 * again: UINT64_MAX if nobody has copies. Any thread. */
uint64_t copies_take_idle(const struct store *, uint64_t now_ns);
/* What workers have done to their copies by now is in the rows, too. Any thread. */
void copies_fold_all(const struct store *);
/* The worker, which may be NULL, keeps no updates to itself and reads no copy that was made before;
 * the same for all workers. Any thread. */
void copies_drain(struct copies *);
void copies_drain_all(const struct store *);
/* Rows that have got copies so far. Any thread. */
uint64_t copies_begun(const struct store *);

#endif
