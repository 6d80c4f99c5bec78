#include "cores.h"

#include "virtual.h"

#include <stdlib.h>
#include <string.h>

enum {
    HOSTS_MAX = VIRTUAL_NODES_MAX,
    CORES_MAX = 256, /* of a host */
    TICK_NS = 4000000,
    BALANCE_NS = 32000000, /* from one look at others' load to the next, of a core that is busy */
    LOAD_NS = 46000000,    /* what load is a mean of: half of it is of the last 32 ms */
    HOT_NS = 500000,       /* who ran so lately is not taken to another core */
    LOOK_NS = 300,         /* of a thread that spins */
};
#define BALANCED 1.17 /* so far loads may differ */
#define STAYS 1.085   /* so far, where a thread wakes */
#define NEVER UINT64_MAX

struct core {
    struct cores_thread *current, *queue, *last; /* last: ran here last */
    int64_t mean_ns;                             /* run time that its threads have had */
    uint64_t since_ns;                           /* accounted to then */
    uint64_t due_ns;                             /* of its next event */
    unsigned host;
    uint64_t balance_ns;
    unsigned failures; /* in balancing */
    bool slice_has_ended;
    bool goes, is_late; /* within go(); the current one shall give way after it */
};

static struct {
    unsigned cores, host_nodes;
    int64_t wake_ns, switch_ns;
    struct core *core[HOSTS_MAX]; /* [cores] */
    struct cores_thread *thread[HOSTS_MAX];
} all;

void cores_begin(const struct model *m)
{
    for (unsigned h = 0; h < HOSTS_MAX; h++) free(all.core[h]);
    memset(&all, 0, sizeof all);
    all.cores = m->cores < CORES_MAX ? (unsigned)m->cores : CORES_MAX;
    all.host_nodes = m->host_nodes > 0 ? (unsigned)m->host_nodes : VIRTUAL_NODES_MAX;
    all.wake_ns = (int64_t)m->wake;
    all.switch_ns = (int64_t)m->switching;
}

bool cores_are_shared(void)
{
    return all.cores > 0;
}

bool cores_suffice(unsigned nodes, unsigned threads_of_a_node)
{
    unsigned here = nodes < all.host_nodes ? nodes : all.host_nodes;
    return all.cores == 0 || here * threads_of_a_node <= all.cores;
}

static struct core *cores_of(unsigned host)
{
    if (all.core[host]) return all.core[host];
    all.core[host] = calloc(all.cores, sizeof(struct core));
    if (!all.core[host]) abort();
    for (unsigned i = 0; i < all.cores; i++) {
        all.core[host][i].host = host;
        all.core[host][i].due_ns = NEVER;
    }
    return all.core[host];
}

void cores_open(struct cores_thread *t, unsigned node, int64_t slice_ns, void (*go)(void *of),
                void *of)
{
    *t = (struct cores_thread){
        .go = go, .of = of, .slice_ns = slice_ns, .host = node / all.host_nodes};
    t->sibling = all.thread[t->host];
    all.thread[t->host] = t;
}

/* ---- what threads have had ---- */

static unsigned length(const struct core *c)
{
    unsigned n = c->current != NULL;
    for (const struct cores_thread *t = c->queue; t; t = t->next) n++;
    return n;
}

static void set_mean(struct core *c)
{
    /* of differences: the sum of what all have had may be large */
    const struct cores_thread *first = c->current ? c->current : c->queue;
    int64_t sum = 0;
    if (!first) return;
    for (const struct cores_thread *t = c->queue; t; t = t->next) sum += t->had_ns - first->had_ns;
    c->mean_ns = first->had_ns + sum / (int64_t)length(c);
}

/* For the time that has passed. */
static void account(struct core *c)
{
    struct cores_thread *t = c->current;
    uint64_t now = virtual_now_ns();
    if (!t) return;
    int64_t passed = (int64_t)(now - c->since_ns);
    c->since_ns = now;
    t->had_ns += passed;
    t->needs_ns -= passed;
    t->ran_at_ns = now;
    set_mean(c);
    if (t->had_ns < t->deadline_ns) return;
    t->deadline_ns = t->had_ns + t->slice_ns;
    c->slice_has_ended = true;
}

static bool is_eligible(const struct core *c, const struct cores_thread *t)
{
    return t->had_ns <= c->mean_ns;
}

static struct cores_thread *pick(const struct core *c, bool protects)
{
    struct cores_thread *best = c->current;
    if (best && !is_eligible(c, best)) best = NULL;
    if (best && protects && best->had_ns < best->protected_ns) return best;
    for (struct cores_thread *t = c->queue; t; t = t->next)
        if (is_eligible(c, t) && (!best || t->deadline_ns < best->deadline_ns)) best = t;
    return best ? best : c->current;
}

static void protect(struct core *c)
{
    struct cores_thread *current = c->current;
    int64_t slice = current->slice_ns;
    for (const struct cores_thread *t = c->queue; t; t = t->next)
        if (t->slice_ns < slice) slice = t->slice_ns;
    current->protected_ns = current->had_ns + slice;
    if (current->protected_ns > current->deadline_ns) current->protected_ns = current->deadline_ns;
}

/* ---- load ---- */

/* The part of the last time in which it wanted a core. */
static double load_of(struct cores_thread *t)
{
    double passed = (double)(virtual_now_ns() - t->load_at_ns);
    double wants = t->state == CORES_ASLEEP ? 0 : 1;
    t->load += (wants - t->load) * passed / (passed + LOAD_NS);
    t->load_at_ns = virtual_now_ns();
    return t->load;
}

static double load(const struct core *c)
{
    double sum = 0;
    for (struct cores_thread *t = all.thread[c->host]; t; t = t->sibling)
        if (t->core == c) sum += load_of(t);
    return sum;
}

static void enter(struct cores_thread *t, enum cores_state state)
{
    load_of(t);
    t->state = state;
}

/* ---- the queue ---- */

static void put(struct core *c, struct cores_thread *t)
{
    struct cores_thread **end = &c->queue;
    while (*end) end = &(*end)->next;
    t->next = NULL;
    enter(t, CORES_QUEUED);
    t->core = c;
    *end = t;
}

static void take(struct core *c, const struct cores_thread *t)
{
    struct cores_thread **at = &c->queue;
    while (*at != t) at = &(*at)->next;
    *at = t->next;
}

/* When the current one has what it needs, or the next tick. */
static void plan(struct core *c)
{
    const struct cores_thread *t = c->current;
    if (!t || c->goes) {
        c->due_ns = NEVER;
        return;
    }
    uint64_t due = c->since_ns + (uint64_t)(t->needs_ns > 0 ? t->needs_ns : 0);
    uint64_t tick = (c->since_ns / TICK_NS + 1) * TICK_NS;
    if (tick < due) due = tick;
    if (due == c->due_ns) return;
    c->due_ns = due;
    virtual_plan(due, EVENT_CORE, c);
}

static void run(struct core *c, struct cores_thread *t, int64_t delay_ns)
{
    take(c, t);
    enter(t, CORES_RUNNING);
    t->needs_ns += delay_ns + (t != c->last ? all.switch_ns : 0);
    c->current = c->last = t;
    c->since_ns = virtual_now_ns();
    set_mean(c);
    protect(c);
}

/* The current one gives way, unless it is the one to run. */
static void choose(struct core *c)
{
    struct cores_thread *best = pick(c, true), *current = c->current;
    c->is_late = c->slice_has_ended = false;
    if (best == current) {
        if (current) protect(c);
        return;
    }
    if (current) put(c, current);
    c->current = NULL;
    run(c, best, 0);
}

static void give_way(struct core *c)
{
    if (c->goes)
        c->is_late = true;
    else
        choose(c);
}

/* Others want the core of one that spins. */
static void yield(struct core *c)
{
    struct cores_thread *t = c->current;
    t->is_spinning = false;
    t->needs_ns = LOOK_NS;
    if (is_eligible(c, t)) {
        t->had_ns = t->deadline_ns;
        t->deadline_ns += t->slice_ns;
        set_mean(c);
    }
    choose(c);
}

/* ---- coming and leaving ---- */

/* Who has waited is owed what the others have had more, up to a bound; who was ahead of them still
 * is, by what they have not made up for. */
static void place(struct core *c, struct cores_thread *t)
{
    int64_t lag = t->lag_ns, others = (int64_t)length(c);
    if (lag < 0 && t->core) {
        lag += t->core->mean_ns - t->left_ns;
        if (lag > 0) lag = 0;
    }
    lag = others > 0 ? lag + lag / others : 0;
    t->had_ns = c->mean_ns - lag;
    t->deadline_ns = t->had_ns + t->slice_ns;
}

static void leave(struct core *c, struct cores_thread *t)
{
    int64_t most = 2 * t->slice_ns > TICK_NS ? 2 * t->slice_ns : TICK_NS;
    set_mean(c);
    t->left_ns = c->mean_ns;
    t->lag_ns = c->mean_ns - t->had_ns;
    if (t->lag_ns > most) t->lag_ns = most;
    if (t->lag_ns < -most) t->lag_ns = -most;
    enter(t, CORES_ASLEEP);
    t->is_spinning = false;
}

static void preempt(struct core *c, const struct cores_thread *t)
{
    struct cores_thread *current = c->current;
    bool is_short = t->slice_ns < current->slice_ns;
    if (is_short && pick(c, false) == t) current->protected_ns = current->had_ns;
    if (c->slice_has_ended || pick(c, true) == t) give_way(c);
}

static void come(struct core *c, struct cores_thread *t)
{
    bool is_idle = !c->current;
    account(c);
    place(c, t);
    put(c, t);
    set_mean(c);
    if (is_idle)
        run(c, t, all.wake_ns);
    else if (c->current->is_spinning && !c->goes)
        yield(c);
    else
        preempt(c, t);
    plan(c);
}

/* One that has nothing to do; else its last one, or that of who wakes it if there is less load. */
static struct core *core_for(struct cores_thread *t, const struct cores_thread *by)
{
    struct core *of = cores_of(t->host), *last = t->core ? t->core : of, *other = last;
    if (!last->current) return last;
    if (by && by->core && by->host == t->host) other = by->core;
    if (!other->current) return other;
    for (unsigned i = 0; i < all.cores; i++)
        if (!of[i].current) return &of[i];
    if (other == last) return last;
    return load(other) + load_of(t) < STAYS * (load(last) - load_of(t)) ? other : last;
}

static struct core *busiest_but(struct core *c)
{
    struct core *of = cores_of(c->host), *busiest = NULL;
    double most = 0, l;
    for (unsigned i = 0; i < all.cores; i++) {
        if (&of[i] == c || !of[i].queue || (l = load(&of[i])) <= most) continue;
        busiest = &of[i];
        most = l;
    }
    return busiest;
}

static void move(struct core *from, struct core *to, struct cores_thread *t)
{
    int64_t rest = t->deadline_ns - t->had_ns;
    account(from);
    leave(from, t);
    take(from, t);
    set_mean(from);
    t->left_ns = from->mean_ns; /* no time has passed */
    place(to, t);
    t->deadline_ns = t->had_ns + rest;
    put(to, t);
    set_mean(to);
}

/* For a core that has nothing to do. */
static void pull_any(struct core *c)
{
    struct core *from = busiest_but(c);
    struct cores_thread *t = from ? from->queue : NULL;
    while (t && virtual_now_ns() - t->ran_at_ns < HOT_NS) t = t->next;
    if (t) move(from, c, t);
}

/* Half of what another one has more load, now and then; whoever fails asks for more and more. */
static void balance(struct core *c)
{
    struct core *from = busiest_but(c);
    double more = from ? load(from) - load(c) : 0;
    c->balance_ns = virtual_now_ns() + BALANCE_NS;
    if (!from || load(from) <= BALANCED * load(c)) return;
    for (struct cores_thread *t = from->queue; t; t = t->next) {
        if (virtual_now_ns() - t->ran_at_ns < HOT_NS && c->failures < 2) continue;
        if (load_of(t) > more / 2 * (1 << (c->failures < 8 ? c->failures : 8))) continue;
        move(from, c, t);
        c->failures = 0;
        return;
    }
    c->failures++;
}

static void fill(struct core *c)
{
    if (!c->queue) pull_any(c);
    if (c->queue) choose(c);
    plan(c);
}

void cores_wake(struct cores_thread *t, const struct cores_thread *by)
{
    if (t->state == CORES_ASLEEP) {
        come(core_for(t, by), t);
    } else if (t->is_spinning) {
        account(t->core);
        t->is_spinning = false;
        t->needs_ns = LOOK_NS;
        plan(t->core);
    }
}

bool cores_is_waiting(const struct cores_thread *t)
{
    return t->state == CORES_ASLEEP || t->is_spinning;
}

void cores_close(struct cores_thread *t)
{
    struct cores_thread **at = &all.thread[t->host];
    struct core *c = t->core;
    while (*at != t) at = &(*at)->sibling;
    *at = t->sibling;
    t->go = NULL;
    if (t->state == CORES_ASLEEP) return;
    account(c);
    if (t->state == CORES_QUEUED) {
        leave(c, t);
        take(c, t);
        set_mean(c);
        plan(c);
    } else {
        cores_sleep(t);
    }
}

/* ---- after go() ---- */

void cores_compute(struct cores_thread *t, double ns)
{
    struct core *c = t->core;
    c->goes = false;
    t->needs_ns = (int64_t)ns;
    if (c->is_late) choose(c);
    plan(c);
}

void cores_spin(struct cores_thread *t, uint64_t until_ns)
{
    struct core *c = t->core;
    c->goes = false;
    t->is_spinning = true;
    t->needs_ns = (int64_t)(until_ns - virtual_now_ns());
    if (c->queue) yield(c);
    plan(c);
}

void cores_sleep(struct cores_thread *t)
{
    struct core *c = t->core;
    c->goes = c->is_late = false;
    leave(c, t);
    c->current = NULL;
    set_mean(c);
    fill(c);
}

/* ---- events ---- */

void cores_happen(struct core *c, uint64_t at_ns)
{
    if (c->due_ns != at_ns) return; /* it was planned anew */
    account(c);
    struct cores_thread *t = c->current;
    c->due_ns = NEVER;
    if (at_ns % TICK_NS == 0) {
        if (at_ns >= c->balance_ns) balance(c);
        if (c->queue && (c->slice_has_ended || t->had_ns >= t->protected_ns)) choose(c);
    }
    if (c->current == t && t->needs_ns <= 0) {
        t->is_spinning = false;
        c->goes = true;
        t->go(t->of);
    } else {
        plan(c);
    }
}
