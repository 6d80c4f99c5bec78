/*
 * platform_private.h - a simulated cluster in three parts: platform.c has its reactors and time,
 * platform_links.c the network, platform_changes.c who is lost, leaves or joins.
 *
 * Callers   fibers, one at a time
 * Memory    one cluster
 * Waiting   as fibers
 * Life      that of platform.h
 */
#ifndef LOCUS_SIM_PLATFORM_PRIVATE_H
#define LOCUS_SIM_PLATFORM_PRIVATE_H

#include "joined.h"
#include "platform.h"

#include "actors/mailbox.h"
#include "base/error.h"
#include "base/sync.h"
#include "protocol/repair.h"
#include "protocol/saves.h"
#include "worker/operation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)PLATFORM_CHANGES <= (int)JOINED_CHANGES,
               "a cluster knows when it hears of all changes");
/* What rank 0 says: changes, and of who leaves that it is lost, by the number of that change. */
enum { PLATFORM_NEWS = 2 * PLATFORM_CHANGES, LOST_TOO_MAX = 4 };

struct coming_loss {
    unsigned node;
    uint64_t due; /* entries until then */
};

struct inbox {
    struct mailbox mailbox;
    struct request *current; /* taken out, and waiting for credit */
};

struct reactor {
    struct shard shard;
    struct node_plan plan;
    struct platform calls;
    unsigned node, number;
    bool is_over;        /* another node has come where it was */
    struct inbox *inbox; /* [workers] */
    bool is_in_call, saw_loss;
    bool looks; /* whether its shard has news: once after each turn, and when it is woken */
    /* the entry that the shard got last: complete when it asks for the next, or returns */
    struct wire_entry *filling;
    unsigned filling_for;
    uint64_t turn_ns; /* when the shard wants its turn without news */
    /* When it hears of each of the news, in order; UINT64_MAX: never. Those that it has heard. */
    uint64_t hears_ns[PLATFORM_NEWS];
    unsigned heard;
    uint32_t view, repaired; /* changes: that it repairs, and that it has repaired last */
    bool has_left;           /* it has said so */
};

/* What the network is like in this run. */
struct nature {
    uint64_t latency_ns, jitter_ns;
    unsigned slow_node, slow_factor;
    unsigned stall_rarity; /* a frame of so many is late */
    uint64_t stall_ns;
    uint32_t frame_bytes;
    unsigned cut_rarity, linger_rarity;
    size_t credit_bytes;
    bool rides;        /* until enough rounds have been counted, intents piggyback */
    uint64_t round_ns; /* what a round takes, as the pacer has it */
};
extern struct platform_sim {
    unsigned nodes, shards, workers_left;
    struct platform_hooks hooks;
    struct dice dice;
    struct nature nature;
    struct platform_link link[PLATFORM_SHARDS_MAX][PLATFORM_NODES_MAX][PLATFORM_NODES_MAX];
    unsigned calls[PLATFORM_SHARDS_MAX]; /* shards of this number that are inside a call */
    uint64_t skipped_ns;                 /* that passed while nobody had anything to do */
    bool ended, broken;
    /* Losses that the others survive, and nodes that come back. */
    struct {
        unsigned node;  /* that will be lost */
        uint64_t due;   /* entries until then, UINT64_MAX: none is to come */
        uint32_t view;  /* changes so far */
        uint32_t since; /* platform_since() */
        struct change change[PLATFORM_CHANGES];
        struct change news[PLATFORM_NEWS];
        unsigned news_count;
        struct coming_loss too, later[LOST_TOO_MAX]; /* each behind a change of its own */
        unsigned later_count;
        uint64_t at_ns;
        uint32_t repaired[PLATFORM_SHARDS_MAX]; /* changes that any shard of this number has */
    } loss;
    uint64_t entries_sent;
    struct platform_counters counters;
} platform_sim;

static inline uint64_t min_ns(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t max_ns(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- platform_links.c ---- */

bool platform_one_in(unsigned rarity);
uint64_t platform_some_ns(uint64_t below);
void platform_draw_link(struct platform_link *l, unsigned from, unsigned to);
void platform_drop_frames(struct platform_link *l);
void platform_for_entries(const struct platform_frame *f, unsigned shard, unsigned from,
                          unsigned to,
                          void (*hook)(unsigned, unsigned, unsigned, const struct wire_entry *));
void platform_tell_dropped(const struct platform_frame *f, unsigned shard, unsigned from,
                           unsigned to);
void platform_seal(unsigned shard, unsigned from, unsigned to);
struct platform_frame *platform_new_frame(const struct store *s, uint32_t bytes);

/* ---- platform.c ---- */

void platform_entry_is_complete(struct reactor *r);
void platform_begin_call(struct reactor *r);
void platform_end_call(struct reactor *r);
void platform_run_reactor(void *argument);

/* ---- platform_changes.c ---- */

void platform_note_loss(struct cluster *c, unsigned rank);
void platform_lose_if_due(void); /* as platform_lose() was told */
/* When the shard hears of the next change; UINT64_MAX: of none. */
uint64_t platform_next_news_ns(const struct reactor *r);
void platform_hear_news(struct reactor *r);
void platform_note_repaired(void *context, uint32_t view);

#endif
