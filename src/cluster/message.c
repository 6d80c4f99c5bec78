#include "cluster/message.h"

#include "net/secret.h"
#include "protocol/config.h"
#include "store/row_type.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 256, NAME_SHOWN = 64 };

static void store(unsigned char *at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) at[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t load(const unsigned char *at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++) value |= (uint64_t)at[i] << 8 * i;
    return value;
}

/* ---- writing ---- */

static bool make_room(struct message *m, size_t more)
{
    size_t capacity = m->capacity;
    while (capacity < m->bytes + more) capacity *= 2;
    if (capacity == m->capacity) return true;
    unsigned char *larger = realloc(m->data, capacity);
    if (!larger) return false;
    m->data = larger;
    m->capacity = capacity;
    return true;
}

static void put(struct message *m, const void *data, size_t bytes)
{
    if (!m || m->failed) return;
    m->failed = m->bytes + bytes > MESSAGE_MAX || !make_room(m, bytes);
    if (m->failed) return;
    memcpy(m->data + m->bytes, data, bytes);
    m->bytes += bytes;
}

struct message *message_new(enum message_type type)
{
    unsigned char header[MESSAGE_HEADER_BYTES] = {0};
    struct message *m = calloc(1, sizeof *m);
    unsigned char *data = malloc(FIRST_CAPACITY);
    if (!m || !data) {
        free(data);
        free(m);
        return NULL;
    }
    *m = (struct message){.references = 1, .capacity = FIRST_CAPACITY, .data = data};
    store(header, MESSAGE_MAGIC, 4);
    store(header + 4, MESSAGE_VERSION, 2);
    store(header + 6, type, 2);
    put(m, header, sizeof header);
    return m;
}

void message_put_u32(struct message *m, uint32_t value)
{
    unsigned char bytes[4];
    store(bytes, value, sizeof bytes);
    put(m, bytes, sizeof bytes);
}

void message_put_u64(struct message *m, uint64_t value)
{
    unsigned char bytes[8];
    store(bytes, value, sizeof bytes);
    put(m, bytes, sizeof bytes);
}

void message_put_text(struct message *m, const char *text)
{
    size_t bytes = strnlen(text, MESSAGE_MAX);
    message_put_u32(m, (uint32_t)bytes);
    put(m, text, bytes);
}

void message_put_word(struct message *m, const struct word *w)
{
    size_t bytes = strnlen(w->text, sizeof w->text);
    message_put_u32(m, (uint32_t)-w->rc);
    message_put_u32(m, (uint32_t)bytes);
    put(m, w->text, bytes);
    message_put_u32(m, w->count);
    for (unsigned i = 0; i < w->count; i++) {
        uint64_t bits;
        memcpy(&bits, &w->number[i], sizeof bits);
        message_put_u64(m, bits);
    }
}

void message_put_bytes(struct message *m, const void *data, size_t bytes)
{
    put(m, data, bytes);
}

struct message *message_done(struct message *m)
{
    if (m && m->failed) {
        message_let_go(m);
        return NULL;
    }
    if (m) store(m->data + 8, m->bytes - MESSAGE_HEADER_BYTES, 4);
    return m;
}

struct message *message_hold(struct message *m)
{
    if (m) m->references++;
    return m;
}

void message_let_go(struct message *m)
{
    if (!m || --m->references > 0) return;
    free(m->data);
    free(m);
}

/* ---- reading ---- */

struct message_header message_header(const unsigned char bytes[MESSAGE_HEADER_BYTES])
{
    return (struct message_header){.magic = (uint32_t)load(bytes, 4),
                                   .version = (unsigned)load(bytes + 4, 2),
                                   .type = (unsigned)load(bytes + 6, 2),
                                   .length = (uint32_t)load(bytes + 8, 4)};
}

struct message_reader message_reader(const void *body, size_t bytes)
{
    const unsigned char *at = body;
    return (struct message_reader){.at = at, .end = at + bytes};
}

static const unsigned char *take(struct message_reader *r, size_t bytes)
{
    const unsigned char *at = r->at;
    if (r->failed || (size_t)(r->end - r->at) < bytes) {
        r->failed = true;
        return NULL;
    }
    r->at += bytes;
    return at;
}

uint32_t message_get_u32(struct message_reader *r)
{
    const unsigned char *at = take(r, 4);
    return at ? (uint32_t)load(at, 4) : 0;
}

uint64_t message_get_u64(struct message_reader *r)
{
    const unsigned char *at = take(r, 8);
    return at ? load(at, 8) : 0;
}

const unsigned char *message_get_bytes(struct message_reader *r, size_t bytes)
{
    return take(r, bytes);
}

struct message_slice message_get_slice(struct message_reader *r)
{
    uint32_t bytes = message_get_u32(r);
    const unsigned char *at = take(r, bytes);
    if (!at) return (struct message_slice){"", 0};
    return (struct message_slice){(const char *)at, bytes};
}

void message_show(struct message_slice slice, char *text, size_t capacity)
{
    size_t bytes = slice.bytes < capacity ? slice.bytes : capacity - 1;
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)slice.at[i];
        text[i] = (char)(c < ' ' || c == 127 ? '?' : c);
    }
    text[bytes] = '\0';
}

void message_get_text(struct message_reader *r, char *text, size_t capacity)
{
    message_show(message_get_slice(r), text, capacity);
}

bool message_get_word(struct message_reader *r, struct word *w)
{
    uint32_t code = message_get_u32(r);
    message_get_text(r, w->text, sizeof w->text);
    uint32_t count = message_get_u32(r);
    if (code > MESSAGE_ERRNO_MAX || count > LOCUS_SUM_MAX) return false;
    w->rc = -(int)code;
    w->count = count;
    for (unsigned i = 0; i < w->count; i++) {
        uint64_t bits = message_get_u64(r);
        memcpy(&w->number[i], &bits, sizeof bits);
    }
    return true;
}

bool message_read_all(const struct message_reader *r)
{
    return !r->failed && r->at == r->end;
}

/* ---- the first message ---- */

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

static void write_table(struct message *m, const struct locus_table *t, size_t i)
{
    char name[32];
    snprintf(name, sizeof name, "table%zu", i);
    message_put_text(m, t->name ? t->name : name);
    message_put_u64(m, t->rows);
    message_put_u32(m, t->length);
    message_put_u32(m, t->flags);
    message_put_u32(m, (uint32_t)t->optimizer);
    message_put_u32(m, (uint32_t)t->element);
    struct locus_rule rule = row_type_rule(t);
    for (size_t c = 0; c < ROW_TYPE_CONSTANTS; c++)
        message_put_u32(m, bits_of(row_type_constant(&rule, c)));
}

struct message *hello_write(const struct rendezvous_config *c, unsigned timeout_ms)
{
    struct message *m = message_new(MESSAGE_HELLO);
    const struct locus_config *node = &c->node;
    message_put_u32(m, (uint32_t)node->rank);
    message_put_u32(m, (uint32_t)node->size);
    message_put_u32(m, milliseconds(node->peer_timeout_s));
    message_put_u32(m, milliseconds(node->join_timeout_s));
    message_put_u32(m, timeout_ms);
    message_put_text(m, c->data_address);
    message_put_u32(m, node->workers);
    const struct config_field *f;
    for (size_t i = 0; (f = config_equal(i)); i++) message_put_u64(m, config_value(f, node));
    message_put_u32(m, node->shards);
    message_put_u32(m, c->secret && c->secret->is_known);
    message_put_u32(m, (uint32_t)node->table_count);
    for (size_t i = 0; i < node->table_count; i++) write_table(m, &node->tables[i], i);
    return message_done(m);
}

struct table {
    struct message_slice name;
    uint64_t rows;
    unsigned length, flags, optimizer, element;
    uint32_t constant[ROW_TYPE_CONSTANTS]; /* bits of floats */
};

static struct table next_table(struct message_reader *r)
{
    struct table t;
    t.name = message_get_slice(r);
    t.rows = message_get_u64(r);
    t.length = message_get_u32(r);
    t.flags = message_get_u32(r);
    t.optimizer = message_get_u32(r);
    t.element = message_get_u32(r);
    for (size_t c = 0; c < ROW_TYPE_CONSTANTS; c++) t.constant[c] = message_get_u32(r);
    return t;
}

bool hello_read_rank(struct hello *h, const void *body, size_t bytes)
{
    struct message_reader r = message_reader(body, bytes);
    *h = (struct hello){0};
    h->rank = message_get_u32(&r);
    h->size = message_get_u32(&r);
    return !r.failed && h->rank < RENDEZVOUS_NODES_MAX && h->size <= RENDEZVOUS_NODES_MAX;
}

static bool is_sound(const struct hello *h)
{
    return h->size >= 2 && h->rank < h->size && h->peer_timeout_ms > 0 && h->address[0] &&
           h->workers > 0 && h->workers <= LOCUS_WORKERS_MAX && h->shards <= LOCUS_SHARDS_MAX &&
           h->table_count <= LOCUS_TABLES_MAX;
}

bool hello_read(struct hello *h, const void *body, size_t bytes)
{
    if (!hello_read_rank(h, body, bytes)) return false;
    struct message_reader r = message_reader(body, bytes);
    r.at += 8; /* rank and size */
    h->peer_timeout_ms = message_get_u32(&r);
    h->join_timeout_ms = message_get_u32(&r);
    h->timeout_ms = message_get_u32(&r);
    message_get_text(&r, h->address, sizeof h->address);
    h->workers = message_get_u32(&r);
    h->equal = r;
    for (size_t i = 0; config_equal(i); i++) message_get_u64(&r);
    h->shards = message_get_u32(&r);
    h->has_secret = message_get_u32(&r) != 0;
    h->table_count = message_get_u32(&r);
    if (r.failed || !is_sound(h)) return false;
    h->tables = r;
    for (unsigned i = 0; i < h->table_count; i++) next_table(&r);
    return message_read_all(&r);
}

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

static void compare_fields(struct difference *d, struct message_reader theirs,
                           struct message_reader ours)
{
    const struct config_field *f;
    for (size_t i = 0; (f = config_equal(i)); i++) {
        char their_value[32], our_value[32];
        config_show(f, message_get_u64(&theirs), their_value, sizeof their_value);
        config_show(f, message_get_u64(&ours), our_value, sizeof our_value);
        compare_words(d, f->name, their_value, "", our_value);
    }
}

static void compare_names(struct difference *d, unsigned i, struct message_slice theirs,
                          struct message_slice ours)
{
    char their_name[NAME_SHOWN], our_name[NAME_SHOWN];
    if (d->found || (theirs.bytes == ours.bytes && memcmp(theirs.at, ours.at, ours.bytes) == 0))
        return;
    d->found = true;
    message_show(theirs, their_name, sizeof their_name);
    message_show(ours, our_name, sizeof our_name);
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
    message_show(ours->name, name, sizeof name);
    snprintf(where, sizeof where, " in table %u (\"%s\")", i, name);
    compare(d, "rows", theirs->rows, ours->rows, where);
    compare(d, "length", theirs->length, ours->length, where);
    compare(d, "flags", theirs->flags, ours->flags, where);
    compare_words(d, "element", row_type_element_name((enum locus_element)theirs->element), where,
                  row_type_element_name((enum locus_element)ours->element));
    compare_rules(d, theirs, ours, where);
}

bool hello_differs(const struct hello *theirs, const struct hello *ours, unsigned shards,
                   char *sentence, size_t capacity)
{
    struct difference d = {.rank = theirs->rank, .sentence = sentence, .capacity = capacity};
    compare(&d, "size", theirs->size, ours->size, "");
    if (theirs->shards) compare(&d, "shards", theirs->shards, shards, "");
    compare(&d, "table_count", theirs->table_count, ours->table_count, "");
    if (d.found) return true;
    struct message_reader their_tables = theirs->tables, our_tables = ours->tables;
    for (unsigned i = 0; i < ours->table_count; i++) {
        struct table t = next_table(&their_tables), o = next_table(&our_tables);
        compare_tables(&d, i, &t, &o);
    }
    compare_fields(&d, theirs->equal, ours->equal);
    return d.found;
}
