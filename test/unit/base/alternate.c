#include "alternate.h"

#include "threads.h"

#include <sched.h>

struct side {
    unsigned *turn, number, end; /* turn: relaxed */
    void (*act)(void);
};

static void *take_turns(void *of)
{
    const struct side *s = of;
    for (unsigned i = s->number; i < s->end; i += 2) {
        while (__atomic_load_n(s->turn, __ATOMIC_RELAXED) != i) sched_yield();
        s->act();
        __atomic_store_n(s->turn, i + 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

void alternate(unsigned turns, void (*first)(void), void (*second)(void))
{
    unsigned turn = 0;
    struct side side[2] = {{&turn, 0, turns, first}, {&turn, 1, turns, second}};
    threads_run(take_turns, side, sizeof *side, 2);
    CHECK_EQ(turn, turns);
}
