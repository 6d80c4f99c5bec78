/*
 * layout.h - where latch and version of a row may stand: the layouts, what is timed, the results.
 *
 *   array       rows packed, no protection: the floor
 *   word        in the row's directory word, neighbours' words in different cache lines: the
 *               library as it is
 *   word-near   the same, neighbours' words side by side
 *   row         in 8 bytes before the row's values, rows packed; the directory word only says where
 *               the row is
 *   row-padded  the same, every row beginning with a cache line
 *
 * All keep the same promises: every access of a row is atomic, readers write nothing unless writers
 * disturb them again and again, and rows could come and go meanwhile. A setting is a row length, a
 * choice of keys and a number of threads; in each setting every operation is timed on all layouts
 * in turn, so that a noisy moment meets them all.
 *
 * Callers   layout.c (main) and the parts
 * Memory    one struct bench, static; rows and keys come and go with each row length
 */
#ifndef BENCH_LAYOUT_H
#define BENCH_LAYOUT_H

#include "../common/keys.h"
#include "../common/options.h"
#include "../common/spread.h"
#include "../common/team.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { LENGTHS = 4, CHOICES = 2, TEAMS = 2, BATCH = 64 };

extern const uint32_t lengths[LENGTHS]; /* floats a row: 1, 16, 128, 1000 */

/* ---- Layouts ---- */

enum operation { PULL_1, PULL_64, PUSH_1, PUSH_64, OPERATIONS }; /* by keys a call */

/* Does the operation for n keys, a multiple of BATCH. Row i comes from or goes to place i % BATCH
 * of the batch. */
typedef void layout_work(void *rows, const uint64_t *keys, size_t n, float *batch);

struct layout {
    const char *name;
    void *(*open)(uint64_t rows, uint32_t length); /* every value is 1; NULL: no memory */
    void (*close)(void *rows);
    layout_work *work[OPERATIONS];
};

enum layout_id { ARRAY, WORD, WORD_NEAR, ROW, ROW_PADDED, LAYOUTS };

extern const struct layout layout_array, layout_word, layout_word_near, layout_row,
    layout_row_padded;
extern const struct layout *const layouts[LAYOUTS];

/* Every key of these layouts is here. Ends the program when one was not. */
void expect_no_misses(size_t misses);

/* ---- Results ---- */

struct cell {
    bool measured;
    double ns[SPREAD_MAX]; /* a key, one for each repetition */
    struct spread time;
    /* ratios within a repetition; to_word all 0 when that was not measured */
    struct spread to_array, to_word;
};

/* What a thread has of its own. */
struct lane {
    uint64_t *keys; /* its random keys, drawn before the clock starts */
    float *batch;   /* BATCH rows */
};

struct bench {
    struct options options;
    FILE *report, *json;
    unsigned repetitions;
    unsigned teams[TEAMS]; /* numbers of threads */
    unsigned team_count;

    struct lane lanes[TEAM_MAX];
    void *rows[LAYOUTS]; /* NULL: not selected at this length */
    size_t sequence;     /* keys in each lane's sequence */
    size_t sequence_at;  /* where the next step begins in it */

    struct cell cells[LENGTHS][CHOICES][TEAMS][OPERATIONS][LAYOUTS];
    double bytes_beside[LENGTHS][LAYOUTS]; /* a key, beside its values */
};

/* ---- Selection and sizes (select.c) ---- */

extern const char *const operation_names[OPERATIONS];
extern const unsigned operation_keys[OPERATIONS];
uint64_t rows_of(const struct bench *b, uint32_t length);
size_t keys_of_step(const struct bench *b, uint32_t length);
bool cell_selected(const struct bench *b, unsigned length, unsigned choice, unsigned team,
                   unsigned operation, unsigned layout);
bool setting_selected(const struct bench *b, unsigned length, unsigned choice, unsigned team);
bool layout_selected(const struct bench *b, unsigned length, unsigned layout);
bool length_selected(const struct bench *b, unsigned length);
void cell_name(char *name, size_t room, const struct bench *b, unsigned length, unsigned choice,
               unsigned team, unsigned operation, unsigned layout);

/* ---- Doing it ---- */

/* prove.c: threads push and pull the same few rows. Ends the program when an update is lost or a
 * row torn. */
void prove_layout(const struct layout *l, void *rows, uint32_t length);

/* measure.c: opens the selected layouts with rows of this length, times all settings, closes
 * them. */
void measure_length(struct bench *b, unsigned length);

/* report.c: tables and JSON lines as results come, and what stands at the end. */
void report_start(const struct bench *b);
void report_setting(const struct bench *b, unsigned length, unsigned choice, unsigned team);
void report_memory(const struct bench *b);
void report_summary(const struct bench *b);
void draw(const struct bench *b);

#endif
