/* The same, with a fault where only a request and the right answers to all its items lead: its seeds,
 * those of the fuzzer of the shard, reach that far. */
#include "nodes.h"

static void completed(const struct request *r, int rc)
{
    MUST(rc != 0 || r->kind != REQUEST_PULL || r->count < 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nodes_run(data, size, completed);
    return 0;
}
