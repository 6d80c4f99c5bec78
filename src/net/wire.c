#include "net/wire.h"

#include "locus.h"

#define RULE(name_, route_, values_, without_, technique_, ...) \
    [WIRE_##name_] = {.name = #name_, \
                      .route = WIRE_##route_, \
                      .values = WIRE_##values_, \
                      .without = WIRE_##without_, \
                      .technique = WIRE_##technique_, \
                      .flag_sets = sizeof((uint8_t[]){__VA_ARGS__}), \
                      .flags = {__VA_ARGS__}},
const struct wire_rule wire_rules[WIRE_OPERATIONS] = {WIRE_MESSAGES(RULE)};

static const char *check_kind(const struct wire_frame *f)
{
    switch (f->kind) {
    case WIRE_ENTRIES:
        if (f->count == 0) return "a frame without entries";
        if (f->body_bytes < (uint64_t)f->count * sizeof(struct wire_entry))
            return "a frame too short for its entries";
        return NULL;
    case WIRE_HEARTBEAT:
    case WIRE_BYE:
    case WIRE_THROUGH:
        return f->count || f->body_bytes ? "a frame of no content that has a body" : NULL;
    case WIRE_LOST:
    case WIRE_SHM: return f->count || f->body_bytes > WIRE_TEXT_MAX ? "a text out of bounds" : NULL;
    default: return "a frame of no known kind";
    }
}

const char *wire_check_frame(const struct wire_frame *f, size_t body_max, uint64_t sequence)
{
    if (f->magic != WIRE_MAGIC) return "bytes that are no frame of locus";
    if (f->version != WIRE_VERSION) return "a frame of another protocol version";
    if (f->body_bytes > body_max) return "a frame larger than agreed";
    if (f->body_bytes % 8 != 0) return "a frame whose length is not a multiple of 8";
    if (f->sequence != sequence) return "a frame out of sequence";
    return check_kind(f);
}

const struct wire_entry *wire_next(struct wire_cursor *c, const char **why)
{
    const struct wire_entry *e = (const void *)c->at;
    size_t rest = (size_t)(c->end - c->at);
    *why = NULL;
    if (c->left == 0) {
        if (rest > 0) *why = "bytes after the last entry";
        return NULL;
    }
    if (rest < sizeof *e)
        *why = "an entry beyond the end of its frame";
    else if (e->operation == WIRE_NONE || e->operation >= WIRE_OPERATIONS)
        *why = "an entry of no known operation";
    else if (e->encoding >= WIRE_ENCODINGS)
        *why = "an entry of no known encoding";
    else if (e->encoding != WIRE_BINARY32 &&
             (e->length > 0 || e->encoding != wire_rules[e->operation].without))
        *why = "values of an encoding that has none";
    else if (e->length > LOCUS_LENGTH_MAX || wire_entry_bytes(e->length) > rest)
        *why = "an entry longer than its frame";
    if (*why) return NULL;
    c->at += wire_entry_bytes(e->length);
    c->left--;
    return e;
}
