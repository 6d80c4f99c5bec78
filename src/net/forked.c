#include "net/forked.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

static struct {
    pthread_mutex_t mutex;
    pthread_once_t once;
    int *fd;
    size_t count, capacity;
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
    for (size_t i = 0; i < all.count; i++) close(all.fd[i]);
    all.count = 0;
    pthread_mutex_unlock(&all.mutex);
}

static void listen_for_forks(void)
{
    pthread_atfork(before_fork, in_parent, in_child);
}

int forked_close(int fd)
{
    pthread_once(&all.once, listen_for_forks);
    pthread_mutex_lock(&all.mutex);
    if (all.count == all.capacity) {
        size_t capacity = all.capacity ? 2 * all.capacity : 64;
        int *larger = realloc(all.fd, capacity * sizeof *larger);
        if (!larger) {
            pthread_mutex_unlock(&all.mutex);
            return -ENOMEM;
        }
        all.fd = larger;
        all.capacity = capacity;
    }
    all.fd[all.count++] = fd;
    pthread_mutex_unlock(&all.mutex);
    return 0;
}

void forked_keep(int fd)
{
    pthread_mutex_lock(&all.mutex);
    for (size_t i = all.count; i-- > 0;) {
        if (all.fd[i] != fd) continue;
        all.fd[i] = all.fd[--all.count];
        break;
    }
    if (all.count == 0) { /* nothing is left behind */
        free(all.fd);
        all.fd = NULL;
        all.capacity = 0;
    }
    pthread_mutex_unlock(&all.mutex);
}
