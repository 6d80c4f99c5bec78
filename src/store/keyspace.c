#include "store/keyspace.h"

#include "base/error.h"
#include "base/notation.h"
#include "store/row_type.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_NAME = 32 };

static const char *name_of(const struct locus_table *t, size_t i, char text[DEFAULT_NAME])
{
    snprintf(text, DEFAULT_NAME, "table%zu", i);
    return t->name ? t->name : text;
}

/* Tables are told apart by their names, which stand in JSON, in metrics, and in names of files. */
static int check_name(const struct locus_table *tables, size_t i)
{
    char text[DEFAULT_NAME], other[DEFAULT_NAME];
    const char *name = name_of(&tables[i], i, text);
    size_t bytes = strnlen(name, LOCUS_NAME_MAX + 1);
    if (bytes == 0)
        return error_set(-EINVAL, "the name of table %zu is empty: give it one, or NULL", i);
    if (bytes > LOCUS_NAME_MAX)
        return error_set(-EINVAL, "the name of table %zu has more than %d bytes", i,
                         LOCUS_NAME_MAX);
    if (!notation_is_text(name))
        return error_set(-EINVAL,
                         "the name of table %zu is no text: it must be UTF-8 without control "
                         "characters",
                         i);
    if (name[0] == '.' || strchr(name, '/'))
        return error_set(-EINVAL,
                         "the name of table %zu is \"%s\": it must be one that a file can have, "
                         "without '/', and not begin with '.'",
                         i, name);
    for (size_t j = 0; j < i; j++)
        if (strcmp(name, name_of(&tables[j], j, other)) == 0)
            return error_set(-EINVAL, "tables %zu and %zu have one name, \"%s\": give each its own",
                             j, i, name);
    return 0;
}

static int check_table(const struct locus_table *t, size_t i, uint64_t keys)
{
    if (t->rows == 0)
        return error_set(-EINVAL, "table %zu has no rows: `rows` must be at least 1", i);
    if (t->rows > LOCUS_KEYS_MAX - keys)
        return error_set(
            -EINVAL,
            "table %zu with %llu rows brings the keys of all tables above the limit of %llu", i,
            (unsigned long long)t->rows, (unsigned long long)LOCUS_KEYS_MAX);
    if (t->length == 0 || t->length > LOCUS_LENGTH_MAX)
        return error_set(-EINVAL, "table %zu has rows of %u floats: `length` must be 1 to %u", i,
                         t->length, LOCUS_LENGTH_MAX);
    if (t->flags & ~(uint32_t)LOCUS_TABLE_ENCODED)
        return error_set(-EINVAL, "table %zu has flags 0x%x: use 0 or LOCUS_TABLE_ENCODED", i,
                         t->flags);
    return row_type_check(t, i);
}

int keyspace_check(const struct locus_table *tables, size_t count)
{
    uint64_t keys = 0;
    int rc = 0;
    if (!tables || count == 0)
        return error_set(-EINVAL, "the configuration has no table: at least one is needed");
    if (count > LOCUS_TABLES_MAX)
        return error_set(-EINVAL, "%zu tables are more than the limit of %d", count,
                         LOCUS_TABLES_MAX);
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = check_table(&tables[i], i, keys);
        if (rc == 0) rc = check_name(tables, i);
        keys += tables[i].rows;
    }
    return rc;
}

static int add_tables(struct keyspace *k, const struct locus_table *tables, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char text[DEFAULT_NAME], *name = strdup(name_of(&tables[i], i, text));
        if (!name) return error_set(-ENOMEM, "no memory for the name of table %zu", i);
        uint64_t first = k->keys;
        k->keys += tables[i].rows;
        const struct locus_table *t = &tables[i];
        const struct row_type *type = row_type_of(t->optimizer);
        k->table[k->tables++] =
            (struct keyspace_table){.name = name,
                                    .first = first,
                                    .end = k->keys,
                                    .length = t->length,
                                    .flags = t->flags,
                                    .optimizer = t->optimizer,
                                    .rule = row_type_rule(t),
                                    .element = t->element,
                                    .stored = (uint32_t)row_type_stored(type, t->length),
                                    .delta = (uint32_t)row_type_delta(type, t->length)};
    }
    return 0;
}

static bool is_of_sums(const struct keyspace_table *t)
{
    return !row_type_for(t->optimizer, t->element);
}

static void add_ranges(struct keyspace *k)
{
    for (unsigned i = 0; i < k->tables; i++) {
        const struct keyspace_table *t = &k->table[i];
        struct keyspace_table *last = i ? &k->range[k->ranges - 1] : NULL;
        if (last && last->length == t->length && is_of_sums(last) && is_of_sums(t) &&
            keyspace_most_of(k, t->end - last->first) <= KEYSPACE_RANGE_KEYS_MAX)
            last->end = t->end;
        else
            k->range[k->ranges++] = *t;
    }
}

unsigned keyspace_shards_needed(const struct locus_table *tables, size_t count)
{
    uint64_t most = 1;
    for (size_t i = 0; i < count; i++) {
        uint64_t needed = (tables[i].rows + KEYSPACE_RANGE_KEYS_MAX - 1) / KEYSPACE_RANGE_KEYS_MAX;
        if (needed > most) most = needed;
    }
    return most < LOCUS_SHARDS_MAX ? (unsigned)most : LOCUS_SHARDS_MAX;
}

int keyspace_init(struct keyspace *k, const struct locus_table *tables, size_t count,
                  unsigned shards)
{
    int rc = keyspace_check(tables, count);
    if (rc == 0 && (shards == 0 || shards > LOCUS_SHARDS_MAX))
        rc = error_set(-EINVAL, "shards is %u: must be 1 to %d", shards, LOCUS_SHARDS_MAX);
    *k = (struct keyspace){.shards = shards};
    if (rc) return rc;
    if (shards > 1) k->reciprocal = UINT64_MAX / shards + 1;
    k->table = calloc(count, sizeof *k->table);
    k->range = calloc(count, sizeof *k->range);
    if (!k->table || !k->range) {
        free(k->table);
        free(k->range);
        *k = (struct keyspace){0};
        return error_set(-ENOMEM, "no memory for %zu tables", count);
    }
    rc = add_tables(k, tables, count);
    if (rc)
        keyspace_fini(k);
    else
        add_ranges(k);
    return rc;
}

void keyspace_fini(struct keyspace *k)
{
    for (unsigned i = 0; i < k->tables; i++) free(k->table[i].name);
    free(k->table);
    free(k->range);
    *k = (struct keyspace){0};
}

uint32_t keyspace_longest(const struct keyspace *k)
{
    uint32_t longest = 0;
    for (unsigned t = 0; t < k->tables; t++)
        if (k->table[t].delta > longest) longest = k->table[t].delta;
    return longest;
}

void home_init(struct home *h, unsigned nodes, unsigned rank)
{
    *h = (struct home){.membership = 1, .nodes = nodes, .rank = rank};
    for (unsigned b = 0; b < HOME_BUCKETS; b++) {
        h->node[b] = (uint16_t)(b % nodes);
        bool elsewhere = h->node[b] != rank;
        h->place[b] = (uint16_t)(h->slots[elsewhere] | (elsewhere ? HOME_ELSEWHERE : 0));
        h->slots[elsewhere] += elsewhere ? 2 : 1;
        h->held[b / 64] |= (uint64_t)!elsewhere << b % 64;
    }
}
