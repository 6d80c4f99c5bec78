/*
 * turn.c - who acts for a shard (actors/turn.h), under every interleaving that a seed can think of.
 *
 * The shard's thread sleeps as the reactor does; its only worker asks for something, and takes the
 * shard's turns while it waits, or does not, or waits later; a peer answers through memory, and
 * rings if that says that nobody looks; other threads have news that the shard's alone can handle.
 * Nobody but the peer, those and the worker ever wakes the thread: so one wake-up that is
 * lost, and all wait for ever. Checked: that does not happen, and two never act at once.
 */
#include "actors/turn.h"
#include "fibers.h"
#include "seeds.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CALLS = 40, NEWS = 12, OTHERS = 2, FLIGHT_MAX = 3, STEPS_MAX = 200000 };

static struct {
    struct turn turn;
    struct dice dice;
    const char *acting; /* NULL: nobody */
    unsigned bell;      /* rung, and not heard */
    bool nobody_looks;  /* what the memory says */
    unsigned posted, taken, sent, there, completed;
    unsigned news, handled;
    bool is_due, stops;
    unsigned left;          /* fibers that the thread serves */
    unsigned helped, slept; /* over all seeds */
} world;

static void begin_to_act(const char *who)
{
    MUST(!world.acting, "%s acts while %s does", who, world.acting);
    world.acting = who;
}

static void end_to_act(const char *who)
{
    MUST(world.acting == who, "%s acted, and %s too", who, world.acting ? world.acting : "nobody");
    world.acting = NULL;
}

static void ring(bool must)
{
    locus_fiber_yield();
    world.bell += must;
}

static bool chance(unsigned of)
{
    return dice_below(&world.dice, of) == 0;
}

static bool lie_down(void)
{
    world.nobody_looks = true;
    locus_fiber_yield();
    if (world.there > 0) world.nobody_looks = false;
    return world.nobody_looks;
}

static void get_up(void)
{
    locus_fiber_yield();
    world.nobody_looks = false;
}

/* What both can do: requests, and answers. */
static void serve(void)
{
    for (; world.there > 0; world.there--) {
        locus_fiber_yield();
        world.completed++;
    }
    for (; world.taken < world.posted; world.sent++) {
        world.taken++;
        locus_fiber_yield();
    }
    if (chance(8)) world.is_due = true;
    locus_fiber_yield();
}

static bool has_news(void)
{
    locus_fiber_yield();
    return world.handled < world.news || world.taken < world.posted || world.is_due || world.stops;
}

static bool is_rung(const void *unused)
{
    (void)unused;
    return world.bell > 0;
}

static void sleep_until_news(void)
{
    turn_check(&world.turn);
    if (has_news() || !lie_down()) return;
    end_to_act("the thread");
    if (turn_leave(&world.turn, !chance(4))) {
        world.slept++;
        locus_fiber_wait(is_rung, NULL);
        world.bell = 0;
        turn_take_back(&world.turn);
    }
    begin_to_act("the thread");
    get_up();
}

static void be_thread(void *unused)
{
    (void)unused;
    begin_to_act("the thread");
    while (!world.stops) {
        unsigned news = world.news;
        locus_fiber_yield();
        world.handled = news;
        world.is_due = false;
        serve();
        world.is_due = world.is_due && chance(2);
        if (chance(2)) sleep_until_news();
    }
    end_to_act("the thread");
}

static bool is_answered(const void *unused)
{
    (void)unused;
    return world.completed == world.posted;
}

static bool is_handled(const void *unused)
{
    (void)unused;
    return world.handled == world.news;
}

static void leave(void)
{
    if (--world.left > 0) return;
    world.stops = true;
    ring(turn_want(&world.turn));
}

/* ---- the worker ---- */

static bool take(void)
{
    if (!turn_take(&world.turn)) return false;
    begin_to_act("the worker");
    world.helped++;
    get_up();
    return true;
}

static void give(void)
{
    end_to_act("the worker");
    ring(turn_give(&world.turn));
}

static void help(void)
{
    locus_fiber_yield();
    if (!turn_is_ours(&world.turn) && !take()) return;
    serve();
    if (turn_is_wanted(&world.turn)) give();
}

static void end_help(void)
{
    if (!turn_is_ours(&world.turn)) return;
    if (!world.is_due && lie_down() && !has_news()) {
        end_to_act("the worker");
        if (turn_return(&world.turn)) return;
        begin_to_act("the worker");
    }
    give();
}

static void post(void)
{
    world.posted++;
    if (!turn_is_ours(&world.turn)) ring(turn_want(&world.turn));
}

static void be_worker(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < CALLS; i++) {
        bool helps = !chance(4);
        if (helps) take();
        post();
        for (unsigned n = dice_below(&world.dice, 20); helps && n > 0 && !is_answered(NULL); n--)
            help();
        end_help();
        if (helps || world.posted - world.completed == FLIGHT_MAX)
            locus_fiber_wait(is_answered, NULL);
        for (unsigned n = dice_below(&world.dice, 50); n > 0; n--) locus_fiber_yield();
    }
    locus_fiber_wait(is_answered, NULL);
    leave();
}

/* ---- others ---- */

static bool is_asked(const void *answered)
{
    return *(const unsigned *)answered < world.sent;
}

static void be_peer(void *unused)
{
    (void)unused;
    for (unsigned answered = 0; answered < CALLS; answered++) {
        locus_fiber_wait(is_asked, &answered);
        world.there++;
        locus_fiber_yield();
        if (!world.nobody_looks) continue;
        world.nobody_looks = false;
        ring(true);
    }
}

static void be_other(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < NEWS; i++) {
        world.news++;
        ring(turn_want(&world.turn));
        if (chance(2)) locus_fiber_wait(is_handled, NULL);
        for (unsigned n = dice_below(&world.dice, 200); n > 0; n--) locus_fiber_yield();
    }
    locus_fiber_wait(is_handled, NULL);
    leave();
}

static void run(uint64_t seed)
{
    unsigned helped = world.helped, slept = world.slept;
    memset(&world, 0, sizeof world);
    world.helped = helped;
    world.slept = slept;
    world.dice.state = seed;
    world.left = 1 + OTHERS;
    fibers_begin((enum fibers_policy)(seed % FIBERS_POLICIES), seed);
    fibers_add(be_thread, NULL);
    fibers_add(be_worker, NULL);
    fibers_add(be_peer, NULL);
    for (unsigned i = 0; i < OTHERS; i++) fibers_add(be_other, NULL);
    enum fibers_end end = fibers_run(STEPS_MAX);
    MUST(end != FIBERS_STUCK,
         "all wait: word %u, %u posted, %u taken, %u there, %u completed, %u of %u handled",
         world.turn.word, world.posted, world.taken, world.there, world.completed, world.handled,
         world.news);
    MUST(end == FIBERS_ENDED, "there is no end: %u completed", world.completed);
}

int main(int argc, char **argv)
{
    uint64_t seeds = seeds_run(argc, argv, run);
    printf("%" PRIu64 " seeds, the thread slept %u times, the worker acted %u times\n", seeds,
           world.slept, world.helped);
    return seeds_end(world.helped > seeds && world.slept > seeds);
}
