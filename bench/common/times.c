#include "times.h"

void times_note(struct times *t, const struct latency *latency, unsigned repetition)
{
    uint64_t shortest = latency_percentile(latency, 0);
    t->p50[repetition] = (double)latency_percentile(latency, 50);
    t->p99[repetition] = (double)latency_percentile(latency, 99);
    t->p999[repetition] = (double)latency_percentile(latency, 99.9);
    if (t->shortest == 0 || shortest < t->shortest) t->shortest = shortest;
    if (latency->longest_ns > t->longest) t->longest = latency->longest_ns;
}

void times_json(struct run *r, const struct times *t)
{
    run_values(r, "p50_ns", t->p50);
    run_values(r, "p99_ns", t->p99);
    run_values(r, "p999_ns", t->p999);
    json_count(&r->json, "shortest_ns", t->shortest);
    json_count(&r->json, "longest_ns", t->longest);
}
