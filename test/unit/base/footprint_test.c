/* footprint: what the system says of this process, and that it follows what the process takes. */
#include "base/process.h"

#include "base/time.h"
#include "test.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { BYTES = 64 << 20 };

TEST(footprint, resident_bytes_follow_touched_pages)
{
    double before = footprint_resident_bytes();
    char *all = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(all != MAP_FAILED);
    CHECK(footprint_resident_bytes() < before + BYTES / 2.0); /* an address is no memory */
    memset(all, 1, BYTES);
    CHECK(footprint_resident_bytes() > before + BYTES / 2.0);
    CHECK_EQ(munmap(all, BYTES), 0);
    CHECK(footprint_resident_bytes() < before + BYTES / 2.0);
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

/* Of all threads, whether in the kernel or not: between two readings of what getrusage says. */
TEST(footprint, cpu_seconds_are_those_of_getrusage)
{
    struct rusage before, after;
    volatile double sum = 0;
    double began_s = footprint_cpu_s();
    while (footprint_cpu_s() < began_s + 0.02)
        for (int i = 0; i < 10000; i++) sum = sum + i;
    CHECK_EQ(getrusage(RUSAGE_SELF, &before), 0);
    double told_s = footprint_cpu_s();
    CHECK_EQ(getrusage(RUSAGE_SELF, &after), 0);
    CHECK(told_s > seconds(before.ru_utime) + seconds(before.ru_stime) - 0.001);
    CHECK(told_s < seconds(after.ru_utime) + seconds(after.ru_stime) + 0.001);
}
