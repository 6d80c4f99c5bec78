/*
 * tiny.h - a small random graph as a task, for tests of training and evaluation.
 */
#ifndef TEST_APPS_TINY_H
#define TEST_APPS_TINY_H

#include "kge/task.h"

enum { TINY_ENTITIES = 40, TINY_RELATIONS = 3, TINY_TRAIN = 120, TINY_HELD_BACK = 30 };

/* The options of a task: set others before tiny_finish(). */
void tiny_init(struct task *);
/* Fills in the rest. */
void tiny_finish(struct task *);
void tiny_fini(struct task *);
/* A pool of this task: with the baseline, or with locus. */
void tiny_pool(struct pool *, const struct task *, bool is_baseline, unsigned workers);

#endif
