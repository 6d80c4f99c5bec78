/* Variables that are spelt almost as one that is read. */
#include "worker/variables.h"

#include "protocol/config.h"
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void means(const char *name, const char *meant)
{
    struct variable v[2];
    clearenv();
    CHECK_EQ(setenv(name, "1", 1), 0);
    CHECK_EQ(setenv("LOCUS_RANK", "0", 1), 0);
    CHECK_EQ(setenv("OTHER", "0", 1), 0);
    CHECK_EQ(variables_unread(v, 2), 1);
    CHECK_EQ(strcmp(v[0].name, name), 0);
    if (!v[0].meant != !meant || (meant && strcmp(v[0].meant, meant) != 0))
        test_fail(__FILE__, __LINE__, "%s: %s", name, v[0].meant ? v[0].meant : "none");
}

TEST(variables, misspelt_ones_are_found)
{
    means("LOCUS_RENDEVOUS", "LOCUS_RENDEZVOUS");
    means("LOCUS_RENDEZ_VOUS", "LOCUS_RENDEZVOUS");
    means("LOCUS_SECRETFILE", "LOCUS_SECRET_FILE");
    means("LOCUS_SECRETS", "LOCUS_SECRET");
    means("LOCUS_METRIC", "LOCUS_METRICS");
    means("LOCUS_REPROT", "LOCUS_REPORT");
    means("LOCUS_RANKS", "LOCUS_RANK");
    means("LOCUS_WORKER", "LOCUS_WORKERS");
    means("LOCUS_TRACE_KEY", "LOCUS_TRACE_KEYS");
}

TEST(variables, those_of_programs_are_ignored)
{
    means("LOCUS_TEST_SECONDS", NULL);
    means("LOCUS_MODEL", NULL);
    means("LOCUS_LOG", NULL);
    means("LOCUS_HOST", NULL);
    means("LOCUS_PORT", NULL);
    means("LOCUS_", NULL);
}

TEST(variables, known_ones_are_ignored)
{
    static const char *const read[] = {"LOCUS_SIZE", "LOCUS_LOST", "LOCUS_RESTART",
                                       "LOCUS_LIBRARY"};
    clearenv();
    for (size_t i = 0; i < sizeof read / sizeof *read; i++) CHECK_EQ(setenv(read[i], "1", 1), 0);
    CHECK_EQ(variables_unread(NULL, 0), 0);
}

/* Only where the program says nothing. */
TEST(variables, stand_for_times)
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
