#include "batch_loader.h"

#include "fail.h"

/* Returns the portion to fill next, or NULL when the batch loader is closing. */
static void *await_room(struct batch_loader *f)
{
    pthread_mutex_lock(&f->mutex);
    while (f->filled - f->given == f->depth && !f->is_closing)
        pthread_cond_wait(&f->has_room, &f->mutex);
    void *portion = f->is_closing ? NULL : f->portions[f->filled % f->depth];
    pthread_mutex_unlock(&f->mutex);
    return portion;
}

static void announce(struct batch_loader *f, bool is_filled)
{
    pthread_mutex_lock(&f->mutex);
    if (is_filled) {
        f->filled++;
    } else {
        f->is_over = true;
    }
    pthread_cond_signal(&f->has_more);
    pthread_mutex_unlock(&f->mutex);
}

static void *load(void *batch_loader)
{
    struct batch_loader *f = batch_loader;
    void *portion;
    pthread_setname_np(pthread_self(), "loader");
    while ((portion = await_room(f)) != NULL) {
        bool is_filled = f->fill(f->context, f->loader, portion);
        announce(f, is_filled);
        if (!is_filled) break;
    }
    return NULL;
}

void batch_loader_open(struct batch_loader *f, locus_worker *worker, void **portions, size_t depth,
                       batch_loader_fill *fill, void *context)
{
    *f = (struct batch_loader){
        .fill = fill, .context = context, .portions = portions, .depth = depth};
    if (worker) must(locus_loader_open(worker, &f->loader), "opening a loader");
    pthread_mutex_init(&f->mutex, NULL);
    pthread_cond_init(&f->has_room, NULL);
    pthread_cond_init(&f->has_more, NULL);
    if (pthread_create(&f->thread, NULL, load, f) != 0)
        fail("a loader thread could not be started");
}

void *batch_loader_take(struct batch_loader *f)
{
    pthread_mutex_lock(&f->mutex);
    while (f->taken == f->filled && !f->is_over) pthread_cond_wait(&f->has_more, &f->mutex);
    void *portion = f->taken == f->filled ? NULL : f->portions[f->taken++ % f->depth];
    pthread_mutex_unlock(&f->mutex);
    return portion;
}

/* The loader is woken when half of the portions are free, not for each: a wake-up costs more than
 * some portions do. */
void batch_loader_give(struct batch_loader *f)
{
    pthread_mutex_lock(&f->mutex);
    f->given++;
    if ((f->filled - f->given) * 2 <= f->depth) pthread_cond_signal(&f->has_room);
    pthread_mutex_unlock(&f->mutex);
}

void batch_loader_close(struct batch_loader *f)
{
    pthread_mutex_lock(&f->mutex);
    f->is_closing = true;
    pthread_cond_signal(&f->has_room);
    pthread_mutex_unlock(&f->mutex);
    pthread_join(f->thread, NULL);
    if (f->loader) must(locus_loader_close(f->loader), "closing a loader");
    pthread_cond_destroy(&f->has_more);
    pthread_cond_destroy(&f->has_room);
    pthread_mutex_destroy(&f->mutex);
}
