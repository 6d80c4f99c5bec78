/* Variables that stand for fields of the configuration. */
#include "protocol/plan.h"

#include "test.h"

#include <errno.h>
#include <stdlib.h>

/* Only where the program says nothing. */
TEST(config, variables_stand_for_times)
{
    static const char *const wrong[] = {"soon", "1s", "0", "-1", "inf", "1e10"};
    struct locus_config c;
    clearenv();
    CHECK_EQ(setenv("LOCUS_PEER_TIMEOUT", "2.5", 1), 0);
    CHECK_EQ(setenv("LOCUS_JOIN_TIMEOUT", "600", 1), 0);
    locus_config_init(&c);
    c.join_timeout_s = 5;
    CHECK_EQ(config_complete(&c), 0);
    CHECK(c.peer_timeout_s == 2.5 && c.join_timeout_s == 5);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        locus_config_init(&c);
        CHECK_EQ(setenv("LOCUS_JOIN_TIMEOUT", wrong[i], 1), 0);
        REFUSED(config_complete(&c), -EINVAL, "LOCUS_JOIN_TIMEOUT is \"");
    }
    CHECK_EQ(setenv("LOCUS_JOIN_TIMEOUT", "", 1), 0);
    locus_config_init(&c);
    CHECK_EQ(config_complete(&c), 0);
    CHECK(c.join_timeout_s == 60);
}
