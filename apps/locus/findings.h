/*
 * findings.h - what `locus doctor` has found: a line each, printed as soon as it is known.
 *
 *     ok    io_uring     Linux 6.1.0, rings of the newest kind
 *     fail  secret       LOCUS_SECRET is empty: ...
 *
 * Callers   one thread
 * Memory    the caller's
 * Waiting   for stdout
 * Life      findings_init, any number of find(), findings_end
 */
#ifndef LOCUS_DOCTOR_FINDINGS_H
#define LOCUS_DOCTOR_FINDINGS_H

#include <stdbool.h>

/* FIND_SKIP: it could not be looked at; the text says why. */
enum verdict { FIND_OK, FIND_WARN, FIND_FAIL, FIND_SKIP, FIND_VERDICTS };

enum { FINDING_TEXT_MAX = 1024 };

struct findings {
    bool is_json;
    unsigned count[FIND_VERDICTS];
};

void findings_init(struct findings *, bool is_json);
/* `about`: a word. A failure's or a warning's text ends with what to do. */
void find(struct findings *, enum verdict, const char *about, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The last line, how many there were. The exit status: STATUS_FAILED when something failed, or
 * stdout could not be written. */
int findings_end(const struct findings *);

#endif
