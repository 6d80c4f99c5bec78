#include "clock.h"

#include "latency.h"

#include <errno.h>

uint64_t clock_cost_ns;

void clock_measure(void)
{
    static struct latency pairs;
    clock_cost_ns = 0;
    for (int i = 0; i < 20000; i++) latency_since(&pairs, clock_ns());
    clock_cost_ns = latency_percentile(&pairs, 50);
}

void clock_sleep_until(uint64_t ns)
{
    struct timespec until = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}
