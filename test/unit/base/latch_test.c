/* latch: one thread at a time, and each sees what the one before it wrote. */
#include "base/sync.h"
#include "threads.h"

#include <sched.h>

enum { THREADS = 4, TURNS = 5000, WORDS = 8 };

static struct {
    int latch;
    unsigned word[WORDS]; /* plain: all equal, unless somebody is inside */
    unsigned torn;        /* of turns that found them unequal */
} shared;

static void *take_turns(void *unused)
{
    (void)unused;
    for (int i = 0; i < TURNS; i++) {
        latch_take(&shared.latch);
        for (int w = 1; w < WORDS; w++) shared.torn += shared.word[w] != shared.word[0];
        for (int w = 0; w < WORDS; w++) {
            shared.word[w]++;
            if (i % 64 == w) sched_yield(); /* others try meanwhile */
        }
        latch_give(&shared.latch);
    }
    return NULL;
}

TEST(latch, take_lets_one_thread_in)
{
    threads_run(take_turns, NULL, 0, THREADS);
    CHECK_EQ(shared.torn, 0);
    for (int w = 0; w < WORDS; w++) CHECK_EQ(shared.word[w], THREADS * TURNS);
    CHECK_EQ(shared.latch, 0);
}
