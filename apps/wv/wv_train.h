/*
 * wv_train.h - training: epochs, evaluations, and what is reported of them.
 *
 * Callers   main(); wv_work() runs on every worker
 * Memory    the struct
 * Waiting   for all workers at the end of each epoch
 */
#ifndef WV_WV_TRAIN_H
#define WV_WV_TRAIN_H

#include "judge.h"
#include "meter.h"
#include "skipgram.h"

/* What the workers of a node share. */
struct wv_training {
    const struct wv *wv;
    struct judge judge;
    struct meter meter;
    double began_s; /* as if all had been trained in this run */
    struct checkpoints checkpoints;
};

void wv_training_init(struct wv_training *, const struct wv *, const struct pool *);
void wv_training_fini(struct wv_training *);
/* What training begins with. Every worker of every node calls it. */
void wv_first_rows(struct pool_member *, const struct wv *);
/* A pool_work; the context is the struct wv_training. */
void wv_work(struct pool_member *, void *training);

#endif
