/*
 * report.h - what happened lately, and the words for what should not have.
 *
 * Callers   all parts of the simulation
 * Memory    the last events, static
 * Waiting   never
 * Life      report_begin; report_fail ends the run
 */
#ifndef LOCUS_SIM_REPORT_H
#define LOCUS_SIM_REPORT_H

#include "net/wire.h"
#include "script.h"

/* `replay`: how to run it again. `state`: prints what every node knows of a key. `tracing`: print
 * every event. */
void report_begin(const char *replay, void (*state)(locus_key), bool tracing);

void report_sent(unsigned shard, unsigned from, unsigned to, const struct wire_entry *);
void report_arrived(unsigned shard, unsigned from, unsigned to, const struct wire_entry *);
void report_called(unsigned worker, const struct script_step *);
void report_done(unsigned worker, const struct script_step *, int rc);

#define REPORT_NO_KEY UINT64_MAX
/* The first failure of a run is printed, with the key's state and the last events, and ends the
 * fibers' run; does not return to a fiber. */
void report_fail(locus_key, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool report_has_failed(void);
/* Failures say nothing: for trying out shorter scripts. */
void report_silence(bool);

#endif
