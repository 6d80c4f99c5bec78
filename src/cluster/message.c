#include "cluster/message.h"

#include "net/secret.h"
#include "protocol/plan.h"
#include "store/row_type.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 256, SHOWN_BYTES = 72 };
#define ALIKE ": all nodes must be configured alike"

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
    size_t bytes = strlen(text);
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

/* What must be equal on all nodes: its name, and its value as a sentence has it. */
static void put_equal(struct message *m, const char *what, const char *form, ...)
{
    char value[SHOWN_BYTES];
    va_list values;
    va_start(values, form);
    vsnprintf(value, sizeof value, form, values);
    va_end(values);
    message_put_text(m, what);
    message_put_text(m, value);
}

static const char NAMED[] = "named"; /* all that follows is of this table, up to the next */

static void put_table(struct message *m, const struct locus_table *t, size_t i)
{
    char name[32], what[32], quoted[SHOWN_BYTES];
    snprintf(name, sizeof name, "table%zu", i);
    const char *whole = t->name ? t->name : name;
    bool fits = snprintf(quoted, sizeof quoted, "\"%s\"", whole) < (int)sizeof quoted;
    message_put_text(m, NAMED);
    message_put_text(m, fits ? quoted : whole);
    put_equal(m, "rows", "%llu", (unsigned long long)t->rows);
    put_equal(m, "length", "%u", t->length);
    put_equal(m, "flags", "%u", t->flags);
    put_equal(m, "element", "%s", row_type_element_name(t->element));
    put_equal(m, "optimizer", "%s", row_type_name(t->optimizer));
    struct locus_rule rule = row_type_rule(t);
    for (size_t c = 0; c < ROW_TYPE_CONSTANTS && t->optimizer; c++) {
        snprintf(what, sizeof what, "rule.%s", row_type_constant_name(c));
        put_equal(m, what, "%.9g", (double)row_type_constant(&rule, c));
    }
}

struct message *hello_write(const struct rendezvous_config *c, unsigned timeout_ms)
{
    struct message *m = message_new(MESSAGE_HELLO);
    const struct locus_config *node = &c->node;
    const struct config_field *f;
    char value[SHOWN_BYTES];
    message_put_u32(m, (uint32_t)node->rank);
    message_put_u32(m, (uint32_t)node->size);
    message_put_u32(m, milliseconds(node->peer_timeout_s));
    message_put_u32(m, milliseconds(node->join_timeout_s));
    message_put_u32(m, timeout_ms);
    message_put_text(m, c->data_address);
    message_put_u32(m, node->workers);
    message_put_u32(m, node->shards);
    message_put_u32(m, c->secret && c->secret->is_known);
    put_equal(m, "size", "%d", node->size);
    put_equal(m, "table_count", "%zu", node->table_count);
    for (size_t i = 0; i < node->table_count; i++) put_table(m, &node->tables[i], i);
    message_put_text(m, NAMED); /* none: of the node again */
    message_put_text(m, "");
    for (size_t i = 0; (f = config_equal(i)); i++) {
        config_show(f, config_value(f, node), value, sizeof value);
        put_equal(m, f->name, "%s", value);
    }
    message_put_text(m, ""); /* the end */
    return message_done(m);
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
           h->workers > 0 && h->workers <= LOCUS_WORKERS_MAX && h->shards <= LOCUS_SHARDS_MAX;
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
    h->shards = message_get_u32(&r);
    h->has_secret = message_get_u32(&r) != 0;
    h->equal = r;
    while (message_get_slice(&r).bytes > 0) message_get_slice(&r);
    return message_read_all(&r) && is_sound(h);
}

static bool is_equal(struct message_slice a, struct message_slice b)
{
    return a.bytes == b.bytes && memcmp(a.at, b.at, a.bytes) == 0;
}

/* Of a table its name comes first; `where` continues a sentence about what else it has. */
struct place {
    int table;
    char where[SHOWN_BYTES + 32];
};

static void enter_table(struct place *p, struct message_slice name)
{
    char shown[SHOWN_BYTES];
    message_show(name, shown, sizeof shown);
    p->where[0] = '\0';
    p->table++;
    if (*shown) snprintf(p->where, sizeof p->where, " in table %d (%s)", p->table, shown);
}

bool hello_differs(const struct hello *theirs, const struct hello *ours, unsigned shards,
                   char *sentence, size_t capacity)
{
    struct message_reader t = theirs->equal, o = ours->equal;
    struct place p = {.table = -1};
    char what[SHOWN_BYTES], their_value[SHOWN_BYTES], our_value[SHOWN_BYTES];
    if (theirs->shards && theirs->shards != shards) {
        snprintf(sentence, capacity, "rank %u has shards %u, rank 0 has %u" ALIKE, theirs->rank,
                 theirs->shards, shards);
        return true;
    }
    for (struct message_slice name; (name = message_get_slice(&o)).bytes > 0;) {
        struct message_slice value = message_get_slice(&o);
        struct message_slice their_name = message_get_slice(&t), other = message_get_slice(&t);
        bool is_table = name.bytes == strlen(NAMED) && memcmp(name.at, NAMED, name.bytes) == 0;
        if (is_table) enter_table(&p, value);
        if (is_equal(name, their_name) && is_equal(value, other)) continue;
        message_show(name, what, sizeof what);
        message_show(other, their_value, sizeof their_value);
        message_show(value, our_value, sizeof our_value);
        if (is_table) snprintf(what, sizeof what, "table %d named", p.table);
        snprintf(sentence, capacity, "rank %u has %s %s%s, rank 0 has %s" ALIKE, theirs->rank, what,
                 their_value, is_table ? "" : p.where, our_value);
        return true;
    }
    return false;
}
