#include "cluster/collective.h"

#include "base/error.h"
#include "base/sync.h"
#include "base/time.h"

#include <errno.h>
#include <stdio.h>

enum { REPORT_BYTES = 160, NAME_BYTES = 64 };

static const struct {
    const char *name; /* of the call, for the people who made it */
    bool goes_on, needs_all, lets_in;
} kinds[] = {
    [COLLECTIVE_NONE] = {"nothing", false, false, false},
    [COLLECTIVE_BARRIER] = {"locus_barrier", false, false, false},
    [COLLECTIVE_SUM] = {"locus_sum", false, false, false},
    [COLLECTIVE_MEET] = {"locus_meet", false, false, true},
    [COLLECTIVE_QUIESCE] = {"locus_quiesce", false, false, false},
    [COLLECTIVE_UPDATES] = {"locus_quiesce", true, false, false},
    [COLLECTIVE_REPLICAS] = {"locus_quiesce (second part)", false, false, false},
    [COLLECTIVE_CHECKPOINT] = {"locus_checkpoint", true, true, false},
    [COLLECTIVE_RESTORE] = {"locus_restore", true, true, false},
    [COLLECTIVE_STAGE] = {"a stage of locus_checkpoint or locus_restore", true, true, false},
    [COLLECTIVE_END] = {"the end of locus_checkpoint or locus_restore", false, false, false},
};

static const char *kind_name(enum collective_kind kind)
{
    return kinds[kind].name;
}

/* With how many numbers, which must be equal, too. */
static const char *show(char name[NAME_BYTES], enum collective_kind kind, unsigned count)
{
    if (count == 0) return kind_name(kind);
    snprintf(name, NAME_BYTES, "%s of %u values", kind_name(kind), count);
    return name;
}

void collective_init(struct collective *c, unsigned workers)
{
    *c = (struct collective){.workers = workers};
    pthread_mutex_init(&c->mutex, NULL);
    condition_init(&c->complete);
}

void collective_join(struct collective *c, collective_others *others, void *context)
{
    c->others = others;
    c->context = context;
}

void collective_fini(struct collective *c)
{
    pthread_cond_destroy(&c->complete);
    pthread_mutex_destroy(&c->mutex);
}

static bool all_are_there(const struct collective *c)
{
    for (unsigned i = 0; i < c->workers; i++)
        if (c->place[i] == PLACE_NEVER_OPENED || c->place[i] == PLACE_OPEN) return false;
    return true;
}

static void complete(struct collective *c, int result, const struct word *answer)
{
    c->goes_on = meeting_goes_on(kinds[c->kind].goes_on, result);
    c->answer = *answer;
    for (unsigned i = 0; i < c->workers; i++)
        if (c->place[i] == PLACE_ARRIVED) c->place[i] = PLACE_OPEN;
    c->kind = COLLECTIVE_NONE;
    c->result = result;
    c->meeting++;
    pthread_cond_broadcast(&c->complete);
}

/* All workers of this node have arrived, and none has gone to meet the other nodes yet: the first
 * that sees this does. */
static bool should_meet_others(const struct collective *c)
{
    return c->kind != COLLECTIVE_NONE && !c->others_called && !c->failure && all_are_there(c);
}

static void meet_others(struct collective *c)
{
    char name[NAME_BYTES];
    struct word word = {.rc = 0};
    for (unsigned i = 0; i < c->workers; i++)
        if (c->place[i] == PLACE_ARRIVED) word_add(&word, c->said[i]);
    int rc = word.rc;
    if (c->others) {
        const struct meeting meeting = {.name = show(name, c->kind, c->count),
                                        .goes_on = kinds[c->kind].goes_on,
                                        .needs_all = kinds[c->kind].needs_all,
                                        .lets_in = kinds[c->kind].lets_in};
        c->others_called = true;
        pthread_mutex_unlock(&c->mutex);
        rc = c->others(c->context, &meeting, &word);
        pthread_mutex_lock(&c->mutex);
        c->others_called = false;
    }
    complete(c, c->failure ? c->failure : rc, &word);
}

/* Somebody is in a collective, which knows nothing of who opens now. */
static bool is_still(const struct collective *c)
{
    return !c->failure && (c->goes_on || c->others_called);
}

#ifdef LOCUS_FIBERS
static bool is_still_no_more(const void *c)
{
    return !is_still(c);
}

static void wait_while_still(struct collective *c)
{
    pthread_mutex_unlock(&c->mutex);
    locus_fiber_wait(is_still_no_more, c);
    pthread_mutex_lock(&c->mutex);
}
#else
static void wait_while_still(struct collective *c)
{
    struct reminder waits = {.since_ns = time_now_ns()};
    while (is_still(c)) {
        if (condition_wait(&c->complete, &c->mutex, reminder_next_ns(&waits))) continue;
        fprintf(stderr, "locus: locus_worker_open has waited %u s for the end of %s\n",
                reminder_due(&waits, time_now_ns()),
                c->kind ? kind_name(c->kind) : "a collective of this node's other workers");
    }
}
#endif

int collective_open(struct collective *c)
{
    int id = -EBUSY;
    pthread_mutex_lock(&c->mutex);
    wait_while_still(c);
    for (unsigned i = 0; i < c->workers && id < 0; i++)
        if (c->place[i] == PLACE_NEVER_OPENED || c->place[i] == PLACE_CLOSED) id = (int)i;
    if (id >= 0) c->place[id] = PLACE_OPEN;
    pthread_mutex_unlock(&c->mutex);
    return id;
}

void collective_close(struct collective *c, int id, enum collective_place as)
{
    pthread_mutex_lock(&c->mutex);
    c->place[id] = (unsigned char)as;
    /* one of those who wait does it */
    if (should_meet_others(c)) pthread_cond_broadcast(&c->complete);
    pthread_mutex_unlock(&c->mutex);
}

unsigned collective_open_count(struct collective *c)
{
    unsigned open = 0;
    pthread_mutex_lock(&c->mutex);
    for (unsigned i = 0; i < c->workers; i++)
        open += c->place[i] != PLACE_NEVER_OPENED && c->place[i] != PLACE_CLOSED;
    pthread_mutex_unlock(&c->mutex);
    return open;
}

static void report_missing(const struct collective *c, enum collective_kind kind, unsigned waited_s)
{
    char missing[REPORT_BYTES];
    size_t length = 0;
    unsigned more = 0;
    for (unsigned i = 0; i < c->workers; i++) {
        if (c->place[i] != PLACE_NEVER_OPENED && c->place[i] != PLACE_OPEN) continue;
        const char *note = c->place[i] == PLACE_OPEN ? "" : " (never opened)";
        if (length + 32 > sizeof missing)
            more++;
        else
            length += (size_t)snprintf(missing + length, sizeof missing - length, " %u%s", i, note);
    }
    fprintf(stderr, "locus: %s has waited %u s for worker%s", kind_name(kind), waited_s, missing);
    if (more) fprintf(stderr, " and %u more", more);
    fprintf(stderr, "\n");
}

#ifdef LOCUS_FIBERS
struct awaited {
    const struct collective *collective;
    uint64_t meeting;
};

static bool has_news(const void *awaited)
{
    const struct awaited *a = awaited;
    const struct collective *c = a->collective;
    return c->meeting != a->meeting || should_meet_others(c) || (c->failure && !c->others_called);
}

static void wait_for_news(struct collective *c, struct reminder *waits)
{
    const struct awaited a = {c, c->meeting};
    (void)waits, (void)report_missing;
    pthread_mutex_unlock(&c->mutex);
    locus_fiber_wait(has_news, &a);
    pthread_mutex_lock(&c->mutex);
}
#else
/* Waits for a change, to the next moment of reporting. */
static void wait_for_news(struct collective *c, struct reminder *waits)
{
    if (condition_wait(&c->complete, &c->mutex, reminder_next_ns(waits))) return;
    unsigned seconds = reminder_due(waits, time_now_ns());
    if (!all_are_there(c)) report_missing(c, c->kind, seconds);
}
#endif

static int wait_for_meeting(struct collective *c)
{
    uint64_t meeting = c->meeting;
    struct reminder waits = {.since_ns = time_now_ns()};
    while (c->meeting == meeting) {
        if (should_meet_others(c))
            meet_others(c);
        else if (c->failure && !c->others_called)
            complete(c, c->failure, &(struct word){.rc = 0});
        else
            wait_for_news(c, &waits);
    }
    return c->result;
}

int collective_agree(struct collective *c, int id, enum collective_kind kind, struct word *word)
{
    pthread_mutex_lock(&c->mutex);
    enum collective_kind other = c->kind;
    char ours[NAME_BYTES], theirs[NAME_BYTES];
    int rc = c->failure;
    if (rc == 0 && other != COLLECTIVE_NONE && (other != kind || c->count != word->count))
        rc = error_set(-EINVAL, "worker %d called %s while others wait in %s", id,
                       show(ours, kind, word->count), show(theirs, other, c->count));
    if (rc == 0) {
        c->kind = kind;
        c->count = word->count;
        c->place[id] = PLACE_ARRIVED;
        c->said[id] = word;
        rc = wait_for_meeting(c);
        *word = c->answer;
        if (rc && rc == word->rc) error_set(rc, "%s", word->text);
    }
    pthread_mutex_unlock(&c->mutex);
    return rc;
}

bool collective_is_first(struct collective *c, int id)
{
    bool is_first = true;
    pthread_mutex_lock(&c->mutex);
    for (int i = 0; i < id; i++) is_first &= c->place[i] == PLACE_CLOSED;
    pthread_mutex_unlock(&c->mutex);
    return is_first;
}

void collective_fail(struct collective *c, int rc)
{
    pthread_mutex_lock(&c->mutex);
    c->failure = rc;
    pthread_cond_broadcast(&c->complete);
    pthread_mutex_unlock(&c->mutex);
}

bool collective_all_closed(struct collective *c)
{
    bool all = true;
    pthread_mutex_lock(&c->mutex);
    for (unsigned i = 0; i < c->workers; i++) all &= c->place[i] == PLACE_CLOSED;
    pthread_mutex_unlock(&c->mutex);
    return all;
}
