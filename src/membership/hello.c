#include "membership/hello.h"

#include "net/secret.h"
#include "protocol/technique.h"
#include "store/row_type.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { NAME_SHOWN = 64 };

/* ---- writing ---- */

static unsigned milliseconds(double seconds)
{
    double ms = seconds * 1e3;
    if (ms >= INT_MAX) return INT_MAX;
    return ms < 1 ? 1 : (unsigned)ms;
}

static uint32_t bits_of(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static void write_table(struct rendezvous_message *m, const struct locus_table *t, size_t i)
{
    char name[32];
    snprintf(name, sizeof name, "table%zu", i);
    rendezvous_put_text(m, t->name ? t->name : name);
    rendezvous_put_u64(m, t->rows);
    rendezvous_put_u32(m, t->length);
    rendezvous_put_u32(m, t->flags);
    rendezvous_put_u32(m, (uint32_t)t->optimizer);
    struct locus_rule rule = row_type_rule(t);
    for (size_t c = 0; c < ROW_TYPE_CONSTANTS; c++)
        rendezvous_put_u32(m, bits_of(row_type_constant(&rule, c)));
}

struct rendezvous_message *rendezvous_hello_write(const struct rendezvous_config *c,
                                                  unsigned timeout_ms)
{
    struct rendezvous_message *m = rendezvous_message_new(RENDEZVOUS_HELLO);
    rendezvous_put_u32(m, (uint32_t)c->rank);
    rendezvous_put_u32(m, (uint32_t)c->size);
    rendezvous_put_u32(m, milliseconds(c->peer_timeout_s));
    rendezvous_put_u32(m, milliseconds(c->join_timeout_s));
    rendezvous_put_u32(m, timeout_ms);
    rendezvous_put_text(m, c->data_address);
    rendezvous_put_u32(m, c->workers);
    rendezvous_put_u32(m, (uint32_t)c->technique);
    rendezvous_put_u32(m, c->act_immediately);
    rendezvous_put_u64(m, (uint64_t)(c->staleness_s * 1e9));
    rendezvous_put_u64(m, c->fingerprint);
    rendezvous_put_u32(m, c->shards);
    rendezvous_put_u32(m, c->secret && c->secret->is_known);
    rendezvous_put_u32(m, (uint32_t)c->table_count);
    for (size_t i = 0; i < c->table_count; i++) write_table(m, &c->tables[i], i);
    return rendezvous_message_done(m);
}

/* ---- reading ---- */

struct table {
    struct rendezvous_slice name;
    uint64_t rows;
    unsigned length, flags, optimizer;
    uint32_t constant[ROW_TYPE_CONSTANTS]; /* bits of floats */
};

static struct table next_table(struct rendezvous_reader *r)
{
    struct table t;
    t.name = rendezvous_get_slice(r);
    t.rows = rendezvous_get_u64(r);
    t.length = rendezvous_get_u32(r);
    t.flags = rendezvous_get_u32(r);
    t.optimizer = rendezvous_get_u32(r);
    for (size_t c = 0; c < ROW_TYPE_CONSTANTS; c++) t.constant[c] = rendezvous_get_u32(r);
    return t;
}

bool rendezvous_hello_read_rank(struct rendezvous_hello *h, const void *body, size_t bytes)
{
    struct rendezvous_reader r = rendezvous_reader(body, bytes);
    *h = (struct rendezvous_hello){0};
    h->rank = rendezvous_get_u32(&r);
    h->size = rendezvous_get_u32(&r);
    return !r.failed && h->rank < RENDEZVOUS_NODES_MAX && h->size <= RENDEZVOUS_NODES_MAX;
}

static bool is_sound(const struct rendezvous_hello *h)
{
    return h->size >= 2 && h->rank < h->size && h->peer_timeout_ms > 0 && h->address[0] &&
           h->workers > 0 && h->workers <= LOCUS_WORKERS_MAX && h->shards <= LOCUS_SHARDS_MAX &&
           h->table_count <= LOCUS_TABLES_MAX;
}

bool rendezvous_hello_read(struct rendezvous_hello *h, const void *body, size_t bytes)
{
    if (!rendezvous_hello_read_rank(h, body, bytes)) return false;
    struct rendezvous_reader r = rendezvous_reader(body, bytes);
    r.at += 8; /* rank and size */
    h->peer_timeout_ms = rendezvous_get_u32(&r);
    h->join_timeout_ms = rendezvous_get_u32(&r);
    h->timeout_ms = rendezvous_get_u32(&r);
    rendezvous_get_text(&r, h->address, sizeof h->address);
    h->workers = rendezvous_get_u32(&r);
    h->technique = rendezvous_get_u32(&r);
    h->act_immediately = rendezvous_get_u32(&r) != 0;
    h->staleness_ns = rendezvous_get_u64(&r);
    h->fingerprint = rendezvous_get_u64(&r);
    h->shards = rendezvous_get_u32(&r);
    h->has_secret = rendezvous_get_u32(&r) != 0;
    h->table_count = rendezvous_get_u32(&r);
    if (r.failed || !is_sound(h)) return false;
    h->tables = r;
    for (unsigned i = 0; i < h->table_count; i++) next_table(&r);
    return rendezvous_read_all(&r);
}

/* ---- comparing ---- */

#define ALIKE ": all nodes must be configured alike"

struct difference {
    unsigned rank;
    char *sentence;
    size_t capacity;
    bool found;
};

/* `what` and, in a table, `where` around the number. */
static void compare(struct difference *d, const char *what, uint64_t theirs, uint64_t ours,
                    const char *where)
{
    if (d->found || theirs == ours) return;
    d->found = true;
    snprintf(d->sentence, d->capacity, "rank %u has %s %llu%s, rank 0 has %llu" ALIKE, d->rank,
             what, (unsigned long long)theirs, where, (unsigned long long)ours);
}

static void compare_words(struct difference *d, const char *what, const char *theirs,
                          const char *where, const char *ours)
{
    if (d->found || strcmp(theirs, ours) == 0) return;
    d->found = true;
    snprintf(d->sentence, d->capacity, "rank %u has %s %s%s, rank 0 has %s" ALIKE, d->rank, what,
             theirs, where, ours);
}

static void compare_seconds(struct difference *d, const char *what, uint64_t theirs_ns,
                            uint64_t ours_ns)
{
    char theirs[32], ours[32];
    snprintf(theirs, sizeof theirs, "%.9g", 1e-9 * (double)theirs_ns);
    snprintf(ours, sizeof ours, "%.9g", 1e-9 * (double)ours_ns);
    if (theirs_ns != ours_ns) compare_words(d, what, theirs, "", ours);
}

static void compare_fingerprints(struct difference *d, uint64_t theirs, uint64_t ours)
{
    char their_text[32], our_text[32];
    snprintf(their_text, sizeof their_text, "%016llx", (unsigned long long)theirs);
    snprintf(our_text, sizeof our_text, "%016llx", (unsigned long long)ours);
    compare_words(d, "data and options of fingerprint", their_text, "", our_text);
}

static const char *technique_name(unsigned technique)
{
    const struct technique *t = technique_of(technique);
    return t ? t->api_name : "unknown to rank 0";
}

static void compare_names(struct difference *d, unsigned i, struct rendezvous_slice theirs,
                          struct rendezvous_slice ours)
{
    char their_name[NAME_SHOWN], our_name[NAME_SHOWN];
    if (d->found || (theirs.bytes == ours.bytes && memcmp(theirs.at, ours.at, ours.bytes) == 0))
        return;
    d->found = true;
    rendezvous_show(theirs, their_name, sizeof their_name);
    rendezvous_show(ours, our_name, sizeof our_name);
    snprintf(d->sentence, d->capacity,
             "rank %u has table %u named \"%s\", rank 0 has it named \"%s\"" ALIKE, d->rank, i,
             their_name, our_name);
}

static float float_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static void compare_rules(struct difference *d, const struct table *theirs,
                          const struct table *ours, const char *where)
{
    compare_words(d, "optimizer", row_type_name((enum locus_optimizer)theirs->optimizer), where,
                  row_type_name((enum locus_optimizer)ours->optimizer));
    for (size_t c = 0; c < ROW_TYPE_CONSTANTS; c++) {
        char what[32], their_value[32], our_value[32];
        snprintf(what, sizeof what, "rule.%s", row_type_constant_name(c));
        snprintf(their_value, sizeof their_value, "%.9g", (double)float_of(theirs->constant[c]));
        snprintf(our_value, sizeof our_value, "%.9g", (double)float_of(ours->constant[c]));
        compare_words(d, what, their_value, where, our_value);
    }
}

static void compare_tables(struct difference *d, unsigned i, const struct table *theirs,
                           const struct table *ours)
{
    char name[NAME_SHOWN], where[NAME_SHOWN + 32];
    compare_names(d, i, theirs->name, ours->name);
    rendezvous_show(ours->name, name, sizeof name);
    snprintf(where, sizeof where, " in table %u (\"%s\")", i, name);
    compare(d, "rows", theirs->rows, ours->rows, where);
    compare(d, "length", theirs->length, ours->length, where);
    compare(d, "flags", theirs->flags, ours->flags, where);
    compare_rules(d, theirs, ours, where);
}

bool rendezvous_hello_differs(const struct rendezvous_hello *theirs,
                              const struct rendezvous_hello *ours, unsigned shards, char *sentence,
                              size_t capacity)
{
    struct difference d = {.rank = theirs->rank, .sentence = sentence, .capacity = capacity};
    compare(&d, "size", theirs->size, ours->size, "");
    compare_words(&d, "technique", technique_name(theirs->technique), "",
                  technique_name(ours->technique));
    compare_words(&d, "act_immediately", theirs->act_immediately ? "true" : "false", "",
                  ours->act_immediately ? "true" : "false");
    compare_seconds(&d, "staleness_s", theirs->staleness_ns, ours->staleness_ns);
    if (theirs->shards) compare(&d, "shards", theirs->shards, shards, "");
    compare(&d, "table_count", theirs->table_count, ours->table_count, "");
    if (d.found) return true;
    struct rendezvous_reader their_tables = theirs->tables, our_tables = ours->tables;
    for (unsigned i = 0; i < ours->table_count; i++) {
        struct table t = next_table(&their_tables), o = next_table(&our_tables);
        compare_tables(&d, i, &t, &o);
    }
    compare_fingerprints(&d, theirs->fingerprint, ours->fingerprint);
    return d.found;
}

#undef ALIKE
