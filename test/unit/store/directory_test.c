#include "store/directory.h"

#include "test.h"

TEST(directory, main_word_keeps_slot_and_version)
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

TEST(directory, word_without_slot_or_latched_is_not_readable)
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

TEST(directory, version_wraps_without_touching_the_slot)
{
    const uint64_t versions = UINT64_C(1) << (64 - DIRECTORY_VERSION_SHIFT);
    directory_word last = directory_main(77, versions - 1);
    directory_word next = last + DIRECTORY_VERSION_ONE;
    CHECK_EQ(directory_slot(next), 77);
    CHECK_EQ(directory_state(next), DIRECTORY_MAIN);
    CHECK(next == directory_main(77, 0));
    CHECK(directory_main(77, versions) == directory_main(77, 0));
}

TEST(directory, elsewhere_word_keeps_owner_and_term)
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
