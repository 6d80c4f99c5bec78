#include "membership/prepare.h"

#include "base/error.h"

#include <errno.h>
#include <nng/nng.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

/* A few messages a second do not need one thread for each processor. nng 1.5 starts that many
 * anyway; it has no such setting. */
static void bound_threads_of_nng(void)
{
#if NNG_MAJOR_VERSION > 1 || (NNG_MAJOR_VERSION == 1 && NNG_MINOR_VERSION >= 8)
    nng_init_set_parameter(NNG_INIT_NUM_TASK_THREADS, 2);
    nng_init_set_parameter(NNG_INIT_NUM_EXPIRE_THREADS, 1);
    nng_init_set_parameter(NNG_INIT_NUM_POLLER_THREADS, 1);
    nng_init_set_parameter(NNG_INIT_NUM_RESOLVER_THREADS, 1);
#endif
}

static void *wait_for_turn(void *mutex)
{
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
    return NULL;
}

/* nng 1.5 has two task threads a processor, four for names and a few more, and may crash where one
 * cannot be started. So as many are started before it, all at once. */
static int try_threads(void)
{
    enum { MOST = 1024, OF_NNG = 8 };
    pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread[MOST];
    long wanted = 2 * sysconf(_SC_NPROCESSORS_ONLN) + OF_NNG, count = 0;
    int rc = 0;
    if (wanted > MOST) wanted = MOST;
    pthread_mutex_lock(&turn);
    while (count < wanted && (rc = pthread_create(&thread[count], NULL, wait_for_turn, &turn)) == 0)
        count++;
    pthread_mutex_unlock(&turn);
    for (long i = 0; i < count; i++) pthread_join(thread[i], NULL);
    if (rc == 0) return 0;
    return error_set(-rc,
                     "nng could not be started: it needs %ld threads, and %ld could be had "
                     "(ulimit -u, ulimit -v)",
                     wanted, count);
}

/* One at a time: nng reads without a lock whether it has been started. */
int prepare_nng(void)
{
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    static pid_t user; /* of nng, which ends a child that uses it, too */
    nng_aio *unused;
    sigset_t all, before;
    sigfillset(&all);
    pid_t used_by = __atomic_load_n(&user, __ATOMIC_RELAXED);
    if (used_by && used_by != getpid())
        return error_set(
            -EPERM,
            "process %d has forked this one after it had opened a node of a cluster: a "
            "child cannot open one; fork before, or start a program (exec)",
            (int)used_by);
    pthread_mutex_lock(&turn);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    bound_threads_of_nng();
    int rc = used_by ? 0 : try_threads();
    int result = rc ? 0 : nng_aio_alloc(&unused, NULL, NULL);
    if (rc == 0 && result == 0) nng_aio_free(unused);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0 && result == 0) __atomic_store_n(&user, getpid(), __ATOMIC_RELAXED);
    pthread_mutex_unlock(&turn);
    if (result == NNG_ENOFILES)
        return error_set(-EMFILE,
                         "nng could not be started: no descriptors are left: raise `ulimit -n`");
    return result ? error_set(-ENOMEM, "nng could not be started: %s", nng_strerror(result)) : rc;
}
