/*
 * slab.h - memory for the rows of one partition (store.h): packed rows of one length, by slot
 * number.
 *
 * A slab has a home slot for every key whose home is here (the slab of the replicas, for every
 * other key). It is computed from the key, so a reader can load row and directory word at the same
 * time. Spare slots follow. A row takes its key's home slot if that is free; otherwise the lowest
 * slot that a departed row left; otherwise the next spare slot. Row memory stays mapped for the
 * life of the slab, because a late reader may look at a slot that has been reused, which it notices
 * by the version. But the memory of a chunk without rows is returned.
 *
 * Random first writes into a large table would touch one chunk each. So a home slot in an untouched
 * chunk is used only while the touched chunks of the node's home slots are smaller than twice the
 * rows in them plus SLAB_SLACK_BYTES. Otherwise the row takes a spare slot, because spare slots are
 * dense.
 *
 * Memory    address space at init; pages by use. Beside the rows: two bits a slot, 4 bytes a chunk
 * Waiting   for its own latch, some nanoseconds
 * Life      slab_init, slab_take / slab_give, slab_fini
 */
#ifndef LOCUS_STORE_SLAB_H
#define LOCUS_STORE_SLAB_H

#include "base/sets.h"

#include <stddef.h>
#include <stdint.h>

enum { SLAB_SLACK_BYTES = 64 << 20 };
#define SLAB_NONE UINT64_MAX

/* The memory of the home slots of all slabs of a node. */
struct slab_density {
    int64_t touched_bytes; /* of chunks with home slots in use */
    int64_t held_bytes;    /* of rows in home slots */
};

struct slab {
    char *rows;
    void *memory; /* with the rows in it */
    size_t memory_bytes;
    bool is_owner; /* of the memory */
    size_t row_bytes;
    uint64_t home_slots; /* slots below it belong to keys by computation */
    uint64_t slots;
    uint64_t next_spare; /* the lowest spare slot that was never used */
    uint64_t held;       /* slots in use */
    /* a chunk without rows that is kept for the next row; SLAB_NONE: there is none */
    uint64_t empty;
    bool keeps_home; /* home slots are for their keys alone */
    uint32_t *chunk_rows;
    uint64_t *taken;        /* a bit a slot: in use, or waiting for its grace period */
    struct bitset released; /* slots that a row left, for any other */
    struct slab_density *density;
    int latch;
};

/* `keys`: the number of keys that could ever be here; `home_slots` of them have a computed slot.
 * false: no address space. */
bool slab_init(struct slab *, uint32_t length, uint64_t keys, uint64_t home_slots,
               struct slab_density *);
/* Two slabs in one range of addresses. `pairs` has slots of two rows each, behind the slots of the
 * first slab, and continues its numbering: slot s of `pairs` is slot slab_first_pair() + 2 s of the
 * first slab. `home_pairs` of its slots are computed, for replicas. Since replicas come and go, no
 * other key gets such a slot, and the other slots stay dense. */
bool slab_init_with_pairs(struct slab *, struct slab *pairs, uint32_t length, uint64_t keys,
                          uint64_t home_slots, uint64_t home_pairs, struct slab_density *);
uint64_t slab_first_pair(const struct slab *);
/* A slot before the first pair that is never given out: its row reads as zeros and costs no
 * memory. */
uint64_t slab_zero_slot(const struct slab *);
void slab_fini(struct slab *);

/* Takes a slot with undefined content: `home` if possible (SLAB_NONE: the key has no home slot
 * here). Returns SLAB_NONE if no slot is left, because more rows left during one long read section
 * than the slab has keys. */
uint64_t slab_take(struct slab *, uint64_t home);
void slab_give(struct slab *, uint64_t slot);

uint64_t slab_held(const struct slab *);
/* Are `rows` rows held, and has none ever had a spare slot? */
bool slab_is_full_at_home(const struct slab *, uint64_t rows);

static inline float *slab_row(const struct slab *s, uint64_t slot)
{
    return (float *)(void *)(s->rows + slot * s->row_bytes);
}

#endif
