/* Workers are threads of the program: locus.h says how much of their stacks the calls need. */
#include "one_node.h"

#include <pthread.h>
#include <stdio.h>

enum { ROWS = 5000, LENGTH = 16, KEYS = 2000, STACK_BYTES = 64 << 10 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { TIMES = 8 }; /* the sanitizers' own */
#else
enum { TIMES = 1 };
#endif

static void *use_all(void *directory)
{
    static locus_key keys[KEYS];
    static float values[KEYS * LENGTH];
    for (locus_key i = 0; i < KEYS; i++) keys[i] = i * 2;
    locus *n = one_node(ROWS, LENGTH, 1);
    locus_worker *w = worker_of(n);
    CHECK_EQ(locus_intent(w, keys, KEYS, 1, 2), 0);
    locus_advance_clock(w);
    CHECK_EQ(locus_push(w, keys, KEYS, values), 0);
    CHECK_EQ(locus_pull(w, keys, KEYS, values), 0);
    CHECK_EQ(locus_change_local(w, 1, halve, NULL), 0);
    CHECK_EQ(locus_pull(w, NULL, 1, values), -EINVAL);
    CHECK_EQ(locus_quiesce(w), 0);
    CHECK_EQ(locus_checkpoint(w, directory), 0);
    CHECK_EQ(locus_restore(w, directory), 0);
    close_both(n, w);
    return NULL;
}

TEST(stack, a_worker_needs_no_more_than_locus_h_says)
{
    char directory[] = "/tmp/locus-test-XXXXXX", command[64];
    pthread_attr_t attributes;
    pthread_t thread;
    CHECK(mkdtemp(directory) != NULL);
    CHECK_EQ(pthread_attr_init(&attributes), 0);
    CHECK_EQ(pthread_attr_setstacksize(&attributes, (size_t)TIMES * STACK_BYTES), 0);
    CHECK_EQ(pthread_create(&thread, &attributes, use_all, directory), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    snprintf(command, sizeof command, "rm -r %s", directory);
    CHECK_EQ(system(command), 0);
}
