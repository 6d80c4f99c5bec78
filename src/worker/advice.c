#include "worker/advice.h"

#include "base/error.h"
#include "base/notation.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int advisor_init(struct advisor *a)
{
    const char *text = getenv("LOCUS_ADVICE");
    char *end;
    *a = (struct advisor){.window_ns = ADVICE_S * UINT64_C(1000000000)};
    if (!text) return 0;
    double seconds = notation_read(text, &end);
    if (end == text || *end || !(seconds >= 0 && seconds <= 1e6))
        return error_set(
            -EINVAL,
            "LOCUS_ADVICE is \"%.64s\": must be a number of seconds from 0 (no advice) to 1e6",
            text);
    a->window_ns = (uint64_t)(seconds * 1e9);
    return 0;
}

enum advice advice_between(const struct advice_sums *from, const struct advice_sums *to)
{
    uint64_t keys = to->keys - from->keys, remote = to->remote - from->remote,
             late = to->late - from->late;
    bool waits = (to->waited_ns - from->waited_ns) * ADVICE_SHARE > to->ns - from->ns;
    bool is_seldom = !waits || to->waits - from->waits < ADVICE_WAITS_MIN;
    if ((remote < ADVICE_KEYS_MIN && is_seldom) || (remote < keys / ADVICE_SHARE && !waits))
        return ADVICE_NONE;
    /* A worker that has signaled before, and accesses everything now, evaluates. */
    if (to->signaled == from->signaled) return to->signaled ? ADVICE_NONE : ADVICE_INTEND;
    if (to->clock == from->clock) return ADVICE_ADVANCE;
    if (late >= remote / 2) return ADVICE_EARLIER;
    /* Samples of what is here may leave before they are written, and none could be signaled. */
    if (remote < keys / ADVICE_SHARE && to->drawn > from->drawn) return ADVICE_NONE;
    /* A program that signals what it trains on may look at everything in between, to evaluate. */
    return waits || remote >= keys / 2 ? ADVICE_INTEND : ADVICE_NONE;
}

static void describe(const struct advisor *a, enum advice advice, const struct advice_sums *from,
                     const struct advice_sums *to, char text[256])
{
    uint64_t signaled = to->signaled - from->signaled;
    if (advice == ADVICE_ADVANCE)
        snprintf(
            text, 256,
            "its clock was not advanced, so intents that begin later wait: call locus_advance_clock() after each step");
    else if (advice == ADVICE_EARLIER)
        snprintf(text, 256, "the intents for them came too late: signal them more steps ahead%s",
                 a->is_crowded ? ", or use fewer nodes or workers here: this host has more threads "
                                 "than cores"
                               : "");
    else if (signaled == 0)
        snprintf(
            text, 256,
            "no intent was signaled: call locus_intent() some steps ahead with the keys of each step");
    else
        snprintf(text, 256,
                 "no intent named them: signal intent for all keys of a step, not for some");
}

void advice_skip(struct advice_sums *from, const struct advice_sums *first,
                 const struct advice_sums *last)
{
    from->ns += last->ns - first->ns;
    from->keys += last->keys - first->keys;
    from->remote += last->remote - first->remote;
    from->waited_ns += last->waited_ns - first->waited_ns;
    from->waits += last->waits - first->waits;
    from->signaled += last->signaled - first->signaled;
    from->late += last->late - first->late;
    from->drawn += last->drawn - first->drawn;
}

void advice_look(struct advisor *a, int rank, int worker, struct advice_sums *from,
                 const struct advice_sums *to)
{
    char text[256];
    uint64_t keys = to->keys - from->keys, remote = to->remote - from->remote,
             waited_ns = to->waited_ns - from->waited_ns;
    double seconds = (double)(to->ns - from->ns) * 1e-9;
    if (to->ns - from->ns < a->window_ns) return;
    enum advice advice = from->ns > 0 ? advice_between(from, to) : ADVICE_NONE;
    /* A few steps followed by an evaluation look like steps without intents for most keys. Only the
     * latter still look so in the next window. */
    bool is_doubtful = advice == ADVICE_INTEND && to->signaled > from->signaled;
    if (is_doubtful && !from->is_doubtful) advice = ADVICE_NONE;
    if (advice != ADVICE_NONE && __atomic_fetch_add(&a->found[advice], 1, __ATOMIC_RELAXED) == 0) {
        describe(a, advice, from, to, text);
        fprintf(
            stderr,
            "locus: node %d, worker %d: %.2g %% of %.3g keys were at other nodes in %.3g s, and "
            "calls waited for them %.0f %% of the time; %s "
            "(docs/guides/slow.md; LOCUS_ADVICE=0 ends advice)\n",
            rank, worker, 100.0 * (double)remote / (double)keys, (double)keys, seconds,
            100.0 * fmin(1, 1e-9 * (double)waited_ns / seconds), text);
    }
    *from = *to;
    from->is_doubtful = is_doubtful;
}
