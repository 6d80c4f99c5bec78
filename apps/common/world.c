#include "world.h"

#include <time.h>

static void *run(void *world_thread)
{
    const struct world_thread *t = world_thread;
    pthread_setname_np(pthread_self(), t->name);
    return t->run(t->argument);
}

int world_start(struct world_thread *t, const char *name, world_run *function, void *argument)
{
    *t = (struct world_thread){.run = function, .argument = argument, .name = name};
    return pthread_create(&t->thread, NULL, run, t);
}

void world_join(struct world_thread *t)
{
    pthread_join(t->thread, NULL);
}

void world_lock_init(struct world_lock *l)
{
    pthread_mutex_init(&l->mutex, NULL);
}

void world_lock_fini(struct world_lock *l)
{
    pthread_mutex_destroy(&l->mutex);
}

void world_lock_take(struct world_lock *l)
{
    pthread_mutex_lock(&l->mutex);
}

void world_lock_give(struct world_lock *l)
{
    pthread_mutex_unlock(&l->mutex);
}

void world_signal_init(struct world_signal *s)
{
    pthread_cond_init(&s->condition, NULL);
}

void world_signal_fini(struct world_signal *s)
{
    pthread_cond_destroy(&s->condition);
}

void world_wait(struct world_signal *s, struct world_lock *l)
{
    pthread_cond_wait(&s->condition, &l->mutex);
}

void world_signal(struct world_signal *s)
{
    pthread_cond_signal(&s->condition);
}

void world_meeting_init(struct world_meeting *m, unsigned members)
{
    pthread_barrier_init(&m->barrier, NULL, members);
}

void world_meeting_fini(struct world_meeting *m)
{
    pthread_barrier_destroy(&m->barrier);
}

void world_meet(struct world_meeting *m)
{
    pthread_barrier_wait(&m->barrier);
}

double world_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double slower_s; /* an example that is trained with */

void world_computed(enum world_work work, size_t examples)
{
    if (work != WORLD_TRAINED || slower_s <= 0) return;
    for (double end = world_now() + (double)examples * slower_s; world_now() < end;) {
    }
}

void world_slow(double seconds)
{
    slower_s = seconds;
}

size_t world_ahead(void)
{
    return 0;
}

void world_place(struct locus_config *c)
{
    (void)c;
}
