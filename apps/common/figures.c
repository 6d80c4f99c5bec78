#include "figures.h"

#include "fail.h"
#include "json.h"
#include "plain.h"
#include "run_log.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static void say_to_people(const struct figure *f)
{
    const char *unit = f->unit ? f->unit : "";
    if (isnan(f->value))
        printf("   %s-", f->label);
    else if (f->digits < 0)
        printf("   %s%.*g%s", f->label, -f->digits, f->value, unit);
    else
        printf("   %s%*.*f%s", f->label, f->width, f->digits, f->value, unit);
}

static void say_in_json(const char *event, const struct figure *figures, size_t count)
{
    struct json j;
    json_begin(&j, event);
    for (const struct figure *f = figures; f < figures + count; f++) {
        if (f->name && f->text) json_text(&j, f->name, f->text);
        if (f->name && !f->text) json_number(&j, f->name, f->value);
    }
    json_end(&j);
}

void figures_say(bool json, const char *event, const char *head, const struct figure *figures,
                 size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (figures[i].curve) run_log_point(figures[i].curve, figures[i].value);
    if (json) {
        say_in_json(event, figures, count);
        return;
    }
    fputs(head, stdout);
    for (size_t i = 0; i < count; i++)
        if (figures[i].label) say_to_people(&figures[i]);
    putchar('\n');
    fflush(stdout);
}

/* In the order of locus_stats: counters, and what is so now. */
#define COUNTERS(X) \
    X(pulled_local) \
    X(pulled_replica) \
    X(pulled_remote) \
    X(pushed_local) \
    X(pushed_replica) \
    X(pushed_remote) \
    X(relocated_in) \
    X(relocated_out) \
    X(replicas_created) \
    X(replicas_dropped) \
    X(rounds) \
    X(bytes_sent) \
    X(bytes_received) \
    X(messages_sent) \
    X(messages_received) \
    X(forwards) \
    X(intents_signaled) \
    X(intents_late)
#define GAUGES(X) X(replicas_now) X(owned_now)

static double staleness_of(const struct locus_stats *s)
{
    return s->replica_staleness_mean_s * (double)s->pulled_replica;
}

static double mean_of(double staleness, const struct locus_stats *s)
{
    return s->pulled_replica ? staleness / (double)s->pulled_replica : 0;
}

/* A worker's part begins and ends when all of its node are there. */
static struct locus_stats read_together(struct pool_member *m)
{
    struct locus_stats s = {0};
    pool_meet_here(m);
    if (m->worker && m->index == 0) must(locus_stats_read(m->pool->node, &s), "reading statistics");
    pool_meet_here(m);
    return s;
}

void counters_begin(struct counters *c, struct pool_member *m)
{
    const struct locus_stats now = read_together(m);
    if (m->index == 0) c->whole = now;
}

void counters_end(struct counters *c, struct pool_member *m)
{
    const struct locus_stats now = read_together(m);
    if (m->index > 0) return;
    const struct locus_stats more = counters_change(&c->whole, &now);
    counters_add(&c->trained, &more);
    c->whole = now;
}

static struct locus_stats sum_up(const struct locus_stats *own, struct pool_member *m)
{
    struct locus_stats s = m->index == 0 ? *own : (struct locus_stats){0};
#define X(name) (double)s.name,
    double figures[] = {COUNTERS(X) GAUGES(X) staleness_of(&s)};
#undef X
    pool_sum(m, figures, sizeof figures / sizeof *figures);
    size_t i = 0;
#define X(name) s.name = (uint64_t)figures[i++];
    COUNTERS(X)
    GAUGES(X)
#undef X
    s.replica_staleness_mean_s = mean_of(figures[i], &s);
    return s;
}

struct counters counters_take(const struct counters *own, struct pool_member *m)
{
    const struct locus_stats now = read_together(m);
    return (struct counters){.whole = sum_up(&now, m), .trained = sum_up(&own->trained, m)};
}

double counters_local_share(const struct locus_stats *s)
{
    double local =
        (double)(s->pulled_local + s->pulled_replica + s->pushed_local + s->pushed_replica);
    double all = local + (double)(s->pulled_remote + s->pushed_remote);
    return all > 0 ? local / all : 1;
}

struct locus_stats counters_change(const struct locus_stats *before,
                                   const struct locus_stats *after)
{
    struct locus_stats s = *after;
#define X(name) s.name -= before->name;
    COUNTERS(X)
#undef X
    s.replica_staleness_mean_s = mean_of(staleness_of(after) - staleness_of(before), &s);
    return s;
}

void counters_add(struct locus_stats *sum, const struct locus_stats *s)
{
    double staleness = staleness_of(sum) + staleness_of(s);
#define X(name) sum->name += s->name;
    COUNTERS(X)
#undef X
#define X(name) sum->name = s->name;
    GAUGES(X)
#undef X
    sum->replica_staleness_mean_s = mean_of(staleness, sum);
}

void counters_show(const struct counters *c, int nodes, bool json)
{
    const struct locus_stats *s = &c->trained;
    if (json) {
        struct json j;
        json_begin(&j, "stats");
#define X(name) json_count(&j, #name, s->name);
        COUNTERS(X)
        GAUGES(X)
#undef X
        json_number(&j, "replica_staleness_mean_s", s->replica_staleness_mean_s);
#define X(name) json_count(&j, "whole_" #name, c->whole.name);
        COUNTERS(X)
#undef X
        json_end(&j);
    } else if (nodes > 1) {
        printf("accesses in training: %.2f %% without the network; %" PRIu64
               " relocation%s, %" PRIu64 " replica%s, %.1f MB sent, %" PRIu64 " message%s\n",
               100 * counters_local_share(s), s->relocated_in, plain_s(s->relocated_in),
               s->replicas_created, plain_s(s->replicas_created), (double)s->bytes_sent * 1e-6,
               s->messages_sent, plain_s(s->messages_sent));
        fflush(stdout);
    }
}
