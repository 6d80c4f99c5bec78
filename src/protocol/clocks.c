#include "protocol/clocks.h"

#include "base/error.h"
#include "protocol/backlog.h"

#include <errno.h>
#include <stdlib.h>

/* Markers that a peer may be told of which it is not known that it has read any: it may not read
 * for as long as its time-out, and they would fill the link. Those left out are followed by later
 * ones, which say more. */
#ifdef LOCUS_FIBERS
enum { UNHEARD_MAX = 2 }; /* simulations have few clocks */
#else
enum { UNHEARD_MAX = 1024 };
#endif

static void publish(locus_clock *to, locus_clock clock)
{
    __atomic_store_n(to, clock, __ATOMIC_SEQ_CST);
}

static locus_clock smaller(locus_clock a, locus_clock b)
{
    return a < b ? a : b;
}

static locus_clock *our_updated(const struct shard *s)
{
    return &s->clocks->peer[s->rank].updated;
}

/* The lowest clock of this node's workers; INT64_MAX: none counts. A worker that opens again begins
 * at 0, and does not count until it has passed the clock that workers had when we sent it. */
static locus_clock lowest_of_workers(const struct shard *s)
{
    const locus_clock *const *progress = s->plan->progress;
    locus_clock low = INT64_MAX;
    for (unsigned w = 0; w < s->workers && progress; w++) {
        locus_clock at = __atomic_load_n(progress[w], __ATOMIC_SEQ_CST);
        if (at >= s->clocks->reported && at < low) low = at;
    }
    return low;
}

/* The clock to send next. A node without workers that count holds nobody up: it follows the others.
 * It says no more than that, because a clock that was sent is not taken back, and workers may open
 * again. */
static locus_clock next_after(const struct shard *s, locus_clock of_workers)
{
    locus_clock most = 0;
    if (of_workers < INT64_MAX) return of_workers;
    for (unsigned n = 0; n < s->nodes; n++) {
        locus_clock updated = s->clocks->peer[n].updated;
        if (updated > most && updated < INT64_MAX) most = updated; /* it is no lost node's */
    }
    return most;
}

static locus_clock lowest(const struct shard *s)
{
    return next_after(s, lowest_of_workers(s));
}

/* What all nodes' workers have brought to their owners, as far as we know. */
static locus_clock least_updated(const struct shard *s)
{
    locus_clock least = INT64_MAX;
    for (unsigned n = 0; n < s->nodes; n++) least = smaller(least, s->clocks->peer[n].updated);
    return least;
}

/* ---- what happens ---- */

void clocks_taken(struct shard *s, struct request *r)
{
    struct clocks *c = s->clocks;
    if (r->is_taken) return;
    r->is_taken = true;
    c->taken[r->worker]++;
    r->is_later = c->later_open;
    if (request_writes(r->kind)) c->open[r->is_later]++;
}

void clocks_done(struct shard *s, struct request *r)
{
    if (r->is_taken && request_writes(r->kind)) s->clocks->open[r->is_later]--;
    r->is_taken = false;
}

void clocks_unsent(struct shard *s, struct record *r)
{
    if (r->is_unsent) return;
    r->is_unsent = true;
    r->is_unsent_later = s->clocks->later_unsent & 1;
    s->clocks->unsent[r->is_unsent_later]++;
}

void clocks_sent(struct shard *s, struct record *r)
{
    if (!r->is_unsent) return;
    r->is_unsent = false;
    s->clocks->unsent[r->is_unsent_later]--;
}

bool clocks_may_divide(const struct shard *s)
{
    return s->clocks->unsent[s->clocks->later_unsent ^ 1] == 0;
}

uint64_t clocks_divide(struct shard *s)
{
    s->clocks->later_unsent ^= 1;
    return ++s->clocks->intervals;
}

bool clocks_is_sent(const struct shard *s, uint64_t interval)
{
    return s->clocks->intervals > interval || clocks_may_divide(s);
}

static void turn_on(struct shard *s)
{
    if (s->clocks->is_on) return;
    s->clocks->is_on = true;
    publish(&s->clocks->due, *our_updated(s) + 1);
}

static void note_waiting(const struct shard *s)
{
    shard_event(s, EVENT_OF_NO_KEY, s->rank, EVENT_WAITED, WHY_NONE, s->clocks->waiting);
}

void clocks_wait(struct shard *s, struct request *r)
{
    struct clocks *c = s->clocks;
    INVARIANT(!c->wait[r->worker], "a worker waits for two clocks at once");
    turn_on(s);
    c->wait[r->worker] = r;
    c->waiting++;
    note_waiting(s);
    if (r->clock <= c->awaited) return;
    c->awaited = r->clock;
    for (unsigned n = 0; n < s->nodes; n++)
        if (n != s->rank && c->peer[n].updated < INT64_MAX) /* it is no lost node */
            shard_send(s, n, WIRE_CLOCK_AWAITED, 0, r->clock);
}

const char *clocks_entry(struct shard *s, const struct arrival *a)
{
    const struct wire_entry *e = a->entry;
    struct clock_peer *p = &s->clocks->peer[a->peer];
    locus_clock at = e->clock;
    if (at == INT64_MAX) return "a clock that is no worker's";
    turn_on(s);
    if (e->operation == WIRE_CLOCK_AWAITED) {
        if (at <= p->awaited) return "a clock that is awaited no longer";
        p->awaited = at;
    } else if (e->operation == WIRE_CLOCK_UPDATED) {
        if (at <= p->updated) return "a clock that goes back";
        publish(&p->updated, at);
    } else {
        if (at <= p->fresh || at <= p->fresh_next) return "a clock that goes back";
        p->fresh_next = at;
        if (!s->backlog->peer[a->peer].is_under_way) clocks_round_over(s, a->peer);
    }
    return NULL;
}

void clocks_round_over(struct shard *s, unsigned peer)
{
    struct clock_peer *p = &s->clocks->peer[peer];
    if (p->fresh_next > p->fresh) publish(&p->fresh, p->fresh_next);
}

/* ---- turns ---- */

/* The next clock to be sent is read first. So the requests and changes that are looked at
 * afterwards include all that came before it. */
static void read_clock(struct shard *s)
{
    struct clocks *c = s->clocks;
    if (c->reading < 0) {
        locus_clock ours, low;
        do {
            ours = lowest_of_workers(s);
            low = next_after(s, ours);
            publish(&c->due, low + 1);
        } while (lowest(s) != low);
        if (low <= *our_updated(s)) return;
        c->is_ours = ours < INT64_MAX;
        c->reading = low;
        c->has_taken = c->has_divided = false;
        for (unsigned w = 0; w < s->workers && s->plan->posted; w++)
            c->target[w] = __atomic_load_n(&s->plan->posted[w][s->number], __ATOMIC_ACQUIRE);
    }
    if (c->has_taken) return;
    for (unsigned w = 0; w < s->workers; w++)
        if (c->taken[w] < c->target[w]) return;
    c->has_taken = true;
    c->later_open ^= 1;
}

static bool can_divide(const struct shard *s)
{
    const struct clocks *c = s->clocks;
    return c->reading >= 0 && c->has_taken && !c->has_divided && c->open[c->later_open ^ 1] == 0 &&
           clocks_may_divide(s);
}

static bool can_aim(const struct shard *s, unsigned n, locus_clock least)
{
    const struct clock_peer *p = &s->clocks->peer[n];
    return n != s->rank && p->aim <= p->said && least > p->said;
}

static bool can_aim_at_any(const struct shard *s)
{
    locus_clock least = least_updated(s);
    for (unsigned n = 0; n < s->nodes; n++)
        if (can_aim(s, n, least)) return true;
    return false;
}

bool clocks_want_changes(struct shard *s)
{
    if (!s->clocks->is_on) return false;
    read_clock(s);
    return can_divide(s) || can_aim_at_any(s);
}

void clocks_have_changes(struct shard *s)
{
    struct clocks *c = s->clocks;
    if (can_divide(s)) {
        c->has_divided = true;
        c->interval = clocks_divide(s);
    }
    locus_clock least = least_updated(s);
    for (unsigned n = 0; n < s->nodes; n++) {
        struct clock_peer *p = &c->peer[n];
        if (!can_aim(s, n, least)) continue;
        p->aim = least;
        p->aim_at = s->backlog->peer[n].refreshes_queued;
    }
}

/* Tells a peer which markers it has not got. */
static void send_markers(struct shard *s, unsigned n)
{
    struct clock_peer *p = &s->clocks->peer[n];
    locus_clock updated = *our_updated(s);
    /* What it says is fresh, it has heard from all. */
    if (p->unheard == UNHEARD_MAX && p->fresh_next >= p->told_before) {
        p->told_before = p->told;
        p->unheard = 0;
    }
    if (p->told < updated && p->unheard < UNHEARD_MAX) {
        shard_send(s, n, WIRE_CLOCK_UPDATED, 0, updated);
        p->told = updated;
        p->unheard++;
    }
    bool have_left = s->backlog->peer[n].refreshes_left >= p->aim_at;
    if (p->aim <= p->said || !have_left) return;
    shard_send(s, n, WIRE_CLOCK_FRESH, 0, p->aim);
    p->said = p->aim;
}

/* ---- the members change ---- */

void clocks_change(struct shard *s, unsigned node, bool joins)
{
    struct clocks *c = s->clocks;
    struct clock_peer *p = &c->peer[node];
    locus_clock counts = joins ? 0 : INT64_MAX;
    publish(&p->updated, counts);
    publish(&p->fresh, counts);
    p->said = p->told = counts;
    p->fresh_next = p->awaited = p->aim = p->told_before = 0;
    p->unheard = 0;
    if (!joins || node == s->rank || !c->is_on) return;
    send_markers(s, node);
    if (c->awaited > 0) shard_send(s, node, WIRE_CLOCK_AWAITED, 0, c->awaited);
}

void clocks_joined(struct shard *s)
{
    s->clocks->reported = next_after(s, INT64_MAX);
}

/* ---- the gate ---- */

static void open_gate(struct shard *s)
{
    struct clocks *c = s->clocks;
    locus_clock gate = least_updated(s);
    for (unsigned n = 0; n < s->nodes; n++)
        if (n != s->rank) gate = smaller(gate, c->peer[n].fresh);
    if (gate > c->gate) publish(&c->gate, gate);
    for (unsigned w = 0; w < s->workers && c->waiting > 0; w++) {
        struct request *r = c->wait[w];
        if (!r || r->clock > c->gate) continue;
        c->wait[w] = NULL;
        c->waiting--;
        note_waiting(s);
        shard_complete(s, r);
    }
}

void clocks_say(struct shard *s, bool opens)
{
    struct clocks *c = s->clocks;
    if (!c->is_on) return;
    if (c->reading >= 0 && c->has_divided && clocks_is_sent(s, c->interval)) {
        publish(our_updated(s), c->reading);
        if (c->is_ours) c->reported = c->reading;
        c->reading = -1;
    }
    for (unsigned n = 0; n < s->nodes; n++)
        if (n != s->rank) send_markers(s, n);
    if (opens) open_gate(s);
}

bool clocks_hurry(const struct shard *s)
{
    const struct clocks *c = s->clocks;
    if (!c->is_on) return false;
    locus_clock awaited = c->waiting > 0 ? c->awaited : 0;
    for (unsigned n = 0; n < s->nodes; n++) {
        const struct clock_peer *p = &c->peer[n];
        if (p->awaited > awaited) awaited = p->awaited;
        if (p->aim > p->said && p->awaited > p->said) return true;
    }
    return c->reading >= 0 && awaited > *our_updated(s);
}

bool clocks_have_news(const struct shard *s)
{
    const struct clocks *c = s->clocks;
    if (!c->is_on) return false;
    if (c->reading < 0 && lowest(s) > *our_updated(s)) return true;
    return can_divide(s) || can_aim_at_any(s);
}

unsigned clocks_last(const struct clocks *c, unsigned nodes, unsigned rank, locus_clock *at)
{
    unsigned last = rank;
    *at = INT64_MAX;
    for (unsigned n = 0; n < nodes; n++) {
        const struct clock_peer *p = &c->peer[n];
        locus_clock updated = __atomic_load_n(&p->updated, __ATOMIC_ACQUIRE);
        if (updated >= *at) continue;
        *at = updated;
        last = n;
    }
    return last;
}

/* ---- life ---- */

int clocks_init(struct shard *s)
{
    struct clocks *c = s->clocks = calloc(1, sizeof *c);
    if (!c) return -ENOMEM;
    c->reading = -1;
    c->due = INT64_MAX;
    c->peer = calloc(s->nodes, sizeof *c->peer);
    c->target = calloc(s->workers, sizeof *c->target);
    c->taken = calloc(s->workers, sizeof *c->taken);
    c->wait = calloc(s->workers, sizeof(struct request *));
    return c->peer && c->target && c->taken && c->wait ? 0 : -ENOMEM;
}

void clocks_fini(struct shard *s)
{
    struct clocks *c = s->clocks;
    if (!c) return;
    free(c->peer);
    free(c->target);
    free(c->taken);
    free(c->wait);
    free(c);
    s->clocks = NULL;
}
