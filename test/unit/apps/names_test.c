#include "ending.h"
#include "names.h"
#include "fail.h"
#include "test.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

TEST(names, are_numbered_in_the_order_in_which_they_come)
{
    enum { MANY = 50000 };
    CLOSED_BY(names_fini) struct names n;
    char name[32];
    names_init(&n);
    CHECK(names_add(&n, "a", 1) == 0 && names_add(&n, "bcd", 3) == 1 && names_add(&n, "a", 1) == 0);
    CHECK(names_add(&n, "ab", 2) == 2 && names_add(&n, "abc", 1) == 0);
    CHECK(names_find(&n, "bcd", 3) == 1 && names_find(&n, "bc", 2) == NAMES_NONE &&
          names_find(&n, "bcde", 4) == NAMES_NONE);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 3; i < MANY; i++) {
            size_t length = (size_t)snprintf(name, sizeof name, "name-%u", i * 7919);
            CHECK_EQ(round ? names_find(&n, name, length) : names_add(&n, name, length), i);
            CHECK(strcmp(names_get(&n, i), name) == 0);
        }
    CHECK_EQ(n.count, MANY);
}

static void ask_for_too_much(const void *count)
{
    resize_memory(NULL, *(const size_t *)count, 8, "wishes");
}

TEST(memory, too_much_is_refused_with_what_it_is_for)
{
    size_t more = SIZE_MAX / 8 + 1;
    ends_with(ask_for_too_much, &more, 1, "wishes find no memory");
}
