#include "membership/meeting.h"

#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct word word_of(int rc, const char *text)
{
    struct word w = {.rc = rc};
    snprintf(w.text, sizeof w.text, "%s", text);
    return w;
}

static void says(const struct word *w, int rc, const char *text)
{
    CHECK_EQ(w->rc, rc);
    CHECK_EQ(strcmp(w->text, text), 0);
}

TEST(meeting, of_who_says_nothing_hears_nothing)
{
    struct word answer = {0}, nothing = {0};
    word_add(&answer, &nothing);
    says(&answer, 0, "");
}

TEST(meeting, the_first_text_is_the_answer_where_nobody_failed)
{
    struct word answer = {0}, nothing = {0};
    struct word first = word_of(0, "first"), second = word_of(0, "second");
    word_add(&answer, &nothing);
    word_add(&answer, &first);
    word_add(&answer, &nothing);
    word_add(&answer, &second);
    says(&answer, 0, "first");
}

TEST(meeting, numbers_are_added_also_where_somebody_failed)
{
    struct word answer = {0}, none = {0};
    struct word two = {.count = 2, .number = {1, 0x1p53}},
                more = {.rc = -EIO, .count = 2, .number = {2, -3}};
    word_add(&answer, &two);
    word_add(&answer, &none);
    word_add(&answer, &more);
    says(&answer, -EIO, "");
    CHECK_EQ(answer.count, 2);
    CHECK(answer.number[0] == 3 && answer.number[1] == 0x1p53 - 3);
}

TEST(meeting, the_first_failure_is_the_answer_whatever_was_said_before_and_after)
{
    struct word answer = {0};
    struct word text = word_of(0, "a text"), late = word_of(-EIO, "the disk"),
                full = word_of(-ENOSPC, "");
    word_add(&answer, &text);
    word_add(&answer, &full);
    says(&answer, -ENOSPC, "");
    word_add(&answer, &late);
    word_add(&answer, &text);
    says(&answer, -ENOSPC, "");
}
