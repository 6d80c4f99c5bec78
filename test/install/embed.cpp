// A user's program in C++: a node of one, a worker, what most programs call.
#include <locus.h>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace
{

int fail(const char *what)
{
    std::printf("%s: %s\n", what, locus_error());
    return 1;
}

void add_one(void *, float *row, std::uint32_t length)
{
    for (std::uint32_t i = 0; i < length; i++) row[i] += 1;
}

} // namespace

int main()
{
    locus_table table{};
    locus_config config;
    locus *node = nullptr;
    locus_worker *worker = nullptr;
    table.name = "entities";
    table.rows = 1000;
    table.length = 16;
    locus_config_init(&config);
    config.tables = &table;
    config.table_count = 1;
    if (locus_open(&config, &node) || locus_worker_open(node, &worker)) return fail("open");
    std::vector<locus_key> keys{7, 42};
    std::vector<float> rows(keys.size() * table.length, 1.0F);
    if (locus_intent(worker, keys.data(), keys.size(), 1, 2)) return fail("intent");
    locus_advance_clock(worker);
    if (locus_push(worker, keys.data(), keys.size(), rows.data())) return fail("push");
    if (locus_change_local(worker, 42, add_one, nullptr)) return fail("change");
    locus_ticket ticket;
    if (locus_pull_async(worker, keys.data(), keys.size(), rows.data(), &ticket) || locus_wait(worker, ticket))
        return fail("pull");
    locus_stats stats;
    if (locus_stats_read(node, &stats) || stats.pulled_local != 2) return fail("statistics");
    if (rows[0] != 1.0F || rows[table.length] != 2.0F) return fail("values");
    if (locus_worker_close(worker) || locus_close(node)) return fail("close");
    return 0;
}
