#include "base/sync.h"

/* ---- tsan ---- */

#ifdef LOCUS_TSAN
#include <pthread.h>

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

void mapping_begin(void)
{
    pthread_mutex_lock(&turn);
}

void mapping_end(void)
{
    pthread_mutex_unlock(&turn);
}
#endif
