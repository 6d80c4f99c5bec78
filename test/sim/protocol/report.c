#include "report.h"

#include "platform.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAST = 60 };

enum event_kind { SENT, ARRIVED, CALLED, DONE, REMARK };

struct event {
    enum event_kind kind;
    uint64_t step;
    unsigned shard, from, to, worker;
    int rc;
    const char *text;
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
    if (v->kind == REMARK)
        printf("worker %u %s", v->worker, v->text);
    else if (v->kind == SENT || v->kind == ARRIVED)
        print_entry(v);
    else
        print_call(v);
    printf("\n");
}

static struct event *note(enum event_kind kind)
{
    struct event *v = &report.last[report.count++ % LAST];
    v->kind = kind;
    v->step = fibers_steps();
    return v;
}

static void noted(const struct event *v)
{
    if (report.tracing) print_event(v);
}

static void note_entry(enum event_kind kind, unsigned shard, unsigned from, unsigned to,
                       const struct wire_entry *e)
{
    struct event *v = note(kind);
    v->shard = shard;
    v->from = from;
    v->to = to;
    v->entry = *e;
    noted(v);
}

void report_sent(unsigned shard, unsigned from, unsigned to, const struct wire_entry *e)
{
    note_entry(SENT, shard, from, to, e);
}

void report_arrived(unsigned shard, unsigned from, unsigned to, const struct wire_entry *e)
{
    note_entry(ARRIVED, shard, from, to, e);
}

static void note_call(enum event_kind kind, unsigned worker, const struct script_step *s, int rc)
{
    struct event *v = note(kind);
    v->worker = worker;
    v->call = *s;
    v->rc = rc;
    noted(v);
}

void report_called(unsigned worker, const struct script_step *s)
{
    note_call(CALLED, worker, s, 0);
}

void report_done(unsigned worker, const struct script_step *s, int rc)
{
    note_call(DONE, worker, s, rc);
}

void report_remark(const char *text, unsigned worker)
{
    struct event *v = note(REMARK);
    v->worker = worker;
    v->text = text;
    noted(v);
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
