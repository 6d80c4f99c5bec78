#include "net/forked.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    pthread_mutex_t mutex;
    pthread_once_t once;
    bool *closes; /* [capacity], by descriptor */
    size_t capacity;
    struct forked_watch *watch;
} all = {.mutex = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

static void before_fork(void)
{
    pthread_mutex_lock(&all.mutex);
}

static void in_parent(void)
{
    pthread_mutex_unlock(&all.mutex);
}

static void in_child(void)
{
    for (size_t fd = 0; fd < all.capacity; fd++)
        if (all.closes[fd]) close((int)fd);
    if (all.capacity) memset(all.closes, 0, all.capacity * sizeof *all.closes);
    for (struct forked_watch *w = all.watch; w; w = w->next) w->call(w->context);
    pthread_mutex_unlock(&all.mutex);
}

static void listen_for_forks(void)
{
    pthread_atfork(before_fork, in_parent, in_child);
}

static bool reach(size_t fd)
{
    size_t capacity = all.capacity ? all.capacity : 64;
    while (capacity <= fd) capacity *= 2;
    if (capacity == all.capacity) return true;
    bool *larger = realloc(all.closes, capacity * sizeof *larger);
    if (!larger) return false;
    memset(larger + all.capacity, 0, (capacity - all.capacity) * sizeof *larger);
    all.closes = larger;
    all.capacity = capacity;
    return true;
}

int forked_register(int fd)
{
    pthread_once(&all.once, listen_for_forks);
    pthread_mutex_lock(&all.mutex);
    bool ok = reach((size_t)fd);
    if (ok) all.closes[fd] = true;
    pthread_mutex_unlock(&all.mutex);
    return ok ? 0 : -ENOMEM;
}

void forked_unregister(int fd)
{
    pthread_mutex_lock(&all.mutex);
    if (fd >= 0 && (size_t)fd < all.capacity) all.closes[fd] = false;
    pthread_mutex_unlock(&all.mutex);
}

void forked_end(int fd)
{
    forked_unregister(fd);
    close(fd);
}

void forked_watch(struct forked_watch *w)
{
    pthread_once(&all.once, listen_for_forks);
    pthread_mutex_lock(&all.mutex);
    w->next = all.watch;
    all.watch = w;
    pthread_mutex_unlock(&all.mutex);
}

void forked_unwatch(struct forked_watch *w)
{
    pthread_mutex_lock(&all.mutex);
    for (struct forked_watch **at = &all.watch; *at; at = &(*at)->next) {
        if (*at != w) continue;
        *at = w->next;
        break;
    }
    pthread_mutex_unlock(&all.mutex);
}
