#include "membership/message.h"

#include "membership/agreement.h"

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

static bool make_room(struct rendezvous_message *m, size_t more)
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

static void put(struct rendezvous_message *m, const void *data, size_t bytes)
{
    if (!m || m->failed) return;
    m->failed = m->bytes + bytes > RENDEZVOUS_MESSAGE_MAX || !make_room(m, bytes);
    if (m->failed) return;
    memcpy(m->data + m->bytes, data, bytes);
    m->bytes += bytes;
}

struct rendezvous_message *rendezvous_message_new(enum rendezvous_type type)
{
    unsigned char header[RENDEZVOUS_HEADER_BYTES] = {0};
    struct rendezvous_message *m = calloc(1, sizeof *m);
    unsigned char *data = malloc(FIRST_CAPACITY);
    if (!m || !data) {
        free(data);
        free(m);
        return NULL;
    }
    *m = (struct rendezvous_message){.references = 1, .capacity = FIRST_CAPACITY, .data = data};
    store(header, RENDEZVOUS_MAGIC, 4);
    store(header + 4, RENDEZVOUS_VERSION, 2);
    store(header + 6, type, 2);
    put(m, header, sizeof header);
    return m;
}

void rendezvous_put_u32(struct rendezvous_message *m, uint32_t value)
{
    unsigned char bytes[4];
    store(bytes, value, sizeof bytes);
    put(m, bytes, sizeof bytes);
}

void rendezvous_put_u64(struct rendezvous_message *m, uint64_t value)
{
    unsigned char bytes[8];
    store(bytes, value, sizeof bytes);
    put(m, bytes, sizeof bytes);
}

void rendezvous_put_text(struct rendezvous_message *m, const char *text)
{
    size_t bytes = strnlen(text, RENDEZVOUS_MESSAGE_MAX);
    rendezvous_put_u32(m, (uint32_t)bytes);
    put(m, text, bytes);
}

void rendezvous_put_bytes(struct rendezvous_message *m, const void *data, size_t bytes)
{
    put(m, data, bytes);
}

struct rendezvous_message *rendezvous_message_done(struct rendezvous_message *m)
{
    if (m && m->failed) {
        rendezvous_message_let_go(m);
        return NULL;
    }
    if (m) store(m->data + 8, m->bytes - RENDEZVOUS_HEADER_BYTES, 4);
    return m;
}

struct rendezvous_message *rendezvous_message_hold(struct rendezvous_message *m)
{
    if (m) m->references++;
    return m;
}

void rendezvous_message_let_go(struct rendezvous_message *m)
{
    if (!m || --m->references > 0) return;
    free(m->data);
    free(m);
}

/* ---- reading ---- */

struct rendezvous_header rendezvous_header(const unsigned char bytes[RENDEZVOUS_HEADER_BYTES])
{
    return (struct rendezvous_header){.magic = (uint32_t)load(bytes, 4),
                                      .version = (unsigned)load(bytes + 4, 2),
                                      .type = (unsigned)load(bytes + 6, 2),
                                      .length = (uint32_t)load(bytes + 8, 4)};
}

struct rendezvous_reader rendezvous_reader(const void *body, size_t bytes)
{
    const unsigned char *at = body;
    return (struct rendezvous_reader){.at = at, .end = at + bytes};
}

static const unsigned char *take(struct rendezvous_reader *r, size_t bytes)
{
    const unsigned char *at = r->at;
    if (r->failed || (size_t)(r->end - r->at) < bytes) {
        r->failed = true;
        return NULL;
    }
    r->at += bytes;
    return at;
}

uint32_t rendezvous_get_u32(struct rendezvous_reader *r)
{
    const unsigned char *at = take(r, 4);
    return at ? (uint32_t)load(at, 4) : 0;
}

uint64_t rendezvous_get_u64(struct rendezvous_reader *r)
{
    const unsigned char *at = take(r, 8);
    return at ? load(at, 8) : 0;
}

const unsigned char *rendezvous_get_bytes(struct rendezvous_reader *r, size_t bytes)
{
    return take(r, bytes);
}

struct rendezvous_slice rendezvous_get_slice(struct rendezvous_reader *r)
{
    uint32_t bytes = rendezvous_get_u32(r);
    const unsigned char *at = take(r, bytes);
    if (!at) return (struct rendezvous_slice){"", 0};
    return (struct rendezvous_slice){(const char *)at, bytes};
}

void rendezvous_show(struct rendezvous_slice slice, char *text, size_t capacity)
{
    size_t bytes = slice.bytes < capacity ? slice.bytes : capacity - 1;
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)slice.at[i];
        text[i] = (char)(c < ' ' || c == 127 ? '?' : c);
    }
    text[bytes] = '\0';
}

void rendezvous_get_text(struct rendezvous_reader *r, char *text, size_t capacity)
{
    rendezvous_show(rendezvous_get_slice(r), text, capacity);
}

bool rendezvous_read_all(const struct rendezvous_reader *r)
{
    return !r->failed && r->at == r->end;
}
