/*
 * moving.h - a world whose rows move, and its requests, each by hand: asking, delivering, looking.
 */
#ifndef TEST_PROTOCOL_MOVING_H
#define TEST_PROTOCOL_MOVING_H

#include "world.h"

#include "protocol/location.h"

enum { KEYS = 64, LENGTH = 5, WORKERS = 4, NODES = 4, CALLS = 8 };

#define WIDE ((size_t)1 << 20) /* credit that is never used up */

/* One key of one worker's request. */
struct call {
    struct request request;
    struct request_item item;
    float values[LENGTH];
};

struct world *moving_world(unsigned nodes, uint64_t seed);
locus_key moving_key_at_home(struct world *w, unsigned home);
struct location moving_known(struct world *w, unsigned rank, locus_key key);
/* `value` in all floats: what is pushed or set. */
void moving_ask(struct world *w, struct call *c, unsigned rank, unsigned worker, unsigned number,
                enum request_kind kind, locus_key key, float value);
void moving_ask_localize(struct world *w, struct call *c, unsigned rank, unsigned worker,
                         unsigned number, locus_key key);
void moving_ask_pull(struct world *w, struct call *c, unsigned rank, unsigned worker,
                     unsigned number, locus_key key);
void moving_ask_push(struct world *w, struct call *c, unsigned rank, unsigned worker,
                     unsigned number, locus_key key, float value);
/* What may find no room: it is offered until it does. */
void moving_prepare(struct call *c, unsigned worker, enum request_kind kind, locus_key key);
bool moving_is_done(const struct call *c);
/* What was pulled: the same in all floats. */
int moving_pulled(const struct call *c);
/* All frames of one link; they must be there. */
void moving_deliver(struct world *w, unsigned from, unsigned to);
/* Link by link: "120" is from 1 to 2, and from 2 to 0. */
void moving_travel(struct world *w, const char *nodes);
unsigned moving_entries(const struct world *w, unsigned from, unsigned to);
/* From request to end, nothing else under way. */
int moving_run(struct world *w, unsigned rank, enum request_kind kind, locus_key key, float value);
int moving_value_at(struct world *w, unsigned rank, locus_key key);
/* The row, to this node. */
void moving_bring(struct world *w, unsigned rank, locus_key key);
/* At rest: one owner, whose term says how often the row moved; nothing is remembered of requests
 * that are over. */
void moving_check_rest(struct world *w, locus_key key, unsigned owner, uint64_t term);
/* The row goes from 2 to 0 and stays on its way. The home, 1, knows already, and sends there. */
void moving_begin_slowly(struct world *w, locus_key key, struct call *taker);

#endif
