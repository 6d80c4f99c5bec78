/*
 * illness.h - what is wrong with a machine, as `locus doctor` is to name it: for tests.
 *
 *     static const struct illness list[] = {
 *         {"LOCUS_SECRET=", "secret", "LOCUS_SECRET is empty"},
 *     };
 *     ARE_NAMED(list);
 *
 * Callers   test/cluster/doctor*.c
 * Memory    none
 * Waiting   for the doctor
 * Life      none
 */
#ifndef LOCUS_TEST_ILLNESS_H
#define LOCUS_TEST_ILLNESS_H

#include "command.h"

/* What launchers may have set around the test is not meant for it. */
#define BARE "env -i PATH=\"$PATH\" LOCUS_TEST_MARK=\"$LOCUS_TEST_MARK\" "
#define PAIR "LOCUS_RANK=0 LOCUS_SIZE=2 "

struct illness {
    const char *before; /* the command, for a shell: variables of it, limits */
    const char *about;
    const char *sentence; /* part of it */
};

/* The line of the doctor that begins with that verdict has the sentence. */
void is_named(const struct command *, const char *verdict, const struct illness *);
/* The doctor is run with each; what it says fails, or it warns and fails for nothing. */
void are_named(const struct illness *, size_t count);
void are_warned_of(const struct illness *, size_t count);
#define ARE_NAMED(list) are_named(list, sizeof(list) / sizeof *(list))
#define ARE_WARNED_OF(list) are_warned_of(list, sizeof(list) / sizeof *(list))

#endif
