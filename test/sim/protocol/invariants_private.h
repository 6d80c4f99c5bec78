/*
 * invariants_private.h - what the files of the invariants share: what they know of each key, and
 * small looks at the nodes.
 *
 * terms.c has who had a row in which term; key.c what must hold of one key after every step;
 * rest.c what must hold at rest, and all of it in words; invariants.c hears of every step.
 *
 * Callers   those four
 * Memory    invariants.c's
 * Waiting   never
 * Life      from invariants_begin on
 */
#ifndef LOCUS_SIM_INVARIANTS_PRIVATE_H
#define LOCUS_SIM_INVARIANTS_PRIVATE_H

#include "invariants.h"

#include "common/stores.h"
#include "journal.h"
#include "protocol/owner.h"
#include "report.h"

#include <inttypes.h>
#include <string.h>

/* Terms of a view: they begin at its number times 2^30. */
enum { VIEWS_MAX = 1 + PLATFORM_CHANGES, TERMS_MAX = 4096, VIEW_TERM_BITS = 30 };

struct key_history {
    uint64_t term; /* of the ownership that was given away last */
    /* The row was lost with a node, and nobody has repaired that; somebody has another one */
    bool is_lost, has_begun;
    bool is_left;                 /* and nothing is lost: the node has left */
    uint32_t lost_by;             /* the change since which it is */
    unsigned terms[VIEWS_MAX];    /* known of each view */
    uint32_t was_home[VIEWS_MAX]; /* of each: the home to which hints are, as bits of nodes */
    /* Replicas that were offered in each for a lost row, 0: not that of this node. */
    struct {
        uint64_t term, version;
    } offer[VIEWS_MAX][PLATFORM_NODES_MAX];
    /* by nodes as their workers said; what was ever taken back */
    bool keeps[PLATFORM_NODES_MAX], took_back[PLATFORM_NODES_MAX];
    bool was_kept; /* by a node: then it stays, and a localize moves nothing */
    uint16_t owner[VIEWS_MAX][TERMS_MAX]; /* of every term */
    directory_word *word[PLATFORM_NODES_MAX];
    uint64_t seen[PLATFORM_NODES_MAX]; /* moment when the row was last known to be at a node */
    /* The row as it was given away last, and by whom; and what outlives its owner. */
    struct content left, saved;
    unsigned giver;
};

/* The answer to a write, under way to its origin. */
struct answer {
    bool is_used;
    uint32_t tag;
    locus_key key;
    unsigned by, told; /* who has done it; who has heard that from it and lives, as bits */
    /* the changes (platform_since) while which he was lost, and somebody who had heard; 0: not */
    uint32_t by_lost, told_lost;
};
enum {
    ANSWERS_MAX = 64
}; /* of a shard's writes: more than it has under way, where there are three nodes */

struct invariants_world {
    const struct script *script;
    uint64_t moment, relocations;
    struct invariants_losses losses;
    struct key_history key[JOURNAL_KEYS_MAX];
    struct answer answer[PLATFORM_SHARDS_MAX][PLATFORM_NODES_MAX][ANSWERS_MAX];
};
extern struct invariants_world invariants_world;

static inline struct row_ref row_ref_at(unsigned node, locus_key key)
{
    struct shard *s = platform_shard(node, 0);
    return store_row_ref(s->store, key);
}

static inline bool is_full(void)
{
    return invariants_world.script->technique == LOCUS_FULL_REPLICATION;
}

static inline unsigned shard_of(locus_key key)
{
    return (unsigned)(key % invariants_world.script->shards);
}

static inline bool is_gone(unsigned node, locus_key key)
{
    return platform_is_gone(node, shard_of(key));
}

/* Where the key is at home, as the node has it. */
static inline unsigned home_at(unsigned node, locus_key key)
{
    return row_ref_home(row_ref_at(node, key));
}

/* The same at the start. */
static inline unsigned first_home(locus_key key)
{
    struct row_ref ref = row_ref_at(0, key);
    return platform_shard(0, 0)->store->home.node[row_ref_number(ref) % HOME_BUCKETS];
}

static inline bool is_elsewhere(enum directory_state state, bool is_home)
{
    return state == DIRECTORY_UNTOUCHED
               ? !is_home
               : state == DIRECTORY_ELSEWHERE || state == DIRECTORY_REPLICA;
}

static inline bool is_here(unsigned node, locus_key key)
{
    directory_word w = directory_load(row_ref_word(row_ref_at(node, key)));
    return !is_elsewhere(directory_state(w), home_at(node, key) == node);
}

static inline bool is_about_a_key(const struct wire_entry *e)
{
    return wire_rules[e->operation].route != WIRE_OF_SHARD;
}

/* ---- terms.c ---- */

/* The row was lost with a node: updates of that one, and all that were made before the others have
 * another row, may be in it or not. */
void terms_lose_row(locus_key);
/* It may be gone. */
void terms_forget_saves(locus_key);
/* A row like that will be there whatever becomes of its present owner. */
void terms_outlives(struct key_history *, const struct content *);
/* -1: nobody had it in this term. */
int terms_owner(const struct key_history *, uint64_t term);
/* Nobody had the row any more: its home has it now, or says who does. */
void terms_begin_anew(locus_key, unsigned home, unsigned owner, uint64_t term);
/* Who has the row when a node is lost has it in the first term of the new view from then on. */
bool terms_go_on(locus_key, unsigned node, uint64_t term);
/* Somebody takes that node for the row's owner. */
void terms_check_claim(locus_key, unsigned owner, uint64_t term, const char *who, unsigned node);
void terms_row_leaves(unsigned from, const struct wire_entry *);

/* ---- key.c ---- */

/* The main copy, and the record of what is under way to it: content.h. */
struct traffic {
    unsigned rows;
    float main[CONTENT_CAPACITY], record[CONTENT_CAPACITY];
    bool is_disturbed;       /* somebody is writing a copy just now */
    const void *is_the_main; /* the word of a replica that is the main copy, with what is unsent */
};
void key_look_at_links(locus_key, struct traffic *);
/* As partition_show() does it, with which other fibers would run. */
void key_show(const struct partition *, float *to, const float *row);
/* The row that an entry brings: false if it brings none. */
bool key_read_entry(const struct wire_entry *, struct content *);
int key_owner(locus_key); /* -1: nobody */
/* The main copy, unless somebody writes it just now. */
bool key_read_main(unsigned node, locus_key, float *row);
/* Steps that were merged may be rounded otherwise than those that were made. */
bool key_are_copies(locus_key, const float *a, const float *b);
const char *key_check_content(const float *row, struct content_layout, struct content *);

/* Nobody has written it, and it is on its way to who joins, who has not decided yet; if that one is lost
 * meanwhile, its home will have it again. */
bool key_is_given_up(locus_key);
void key_check(locus_key);
/* Every copy at a node holds what was done before the clock of its gate (clocks.h). */
void key_check_fresh(locus_key, unsigned node);
/* What a node knows whose shard has just returned. */
void key_check_knowledge(locus_key, unsigned node);

/* ---- invariants.c ---- */

/* No shard that has repaired remembers anything of nodes that were lost. */
void invariants_check_forgotten(unsigned node, unsigned shard);

#endif
