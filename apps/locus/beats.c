#include "beats.h"

#include "say.h"

#include <signal.h>
#include <string.h>
#include <time.h>

enum { BEAT_S = 5 };

void beats_init(struct beats *b, const struct node *node, const unsigned *nodes)
{
    *b = (struct beats){.node = node, .nodes = nodes};
    pthread_mutex_init(&b->mutex, NULL);
    pthread_cond_init(&b->over, NULL);
}

void beats_hold(struct beats *b)
{
    pthread_mutex_lock(&b->mutex);
}

void beats_go_on(struct beats *b)
{
    pthread_mutex_unlock(&b->mutex);
}

static void *beat(void *beats)
{
    struct beats *b = beats;
    beats_hold(b);
    while (!b->must_stop) {
        struct timespec until;
        for (unsigned i = 0; i < *b->nodes; i++) node_beat(&b->node[i]);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += BEAT_S;
        pthread_cond_timedwait(&b->over, &b->mutex, &until);
    }
    beats_go_on(b);
    return NULL;
}

int beats_start(struct beats *b)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* they are the loop's */
    int rc = pthread_create(&b->thread, NULL, beat, b);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    b->is_running = rc == 0;
    return rc ? say_and(STATUS_FAILED, "no thread: %s", strerror(rc)) : 0;
}

void beats_stop(struct beats *b)
{
    if (!b->is_running) return;
    beats_hold(b);
    b->must_stop = true;
    pthread_cond_signal(&b->over);
    beats_go_on(b);
    pthread_join(b->thread, NULL);
    b->is_running = false;
}
