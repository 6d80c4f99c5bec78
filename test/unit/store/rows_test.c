#include "store/row.h"

#include "store/store.h"
#include "test.h"

#include <string.h>

/* Two tables of rows of 3 and 5 floats, on rank 0 of some nodes. */
enum { ROWS = 300, SHORT = 3, LONG = 5, KEYS = 2 * ROWS };

static void open_store(struct store *s, unsigned nodes)
{
    static const struct locus_table tables[] = {{.rows = ROWS, .length = SHORT},
                                                {.rows = ROWS, .length = LONG}};
    const struct store_config c = {.tables = tables,
                                   .table_count = 2,
                                   .shards = nodes,
                                   .nodes = nodes,
                                   .is_alone = nodes == 1, /* and an array once all are written */
                                   .has_one_writer = nodes == 1};
    CHECK_EQ(store_open(s, &c), 0);
}

static unsigned length_of(locus_key key)
{
    return key < ROWS ? SHORT : LONG;
}

/* All keys, each once, tables mixed. */
static void shuffle(locus_key *keys)
{
    for (uint64_t i = 0; i < KEYS; i++) keys[i] = i * 7919 % KEYS;
}

static size_t fill(const locus_key *keys, size_t n, float *values)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < length_of(keys[i]); k++) values[at++] = (float)keys[i] + (float)k;
    return at;
}

TEST(rows, read_and_write_several_lengths_in_one_array)
{
    static locus_key keys[KEYS];
    static float in[KEYS * LONG], out[KEYS * LONG];
    CLOSED_BY(store_fini) struct store s;
    size_t replicas = 0;
    int rc = 0;
    open_store(&s, 1);
    shuffle(keys);
    size_t floats = fill(keys, KEYS, in);
    rows_fetch(&s, keys, KEYS);
    rows_fetch_found(&s, keys, KEYS);
    CHECK_EQ(rows_write(&s, NULL, keys, KEYS, in, ROW_SET, NULL, &replicas, &rc), 0);
    CHECK(s.partition[0].plain);
    CHECK_EQ(rows_write(&s, NULL, keys, KEYS, in, ROW_ADD, NULL, &replicas, &rc), 0);
    CHECK_EQ(rows_read(&s, NULL, keys, KEYS, out, NULL, &replicas), 0);
    for (size_t i = 0; i < floats; i++) CHECK(out[i] == 2 * in[i]);
    CHECK_EQ(rc, 0);
    CHECK_EQ(replicas, 0);
}

/* Of two nodes each is home to some rows; the others are missed, with their places in both
 * arrays. */
TEST(rows, read_and_write_return_missed_rows_by_position)
{
    static locus_key keys[KEYS];
    static float in[KEYS * LONG], out[KEYS * LONG];
    static struct missed_row read[KEYS], written[KEYS];
    CLOSED_BY(store_fini) struct store s;
    size_t replicas = 0, at = 0, n = 0;
    int rc = 0;
    open_store(&s, 2);
    shuffle(keys);
    fill(keys, KEYS, in);
    memset(out, 0, sizeof out);
    size_t count = rows_write(&s, NULL, keys, KEYS, in, ROW_SET, written, &replicas, &rc);
    CHECK(count > 0 && count < KEYS);
    CHECK_EQ(rows_read(&s, NULL, keys, KEYS, out, read, &replicas), count);
    CHECK_EQ(rows_read(&s, NULL, keys, KEYS, out, NULL, &replicas), count);
    for (size_t i = 0; i < KEYS; i++) {
        bool is_home = row_ref_is_home(store_row_ref(&s, keys[i]));
        if (!is_home) {
            CHECK_EQ(read[n].position, i);
            CHECK_EQ(read[n].offset, at);
            CHECK(written[n].position == i && written[n].offset == at);
            n++;
        }
        for (unsigned k = 0; k < length_of(keys[i]); k++, at++)
            CHECK(out[at] == (is_home ? in[at] : 0));
    }
    CHECK_EQ(n, count);
}
