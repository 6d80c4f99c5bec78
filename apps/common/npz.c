#include "npz.h"

#include "fail.h"

#include <inttypes.h>
#include <stdio.h>
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

static const char notes_name[] = "notes.json", mark[] = "\x93NUMPY", ending[] = ".npy";
static const char *const types[TENSORS_TYPES] = {"<f4", "<f8", "<i8", "|u1"};

struct sums {
    uint32_t of[256];
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
    struct sums sums;
};

static void sums_init(struct sums *s)
{
    for (uint32_t i = 0; i < 256; i++) {
        s->of[i] = i;
        for (int bit = 0; bit < 8; bit++)
            s->of[i] = s->of[i] >> 1 ^ (s->of[i] & 1 ? UINT32_C(0xEDB88320) : 0);
    }
}

/* Goes on from the sum of what is before. */
static uint32_t sums_add(const struct sums *s, uint32_t before, const void *bytes, size_t count)
{
    const unsigned char *b = bytes;
    uint32_t sum = ~before;
    for (size_t i = 0; i < count; i++) sum = s->of[(sum ^ b[i]) & 0xFF] ^ sum >> 8;
    return ~sum;
}

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
    struct entry *e = &n->entries[n->now];
    e->crc = sums_add(&n->sums, e->crc, bytes, count);
    n->left -= count;
    put(n, s, bytes, count);
}

/* ---- entries ---- */

struct npz *npz_new(void)
{
    struct npz *n = take_memory(1, sizeof *n);
    sums_init(&n->sums);
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
    enum { BEGIN = 10 }; /* a mark, the version, the length of the rest */
    struct entry *e = add_entry(n);
    char shape[48] = "";
    if (columns) snprintf(shape, sizeof shape, " %" PRIu64, columns);
    snprintf(e->name, sizeof e->name, "%s%s", name, ending);
    memcpy(e->header, mark, sizeof mark - 1);
    memcpy(e->header + sizeof mark - 1, "\x01\x00\x76", 4);
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
    struct entry first = {.bytes = strlen(notes)};
    memcpy(first.name, notes_name, sizeof notes_name);
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

/* ---- reading ---- */

enum { ENTRIES_READ_MAX = 2 * SAVED_TENSORS_MAX };

struct archive {
    struct saved *saved;
    struct sums sums;
    char *room; /* for what it has */
    size_t left;
};

struct found {
    const unsigned char *bytes;
    size_t count;
    char name[NAME_BYTES];
};

static _Noreturn void refuse(const struct archive *a)
{
    saved_fail(a->saved, "is no archive of NumPy, or is cut off or damaged");
}

static uint64_t get(const unsigned char *from, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = bytes; i-- > 0;) value = value << 8 | from[i];
    return value;
}

/* So many bytes of the file, which begin with the mark, if there is one. */
static const unsigned char *part(const struct archive *a, uint64_t at, uint64_t count,
                                 uint32_t begins)
{
    const struct lines *l = &a->saved->file;
    uint64_t bytes = (uint64_t)(l->end - l->file);
    if (at > bytes || count > bytes - at) refuse(a);
    const unsigned char *found = (const unsigned char *)l->file + at;
    if (begins && get(found, 4) != begins) refuse(a);
    return found;
}

static void *take_room(struct archive *a, size_t bytes)
{
    enum { ALIGNMENT = 8 };
    size_t taken = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (taken > a->left) refuse(a); /* entries lie one upon the other */
    a->room += taken;
    a->left -= taken;
    return a->room - taken;
}

/* Of numbers that have no room in 32 bits, the next one from the field of those that have 64. */
static uint64_t wide(const struct archive *a, uint64_t value, const unsigned char *extra,
                     size_t bytes, unsigned *used)
{
    if (value != UINT32_MAX) return value;
    while (bytes >= 4) {
        size_t length = (size_t)get(extra + 2, 2);
        if (length > bytes - 4) break;
        if (get(extra, 2) == 1 && 8 * (*used + 1) <= length)
            return get(extra + 4 + 8 * (*used)++, 8);
        extra += 4 + length;
        bytes -= 4 + length;
    }
    refuse(a);
}

/* Returns where the next entry of the directory is. */
static uint64_t find(const struct archive *a, uint64_t at, struct found *f)
{
    const unsigned char *e = part(a, at, CENTRAL, 0x02014B50);
    size_t name = (size_t)get(e + 28, 2), extra = (size_t)get(e + 30, 2);
    uint64_t end = CENTRAL + name + extra + get(e + 32, 2);
    const unsigned char *more = part(a, at, end, 0) + CENTRAL + name;
    unsigned used = 0;
    uint64_t bytes = wide(a, get(e + 24, 4), more, extra, &used);
    (void)wide(a, get(e + 20, 4), more, extra, &used);
    uint64_t first = wide(a, get(e + 42, 4), more, extra, &used);
    const unsigned char *local = part(a, first, LOCAL, 0x04034B50);
    snprintf(f->name, sizeof f->name, "%.*s", (int)name, (const char *)e + CENTRAL);
    if (get(e + 10, 2) != 0)
        saved_fail(a->saved, "\"%s\" is compressed in it: write the archive by numpy.savez()",
                   f->name);
    first += LOCAL + get(local + 26, 2) + get(local + 28, 2);
    f->bytes = part(a, first, bytes, 0);
    f->count = bytes;
    if (sums_add(&a->sums, 0, f->bytes, f->count) != get(e + 16, 4)) refuse(a);
    return at + end;
}

static enum tensors_type type_of(const struct archive *a, const char *array, const char *type)
{
    for (unsigned i = 0; i < TENSORS_TYPES; i++)
        if (strcmp(type, types[i]) == 0) return (enum tensors_type)i;
    saved_fail(a->saved,
               "its array \"%s\" has the type %s, where f4, f8, i8 and u1 are known; names are u1, "
               "each with a line end behind it",
               array, type);
}

/* What stands before the numbers, as numpy writes it. */
static void take_shape(const struct archive *a, const char *header, struct saved_tensor *t)
{
    char type[16], order[8];
    uint64_t shape[2] = {0};
    int length = 0, dimensions = 0;
    if (sscanf(header, "{'descr': '%15[^']', 'fortran_order': %7[A-Za-z], 'shape': (%n", type,
               order, &length) != 2 ||
        length == 0)
        refuse(a);
    t->type = type_of(a, t->name, type);
    char *at = (char *)(uintptr_t)(header + length);
    for (; dimensions < 2 && *at >= '0' && *at <= '9'; at += strspn(at, ", "))
        shape[dimensions++] = strtoull(at, &at, 10);
    if (*at != ')' || dimensions == 0 || strcmp(order, "False") != 0)
        saved_fail(a->saved,
                   "its array \"%s\" is no vector or matrix, row by row: numpy.ascontiguousarray() "
                   "makes one",
                   t->name);
    t->rows = shape[0];
    t->columns = dimensions == 2 ? shape[1] : 0;
}

static void take_array(struct archive *a, const struct found *f)
{
    struct saved *m = a->saved;
    char header[256];
    size_t mark_bytes = sizeof mark - 1, name = strlen(f->name) - strlen(ending);
    if (f->count < 12 || memcmp(f->bytes, mark, mark_bytes) != 0 ||
        m->tensor_count == SAVED_TENSORS_MAX)
        refuse(a);
    unsigned size = f->bytes[mark_bytes] == 1 ? 2 : 4; /* by the version */
    uint64_t length = get(f->bytes + mark_bytes + 2, size), begin = mark_bytes + 2 + size;
    if (length > f->count - begin) refuse(a);
    snprintf(header, sizeof header, "%.*s", length < sizeof header ? (int)length : 0,
             (const char *)f->bytes + begin);
    struct saved_tensor *t = &m->tensors[m->tensor_count++];
    *t = (struct saved_tensor){.name = memcpy(take_room(a, name + 1), f->name, name)};
    take_shape(a, header, t);
    size_t bytes = f->count - begin - length, each = tensors_types[t->type].bytes;
    uint64_t columns = t->columns ? t->columns : 1;
    if (t->rows > bytes / each / columns || t->rows * columns * each != bytes) refuse(a);
    t->values = memcpy(take_room(a, bytes), f->bytes + begin + length, bytes);
}

static void take_entry(struct archive *a, const struct found *f)
{
    size_t name = strlen(f->name), tail = strlen(ending);
    if (name > tail && strcmp(f->name + name - tail, ending) == 0) take_array(a, f);
    if (strcmp(f->name, notes_name) == 0)
        saved_take_notes(a->saved, (const char *)f->bytes, f->count);
}

bool npz_open(struct saved *m)
{
    struct archive a = {.saved = m};
    const struct lines *l = &m->file;
    uint64_t bytes = l->file ? (uint64_t)(l->end - l->file) : 0;
    if (bytes >= sizeof mark && memcmp(l->file, mark, sizeof mark - 1) == 0)
        saved_fail(m, "is one array, without names of its rows: numpy.savez() writes both");
    if (bytes < 2 || memcmp(l->file, "PK", 2) != 0) return false;
    if (bytes < END) refuse(&a);
    const unsigned char *end = part(&a, bytes - END, END, 0x06054B50);
    uint64_t count = get(end + 10, 2), at = get(end + 16, 4);
    if (at == UINT32_MAX || count == UINT16_MAX) {
        const unsigned char *locator = part(&a, bytes - END - LOCATOR, LOCATOR, 0x07064B50);
        end = part(&a, get(locator + 8, 8), END64, 0x06064B50);
        count = get(end + 32, 8);
        at = get(end + 48, 8);
    }
    if (count > ENTRIES_READ_MAX) refuse(&a);
    sums_init(&a.sums);
    a.left = bytes + SAVED_TENSORS_MAX * NAME_BYTES;
    m->copies = a.room = take_memory(a.left, 1);
    for (struct found f; count > 0; count--) {
        at = find(&a, at, &f);
        take_entry(&a, &f);
    }
    return true;
}
