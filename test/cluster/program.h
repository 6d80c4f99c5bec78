/*
 * program.h - training programs of this build, and small data for them.
 *
 * Callers   tests of what all of them do
 * Memory    static
 * Waiting   never
 */
#ifndef LOCUS_TEST_PROGRAM_H
#define LOCUS_TEST_PROGRAM_H

enum { PROGRAM_FOLDER_BYTES = 64 };

/* The program beside `locus`; valid until the next call but one. */
const char *program_path(const char *name);

/* A new folder with `graph` (for kge: "next_k" leads from each of 60 entities of a circle to the
 * k-th behind it; a sixth of the facts is held back, and follows from the others), `text` (for wv),
 * `ratings` (for mf) and `clicks` (for ctr, LIBSVM). */
void program_folder(char folder[PROGRAM_FOLDER_BYTES]);

#endif
