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

void times_add(struct table *table, const struct run *r, const struct times *t, bool has_times,
               bool has_p99, bool has_p999)
{
    table_add_if(table, has_times, "%.1f", (double)t->shortest / 1e3);
    table_add_if(table, has_times, "%.1f", run_spread(r, t->p50).median / 1e3);
    table_add_if(table, has_times && has_p99, "%.1f", run_spread(r, t->p99).median / 1e3);
    table_add_if(table, has_times && has_p999, "%.1f", run_spread(r, t->p999).median / 1e3);
}

void times_json(const struct run *r, const struct times *t, bool has_p999)
{
    results_spread(r->json, "p50_ns", run_spread(r, t->p50));
    results_spread(r->json, "p99_ns", run_spread(r, t->p99));
    if (has_p999) results_spread(r->json, "p999_ns", run_spread(r, t->p999));
    json_count(r->json, "shortest_ns", t->shortest);
}
