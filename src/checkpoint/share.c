#include "checkpoint/share.h"

#include <stdlib.h>

struct share *share_new(void)
{
    struct share *s = calloc(1, sizeof *s);
    if (s) pthread_mutex_init(&s->mutex, NULL);
    return s;
}

static void empty(struct share *s)
{
    contents_free_seals(s->seals, &s->manifest);
    s->seals = NULL;
    manifest_fini(&s->manifest);
}

void share_begin(struct share *s)
{
    s->dealt = (struct slice){.table = 0};
    s->next_file = 0;
    empty(s);
}

void share_free(struct share *s)
{
    if (!s) return;
    empty(s);
    pthread_mutex_destroy(&s->mutex);
    free(s);
}
