#include "base/ring.h"

#include "base/tsan.h"

/* The next ring may be mapped where the last one of another thread was. liburing calls the kernel
 * by itself, so the thread sanitizer sees neither. */
static char mapping;

int ring_open(struct io_uring *ring, unsigned entries, struct io_uring_params *params)
{
    int rc = io_uring_queue_init_params(entries, ring, params);
    if (rc) return rc;
    TAKES_UP(&mapping);
    io_uring_ring_dontfork(ring);
    return 0;
}

void ring_close(struct io_uring *ring)
{
    LETS_GO(&mapping);
    io_uring_queue_exit(ring);
}
