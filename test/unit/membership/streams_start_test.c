/* streams: what nng needs is there, or a sentence says what is not. */
#include "membership/streams.h"

#include "test.h"
#include "locus.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

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
