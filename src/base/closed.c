#include "base/closed.h"

#include <pthread.h>
#include <stdlib.h>

struct closed {
    void *handle, *more;
    size_t bytes;
};

static struct {
    pthread_mutex_t mutex;
    struct closed at[CLOSED_MAX]; /* a ring: `first` is the oldest */
    size_t first, count, bytes;
} kept = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void drop_oldest(void)
{
    struct closed *c = &kept.at[kept.first];
    kept.bytes -= c->bytes;
    free(c->handle);
    free(c->more);
    kept.first = (kept.first + 1) % CLOSED_MAX;
    kept.count--;
}

void closed_keep(void *handle, void *more, size_t bytes)
{
    pthread_mutex_lock(&kept.mutex);
    while (kept.count == CLOSED_MAX || (kept.count > 0 && kept.bytes + bytes > CLOSED_BYTES_MAX))
        drop_oldest();
    kept.at[(kept.first + kept.count++) % CLOSED_MAX] = (struct closed){handle, more, bytes};
    kept.bytes += bytes;
    pthread_mutex_unlock(&kept.mutex);
}
