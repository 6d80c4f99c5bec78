#include "store/directory.h"

#include "test.h"

TEST(directory, a_held_row_keeps_slot_and_version)
{
    const uint64_t slots[] = {0, 1, 4095, DIRECTORY_SLOTS_MAX - 1};
    for (unsigned i = 0; i < 4; i++)
        for (uint64_t version = 0; version < 4; version++) {
            directory_word w = directory_main(slots[i], version);
            CHECK_EQ(directory_state(w), DIRECTORY_MAIN);
            CHECK_EQ(directory_slot(w), slots[i]);
            CHECK_EQ(w >> DIRECTORY_VERSION_SHIFT, version);
            CHECK(directory_is_readable(w));
            CHECK(!directory_is_latched(w));
        }
}

TEST(directory, without_a_slot_or_latched_a_row_is_not_readable)
{
    const directory_word main = directory_main(123456, 3);
    const struct {
        directory_word word;
        unsigned state;
        bool is_latched;
    } words[] = {{0, DIRECTORY_UNTOUCHED, false},
                 {directory_empty(), DIRECTORY_EMPTY, false},
                 {main | DIRECTORY_LATCH, DIRECTORY_MAIN, true}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        CHECK_EQ(directory_state(words[i].word), words[i].state);
        CHECK_EQ(directory_is_latched(words[i].word), words[i].is_latched);
        CHECK(!directory_is_readable(words[i].word));
    }
    CHECK_EQ(directory_slot(main | DIRECTORY_LATCH), 123456);
}

TEST(directory, a_version_comes_round_without_touching_the_slot)
{
    const uint64_t versions = UINT64_C(1) << (64 - DIRECTORY_VERSION_SHIFT);
    directory_word last = directory_main(77, versions - 1);
    directory_word next = last + DIRECTORY_VERSION_ONE;
    CHECK_EQ(directory_slot(next), 77);
    CHECK_EQ(directory_state(next), DIRECTORY_MAIN);
    CHECK(next == directory_main(77, 0));
    CHECK(directory_main(77, versions) == directory_main(77, 0));
}

TEST(directory, a_row_elsewhere_keeps_owner_and_term)
{
    directory_word w = directory_elsewhere(65535, (UINT64_C(1) << 44) - 1);
    CHECK_EQ(directory_state(w), DIRECTORY_ELSEWHERE);
    CHECK_EQ(directory_owner(w), 65535);
    CHECK_EQ(directory_term(w), (UINT64_C(1) << 44) - 1);
    CHECK(!directory_is_latched(w));
    CHECK(!directory_is_readable(w));
    w = directory_elsewhere(0, 0);
    CHECK_EQ(directory_state(w), DIRECTORY_ELSEWHERE);
    CHECK_EQ(directory_owner(w), 0);
    CHECK_EQ(directory_term(w), 0);
}

TEST(directory, only_one_takes_a_latch)
{
    directory_word before = directory_main(1, 1), word = before;
    CHECK(directory_try_latch(&word, before));
    CHECK(directory_is_latched(word));
    CHECK(!directory_try_latch(&word, before));
    directory_publish(&word, before + DIRECTORY_VERSION_ONE);
    CHECK(!directory_try_latch(&word, before)); /* another version by now */
    CHECK(word == before + DIRECTORY_VERSION_ONE);
}

TEST(directory, a_copy_is_whole_only_under_the_same_word)
{
    directory_word word = directory_main(1, 1), before = directory_load(&word);
    CHECK(directory_is_unchanged(&word, before));
    directory_publish(&word, before | DIRECTORY_LATCH);
    CHECK(!directory_is_unchanged(&word, before));
    directory_publish(&word, before + DIRECTORY_VERSION_ONE);
    CHECK(!directory_is_unchanged(&word, before));
}

TEST(directory, who_waits_for_a_latch_marks_the_word_and_the_release_takes_the_mark_away)
{
    directory_word before = directory_main(DIRECTORY_SLOTS_MAX - 1, 5), word = before;
    CHECK(directory_try_latch(&word, before));
    CHECK(!directory_is_wanted(&word));
    directory_want(&word, word);
    CHECK(directory_is_wanted(&word));
    directory_want(&word, word); /* twice is once */
    CHECK(directory_is_wanted(&word));
    CHECK(directory_is_latched(word));
    CHECK_EQ(directory_slot(word), DIRECTORY_SLOTS_MAX - 1); /* views go on */
    CHECK_EQ(directory_state(word), DIRECTORY_MAIN);
    directory_publish(&word, before + DIRECTORY_VERSION_ONE);
    CHECK(!directory_is_wanted(&word));
}

TEST(directory, a_mark_that_comes_too_late_is_lost)
{
    directory_word before = directory_main(3, 5), latched = before | DIRECTORY_LATCH;
    directory_word word = before + DIRECTORY_VERSION_ONE; /* released since it was seen latched */
    directory_want(&word, latched);
    CHECK(word == before + DIRECTORY_VERSION_ONE);
    word = directory_elsewhere(1, 2);
    directory_want(&word, latched);
    CHECK(word == directory_elsewhere(1, 2));
    /* another holder: the next look will mark it */
    word = (before + DIRECTORY_VERSION_ONE) | DIRECTORY_LATCH;
    directory_want(&word, latched);
    CHECK(!directory_is_wanted(&word));
}
