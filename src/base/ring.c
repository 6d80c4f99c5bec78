#include "base/ring.h"

#include "base/sync.h"

int ring_open(struct io_uring *ring, unsigned entries, struct io_uring_params *params)
{
    mapping_begin();
    int rc = io_uring_queue_init_params(entries, ring, params);
    mapping_end();
    if (rc) return rc;
    io_uring_ring_dontfork(ring);
    return 0;
}

void ring_close(struct io_uring *ring)
{
    mapping_begin();
    io_uring_queue_exit(ring);
    mapping_end();
}
