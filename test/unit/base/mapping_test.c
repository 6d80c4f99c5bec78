/* mapping: rings where the plugins of hwloc were, and the other way round. The thread sanitizer is
 * to find nothing. */
#include "base/sync.h"

#include "base/pinning.h"
#include "base/ring.h"
#include "alternate.h"
#include "test.h"

/* Rings of sizes of which some fit to where a plugin was. */
enum { RINGS = 3, NOPS = 200 };
static const unsigned entries[RINGS] = {4, 64, 512};

static void use_ring(struct io_uring *ring)
{
    struct io_uring_cqe *done;
    for (int i = 0; i < NOPS; i++) {
        struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
        CHECK(sqe != NULL);
        io_uring_prep_nop(sqe);
        CHECK_EQ(io_uring_submit(ring), 1);
        CHECK_EQ(io_uring_wait_cqe(ring, &done), 0);
        io_uring_cqe_seen(ring, done);
    }
}

static void use_rings(void)
{
    struct io_uring ring[RINGS];
    for (int i = 0; i < RINGS; i++) {
        CHECK_EQ(ring_open(&ring[i], entries[i], &(struct io_uring_params){.flags = 0}), 0);
        use_ring(&ring[i]);
    }
    for (int i = 0; i < RINGS; i++) ring_close(&ring[i]);
}

static void list_processors(void)
{
    CLOSED_BY(pinning_machine_fini) struct pinning_machine m;
    CHECK_EQ(pinning_machine_load(&m, NULL, NULL), 0);
}

TEST(mapping, rings_and_plugins_share_an_address_in_turn)
{
    alternate(12, list_processors, use_rings);
}
