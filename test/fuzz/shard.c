/* Shards among hostile peers: every operation that a peer can send, as request and as answer. */
#include "nodes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nodes_run(data, size, NULL);
    return 0;
}
