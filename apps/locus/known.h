/*
 * known.h - what the nodes of a job have answered about a key (docs/reference/run-files.md), and its
 * history, put together from what each of them has decided.
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
    KNOWN_DECISIONS_MAX = 32,
    KNOWN_SENTENCE_MAX = 256
};

struct known_holder {
    unsigned node;
    double brought_s;
    bool is_current, is_kept;
};

struct known_decision {
    char what[KNOWN_WORD_MAX], why[KNOWN_WORD_MAX];
    double at_s; /* by our clock */
    unsigned node;
    uint64_t term;
    char start[KNOWN_WORD_MAX], end[KNOWN_WORD_MAX]; /* "": none */
};

/* By one node. */
struct known {
    unsigned node, nodes, home, owner;
    uint64_t key, row, term, parked;
    char technique[KNOWN_WORD_MAX], table[KNOWN_NAME_MAX], place[KNOWN_WORD_MAX];
    bool is_kept;
    double heard_s;                                  /* of a replica: its owner was, so long ago */
    unsigned intents;                                /* active ones that will end; */
    char start[KNOWN_WORD_MAX], end[KNOWN_WORD_MAX]; /* clocks of the latest, "": not known */
    unsigned holders, more_holders, decisions;
    struct known_holder holder[KNOWN_HOLDERS_MAX];
    struct known_decision decision[KNOWN_DECISIONS_MAX];
};

/* False: it is no such answer. `now_s`: when it was made, by our clock. */
bool known_read(struct known *, const char *text, double now_s);

/* Something that happened to the key, as a sentence. */
struct known_event {
    double at_s;
    char text[KNOWN_SENTENCE_MAX];
};

/* From the answers of `count` nodes, oldest first, into `list` of count * KNOWN_DECISIONS_MAX. Returns
 * how many. */
size_t known_history(const struct known *all, size_t count, struct known_event *list);

#endif
