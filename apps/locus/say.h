/*
 * say.h - the launcher's own sentences, on stderr: one line each, in one piece.
 *
 * Callers   every part of the program; single-threaded
 * Memory    a name
 * Waiting   as long as stderr does
 */
#ifndef LOCUS_RUN_SAY_H
#define LOCUS_RUN_SAY_H

/* Before anything is said: sentences begin with the command's name, "locus run" unless told. Kept
 * by reference. */
void say_as(const char *command);
/* "locus run: " is put before it, and an end of line behind. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, and returns `status`, so that failing is one line. */
int say_and(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What the program returns beside what the nodes do, by the customs of shells. */
enum {
    STATUS_FAILED = 1,
    STATUS_USAGE = 2,
    STATUS_NOT_EXECUTABLE = 126,
    STATUS_NOT_FOUND = 127,
    STATUS_SIGNAL = 128
};

#endif
