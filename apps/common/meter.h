/*
 * meter.h - what a person sees of a long task: on a terminal a bar with rate and time left,
 * elsewhere a plain line now and then. On stderr, so that stdout is for results.
 *
 * Callers   one thread
 * Memory    the struct
 * Waiting   for the terminal
 * Life      meter_init() once; for each task begin, any number of advances, end
 */
#ifndef APPS_METER_H
#define APPS_METER_H

#include <stdbool.h>
#include <stdint.h>

struct meter {
    bool is_shown, is_terminal;
    char task[40];
    const char *unit;
    uint64_t total, done;
    double began_s, shown_s;
};

/* Not shown: all calls do nothing. */
void meter_init(struct meter *, bool is_shown);
void meter_begin(struct meter *, const char *task, const char *unit, uint64_t total);
void meter_set(struct meter *, uint64_t done);
/* Takes the bar away. */
void meter_end(struct meter *);

/* Seconds of a clock that never jumps. */
double meter_now(void);

#endif
