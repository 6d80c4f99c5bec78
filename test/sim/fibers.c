#include "fibers.h"

#include "base/time.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#endif

enum {
    STACK_BYTES = 128 << 10,
    RUN_ESTIMATE = 512, /* steps within which the changes of rank fall */
    SLACK = 64,         /* steps after which the highest rank is taken to wait for a lower one */
    BUSY_MAX = 4096,    /* steps without waiting after which it is, whoever ran in between */
    STARVED_OF = 64,    /* the place of the starved one is drawn from so many */
};

#if defined(__x86_64__)

/* Saves what a called function must preserve, and goes on where `to` was saved. The C library's
 * swapcontext makes a system call each time. */
struct context {
    void *stack_pointer;
};
void fiber_switch(struct context *from, struct context *to);
__asm__(".text\n"
        ".globl fiber_switch\n"
        ".type fiber_switch, @function\n"
        "fiber_switch:\n"
        "    push %rbp\n    push %rbx\n    push %r12\n    push %r13\n    push %r14\n    push %r15\n"
        "    mov %rsp, (%rdi)\n"
        "    mov (%rsi), %rsp\n"
        "    pop %r15\n    pop %r14\n    pop %r13\n    pop %r12\n    pop %rbx\n    pop %rbp\n"
        "    ret\n"
        ".size fiber_switch, . - fiber_switch\n");

static void context_init(struct context *c, char *stack, void (*entry)(void))
{
    void **top = (void **)(void *)(stack + STACK_BYTES); /* aligned to 16: stacks are */
    *--top = NULL;                                       /* the entry has no caller */
    *--top = (void *)(uintptr_t)entry;
    for (int i = 0; i < 6; i++) *--top = NULL;
    c->stack_pointer = top;
}

#else

#include <ucontext.h>

struct context {
    ucontext_t saved;
};

static void fiber_switch(struct context *from, struct context *to)
{
    swapcontext(&from->saved, &to->saved);
}

static void context_init(struct context *c, char *stack, void (*entry)(void))
{
    getcontext(&c->saved);
    c->saved.uc_stack.ss_sp = stack;
    c->saved.uc_stack.ss_size = STACK_BYTES;
    makecontext(&c->saved, entry, 0);
}

#endif

struct fiber {
    struct context context;
    char *stack;
    const void *stack_bottom; /* what the address sanitizer is told */
    size_t stack_bytes;
    void *fake_stack;
    void (*run)(void *);
    void *argument;
    bool (*condition)(const void *); /* waits for it; NULL: it can go on */
    const void *of;
    unsigned rank;
    unsigned busy; /* steps since it last waited, by rank */
    bool ended;
};

static struct fiber fibers[FIBERS_MAX], outside;
static struct fiber *current = &outside;
static unsigned count, alive;
static enum fibers_end end;
static uint64_t steps, steps_max;
static bool (*idle)(void);
static void (*watch)(void);
static int (*director)(void);
static bool alone;
static uint64_t (*now_ns)(void) = time_now_ns;

static struct {
    enum fibers_policy policy;
    struct dice dice;
    unsigned lowest_rank, changes;
    uint64_t change_at[4];
    unsigned slack;
    unsigned burst;   /* goes on with probability 1 - 1/burst */
    unsigned starved; /* who */
    unsigned rarity;  /* runs with probability 1/rarity */
} chooser;

uint64_t dice_throw(struct dice *d) /* splitmix64 */
{
    uint64_t x = d->state += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

#ifdef UNDER_ASAN
void __sanitizer_start_switch_fiber(void **fake_stack_save, const void *bottom, size_t bytes);
void __sanitizer_finish_switch_fiber(void *fake_stack, const void **bottom, size_t *bytes);
void __asan_unpoison_memory_region(const volatile void *, size_t);

static void leaving(struct fiber *from, struct fiber *to)
{
    __sanitizer_start_switch_fiber(from->ended ? NULL : &from->fake_stack, to->stack_bottom,
                                   to->stack_bytes);
}

/* The first switch of a run comes from outside: that stack's bounds are learned here. */
static void arrived(struct fiber *now)
{
    const void *bottom;
    size_t bytes;
    __sanitizer_finish_switch_fiber(now->fake_stack, &bottom, &bytes);
    if (!outside.stack_bottom) outside.stack_bottom = bottom, outside.stack_bytes = bytes;
}

static void forget_stack(char *stack)
{
    /* of frames that a stopped run left behind */
    __asan_unpoison_memory_region(stack, STACK_BYTES);
}
#else
static void leaving(struct fiber *from, struct fiber *to)
{
    (void)from, (void)to;
}

static void arrived(struct fiber *now)
{
    (void)now;
}

static void forget_stack(char *stack)
{
    (void)stack;
}
#endif

static void go_to(struct fiber *to)
{
    struct fiber *from = current;
    if (from == to) return;
    leaving(from, to);
    current = to;
    fiber_switch(&from->context, &to->context);
    arrived(current);
}

static bool is_ready(const struct fiber *f)
{
    return !f->ended && (!f->condition || f->condition(f->of));
}

/* From a place in the ring of all; NULL: all wait. */
static struct fiber *anyone(void)
{
    unsigned place = dice_below(&chooser.dice, count);
    for (unsigned i = 0; i < count; i++) {
        struct fiber *f = &fibers[(place + i) % count];
        if (is_ready(f)) return f;
    }
    return NULL;
}

static struct fiber *goes_on_for_a_while(void)
{
    bool goes_on = current != &outside && is_ready(current) &&
                   dice_below(&chooser.dice, chooser.burst) > 0;
    return goes_on ? current : anyone();
}

static struct fiber *highest_rank(void)
{
    struct fiber *best = NULL;
    for (unsigned i = 0; i < count; i++)
        if ((!best || fibers[i].rank > best->rank) && is_ready(&fibers[i])) best = &fibers[i];
    return best;
}

static struct fiber *by_rank(void)
{
    bool change = false;
    for (unsigned i = 0; i < chooser.changes; i++) change |= steps == chooser.change_at[i];
    struct fiber *best = highest_rank();
    if (!best) return NULL;
    if (best != current) chooser.slack = SLACK;
    if (!change && chooser.slack-- > 0 && best->busy++ < BUSY_MAX) return best;
    best->busy = 0;
    best->rank = --chooser.lowest_rank;
    chooser.slack = SLACK;
    return highest_rank();
}

static struct fiber *hardly_ever_one(void)
{
    struct fiber *starved = &fibers[chooser.starved % count];
    for (;;) {
        struct fiber *f = anyone();
        if (f != starved || alive == 1 || dice_below(&chooser.dice, chooser.rarity) == 0) return f;
    }
}

static struct fiber *choose_ready(void)
{
    switch (chooser.policy) {
    case FIBERS_BURSTS: return goes_on_for_a_while();
    case FIBERS_PRIORITIES: return by_rank();
    case FIBERS_STARVED: return hardly_ever_one();
    default: return anyone();
    }
}

static struct fiber *named_by_director(void)
{
    int place = director();
    return place < 0 ? NULL : &fibers[place];
}

static struct fiber *choose(void)
{
    for (;;) {
        struct fiber *f = director ? named_by_director() : choose_ready();
        if (f) return f;
        if (!director && idle && idle()) continue;
        end = FIBERS_STUCK;
        return &outside;
    }
}

void fibers_begin(enum fibers_policy policy, uint64_t seed)
{
    count = alive = 0;
    steps = 0;
    idle = NULL;
    watch = NULL;
    director = NULL;
    alone = false;
    now_ns = time_now_ns;
    current = &outside;
    memset(&chooser, 0, sizeof chooser);
    chooser.policy = policy;
    chooser.dice.state = seed;
    chooser.burst = 2u << dice_below(&chooser.dice, 5);
    chooser.starved = dice_below(&chooser.dice, STARVED_OF);
    chooser.rarity = 4u << dice_below(&chooser.dice, 4);
    chooser.lowest_rank = 1u << 30;
    chooser.changes = dice_below(&chooser.dice, 5);
    for (unsigned i = 0; i < chooser.changes; i++)
        chooser.change_at[i] = dice_below(&chooser.dice, RUN_ESTIMATE);
}

void fibers_set_idle(bool (*function)(void))
{
    idle = function;
}

void fibers_set_watch(void (*function)(void))
{
    watch = function;
}

void fibers_set_director(int (*function)(void))
{
    director = function;
}

void fibers_set_clock(uint64_t (*function)(void))
{
    now_ns = function;
}

uint64_t locus_fiber_now_ns(void)
{
    return now_ns();
}

bool fibers_is_ready(unsigned place)
{
    return is_ready(&fibers[place]);
}

static void fiber_main(void)
{
    arrived(current);
    current->run(current->argument);
    current->ended = true;
    alive--;
    go_to(alive > 0 ? choose() : &outside);
    abort(); /* nobody returns to a fiber that ended */
}

void fibers_add(void (*run)(void *argument), void *argument)
{
    struct fiber *f = &fibers[count++];
    if (count > FIBERS_MAX) abort();
    if (!f->stack) f->stack = aligned_alloc(64, STACK_BYTES);
    if (!f->stack) abort();
    f->stack_bottom = f->stack;
    f->stack_bytes = STACK_BYTES;
    f->fake_stack = NULL;
    f->run = run;
    f->argument = argument;
    f->condition = NULL;
    f->rank = chooser.lowest_rank + 1 + dice_below(&chooser.dice, 1u << 20);
    f->ended = false;
    f->busy = 0;
    forget_stack(f->stack);
    context_init(&f->context, f->stack, fiber_main);
    alive++;
}

enum fibers_end fibers_run(uint64_t bound)
{
    end = FIBERS_ENDED;
    steps_max = bound;
    if (alive > 0) go_to(choose());
    return end;
}

static void leave(enum fibers_end why)
{
    end = why;
    go_to(&outside);
}

void fibers_stop(void)
{
    leave(FIBERS_STOPPED);
    abort();
}

int fibers_current(void)
{
    return current == &outside ? -1 : (int)(current - fibers);
}

uint64_t fibers_steps(void)
{
    return steps;
}

void fibers_alone(bool is)
{
    alone = is;
}

void locus_fiber_yield(void)
{
    if (current == &outside || director || alone) return;
    if (watch) watch();
    if (++steps > steps_max)
        leave(FIBERS_ENDLESS);
    else
        go_to(choose());
}

void locus_fiber_wait(bool (*condition)(const void *), const void *of)
{
    if (current == &outside) {
        if (!condition(of)) abort(); /* for ever */
        return;
    }
    if (director && condition(of)) return;
    struct fiber *waits = current;
    waits->condition = condition;
    waits->of = of;
    waits->busy = 0;
    if (director)
        go_to(choose());
    else
        locus_fiber_yield();
    waits->condition = NULL;
}
