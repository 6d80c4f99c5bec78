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
/* The same of each text of an array of pairs: what is done with it, and the part that is said. */
#define ENDS_EACH(body, status, cases) \
    ends_each(body, status, cases, sizeof(cases) / sizeof *(cases))
void ends_each(void (*body)(const void *text), int status, const char *const (*cases)[2],
               size_t count);

#endif
