#include "names.h"

#include "digest.h"
#include "fail.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };

static void clear_slots(struct names *n, uint32_t count)
{
    n->slots = resize_memory(n->slots, count, sizeof *n->slots, "places of names");
    n->slot_count = count;
    for (uint32_t i = 0; i < count; i++) n->slots[i] = NAMES_NONE;
}

void names_init(struct names *n)
{
    *n = (struct names){0};
    clear_slots(n, FIRST_SLOTS);
}

void names_fini(struct names *n)
{
    free(n->text);
    free(n->starts);
    free(n->slots);
    *n = (struct names){0};
}

static uint32_t hash_of(const char *name, size_t length)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++) h = (h ^ (unsigned char)name[i]) * UINT64_C(0x100000001b3);
    return (uint32_t)(h ^ (h >> 32));
}

/* Where the name is, or the free slot where it would be. */
static uint32_t slot_of(const struct names *n, const char *name, size_t length)
{
    uint32_t slot = hash_of(name, length) & (n->slot_count - 1);
    for (;; slot = (slot + 1) & (n->slot_count - 1)) {
        if (n->slots[slot] == NAMES_NONE) return slot;
        const char *other = names_get(n, n->slots[slot]);
        if (strncmp(other, name, length) == 0 && other[length] == '\0') return slot;
    }
}

static void double_slots(struct names *n)
{
    clear_slots(n, n->slot_count * 2);
    for (uint32_t i = 0; i < n->count; i++) {
        const char *name = names_get(n, i);
        n->slots[slot_of(n, name, strlen(name))] = i;
    }
}

uint32_t names_find(const struct names *n, const char *name, size_t length)
{
    return n->slots[slot_of(n, name, length)];
}

uint32_t names_add(struct names *n, const char *name, size_t length)
{
    uint32_t slot = slot_of(n, name, length);
    if (n->slots[slot] != NAMES_NONE) return n->slots[slot];
    if (n->count >= NAMES_NONE / 4) fail("more than %u names", NAMES_NONE / 4);
    if (n->count == n->capacity) {
        n->capacity = n->capacity ? n->capacity * 2 : FIRST_SLOTS;
        n->starts = resize_memory(n->starts, n->capacity, sizeof *n->starts, "names");
    }
    while (n->text_length + length + 1 > n->text_capacity) {
        n->text_capacity = n->text_capacity ? n->text_capacity * 2 : 1 << 16;
        n->text = resize_memory(n->text, n->text_capacity, 1, "bytes of names");
    }
    memcpy(n->text + n->text_length, name, length);
    n->text[n->text_length + length] = '\0';
    n->starts[n->count] = n->text_length;
    n->text_length += length + 1;
    n->slots[slot] = n->count++;
    if (n->count > n->slot_count / 2) double_slots(n);
    return n->count - 1;
}

const char *names_get(const struct names *n, uint32_t number)
{
    return n->text + n->starts[number];
}

uint64_t names_digest(const struct names *n, uint32_t count, uint64_t digest)
{
    return digest_add(digest, n->text, count < n->count ? n->starts[count] : n->text_length);
}
