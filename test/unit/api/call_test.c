#include "api/call.h"

#include "one_node.h"

enum { ROWS = 10 };

/* The first one that is out of range, wherever it stands. */
TEST_ON_NODE(call, check_names_the_first_key_out_of_range, ROWS, 1)
{
    float values[4];
    for (size_t at = 0; at < 4; at++) {
        locus_key keys[4] = {0, ROWS - 1, 3, 4};
        char position[32];
        snprintf(position, sizeof position, "(position %zu)", at);
        CHECK_EQ(call_check("locus_pull", "values", w, keys, 4, values), 0);
        keys[at] = ROWS;
        keys[3] = at < 3 ? UINT64_MAX : ROWS; /* a later one does not count */
        REFUSED(call_check("locus_pull", "values", w, keys, 4, values), -EINVAL,
                "locus_pull: key 10 ");
        CHECK_STR(locus_error(), position);
        CHECK_STR(locus_error(), "valid keys are 0 to 9");
    }
}

TEST(call, errors_of_sections_and_memory_have_sentences)
{
    REFUSED(call_in_section("locus_pull"), -EDEADLK,
            "locus_pull: would wait inside a read section: call locus_read_end()");
    REFUSED(call_no_slot("locus_set"), -ENOMEM, "locus_set: no memory for a row");
}
