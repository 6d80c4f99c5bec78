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

TEST(config, variable_stands_for_surviving)
{
    static const char *const wrong[] = {"yes", "2", "-1", "+1", "1 ", "18446744073709551617"};
    struct locus_config c;
    clearenv();
    locus_config_init(&c);
    CHECK_EQ(config_complete(&c), 0);
    CHECK_EQ(c.survives, 0);
    c.survives = 2;
    REFUSED(config_complete(&c), -EINVAL, "survives is 2: must be 0 to 1");
    CHECK_EQ(setenv("LOCUS_SURVIVES", "1", 1), 0);
    locus_config_init(&c);
    CHECK_EQ(config_complete(&c), 0);
    CHECK_EQ(c.survives, 1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        locus_config_init(&c);
        CHECK_EQ(setenv("LOCUS_SURVIVES", wrong[i], 1), 0);
        REFUSED(config_complete(&c), -EINVAL, "LOCUS_SURVIVES is \"");
    }
}

/* By whomever it was asked for: it is never silently off. */
TEST(config, surviving_is_refused_where_rows_have_one_place)
{
    static const enum locus_technique cannot[] = {LOCUS_STATIC, LOCUS_FULL_REPLICATION};
    static const enum locus_technique can[] = {LOCUS_ADAPTIVE, LOCUS_RELOCATE, LOCUS_REPLICATE};
    struct locus_config c;
    clearenv();
    for (size_t i = 0; i < sizeof can / sizeof *can; i++) {
        locus_config_init(&c);
        c.technique = can[i];
        c.survives = 1;
        CHECK_EQ(config_complete(&c), 0);
    }
    for (size_t i = 0; i < sizeof cannot / sizeof *cannot; i++) {
        locus_config_init(&c);
        c.technique = cannot[i];
        CHECK_EQ(config_complete(&c), 0);
        c.survives = 1;
        REFUSED(config_complete(&c), -EINVAL, technique_of(cannot[i])->api_name);
    }
}
