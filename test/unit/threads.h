/* threads.h - one body on several threads at once. */
#ifndef LOCUS_TEST_THREADS_H
#define LOCUS_TEST_THREADS_H

#include "test.h"

#include <pthread.h>

enum { THREADS_MAX = 16 };

/* body(&argument[i]) for each of `count` arguments of so many bytes; with 0 all get the same one.
 * Returns when all have ended. */
static inline void threads_run(void *body(void *), void *argument, size_t bytes, unsigned count)
{
    pthread_t thread[THREADS_MAX];
    CHECK(count <= THREADS_MAX);
    for (unsigned i = 0; i < count; i++)
        CHECK_EQ(pthread_create(&thread[i], NULL, body, (char *)argument + i * bytes), 0);
    for (unsigned i = 0; i < count; i++) CHECK_EQ(pthread_join(thread[i], NULL), 0);
}

#endif
