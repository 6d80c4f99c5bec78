/* margin: as wide as it must be for one intent in 10,000 to be late. */
#include "protocol/lookahead.h"

#include "test.h"

static void adjust(struct margin *m, unsigned begun, bool late)
{
    for (unsigned i = 0; i < begun; i++) margin_began(m);
    if (late) margin_late(m);
    margin_adjust(m);
}

TEST(margin, is_none_while_nobody_is_late)
{
    struct margin m;
    margin_init(&m, true);
    for (unsigned i = 0; i < 100; i++) adjust(&m, 1000, false);
    CHECK_EQ(margin_of(&m, 123), 123);
    CHECK_EQ(margin_of(&m, INT64_MAX), INT64_MAX);
}

TEST(margin, has_a_bound)
{
    struct margin m;
    margin_init(&m, true);
    for (unsigned i = 0; i < 1000; i++) adjust(&m, 0, true);
    CHECK_EQ(margin_of(&m, 100), 800);
    CHECK_EQ(margin_of(&m, INT64_MAX), INT64_MAX / 2);
}

TEST(margin, stays_none_where_acting_earlier_does_not_help)
{
    struct margin m;
    margin_init(&m, false);
    for (unsigned i = 0; i < 100; i++) adjust(&m, 10, true);
    CHECK_EQ(margin_of(&m, 123), 123);
}
