/*
 * known.h - what the nodes of a job have answered about a key (docs/guides/observe.md), and its history,
 * put together from what each of them has decided.
 *
 * Memory    the struct
 * Waiting   never
 * Life      known_read for each node, known_history once
 */
#ifndef LOCUS_EXPLAIN_KNOWN_H
#define LOCUS_EXPLAIN_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    KNOWN_WORD_MAX = 32,
    KNOWN_NAME_MAX = 128,
    KNOWN_HOLDERS_MAX = 64,
    KNOWN_INTENTS_MAX = 32,
    KNOWN_DECISIONS_MAX = 32,
    KNOWN_SENTENCE_MAX = 256
};

struct known_holder {
    unsigned node;
    double brought_s;
    bool is_current, is_kept;
};

struct known_intent {
    bool is_active;
    unsigned worker;
    int64_t now;
    char start[KNOWN_WORD_MAX], end[KNOWN_WORD_MAX];
};

struct known_decision {
    char what[KNOWN_WORD_MAX], why[KNOWN_WORD_MAX];
    double at_s; /* by our clock */
    unsigned node;
    uint64_t term;
    char start[KNOWN_WORD_MAX], end[KNOWN_WORD_MAX]; /* "": none */
    bool is_told;                                    /* in another's sentence */
};

/* By one node. */
struct known {
    unsigned node, nodes, home, owner;
    uint64_t key, row, term, parked;
    char technique[KNOWN_WORD_MAX], table[KNOWN_NAME_MAX], place[KNOWN_WORD_MAX];
    bool has_heard, is_asking, is_kept, has_more_intents;
    double heard_s;
    unsigned wanted, holders, intents, decisions, more_holders;
    struct known_holder holder[KNOWN_HOLDERS_MAX];
    struct known_intent intent[KNOWN_INTENTS_MAX];
    struct known_decision decision[KNOWN_DECISIONS_MAX];
};

/* False: it is no such answer. `now_s`: when it was made, by our clock. */
bool known_read(struct known *, const char *text, double now_s);

/* Something that happened to the key, as a sentence. */
struct known_event {
    double at_s;
    unsigned from, to; /* nodes */
    const char *what;  /* "moved", "copied", ... */
    char text[KNOWN_SENTENCE_MAX];
};

/* From the answers of `count` nodes, oldest first; at most `max` of them, the last ones. */
size_t known_history(struct known *all, size_t count, struct known_event *, size_t max);

#endif
