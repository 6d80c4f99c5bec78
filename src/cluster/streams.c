#include "cluster/hub.h"

#include "base/error.h"

#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the start ---- */

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

/* nng 1.5 has two task threads a processor, at most 16, one a processor for times, and 7 more:
 * measured with 1 to 128. Later ones have no more. */
long streams_threads(long processors)
{
    return (2 * processors < 16 ? 2 * processors : 16) + processors + 7;
}

/* nng may crash where a thread cannot be started. So as many are started before it, all at once. */
static int try_threads(void)
{
    enum { MOST = 1024 };
    pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread[MOST];
    long wanted = streams_threads(sysconf(_SC_NPROCESSORS_ONLN)), count = 0;
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
int streams_prepare(void)
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

/* ---- connecting ---- */

int streams_dial(const char *url, uint64_t timeout_ns, nng_stream **stream)
{
    nng_stream_dialer *dialer;
    nng_aio *aio;
    int result = nng_stream_dialer_alloc(&dialer, url);
    if (result) return result;
    result = nng_aio_alloc(&aio, NULL, NULL);
    if (result == 0) {
        /* not nng's default for streams */
        nng_stream_dialer_set_bool(dialer, NNG_OPT_TCP_NODELAY, true);
        nng_aio_set_timeout(aio, (nng_duration)(timeout_ns / 1000000 + 1));
        nng_stream_dialer_dial(dialer, aio);
        nng_aio_wait(aio);
        result = nng_aio_result(aio);
        if (result == 0) *stream = nng_aio_get_output(aio, 0);
        nng_aio_free(aio);
    }
    nng_stream_dialer_free(dialer);
    return result;
}

/* ---- addresses and descriptors ---- */

static struct address as_the_system(const nng_sockaddr *a)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = a->s_in.sa_port};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = a->s_in6.sa_port};
    v4.sin_addr.s_addr = a->s_in.sa_addr;
    memcpy(&v6.sin6_addr, a->s_in6.sa_addr, sizeof v6.sin6_addr);
    return address_from(a->s_family == NNG_AF_INET6 ? (const struct sockaddr *)&v6
                                                    : (const struct sockaddr *)&v4);
}

void streams_show_peer(nng_stream *stream, char text[ADDRESS_MAX])
{
    nng_sockaddr theirs;
    snprintf(text, ADDRESS_MAX, "unknown address");
    if (nng_stream_get_addr(stream, NNG_OPT_REMADDR, &theirs)) return;
    const struct address a = as_the_system(&theirs);
    address_text(&a, address_port(&a), text);
}

static bool is_same(const nng_sockaddr *a, const struct address *b)
{
    const struct address of_nng = as_the_system(a);
    char one[ADDRESS_MAX], other[ADDRESS_MAX];
    return of_nng.as.ss_family == b->as.ss_family &&
           address_text(&of_nng, address_port(&of_nng), one) == 0 &&
           address_text(b, address_port(b), other) == 0 && strcmp(one, other) == 0;
}

/* `theirs` NULL: it listens there. */
static bool is_of(int fd, const nng_sockaddr *ours, const nng_sockaddr *theirs)
{
    struct address a = {.bytes = sizeof a.as};
    int listens = 0;
    socklen_t bytes = sizeof listens;
    if (getsockname(fd, (struct sockaddr *)&a.as, &a.bytes) || !is_same(ours, &a)) return false;
    if (!theirs) return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) == 0 && listens;
    a.bytes = sizeof a.as;
    return getpeername(fd, (struct sockaddr *)&a.as, &a.bytes) == 0 && is_same(theirs, &a);
}

static int find(const nng_sockaddr *ours, const nng_sockaddr *theirs)
{
    int found = -1;
    DIR *all = opendir("/proc/self/fd");
    for (const struct dirent *d; all && found < 0 && (d = readdir(all));) {
        int fd = atoi(d->d_name);
        if (fd > 2 && is_of(fd, ours, theirs)) found = fd;
    }
    if (all) closedir(all);
    return found;
}

int streams_descriptor(nng_stream *stream)
{
    nng_sockaddr ours, theirs;
    if (nng_stream_get_addr(stream, NNG_OPT_LOCADDR, &ours) ||
        nng_stream_get_addr(stream, NNG_OPT_REMADDR, &theirs))
        return -1;
    return find(&ours, &theirs);
}

int streams_descriptor_of_listener(nng_stream_listener *listener)
{
    nng_sockaddr ours;
    return nng_stream_listener_get_addr(listener, NNG_OPT_LOCADDR, &ours) ? -1 : find(&ours, NULL);
}
