#include "cluster/message.h"

#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The first text is the answer where nobody failed, else the first failure, whatever was said
 * before and after. */
TEST(meeting, word_add_keeps_the_first_failure_or_the_first_text)
{
    static const struct {
        struct word said[4], answer;
    } cases[] = {
        {{{.rc = 0}}, {.rc = 0}},
        {{{.rc = 0}, {.text = "first"}, {.rc = 0}, {.text = "second"}}, {.text = "first"}},
        {{{.text = "a text"}, {.rc = -ENOSPC}}, {.rc = -ENOSPC}},
        {{{.text = "a text"}, {.rc = -EIO, .text = "the disk"}, {.rc = -ENOSPC}, {.text = "late"}},
         {.rc = -EIO, .text = "the disk"}},
        {{{.rc = -ENOSPC}, {.rc = -EIO, .text = "the disk"}, {.text = "a text"}}, {.rc = -ENOSPC}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct word answer = {0};
        for (int k = 0; k < 4; k++) word_add(&answer, &cases[i].said[k]);
        if (answer.rc != cases[i].answer.rc || strcmp(answer.text, cases[i].answer.text) != 0)
            test_fail(__FILE__, __LINE__, "case %zu: %d, \"%s\"", i, answer.rc, answer.text);
    }
}

TEST(meeting, word_add_adds_numbers_also_where_somebody_failed)
{
    struct word answer = {0}, none = {0};
    struct word two = {.count = 2, .number = {1, 0x1p53}},
                more = {.rc = -EIO, .count = 2, .number = {2, -3}};
    word_add(&answer, &two);
    word_add(&answer, &none);
    word_add(&answer, &more);
    CHECK_EQ(answer.rc, -EIO);
    CHECK_EQ(answer.count, 2);
    CHECK(answer.number[0] == 3 && answer.number[1] == 0x1p53 - 3);
}
