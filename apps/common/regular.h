/*
 * regular.h - opens a file that a user has named for reading. A pipe without a writer would be
 * waited for without end, and a device may have none: only regular files are taken.
 *
 * Callers   any thread; whatever reads a file that a user names
 * Memory    none; the reason is static, or strerror()'s
 * Waiting   for the file system
 * Life      none
 */
#ifndef APPS_REGULAR_H
#define APPS_REGULAR_H

#include <stdio.h>

/* A descriptor; -1: it cannot be read, and the reason, the end of a sentence: "it is a folder". */
int regular_open(const char *path, const char **why);
/* The same, buffered; NULL. */
FILE *regular_stream(const char *path, const char **why);

#endif
