#include "npz.h"

#include "fail.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    ENTRIES_MAX = 32,
    NAME_BYTES = 64,
    HEADER_BYTES = 128,
    /* Of a local header, a descriptor, an entry of the directory, the ends. */
    LOCAL = 30,
    LOCAL_SIZES = 20,
    DESCRIPTOR = 24,
    CENTRAL = 46,
    SIZES = 28,
    END64 = 56,
    LOCATOR = 20,
    END = 22
};

struct entry {
    char name[NAME_BYTES], header[HEADER_BYTES]; /* of the array; "": it has none */
    uint64_t bytes, at;                          /* with the header; where it begins */
    uint32_t crc;
};

struct npz {
    struct entry entries[ENTRIES_MAX];
    size_t count, now; /* the one that is written */
    uint64_t at, left; /* of the file; of the entry, its bytes that are to come */
    uint32_t crcs[256];
};

/* ---- numbers, the low byte first ---- */

static unsigned char *put_16(unsigned char *to, unsigned value)
{
    *to++ = (unsigned char)value;
    *to++ = (unsigned char)(value >> 8);
    return to;
}

static unsigned char *put_32(unsigned char *to, uint32_t value)
{
    return put_16(put_16(to, value & 0xFFFF), value >> 16);
}

static unsigned char *put_64(unsigned char *to, uint64_t value)
{
    return put_32(put_32(to, (uint32_t)value), (uint32_t)(value >> 32));
}

static void put(struct npz *n, struct saving *s, const void *bytes, size_t count)
{
    saving_put(s, bytes, count);
    n->at += count;
}

/* What an entry is made of: counted in its sum. */
static void put_data(struct npz *n, struct saving *s, const void *bytes, size_t count)
{
    const unsigned char *b = bytes;
    uint32_t crc = ~n->entries[n->now].crc;
    for (size_t i = 0; i < count; i++) crc = n->crcs[(crc ^ b[i]) & 0xFF] ^ crc >> 8;
    n->entries[n->now].crc = ~crc;
    n->left -= count;
    put(n, s, bytes, count);
}

/* ---- entries ---- */

struct npz *npz_new(void)
{
    struct npz *n = take_memory(1, sizeof *n);
    for (uint32_t i = 0; i < 256; i++) {
        n->crcs[i] = i;
        for (int bit = 0; bit < 8; bit++)
            n->crcs[i] = n->crcs[i] >> 1 ^ (n->crcs[i] & 1 ? UINT32_C(0xEDB88320) : 0);
    }
    return n;
}

static struct entry *add_entry(struct npz *n)
{
    if (n->count == ENTRIES_MAX) fail("a model has more than %d tensors", ENTRIES_MAX);
    return &n->entries[n->count++];
}

void npz_declare(struct npz *n, const char *name, enum tensors_type type, uint64_t rows,
                 uint64_t columns)
{
    static const char *const types[TENSORS_TYPES] = {"<f4", "<f8", "<i8", "|u1"};
    enum { BEGIN = 10 }; /* a mark, the version, the length of the rest */
    struct entry *e = add_entry(n);
    char shape[48] = "";
    if (columns) snprintf(shape, sizeof shape, " %" PRIu64, columns);
    snprintf(e->name, sizeof e->name, "%s.npy", name);
    memcpy(e->header, "\x93NUMPY\x01\x00\x76\x00", BEGIN);
    int length = snprintf(e->header + BEGIN, HEADER_BYTES - BEGIN,
                          "{'descr': '%s', 'fortran_order': False, 'shape': (%" PRIu64 ",%s), }",
                          types[type], rows, shape);
    memset(e->header + BEGIN + length, ' ', (size_t)(HEADER_BYTES - BEGIN - length));
    e->header[HEADER_BYTES - 1] = '\n';
    e->bytes = HEADER_BYTES + rows * (columns ? columns : 1) * tensors_types[type].bytes;
}

/* The sum comes behind the bytes (flag 8). */
static void begin_entry(struct npz *n, struct saving *s)
{
    struct entry *e = &n->entries[n->now];
    unsigned char head[LOCAL] = {0}, sizes[LOCAL_SIZES], *at = put_32(head, 0x04034B50);
    at = put_16(put_16(at, 45), 8);
    at = put_32(put_32(at + 10, UINT32_MAX), UINT32_MAX);
    put_16(put_16(at, (unsigned)strlen(e->name)), LOCAL_SIZES);
    at = put_16(put_16(sizes, 1), LOCAL_SIZES - 4);
    put_64(put_64(at, e->bytes), e->bytes);
    e->at = n->at;
    n->left = e->bytes;
    put(n, s, head, sizeof head);
    put(n, s, e->name, strlen(e->name));
    put(n, s, sizes, sizeof sizes);
    if (*e->header) put_data(n, s, e->header, sizeof e->header);
}

static void end_entry(struct npz *n, struct saving *s)
{
    const struct entry *e = &n->entries[n->now++];
    unsigned char tail[DESCRIPTOR], *at = put_32(put_32(tail, 0x08074B50), e->crc);
    put_64(put_64(at, e->bytes), e->bytes);
    put(n, s, tail, sizeof tail);
}

void npz_begin(struct npz *n, struct saving *s, const char *notes)
{
    struct entry first = {.name = "notes.json", .bytes = strlen(notes)};
    (void)add_entry(n);
    memmove(n->entries + 1, n->entries, (n->count - 1) * sizeof first);
    n->entries[0] = first;
    begin_entry(n, s);
    put_data(n, s, notes, strlen(notes));
    end_entry(n, s);
}

void npz_put(struct npz *n, struct saving *s, const void *bytes, size_t count)
{
    const char *from = bytes;
    while (count > 0) {
        if (n->left == 0) begin_entry(n, s);
        size_t now = n->left < count ? (size_t)n->left : count;
        put_data(n, s, from, now);
        from += now;
        count -= now;
        if (n->left == 0) end_entry(n, s);
    }
}

/* ---- the directory ---- */

static void write_central(struct npz *n, struct saving *s, const struct entry *e)
{
    unsigned char head[CENTRAL] = {0}, sizes[SIZES], *at = put_32(head, 0x02014B50);
    at = put_16(put_16(put_16(at, 45), 45), 8);
    at = put_32(put_32(put_32(at + 6, e->crc), UINT32_MAX), UINT32_MAX);
    put_16(put_16(at, (unsigned)strlen(e->name)), SIZES);
    put_32(head + CENTRAL - 4, UINT32_MAX);
    at = put_16(put_16(sizes, 1), SIZES - 4);
    put_64(put_64(put_64(at, e->bytes), e->bytes), e->at);
    put(n, s, head, sizeof head);
    put(n, s, e->name, strlen(e->name));
    put(n, s, sizes, sizeof sizes);
}

void npz_end(struct npz *n, struct saving *s)
{
    unsigned char end[END64 + LOCATOR + END] = {0}, *at;
    while (n->now < n->count) { /* empty ones at the end */
        begin_entry(n, s);
        end_entry(n, s);
    }
    uint64_t first = n->at;
    for (size_t i = 0; i < n->count; i++) write_central(n, s, &n->entries[i]);
    uint64_t last = n->at;
    at = put_64(put_32(end, 0x06064B50), END64 - 12);
    at = put_64(put_64(put_16(put_16(at, 45), 45) + 8, n->count), n->count);
    put_64(put_64(at, last - first), first);
    at = put_64(put_32(end + END64, 0x07064B50) + 4, last);
    put_32(at, 1);
    at = put_32(end + END64 + LOCATOR, 0x06054B50) + 4;
    at = put_16(put_16(at, (unsigned)n->count), (unsigned)n->count);
    put_32(put_32(at, UINT32_MAX), UINT32_MAX);
    put(n, s, end, sizeof end);
    free(n);
}
