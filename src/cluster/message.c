#include "cluster/message.h"

#include "cluster/agreement.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 256 };

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
