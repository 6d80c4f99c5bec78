/*
 * feed.h - a feed, for its thread and for simulations, which have a fiber instead.
 *
 * Callers   locus_feed_open; feed_run: the thread
 * Memory    its own; portions are the program's
 * Waiting   feed_run for room, locus_feed_next() for a portion, locus_feed_close() for feed_run
 * Life      locus_feed_open ... locus_feed_close
 */
#ifndef LOCUS_API_FEED_H
#define LOCUS_API_FEED_H

#include "locus.h"

#include <pthread.h>

struct locus_feed {
    locus_worker *worker; /* NULL: none, and no loader */
    locus_loader *loader;
    locus_fill *fill;
    void *context, **portions;
    size_t depth;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t room, more;
    uint64_t room_news, more_news;
    size_t filled, taken, given; /* since the beginning */
    bool is_over, is_closing, has_ended, is_closed;
    bool is_exact; /* of a simulation: as far ahead as it may be, from the beginning */
};

void *feed_run(void *feed);

#endif
