#include "report.h"

#include "platform.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAST = 60 };

enum event_kind { SENT, ARRIVED, CALLED, DONE };

struct event {
    enum event_kind kind;
    uint64_t step;
    unsigned shard, from, to, worker;
    int rc;
    struct wire_entry entry;
    struct script_step call;
};

static struct {
    const char *replay;
    void (*state)(locus_key);
    bool tracing, failed, silent;
    uint64_t count;
    struct event last[LAST];
} report;

void report_begin(const char *replay, void (*state)(locus_key), bool tracing)
{
    report.replay = replay;
    report.state = state;
    report.tracing = tracing;
    report.failed = false;
    report.count = 0;
}

void report_silence(bool silent)
{
    report.silent = silent;
}

static void print_entry(const struct event *v)
{
    const struct wire_entry *e = &v->entry;
    const char *operation = e->operation < WIRE_OPERATIONS ? wire_rules[e->operation].name : "?";
    printf("%s %u -> %u  %s key %" PRIu64 " owner %u term %" PRIu64
           " origin %u hops %u tag %x flags %x version %" PRIu64 " length %u",
           v->kind == SENT ? "sent   " : "arrived", v->from, v->to, operation, e->key, e->owner,
           e->term, e->origin, e->hops, e->tag, e->flags, e->version, e->length);
}

static void print_call(const struct event *v)
{
    const struct script_step *s = &v->call;
    printf("worker %u %s %s%s", v->worker, v->kind == CALLED ? "calls" : "ended",
           script_kind_name(s->kind), s->async ? "_async" : "");
    for (unsigned i = 0; i < s->n; i++) printf("%s%u", i ? " " : " of ", s->key[i]);
    if (v->kind == DONE && v->rc) printf(": %d", v->rc);
}

static void print_event(const struct event *v)
{
    printf("%8" PRIu64 "  ", v->step);
    if (v->kind == SENT || v->kind == ARRIVED)
        print_entry(v);
    else
        print_call(v);
    printf("\n");
}

static void note(struct event v)
{
    v.step = fibers_steps();
    report.last[report.count++ % LAST] = v;
    if (report.tracing) print_event(&v);
}

void report_sent(unsigned shard, unsigned from, unsigned to, const struct wire_entry *e)
{
    note((struct event){.kind = SENT, .shard = shard, .from = from, .to = to, .entry = *e});
}

void report_arrived(unsigned shard, unsigned from, unsigned to, const struct wire_entry *e)
{
    note((struct event){.kind = ARRIVED, .shard = shard, .from = from, .to = to, .entry = *e});
}

void report_called(unsigned worker, const struct script_step *s)
{
    note((struct event){.kind = CALLED, .worker = worker, .call = *s});
}

void report_done(unsigned worker, const struct script_step *s, int rc)
{
    note((struct event){.kind = DONE, .worker = worker, .call = *s, .rc = rc});
}

bool report_has_failed(void)
{
    return report.failed;
}

static void print_last(void)
{
    uint64_t first = report.count > LAST ? report.count - LAST : 0;
    printf("  the last events:\n");
    for (uint64_t i = first; i < report.count; i++) print_event(&report.last[i % LAST]);
}

void report_fail(locus_key key, const char *format, ...)
{
    if (!report.failed && !report.silent) {
        va_list arguments;
        printf("violation: ");
        va_start(arguments, format);
        vprintf(format, arguments);
        va_end(arguments);
        if (key != REPORT_NO_KEY) printf(" (key %" PRIu64 ")", key);
        printf("\n");
        if (!report.tracing) print_last();
        if (key != REPORT_NO_KEY) report.state(key);
        printf("replay: %s\n", report.replay);
        fflush(stdout);
    }
    report.failed = true;
    if (fibers_current() >= 0) fibers_stop();
}
