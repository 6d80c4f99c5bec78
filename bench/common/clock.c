#include "clock.h"

#include "latency.h"

uint64_t clock_cost_ns(void)
{
    static struct latency pairs;
    latency_clear(&pairs);
    for (int i = 0; i < 20000; i++) {
        uint64_t begin = clock_ns();
        latency_record(&pairs, clock_ns() - begin);
    }
    return latency_percentile(&pairs, 50);
}
