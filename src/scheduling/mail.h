/*
 * mail.h - the mailboxes between schedulers and workers, and their rows.
 *
 * Each scheduler has a ring of slots: depth, and one for each of its rounds that workers may have
 * under way. A slot is three rows, of tables one behind the other:
 *
 *     rounds    stamp, count, then for each part two floats of its variable and one of its worker
 *     sums      how many workers have pushed; the figures of each part; the extra figures
 *     changes   how many workers are through with the round; the change of each part
 *
 * Round r is number r / schedulers of scheduler r % schedulers; its slot is that number modulo the
 * slots. A scheduler clears sums and changes, and then writes the round; a worker that sees the new
 * stamp may push. The scheduler reuses a slot when all workers have ended its round, because then
 * none reads it any more. All accesses are synchronous calls, or in one worker's order, on rows
 * without intents, so they are sequentially consistent (Lapse, Theorem 1).
 *
 * A scheduler that fails says so in all of its slots, in place of the rounds and of the numbers of
 * workers that have pushed. So a worker that waits for either learns that nothing will come.
 *
 * Memory    none
 * Waiting   mail_nap(), a moment
 * Life      mail_init or mail_open, then any
 */
#ifndef LOCUS_SCHEDULING_MAIL_H
#define LOCUS_SCHEDULING_MAIL_H

#include "base/time.h"
#include "locus_schedule.h"

struct mail {
    unsigned schedulers, slots, width, figures, extra;
    unsigned window, own_window; /* rounds that a worker may have under way; one scheduler's */
    uint32_t round_length, sums_length, changes_length;
    locus_key rounds, sums, changes; /* first keys */
};

/* Checks a configuration for the named call, and sets the sentence. */
int mail_init(struct mail *, const char *call, const struct locus_scheduler_config *);
/* The same; and are the tables there, and their rows the same for all? */
int mail_open(struct mail *, const char *call, const locus *,
              const struct locus_scheduler_config *);

/* The row of a round, behind the first key of its table. */
static inline uint64_t mail_slot(const struct mail *m, uint64_t round)
{
    return round % m->schedulers * m->slots + round / m->schedulers % m->slots;
}

/* A round as a row. false: the row does not hold that round. */
void mail_write(const struct mail *, uint64_t round, const struct locus_part *parts, size_t count,
                float *row);
bool mail_read(const struct mail *, uint64_t round, const float *row, struct locus_part *parts,
               size_t *count);

/* A scheduler's last message: it has failed. A row of rounds, and behind it a row of sums whose
 * count no push can make valid again. */
void mail_write_failure(const struct mail *, float *rows);
/* Does a row of rounds or of sums say so? Then sets the sentence and returns -ECANCELED. */
int mail_check(const struct mail *, const char *call, uint64_t round, const float *row);

/* Waiting, by polling a mailbox; zeros at first. */
struct mail_wait {
    uint64_t polls;
    struct reminder reminder;
};
double mail_now(void);
/* Waits a little, the longer the longer it has lasted. Is it time to tell people? Then the seconds;
 * otherwise 0. */
unsigned mail_nap(struct mail_wait *);

/* A scheduler's thread, until it is closed or something fails. A simulation, built with
 * LOCUS_FIBERS, calls it on a fiber: there locus_scheduler_open() starts no thread. */
void *scheduler_run(void *scheduler);

#endif
