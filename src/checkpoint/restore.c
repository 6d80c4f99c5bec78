/* locus_restore(): verify all, zero what is written, set what was. */
#include "checkpoint/blocks.h"
#include "checkpoint/steps.h"

#include "base/error.h"
#include "call.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_BYTES = 1 << 20, BATCH_ROWS = 1 << 14 };

struct restore {
    struct steps steps;
    char name[SERIES_NAME], path[SERIES_PATH];
    struct blocks blocks;
    unsigned *table_of; /* [tables of the manifest] number here */
    float *values;      /* of a batch */
    locus_key *keys;
    size_t count;
};

/* ---- which one ---- */

static int find_newest(struct restore *r)
{
    struct manifest m;
    char path[SERIES_PATH], digest[DIGEST_TEXT];
    int rc = series_newest(r->steps.directory, r->name);
    if (rc == 0) rc = series_path(r->path, r->steps.directory, r->name);
    if (rc == 0) rc = series_path(path, r->path, MANIFEST_NAME);
    if (rc == 0) rc = manifest_read(&m, path, digest);
    if (rc) return rc;
    manifest_fini(&m);
    snprintf(r->steps.word.text, sizeof r->steps.word.text, "%s %s", digest, r->name);
    return 0;
}

/* Rank 0 has said the name, and how the manifest looks there. */
static int read_manifest(struct restore *r)
{
    struct manifest *m = &r->steps.share->manifest;
    char path[SERIES_PATH], ours[DIGEST_TEXT], theirs[DIGEST_TEXT];
    if (sscanf(r->steps.word.text, "%64s %39s", theirs, r->name) < 1)
        return error_set(-EPROTO, "rank 0 did not say what to restore");
    int rc = series_path(r->path, r->steps.directory, r->name);
    if (rc == 0) rc = series_path(path, r->path, MANIFEST_NAME);
    if (rc || !r->steps.is_first) return rc;
    rc = manifest_read(m, path, ours);
    if (rc == 0 && strcmp(ours, theirs) != 0)
        rc = error_set(-EBADMSG, "%s is not what node 0 sees: all nodes must see one folder", path);
    return rc;
}

/* ---- tables ---- */

static int find_table(const struct restore *r, const struct manifest_table *t, unsigned *number)
{
    const struct keyspace *k = &r->steps.worker->store->keyspace;
    for (unsigned i = 0; i < k->tables; i++) {
        const struct keyspace_table *o = &k->table[i];
        unsigned long long rows = o->end - o->first;
        if (strcmp(o->name, t->name) != 0) continue;
        *number = i;
        if (rows != t->rows)
            return error_set(-EINVAL, "table \"%s\" has %llu rows here, %llu in %s", t->name, rows,
                             (unsigned long long)t->rows, r->path);
        if (o->length != t->length)
            return error_set(-EINVAL, "table \"%s\" has rows of %u floats here, of %u in %s",
                             t->name, o->length, t->length, r->path);
        return 0;
    }
    return error_set(-EINVAL, "table \"%s\" of %s is none of this cluster's", t->name, r->path);
}

static int compare_tables(struct restore *r)
{
    const struct manifest *m = &r->steps.share->manifest;
    const struct keyspace *k = &r->steps.worker->store->keyspace;
    int rc = 0;
    r->table_of = calloc(m->tables + 1, sizeof *r->table_of);
    if (!r->table_of) return error_set(-ENOMEM, "no memory for %u tables", m->tables);
    for (unsigned i = 0; i < m->tables && rc == 0; i++)
        rc = find_table(r, &m->table[i], &r->table_of[i]);
    if (rc == 0 && m->tables != k->tables)
        rc =
            error_set(-EINVAL, "there are %u tables here, %u in %s", k->tables, m->tables, r->path);
    return rc;
}

/* ---- files ---- */

/* Files are dealt to nodes by the rank that wrote them: where as many restore, and rows have the
 * homes that they had, most are set where they are read. */
static const struct manifest_file *next_file(struct restore *r)
{
    struct share *c = r->steps.share;
    const struct locus *n = r->steps.worker->node;
    const struct manifest_file *f = NULL;
    share_lock(c);
    while (!f && c->next_file < c->manifest.files) {
        unsigned i = c->next_file++;
        long writer = strtol(c->manifest.file[i].name, NULL, 10);
        if ((unsigned long)writer % (unsigned)n->size == (unsigned)n->rank)
            f = &c->manifest.file[i];
    }
    share_unlock(c);
    return f;
}

static int damaged(const struct restore *r, const struct manifest_file *f, const char *what)
{
    return error_set(-EBADMSG, "%s/%s is damaged: %s", r->path, f->name, what);
}

static int cannot_read(const struct restore *r, const struct manifest_file *f, int rc)
{
    if (rc == -ENODATA || rc == -ENOENT)
        return damaged(r, f, rc == -ENOENT ? "it is missing" : "it ends too early");
    return error_set(rc, "cannot read %s/%s: %s", r->path, f->name, strerror(-rc));
}

static int open_file(struct restore *r, const struct manifest_file *f, uint64_t from, uint64_t end)
{
    char path[SERIES_PATH];
    int rc = series_path(path, r->path, f->name);
    if (rc) return rc;
    rc = blocks_open(&r->blocks, path, from, end);
    return rc ? cannot_read(r, f, rc) : 0;
}

/* Its bytes from one to another have this digest. */
static int verify_range(struct restore *r, const struct manifest_file *f, uint64_t from,
                        uint64_t end, const char *digest, const char *what)
{
    char found[DIGEST_TEXT], sentence[128];
    int rc = open_file(r, f, from, end);
    if (rc) return rc;
    rc = blocks_read(&r->blocks, NULL, end - from);
    blocks_close(&r->blocks, found);
    if (rc) return cannot_read(r, f, rc);
    if (strcmp(found, digest) == 0) return 0;
    snprintf(sentence, sizeof sentence,
             "its %s, bytes %llu to %llu, does not have the digest that the manifest says", what,
             (unsigned long long)from, (unsigned long long)end - 1);
    return damaged(r, f, sentence);
}

static int verify_length(struct restore *r, const struct manifest_file *f)
{
    char found[DIGEST_TEXT];
    int rc = open_file(r, f, f->bytes, f->bytes + 1);
    if (rc) return rc;
    rc = blocks_read(&r->blocks, NULL, 1);
    blocks_close(&r->blocks, found);
    return rc == 0 ? damaged(r, f, "it is longer than the manifest says") : 0;
}

static int verify_files(struct restore *r)
{
    const struct manifest_file *f;
    int rc = 0;
    while (rc == 0 && (f = next_file(r))) {
        rc = verify_range(r, f, 0, f->data_at, f->header, "header");
        if (rc == 0) rc = verify_range(r, f, f->data_at, f->bytes, f->data, "data");
        if (rc == 0) rc = verify_length(r, f);
    }
    return rc;
}

/* ---- rows ---- */

static int set_batch(struct restore *r)
{
    int rc = r->count ? locus_set(r->steps.worker, r->keys, r->count, r->values) : 0;
    r->count = 0;
    return rc;
}

/* Rows to zero: their values in the batch are never written to. */
static int zero_row(void *restore, unsigned table, uint64_t row, const float *values)
{
    struct restore *r = restore;
    const struct keyspace_table *t = &r->steps.worker->store->keyspace.table[table];
    (void)values;
    r->keys[r->count++] = t->first + row;
    return r->count == BATCH_ROWS || (r->count + 1) * t->length * sizeof(float) > BATCH_BYTES
               ? set_batch(r)
               : 0;
}

static int zero_rows(struct restore *r)
{
    struct slice slice;
    int rc = 0;
    while (rc == 0 && steps_deal(&r->steps, &slice)) {
        rc = home_rows_each(r->steps.worker, &slice, zero_row, r);
        if (rc == 0) rc = set_batch(r); /* rows of one length */
    }
    return rc;
}

/* The numbers of a section's rows, which stand behind them. NULL, with the sentence: it cannot be
 * read. */
static int64_t *read_numbers(struct restore *r, const struct manifest_file *f,
                             const struct manifest_section *s)
{
    size_t bytes = s->rows * sizeof(int64_t);
    int64_t *numbers = malloc(bytes);
    char digest[DIGEST_TEXT];
    if (!numbers) error_set(-ENOMEM, "no memory for %zu bytes of row numbers", bytes);
    if (!numbers || open_file(r, f, s->keys_at, s->keys_at + bytes)) {
        free(numbers);
        return NULL;
    }
    int rc = blocks_read(&r->blocks, numbers, bytes);
    blocks_close(&r->blocks, digest);
    if (rc == 0) return numbers;
    cannot_read(r, f, rc);
    free(numbers);
    return NULL;
}

static int set_rows(struct restore *r, const struct manifest_file *f,
                    const struct manifest_section *s, const int64_t *numbers)
{
    const struct keyspace_table *t = &r->steps.worker->store->keyspace.table[r->table_of[s->table]];
    size_t row_bytes = t->length * sizeof(float), capacity = BATCH_BYTES / row_bytes;
    int rc = 0;
    if (capacity > BATCH_ROWS) capacity = BATCH_ROWS;
    if (capacity == 0) capacity = 1;
    for (uint64_t done = 0; done < s->rows && rc == 0; done += r->count, r->count = 0) {
        r->count = s->rows - done < capacity ? s->rows - done : capacity;
        rc = blocks_read(&r->blocks, r->values, r->count * row_bytes);
        if (rc) return cannot_read(r, f, rc);
        for (size_t i = 0; i < r->count; i++) {
            if (numbers[done + i] < 0 || (uint64_t)numbers[done + i] >= t->end - t->first)
                return damaged(r, f, "it names a row that the table does not have");
            r->keys[i] = t->first + (uint64_t)numbers[done + i];
        }
        rc = locus_set(r->steps.worker, r->keys, r->count, r->values);
    }
    return rc;
}

static int set_section(struct restore *r, const struct manifest_file *f,
                       const struct manifest_section *s)
{
    char digest[DIGEST_TEXT];
    uint64_t bytes = s->rows * r->steps.share->manifest.table[s->table].length * sizeof(float);
    int64_t *numbers = read_numbers(r, f, s);
    if (!numbers) return -EIO;
    int rc = open_file(r, f, s->rows_at, s->rows_at + bytes);
    if (rc == 0) rc = set_rows(r, f, s, numbers);
    blocks_close(&r->blocks, digest);
    free(numbers);
    return rc;
}

static int set_files(struct restore *r)
{
    const struct manifest_file *f;
    int rc = 0;
    while (rc == 0 && (f = next_file(r)))
        for (unsigned i = 0; i < f->sections && rc == 0; i++)
            rc = set_section(r, f, &f->section[i]);
    return rc ? rc : locus_wait_all(r->steps.worker);
}

/* ---- */

static int take_room(struct restore *r)
{
    size_t longest = keyspace_longest(&r->steps.worker->store->keyspace) * sizeof(float);
    r->values = calloc(1, longest > BATCH_BYTES ? longest : BATCH_BYTES);
    r->keys = malloc(BATCH_ROWS * sizeof *r->keys);
    int rc = r->values && r->keys ? blocks_init(&r->blocks) : -ENOMEM;
    return rc ? error_set(rc, "no memory to read a checkpoint with") : 0;
}

static void give_room(struct restore *r)
{
    blocks_fini(&r->blocks);
    free(r->values);
    free(r->keys);
    free(r->table_of);
}

/* Updates are in the main copies before the next step, as at the beginning. */
static int settled(struct restore *r, int rc)
{
    if (rc == 0 && r->steps.worker->node->moves)
        rc = call_settle(r->steps.worker, REQUEST_SETTLE_UPDATES);
    return rc;
}

/* Files are dealt anew. */
static int rewind_files(struct restore *r)
{
    if (r->steps.is_first) r->steps.share->next_file = 0;
    return 0;
}

/* Until `verify_files` is over nothing was changed. */
static int restore(struct restore *r)
{
    struct steps *s = &r->steps;
    int rc = steps_settle(s, steps_is_rank_0(s) ? find_newest(r) : 0);
    if (rc == 0) rc = steps_meet(s, COLLECTIVE_STEP, read_manifest(r));
    if (rc) return rc;
    rc = compare_tables(r);
    if (rc == 0) rc = take_room(r);
    if (rc == 0) rc = verify_files(r);
    rc = steps_meet(s, COLLECTIVE_STEP, rc);
    if (rc == 0) rc = rewind_files(r);
    if (rc == 0) rc = steps_meet(s, COLLECTIVE_STEP, settled(r, zero_rows(r)));
    if (rc == 0) rc = steps_meet(s, COLLECTIVE_STEP, settled(r, set_files(r)));
    if (rc == 0 && s->worker->node->replicates)
        rc = steps_meet(s, COLLECTIVE_END, call_settle(s->worker, REQUEST_SETTLE_REPLICAS));
    else if (rc == 0)
        rc = steps_meet(s, COLLECTIVE_END, 0);
    return rc;
}

int locus_restore(locus_worker *w, const char *directory)
{
    struct restore r = {.count = 0};
    int rc = steps_begin(&r.steps, "locus_restore", w, directory, COLLECTIVE_RESTORE);
    if (rc) return rc;
    rc = restore(&r);
    give_room(&r);
    return steps_end(&r.steps, rc);
}
