#include "ending.h"
#include "names.h"
#include "fail.h"
#include "test.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(names, are_numbered_in_the_order_in_which_they_come)
{
    CLOSED_BY(names_fini) struct names n;
    names_init(&n);
    CHECK_EQ(names_add(&n, "a", 1), 0);
    CHECK_EQ(names_add(&n, "bcd", 3), 1);
    CHECK_EQ(names_add(&n, "a", 1), 0);
    CHECK_EQ(names_add(&n, "ab", 2), 2);
    CHECK_EQ(names_add(&n, "abc", 1), 0);
    CHECK_EQ(names_find(&n, "bcd", 3), 1);
    CHECK_EQ(names_find(&n, "bc", 2), NAMES_NONE);
    CHECK_EQ(names_find(&n, "bcde", 4), NAMES_NONE);
    CHECK_STR(names_get(&n, 1), "bcd");
    CHECK_EQ(n.count, 3);
}

TEST(names, data_of_other_names_are_others)
{
    struct names a, b;
    names_init(&a);
    names_init(&b);
    CHECK_EQ(names_digest(&a, 0, 7), names_digest(&b, 3, 7));
    names_add(&a, "ab", 2);
    names_add(&b, "ab", 2);
    names_add(&a, "c", 1);
    names_add(&b, "d", 1);
    CHECK_EQ(names_digest(&a, 1, 7), names_digest(&b, 1, 7));
    CHECK(names_digest(&a, 2, 7) != names_digest(&b, 2, 7));
    CHECK(names_digest(&a, 2, 7) != names_digest(&a, 1, 7));
    names_fini(&a);
    names_fini(&b);
}

TEST(names, grow)
{
    enum { MANY = 50000 };
    CLOSED_BY(names_fini) struct names n;
    char name[32];
    names_init(&n);
    for (uint32_t i = 0; i < MANY; i++) {
        int length = snprintf(name, sizeof name, "name-%u", i * 7919);
        CHECK_EQ(names_add(&n, name, (size_t)length), i);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        int length = snprintf(name, sizeof name, "name-%u", i * 7919);
        CHECK_EQ(names_find(&n, name, (size_t)length), i);
        CHECK(strcmp(names_get(&n, i), name) == 0);
    }
}

/* ---- lists that grow ---- */

static void ask_for_too_much(const void *count)
{
    resize_memory(NULL, *(const size_t *)count, 8, "wishes");
}

TEST(memory, a_list_keeps_what_it_has_as_it_grows)
{
    size_t capacity = 0, *list = NULL, more = SIZE_MAX / 8 + 1;
    for (size_t i = 0; i < 10000; i++) {
        list = make_room(list, i, &capacity, sizeof *list, "numbers");
        CHECK(capacity > i);
        list[i] = i;
    }
    for (size_t i = 0; i < 10000; i++) CHECK_EQ(list[i], i);
    CHECK(capacity < 20000);
    free(list);
    ends_with(ask_for_too_much, &more, 1, "wishes find no memory");
}
