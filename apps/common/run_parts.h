/*
 * run_parts.h - what nodes and a program have written of a run, to be shown on a page: each node's
 * counts over time (PREFIX.RANK.report.jsonl, src/observe/journal.h), and the program's settings
 * and curves (PREFIX.run.jsonl, run_log.h).
 *
 * Memory    the parts', until run_parts_free(): 136 bytes a line, RUN_SAMPLES_MAX of a node
 * Waiting   for the disk
 * Life      run_parts_read, any look, run_parts_free
 */
#ifndef APPS_RUN_PARTS_H
#define APPS_RUN_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line is a JSON object, flat, of numbers and texts, each name once, as the library and json.h
 * write it; of others, whatever is found. */

/* From { to }, with an end of line or without. */
bool run_line_is_whole(const char *line);
/* The finite number, the text behind that name. False: there is none, and *out is as before. A text
 * that is longer is cut. */
bool run_line_number(const char *line, const char *name, double *out);
bool run_line_text(const char *line, const char *name, char *out, size_t capacity);

enum {
    RUN_NODES_MAX = 4096,
    RUN_SAMPLES_MAX = 100000,
    RUN_TEXT_MAX = 512,
    RUN_SETTINGS_MAX = 64,
    RUN_CURVES_MAX = 64
};

/* What a node counts: its name in the node's file, and whether it is a gauge; all others are since
 * the beginning. */
#define RUN_COUNT_TABLE(C) \
    C(RUN_LOCAL, "local", false) \
    C(RUN_REPLICA, "replica", false) \
    C(RUN_REMOTE, "remote", false) \
    C(RUN_RELOCATED, "relocated", false) \
    C(RUN_COPIED, "copied", false) \
    C(RUN_REPLICAS, "replicas", true) \
    C(RUN_OWNED, "owned", true) \
    C(RUN_LATE, "late", false) \
    C(RUN_WAITS_S, "waits_s", false) /* of all workers together */ \
    C(RUN_SENT, "sent", false) \
    C(RUN_HELD, "held", false) /* replica-microseconds, */ \
    C(RUN_AGED, "aged", false) /* and their ages */ \
    C(RUN_SHARDS_S, "shards_s", false) \
    C(RUN_CPU_S, "cpu_s", false) \
    C(RUN_RESIDENT, "resident", true) \
    C(RUN_CLOCK, "clock", true)
#define RUN_COUNT_ENUM(number, name, is_gauge) number,
enum run_count { RUN_COUNT_TABLE(RUN_COUNT_ENUM) RUN_COUNTS };
extern const struct run_count_kind {
    const char *name;
    bool is_gauge;
} run_count_kinds[RUN_COUNTS];

struct run_sample {
    double at_s; /* since the first of all */
    double count[RUN_COUNTS];
};

struct run_node {
    bool has_file, has_ended;
    unsigned workers, shards, cut; /* lines that are none: the node was killed */
    char technique[32], tables[RUN_TEXT_MAX], command[RUN_TEXT_MAX];
    double began_s; /* wall clock */
    struct run_sample *sample;
    size_t samples, capacity;
};

/* A curve of the program's, or of one node's (locus_report_value). */
struct run_curve {
    char name[32];
    unsigned node;
    double *at_s, *y;
    size_t points, capacity;
};

struct run_setting {
    char *name, *value;
};

struct run_parts {
    struct run_node *node; /* [nodes] */
    unsigned nodes;
    char *program;
    double began_s, ended_s; /* wall clock of the first line, the last */
    struct run_setting setting[RUN_SETTINGS_MAX];
    size_t settings;
    struct run_curve curve[RUN_CURVES_MAX];
    size_t curves;
};

/* Files that are not there are no error, for they may be on other hosts; `why` is the sentence when
 * there are none at all, or one is of something else. */
bool run_parts_read(struct run_parts *, const char *prefix, char why[RUN_TEXT_MAX]);
void run_parts_free(struct run_parts *);

#endif
