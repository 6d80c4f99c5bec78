/*
 * ending.h - what a function that ends the process says: it runs in a child.
 */
#ifndef TEST_APPS_ENDING_H
#define TEST_APPS_ENDING_H

#include <stddef.h>

/* Runs `body`. Returns its exit status, 0 when it returned; `said` gets what it printed on stdout
 * and stderr. */
int ending_of(void (*body)(const void *context), const void *context, char *said, size_t capacity);
/* The same, and fails the test unless the status is `status` and `part` was said. */
void ends_with(void (*body)(const void *context), const void *context, int status,
               const char *part);

#endif
