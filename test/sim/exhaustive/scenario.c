#include "scenario.h"

#include "protocol/plan.h"

#include <stdio.h>
#include <string.h>

const char *const scenario_kind_name[CALL_KINDS] = {"pull", "push", "set",    "localize", "begin",
                                                    "end",  "keep", "unkeep", "clock",    "bound"};

static bool parse_call(struct scenario *s, const char **at)
{
    for (int k = 0; k < CALL_KINDS && s->calls < SCENARIO_CALLS_MAX; k++) {
        size_t length = strlen(scenario_kind_name[k]);
        if (strncmp(*at, scenario_kind_name[k], length) != 0) continue;
        *at += length;
        bool async = **at == '*';
        *at += async;
        s->call[s->calls++] = (struct scenario_call){
            .kind = (enum scenario_kind)k, .worker = s->workers - 1, .async = async};
        return true;
    }
    return false;
}

static void note_clocks(struct scenario *s)
{
    locus_clock clock[SCENARIO_WORKERS_MAX] = {0};
    unsigned last = s->loses > s->loses_too ? s->loses : s->loses_too;
    for (unsigned i = 0; i < s->calls; i++) {
        struct scenario_call *c = &s->call[i];
        clock[c->worker] += c->kind == CALL_CLOCK;
        c->clock = clock[c->worker];
        s->has_clocks |= c->kind == CALL_BOUND;
        if (s->node[c->worker] >= last) last = s->node[c->worker] + 1;
    }
    s->nodes = s->has_clocks && last < SCENARIO_NODES ? SCENARIO_NODES - 1 : SCENARIO_NODES;
    if (last > SCENARIO_NODES) s->nodes = last;
}

size_t scenario_technique(const char *text, enum locus_technique *technique)
{
    for (unsigned t = 0; technique_of(t); t++) {
        size_t length = strlen(technique_of(t)->name);
        if (strncmp(text, technique_of(t)->name, length) != 0 || strcspn(text, " ") != length)
            continue;
        *technique = (enum locus_technique)t;
        return length;
    }
    return 0;
}

static const char *const change_words[CHANGE_KINDS] = {
    [CHANGE_LOST] = "lose=", [CHANGE_LEAVES] = "leave=", [CHANGE_JOINS] = "join="};

/* Behind the word. NULL: none of them. */
static const char *skip_change(const char *text, enum change_kind *kind)
{
    for (unsigned k = 0; k < CHANGE_KINDS; k++) {
        size_t length = strlen(change_words[k]);
        *kind = (enum change_kind)k;
        if (strncmp(text, change_words[k], length) == 0) return text + length;
    }
    *kind = CHANGE_LOST;
    return NULL;
}

/* 1 + the node. 0: none. */
static unsigned parse_node(const char **at)
{
    if (**at < '0' || **at >= '0' + SCENARIO_NODES_MAX) return 0;
    return 1 + (unsigned)(*(*at)++ - '0');
}

bool scenario_parse(struct scenario *s, const char *text)
{
    *s = (struct scenario){.technique = LOCUS_RELOCATE};
    text += scenario_technique(text, &s->technique);
    text += *text == ' ';
    const char *node = skip_change(text, &s->change);
    if (node) {
        text = node;
        s->loses = parse_node(&text);
        if (!s->loses) return false;
        bool has_two = *text == ',';
        text += has_two;
        if (has_two) s->loses_too = parse_node(&text);
        if (has_two && (!s->loses_too || (s->change == CHANGE_LOST && s->loses_too == s->loses)))
            return false;
        text += *text == ' ';
    }
    for (const char *at = text; *at;) {
        if (*at < '0' || *at >= '0' + SCENARIO_NODES_MAX || at[1] != ':' ||
            s->workers == SCENARIO_WORKERS_MAX)
            return false;
        s->node[s->workers++] = (unsigned)(*at - '0');
        at += 2;
        while (true) {
            if (!parse_call(s, &at)) return false;
            if (*at != ',') break;
            at++;
        }
        if (*at == ' ') at++;
    }
    note_clocks(s);
    return s->calls > 0;
}

const char *scenario_text(const struct scenario *s, char *text, size_t bytes)
{
    bool is_usual = s->technique == LOCUS_RELOCATE;
    size_t at = (size_t)snprintf(
        text, bytes, "%s%s", is_usual ? "" : technique_of(s->technique)->name, is_usual ? "" : " ");
    if (s->loses)
        at +=
            (size_t)snprintf(text + at, bytes - at, "%s%u", change_words[s->change], s->loses - 1);
    if (s->loses_too) at += (size_t)snprintf(text + at, bytes - at, ",%u", s->loses_too - 1);
    if (s->loses) at += (size_t)snprintf(text + at, bytes - at, " ");
    for (unsigned w = 0; w < s->workers; w++) {
        char before = ':';
        at += (size_t)snprintf(text + at, bytes - at, "%s%u", w ? " " : "", s->node[w]);
        for (unsigned c = 0; c < s->calls; c++) {
            if (s->call[c].worker != w) continue;
            at += (size_t)snprintf(text + at, bytes - at, "%c%s%s", before,
                                   scenario_kind_name[s->call[c].kind],
                                   s->call[c].async ? "*" : "");
            before = ',';
        }
    }
    return text;
}

/* A call is of some kind, at one of three nodes, and either the first of a worker of its own, or it
 * follows the call before it, which its worker does not (or does) wait for. */

/* Kinds that say something new under a technique. */
static unsigned kinds(enum locus_technique t)
{
    if (t == LOCUS_RELOCATE) return CALL_LOCALIZE + 1;
    if (t == LOCUS_ADAPTIVE || t == LOCUS_REPLICATE) return CALL_END + 1;
    if (t == LOCUS_FULL_REPLICATION) return CALL_SET + 1;
    return CALL_UNKEEP + 1;
}

uint64_t scenario_count(enum locus_technique t, unsigned calls)
{
    uint64_t n = kinds(t) * SCENARIO_NODES;
    for (unsigned i = 1; i < calls; i++) n *= kinds(t) * (SCENARIO_NODES + 2);
    return n;
}

/* Intents of the worker that began and have not ended. */
static unsigned open_intents(const struct scenario *s, unsigned worker)
{
    unsigned open = 0;
    for (unsigned i = 0; i < s->calls; i++) {
        if (s->call[i].worker != worker) continue;
        open += s->call[i].kind == CALL_BEGIN;
        open -= s->call[i].kind == CALL_END;
    }
    return open;
}

static bool is_instant(enum scenario_kind k)
{
    return k >= CALL_BEGIN;
}

static bool add_call(struct scenario *s, unsigned kind, unsigned where)
{
    if (where < SCENARIO_NODES) {
        s->node[s->workers++] = where;
    } else {
        struct scenario_call *before = &s->call[s->calls - 1];
        before->async = where == SCENARIO_NODES;
        if (before->async && is_instant(before->kind)) return false; /* nothing to wait for */
        /* like one */
        if (before->async && before->kind == CALL_LOCALIZE && kind == CALL_LOCALIZE) return false;
    }
    if (kind == CALL_END && open_intents(s, s->workers - 1) == 0) return false;
    s->call[s->calls++] =
        (struct scenario_call){.kind = (enum scenario_kind)kind, .worker = s->workers - 1};
    return true;
}

/* Workers in ascending order: others are the same scenario. */
static uint64_t worker_rank(const struct scenario *s, unsigned worker)
{
    uint64_t rank = s->node[worker];
    for (unsigned c = 0; c < s->calls; c++)
        if (s->call[c].worker == worker)
            rank = rank * 16 + 1 + s->call[c].kind + (s->call[c].async ? CALL_KINDS : 0);
    return rank;
}

bool scenario_number(struct scenario *s, enum locus_technique t, unsigned calls, uint64_t number)
{
    unsigned n = kinds(t);
    *s = (struct scenario){.technique = t, .nodes = SCENARIO_NODES};
    if (!add_call(s, (unsigned)(number % n), (unsigned)(number / n % SCENARIO_NODES))) return false;
    number /= (uint64_t)n * SCENARIO_NODES;
    for (unsigned i = 1; i < calls; i++, number /= (uint64_t)n * (SCENARIO_NODES + 2))
        if (!add_call(s, (unsigned)(number % n), (unsigned)(number / n % (SCENARIO_NODES + 2))))
            return false;
    for (unsigned w = 1; w < s->workers; w++)
        if (worker_rank(s, w - 1) > worker_rank(s, w)) return false;
    return true;
}
