/* streams: what nng needs is there, or a sentence says what is not; connecting; and of all sockets
 * of this process a stream's own is found, and no other. */
#include "cluster/hub.h"

#include "net/loopback.h"
#include "net/tcp.h"
#include "locus.h"
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44
#endif

/* The number of threads is no limit for root; their stacks are. */
TEST(streams, few_threads_are_a_sentence_before_nng_starts)
{
    struct rlimit limit;
    long pages = 0;
    FILE *size = fopen("/proc/self/statm", "r");
#if defined(LOCUS_ASAN) || defined(LOCUS_TSAN)
    SKIP("a sanitizer takes all of the address space");
#endif
    CHECK(size != NULL);
    CHECK_EQ(fscanf(size, "%ld", &pages), 1);
    fclose(size);
    CHECK_EQ(getrlimit(RLIMIT_AS, &limit), 0);
    limit.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (20 << 20);
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    CHECK_EQ(streams_prepare(), -EAGAIN);
    CHECK_STR(locus_error(), "nng could not be started: it needs ");
    limit.rlim_cur = limit.rlim_max;
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    CHECK_EQ(streams_prepare(), 0);
}

static long threads_now(void)
{
    long count = 0;
    DIR *all = opendir("/proc/self/task");
    CHECK(all != NULL);
    while (readdir(all)) count++;
    closedir(all);
    return count;
}

static void *nothing(void *unused)
{
    return unused;
}

/* Fewer, and a node could end by a signal; more, and one could be refused that would run. */
TEST(streams, as_many_threads_are_tried_as_nng_starts)
{
    static const struct {
        long processors, threads;
    } measured[] = {{1, 10}, {2, 13}, {4, 19}, {8, 31}, {16, 39}, {64, 87}, {128, 151}};
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++)
        CHECK_EQ(streams_threads(measured[i].processors), measured[i].threads);
    if (NNG_MAJOR_VERSION > 1 || NNG_MINOR_VERSION > 5) SKIP("this nng may have fewer");
#ifdef TEST_WITH_CRITERION
    SKIP("Criterion has started nng: it calls nanomsg's functions, which nng has, too");
#endif
    pthread_t first; /* behind which a sanitizer has one of its own */
    CHECK_EQ(pthread_create(&first, NULL, nothing, NULL), 0);
    CHECK_EQ(pthread_join(first, NULL), 0);
    long before = threads_now();
    CHECK_EQ(streams_prepare(), 0);
    long wanted = streams_threads(sysconf(_SC_NPROCESSORS_ONLN));
    for (int i = 0; i < 1000 && threads_now() - before != wanted; i++)
        usleep(10000); /* those that were tried may show for a moment yet */
    CHECK_EQ(threads_now() - before, wanted);
}

/* Two streams, each to a listener of its own. */
struct two {
    int listener[2];
    unsigned port[2];
    nng_stream *stream[2];
};

static const char *url_of(unsigned port)
{
    static char url[64];
    snprintf(url, sizeof url, "tcp://127.0.0.1:%u", port);
    return url;
}

static void two_begin(struct two *t)
{
    for (int i = 0; i < 2; i++) {
        t->listener[i] = loopback_listen(NULL);
        t->port[i] = loopback_port(t->listener[i]);
        CHECK_EQ(streams_dial(url_of(t->port[i]), 60 * SECOND, &t->stream[i]), 0);
    }
}

static void two_end(struct two *t)
{
    for (int i = 0; i < 2; i++) {
        nng_stream_free(t->stream[i]);
        close(t->listener[i]);
    }
}

/* 0: it has none. */
static unsigned peers_port(int fd)
{
    struct sockaddr_in a = {0};
    socklen_t bytes = sizeof a;
    return getpeername(fd, (struct sockaddr *)&a, &bytes) ? 0 : ntohs(a.sin_port);
}

TEST_WITH(streams, descriptor_of_a_stream_is_its_own, two, t)
{
    for (int i = 0; i < 2; i++) CHECK_EQ(peers_port(streams_descriptor(t->stream[i])), t->port[i]);
    int peer = accept(t->listener[0], NULL, NULL); /* and somebody is there */
    CHECK(peer >= 0);
    close(peer);
}

/* How often TCP tries again on the socket of this process that is connected to the port, in ms; 0:
 * the kernel does not say. */
static int retries_ms(unsigned port)
{
    int ms = 0;
    DIR *all = opendir("/proc/self/fd");
    CHECK(all != NULL);
    for (const struct dirent *d; (d = readdir(all));) {
        socklen_t bytes = sizeof ms;
        int fd = atoi(d->d_name);
        if (peers_port(fd) != port) continue;
        if (getsockopt(fd, IPPROTO_TCP, TCP_RTO_MAX_MS, &ms, &bytes)) ms = 0;
        break;
    }
    closedir(all);
    return ms;
}

/* Of all sockets only the stream's own tries again soon. */
TEST_WITH(streams, descriptor_bounds_the_retries_of_its_stream_alone, two, t)
{
    int before = retries_ms(t->port[1]);
    if (!before) SKIP("this kernel does not let TCP's retries be bounded");
    CHECK(before > SILENCE_RETRY_MS);
    tcp_bound_retries(streams_descriptor(t->stream[0]));
    CHECK_EQ(retries_ms(t->port[0]), SILENCE_RETRY_MS);
    CHECK_EQ(retries_ms(t->port[1]), before);
}

TEST(streams, dial_says_that_nobody_listens_and_what_is_no_address)
{
    nng_stream *stream = NULL;
    struct sockaddr_in a = loopback_at(NULL);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    CHECK_EQ(streams_dial(url_of(loopback_port(fd)), 20 * SECOND, &stream), NNG_ECONNREFUSED);
    CHECK(streams_dial("tcp://", SECOND, &stream) != 0);
    CHECK(stream == NULL);
    close(fd);
}
