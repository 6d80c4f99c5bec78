/*
 * saving.h - a file that a program writes: it appears under its name when it is whole, and until
 * then whatever has that name stays. What is no regular file (a pipe, /dev/null) is written to as
 * it is; a link is followed.
 *
 * Callers   one thread, one file at a time
 * Memory    some names
 * Waiting   for the disk. Any failure ends the program with a sentence, and what is not whole is
 *           removed
 * Life      saving_check(), saving_check_folder() before long work; saving_open(), saving_put() or
 *           `file`, saving_close()
 */
#ifndef APPS_SAVING_H
#define APPS_SAVING_H

#include <stddef.h>
#include <stdio.h>

struct saving {
    FILE *file;
    char *path;    /* where it will be: behind all links */
    char *partial; /* its name while it is written; NULL: written in place */
};

/* Could they be written, and are they files of their own: none of them another one, one of the
 * inputs, where stdout or stderr goes, or a file that locus has not written? NULLs are passed
 * over. */
void saving_check(const char *const *outputs, size_t output_count, const char *const *inputs,
                  size_t input_count);

/* Could files be written in that folder? One that is not there yet must be able to be made, and is
 * not. */
void saving_check_folder(const char *path);

void saving_open(struct saving *, const char *path);
/* The same of a file in a folder, which is made if it is not there. */
void saving_open_in(struct saving *, const char *folder, const char *name);
void saving_put(struct saving *, const void *bytes, size_t count);
void saving_close(struct saving *);

#endif
