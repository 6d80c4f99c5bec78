#include "store/store.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/sync.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static size_t partition_count(const struct store *s)
{
    return s->partition ? (size_t)s->keyspace.shards * s->keyspace.ranges : 0;
}

static size_t words_bytes(const struct keyspace *k, unsigned shard)
{
    /* To a multiple of 64: row_ref_word() permutes within. */
    return (keyspace_count_below(k, k->keys, shard) + 63) / 64 * 64 * sizeof(directory_word);
}

static size_t moved_bytes(const struct partition *p, uint64_t keys)
{
    return (p->first_bucket + keys + 63) / 64 * sizeof *p->moved;
}

static int init_part(struct store *s, unsigned shard, unsigned range)
{
    const struct keyspace *k = &s->keyspace;
    const struct keyspace_table *t = &k->range[range];
    const struct row_type *type = row_type_for(t->optimizer, t->element);
    uint32_t packed = row_type_packed(t->element, t->length), slot = packed + t->delta - t->length;
    struct partition *p = &s->partition[(size_t)shard * k->ranges + range];
    uint64_t first = keyspace_count_below(k, t->first, shard);
    uint64_t keys = keyspace_count_below(k, t->end, shard) - first;
    p->held_first = s->home.held;
    p->home = s->homes ? &s->homes[shard] : s->home.nodes > 1 ? &s->home : NULL;
    p->first_bucket = home_first_bucket(&s->home, shard * k->ranges + range);
    uint64_t home = home_slots(&s->home, keys + p->first_bucket, 0);
    /* Numbers are assigned to all buckets alike, so a small partition, which is in the
     * cache anyway, would have more numbers than keys. */
    uint64_t named = home_slots(&s->home, keys + p->first_bucket, 1) / 2;
    /* nor are there numbers for more slots */
    if (named > 2 * keys || keys > KEYSPACE_RANGE_KEYS_MAX / 2) named = 0;
    if (!(s->dirty ? slab_init_with_pairs(&p->slab, &p->pairs, slot, keys, home, named, &s->density)
                   : slab_init(&p->slab, slot, keys, home, &s->density)))
        return error_set(
            -ENOMEM,
            "no address space for the tables from \"%s\" on (%llu rows of %u floats): raise `ulimit -v`, set "
            "vm.overcommit_memory to 0 or 1, or raise vm.max_map_count (several maps a table and shard)",
            t->name, (unsigned long long)keys, slot);
    if (!s->is_alone && !(p->moved = memory_reserve(moved_bytes(p, keys))))
        return error_set(-ENOMEM,
                         "no address space for what is here of %llu rows: raise `ulimit -v`",
                         (unsigned long long)keys);
    p->keys = keys;
    p->words = s->words[shard];
    p->words_bytes = words_bytes(k, shard);
    p->rows = p->slab.rows;
    p->first_pair = s->dirty ? slab_first_pair(&p->slab) : SLAB_NONE;
    p->zero_slot = s->dirty ? slab_zero_slot(&p->slab) : SLAB_NONE;
    p->first_computed[1] = s->dirty ? p->first_pair : 0;
    p->computes_replicas = s->home.nodes == 1 || (s->dirty && named > 0);
    p->dirty = s->dirty ? &s->dirty[shard] : NULL;
    p->is_full = s->is_full;
    p->is_alone = s->is_alone;
    p->tracks_all = s->dirty && (s->is_full || s->homes);
    p->has_one_writer = s->has_one_writer;
    p->add = floats_best()->add;
    p->gain = floats_best()->gain;
    /* may wrap below 0, and back when it is subtracted */
    p->first_number = first - p->first_bucket;
    p->length = t->length;
    p->row_bytes = (uint32_t)(slot * sizeof(float));
    p->optimizer = type ? &s->optimizer[keyspace_table_of(k, t->first)] : NULL;
    p->packed = packed;
    p->stored = packed + t->stored - t->length;
    p->delta = t->delta;
    p->bf16 = type ? p->optimizer->bf16 : NULL;
    p->place = bf16_draw(s->home.rank, (uint64_t)range << 32 | shard);
    p->draws = p->bf16 ? &s->draws : NULL;
    if (s->has_one_writer && k->shards == 1 && !p->bf16)
        p->plain_when_full = type ? PLAIN_STEPS : PLAIN_SUMS;
    return 0;
}

static int init_shard(struct store *s, unsigned shard)
{
    const struct keyspace *k = &s->keyspace;
    s->words[shard] = memory_reserve(words_bytes(k, shard));
    bool ok =
        s->words[shard] &&
        (!s->dirty || dirty_set_init(&s->dirty[shard], keyspace_count_below(k, k->keys, shard)));
    if (!ok)
        return error_set(-ENOMEM,
                         "no address space for the directory of %llu keys: raise `ulimit -v`",
                         (unsigned long long)k->keys);
    for (unsigned range = 0; range < k->ranges; range++) {
        int rc = init_part(s, shard, range);
        if (rc) return rc;
    }
    return 0;
}

/* Before anything is reserved. */
static int check_parts(const struct keyspace *k)
{
    for (unsigned table = 0; table < k->tables; table++) {
        const struct keyspace_table *t = &k->table[table];
        uint64_t keys = keyspace_most_of(k, t->end - t->first);
        if (keys > KEYSPACE_RANGE_KEYS_MAX)
            return error_set(
                -EINVAL, "table \"%s\" has %llu keys in a shard, the limit is %llu: use %s",
                t->name, (unsigned long long)keys, (unsigned long long)KEYSPACE_RANGE_KEYS_MAX,
                k->shards < LOCUS_SHARDS_MAX ? "more shards, or let rank 0 choose (0)"
                                             : "fewer rows");
    }
    return 0;
}

static void init_optimizers(struct store *s)
{
    for (unsigned i = 0; i < s->keyspace.tables; i++) {
        const struct keyspace_table *t = &s->keyspace.table[i];
        const struct row_type *type = row_type_for(t->optimizer, t->element);
        if (!type) continue;
        optimizer_init(&s->optimizer[i], type, &t->rule, t->element, t->length);
        s->has_optimizers = true;
        s->has_bf16 |= t->element == LOCUS_BF16;
        if (s->optimizer[i].type->factor) s->counts_steps = true;
    }
}

static void init_blocks(struct store *s)
{
    const struct keyspace *k = &s->keyspace;
    while ((k->keys - 1) >> s->block_bits >= STORE_BLOCKS) s->block_bits++;
    for (locus_key i = 0; i << s->block_bits < k->keys; i++) {
        locus_key next = (i + 1) << s->block_bits;
        unsigned range = keyspace_range_of(k, i << s->block_bits);
        if (next <= k->range[range].end || range == k->ranges - 1)
            s->block[i] = &s->partition[range];
    }
}

static int init_all(struct store *s, bool replicates)
{
    const struct keyspace *k = &s->keyspace;
    size_t partitions = (size_t)k->shards * k->ranges;
    s->zeros_bytes = keyspace_longest(k) * sizeof(float);
    s->zeros = memory_reserve(s->zeros_bytes);
    s->words = calloc(k->shards, sizeof *s->words);
    s->optimizer = calloc(k->tables, sizeof *s->optimizer);
    if (replicates) s->dirty = calloc(k->shards, sizeof *s->dirty);
    s->partition = aligned_alloc(_Alignof(struct partition), partitions * sizeof *s->partition);
    /* before any failure: store_fini() looks at them */
    if (s->partition) memset(s->partition, 0, partitions * sizeof *s->partition);
    if (!s->zeros || !s->words || !s->optimizer || !s->partition || (replicates && !s->dirty))
        return error_set(-ENOMEM, "no memory for %zu parts", partitions);
    s->has_one_partition = partitions == 1;
    init_blocks(s);
    init_optimizers(s);
    for (unsigned shard = 0; shard < k->shards; shard++) {
        int rc = init_shard(s, shard);
        if (rc) return rc;
    }
    return 0;
}

static int init_homes(struct store *s)
{
    s->homes = malloc(s->keyspace.shards * sizeof *s->homes);
    if (!s->homes) return error_set(-ENOMEM, "no memory for the homes of keys");
    for (unsigned shard = 0; shard < s->keyspace.shards; shard++) s->homes[shard] = s->home;
    return 0;
}

int store_open(struct store *s, const struct store_config *c)
{
    *s = (struct store){.is_full = c->is_full,
                        .is_alone = c->is_alone,
                        .has_one_writer = c->has_one_writer,
                        .draws = {.number = 1}};
    ck_epoch_init(&s->epoch);
    home_init(&s->home, c->nodes, c->rank);
    if (c->is_full) memset(s->home.held, UINT8_MAX, sizeof s->home.held);
    int rc = keyspace_init(&s->keyspace, c->tables, c->table_count, c->shards);
    if (rc) return rc;
    rc = check_parts(&s->keyspace);
    if (rc == 0 && c->survives && c->nodes > 1) rc = init_homes(s);
    if (rc == 0) rc = init_all(s, c->replicates);
    if (rc) store_fini(s);
    return rc;
}

void store_ranges(const struct store *s, unsigned shard,
                  void (*range)(void *context, void *from, size_t bytes), void *context)
{
    const struct keyspace *k = &s->keyspace;
    range(context, s->words[shard], words_bytes(k, shard));
    if (s->dirty) range(context, s->dirty[shard].keys.memory, s->dirty[shard].keys.bytes);
    for (unsigned i = 0; i < k->ranges; i++) {
        const struct slab *slab = &s->partition[(size_t)shard * k->ranges + i].slab;
        range(context, slab->memory, slab->memory_bytes);
    }
}

void store_fini(struct store *s)
{
    for (size_t i = 0; i < partition_count(s); i++) {
        struct partition *p = &s->partition[i];
        memory_release(p->moved, moved_bytes(p, p->keys));
        slab_fini(&p->pairs);
        slab_fini(&p->slab);
    }
    for (unsigned shard = 0; s->dirty && shard < s->keyspace.shards; shard++)
        dirty_set_fini(&s->dirty[shard]);
    free(s->dirty);
    for (unsigned shard = 0; s->words && shard < s->keyspace.shards; shard++)
        memory_release(s->words[shard], words_bytes(&s->keyspace, shard));
    memory_release((void *)s->zeros, s->zeros_bytes);
    free(s->words);
    free(s->optimizer);
    free(s->partition);
    free(s->homes);
    keyspace_fini(&s->keyspace);
}

uint64_t store_draws(const struct store *s)
{
    uint64_t number = __atomic_load_n(&s->draws.number, __ATOMIC_RELAXED);
    return s->has_one_writer ? number : number + DIRECTORY_VERSIONS;
}

void store_set_draws(struct store *s, uint64_t number)
{
    __atomic_store_n(&s->draws.number, number, __ATOMIC_RELAXED);
}

void store_row_bytes(const struct store *s, uint64_t *rows, uint64_t *replicas)
{
    *rows = *replicas = 0;
    for (size_t i = 0; i < partition_count(s); i++) {
        const struct partition *p = &s->partition[i];
        *rows += slab_held(&p->slab) * p->slab.row_bytes;
        *replicas += slab_held(&p->pairs) * p->pairs.row_bytes;
    }
}

static uint64_t partition_home_keys(const struct partition *p, const struct home *h)
{
    uint64_t first = p->first_bucket, end = first + p->keys, keys = 0;
    for (unsigned b = 0; b < HOME_BUCKETS; b++) {
        if (h->node[b] != h->rank) continue;
        /* The numbers below x that fall into bucket b. */
        keys += (end + HOME_BUCKETS - 1 - b) / HOME_BUCKETS -
                (first + HOME_BUCKETS - 1 - b) / HOME_BUCKETS;
    }
    return keys;
}

uint64_t store_home_keys(const struct store *s)
{
    uint64_t keys = 0;
    if (s->home.nodes == 1) return s->keyspace.keys;
    for (size_t i = 0; i < partition_count(s); i++)
        keys += partition_home_keys(&s->partition[i], &s->home);
    return keys;
}

size_t store_owned(const struct store *s, locus_key from, locus_key *keys, size_t max)
{
    size_t found = 0;
    for (locus_key key = from; key < s->keyspace.keys && found < max; key++) {
        struct row_ref ref = store_row_ref(s, key);
        if (row_ref_is_here(ref, __atomic_load_n(row_ref_word(ref), __ATOMIC_RELAXED)))
            keys[found++] = key;
    }
    return found;
}

void reader_init(struct reader *r, struct store *s)
{
    r->depth = 0;
    r->section = 0;
    r->is_alone = s->is_alone;
    ck_epoch_register(&s->epoch, &r->record, NULL);
}

void reader_fini(struct reader *r)
{
    ck_epoch_unregister(&r->record);
}

void mover_init(struct mover *m, struct store *s)
{
    INVARIANT(!s->is_alone, "a mover where no row ever leaves");
    *m = (struct mover){.kept = SLAB_NONE};
    ck_epoch_register(&s->epoch, &m->record, NULL);
}

static void give_slot(struct partition *p, uint64_t slot)
{
    if (slot >= p->first_pair)
        slab_give(&p->pairs, (slot - p->first_pair) / 2);
    else
        slab_give(&p->slab, slot);
}

static void give_back(struct freed_list *list)
{
    for (size_t i = 0; i < list->count; i++) give_slot(list->slot[i].partition, list->slot[i].slot);
    list->count = 0;
}

static void grace_period_is_over(ck_epoch_entry_t *entry)
{
    struct mover *m = (struct mover *)(void *)((char *)entry - offsetof(struct mover, entry));
    give_back(&m->waiting);
    m->is_waiting = false;
}

void mover_reclaim(struct mover *m)
{
    if (!m->is_waiting && m->open.count > 0) {
        struct freed_list empty = m->waiting;
        m->waiting = m->open;
        m->open = empty;
        m->is_waiting = true;
        ck_epoch_call(&m->record, &m->entry, grace_period_is_over);
    }
    if (m->is_waiting) ck_epoch_poll(&m->record);
}

/* Whoever waits here answers nobody: the worker must hear why others will take the node for
 * lost. */
static void say_section_is_long(void)
{
    fprintf(stderr,
            "locus: a read section has been open for %d s while more rows came than there is room "
            "for: until it ends, this node answers no other, and after peer_timeout_s they take it "
            "for lost; call locus_read_end() sooner\n",
            STORE_LONG_SECTION_S);
}

void mover_wait(struct mover *m)
{
    const struct timespec pause = {.tv_nsec = 50000};
    uint64_t began_ns = LOCUS_NOW_NS();
    bool is_said = false;
    for (unsigned spins = 0; m->open.count > 0 || m->is_waiting;) {
        mover_reclaim(m);
        spin_wait(&spins);
        if (spins < 1024) continue;
        nanosleep(&pause, NULL);
        if (is_said || LOCUS_NOW_NS() - began_ns < STORE_LONG_SECTION_S * UINT64_C(1000000000))
            continue;
        say_section_is_long();
        is_said = true;
    }
}

void mover_make_room(struct mover *m)
{
    INVARIANT(m->open.count > 0 || m->is_waiting,
              "there is no slot for a row, and none that waits for its readers");
    mover_wait(m);
}

static bool make_room(struct freed_list *list)
{
    if (list->count < list->capacity) return true;
    size_t capacity = list->capacity ? 2 * list->capacity : 64;
    struct freed_slot *larger = realloc(list->slot, capacity * sizeof *larger);
    if (!larger) return false;
    list->slot = larger;
    list->capacity = capacity;
    return true;
}

void mover_free(struct mover *m, struct partition *p, uint64_t slot)
{
    if (slot == p->zero_slot) return; /* nobody's */
    /* no memory for the list: waits for its readers now */
    if (!make_room(&m->open)) {
        mover_wait(m);
        INVARIANT(make_room(&m->open), "no memory for a list of freed slots");
    }
    m->open.slot[m->open.count++] = (struct freed_slot){p, slot};
}

void mover_fini(struct mover *m)
{
    mover_wait(m);
    free(m->open.slot);
    free(m->waiting.slot);
    ck_epoch_unregister(&m->record);
}
