#include "protocol/events.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = sizeof(struct key_event) / sizeof(uint64_t) };
_Static_assert(sizeof(struct key_event) == 40, "events.h promises it");

struct key_events {
    uint64_t count; /* atomic: ever noted. Where the next one goes */
    uint64_t word[EVENTS_KEPT][WORDS];
};

const char *const event_name[EVENT_KINDS] = {
    "",        "asked",    "gave",    "came", "shared", "copied", "unshared", "recalled", "stayed",
    "dropped", "intended", "expired", "kept", "unkept", "pulled", "pushed",   "waited"};
const char *const event_reason[WHY_COUNT] = {"-",         "only-intent", "last-intent",
                                             "localized", "follows",     "owner",
                                             "others",    "for-ever",    "never-moves"};

struct key_events *events_new(void)
{
    return calloc(1, sizeof(struct key_events));
}

/* Release: who reads a word of this event where an older one was also reads the count before, and
 * learns from it that the older one is gone. */
void events_note(struct key_events *e, const struct key_event *one)
{
    uint64_t word[WORDS], *to = e->word[e->count % EVENTS_KEPT];
    memcpy(word, one, sizeof word);
    for (unsigned i = 0; i < WORDS; i++) __atomic_store_n(&to[i], word[i], __ATOMIC_RELEASE);
    __atomic_store_n(&e->count, e->count + 1, __ATOMIC_RELEASE);
}

/* The first that is not overwritten, nor being overwritten. */
static uint64_t first_of(const struct key_events *e)
{
    uint64_t count = __atomic_load_n(&e->count, __ATOMIC_ACQUIRE);
    return count < EVENTS_KEPT ? 0 : count - EVENTS_KEPT + 1;
}

static void copy(const struct key_events *e, uint64_t number, struct key_event *out)
{
    const uint64_t *from = e->word[number % EVENTS_KEPT];
    uint64_t word[WORDS] = {0};
    for (unsigned i = 0; i < WORDS; i++) word[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
    memcpy(out, word, sizeof word);
}

static void skip_gone(struct events_reader *r)
{
    uint64_t first = first_of(r->of);
    if (r->next >= first) return;
    r->lost += first - r->next;
    r->next = first;
}

size_t events_read(struct events_reader *r, struct key_event *out, size_t max)
{
    while (r->of) {
        skip_gone(r);
        uint64_t from = r->next, there = __atomic_load_n(&r->of->count, __ATOMIC_ACQUIRE) - from;
        size_t n = there < max ? (size_t)there : max;
        if (n == 0) return 0;
        for (size_t i = 0; i < n; i++) copy(r->of, from + i, &out[i]);
        skip_gone(r); /* those that were overwritten meanwhile */
        size_t gone = (size_t)(r->next - from);
        if (gone >= n) continue;
        memmove(out, out + gone, (n - gone) * sizeof *out);
        r->next = from + n;
        return n - gone;
    }
    return 0;
}
