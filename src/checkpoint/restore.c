/* locus_restore(): find one that is whole, zero what is written, set what was. */
#include "checkpoint/stages.h"
#include "checkpoint/tensors.h"

#include "base/error.h"
#include "worker/call.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct restore {
    struct stages stages;
    char name[SERIES_NAME], path[SERIES_PATH];
    char damage[WORD_TEXT_BYTES], last_damage[WORD_TEXT_BYTES]; /* sentences; "": none */
    struct blocks blocks;
    unsigned *table_of; /* [tables of the manifest] number here */
    locus_key *keys;    /* to set */
    float *zeros;       /* for as many */
    size_t count;
    void *note;        /* the caller's */
    size_t note_bytes; /* room in it */
};

/* ---- which one ---- */

static int read_digest(struct restore *r, char digest[DIGEST_TEXT])
{
    struct manifest m;
    char path[SERIES_PATH];
    int rc = series_path(r->path, r->stages.directory, r->name);
    if (rc == 0) rc = series_path(path, r->path, MANIFEST_NAME);
    if (rc == 0) rc = manifest_read(&m, FILES_HERE, path, digest);
    if (rc == 0) manifest_fini(&m);
    return rc;
}

/* Of the newest, which a failure of all is about; and of the last that was tried. */
static void note_damage(struct restore *r, const char *sentence)
{
    if (!*r->damage) snprintf(r->damage, sizeof r->damage, "%s", sentence);
    snprintf(r->last_damage, sizeof r->last_damage, "%s", sentence);
}

/* To the one before r->name. What failed is about the newest. */
static int go_back(struct restore *r)
{
    int rc = series_older(r->stages.directory, r->name);
    if (rc == -ENOENT)
        return error_set(-EBADMSG, "%s%s", r->damage,
                         strcmp(r->damage, r->last_damage) ? "; all older ones are damaged, too"
                                                           : "");
    if (rc == 0)
        fprintf(stderr, "locus: %s; going on from the one before, %s/%s\n", r->last_damage,
                r->stages.directory, r->name);
    return rc;
}

/* By rank 0: the newest, or after damage the one before, whose manifest can be read. It tells the
 * name, and how the manifest looks there. */
static int find(struct restore *r)
{
    char digest[DIGEST_TEXT];
    int rc = *r->damage ? go_back(r) : series_newest(r->stages.directory, r->name);
    while (rc == 0 && (rc = read_digest(r, digest)) == -EBADMSG && *r->name) {
        note_damage(r, locus_error());
        rc = go_back(r);
    }
    if (rc == 0)
        snprintf(r->stages.word.text, sizeof r->stages.word.text, "%s %s", digest, r->name);
    return rc;
}

/* Rank 0 has said the name, and how the manifest looks there. */
static int read_manifest(struct restore *r)
{
    struct checkpoint_work *work = r->stages.work;
    char path[SERIES_PATH], ours[DIGEST_TEXT], theirs[DIGEST_TEXT];
    if (sscanf(r->stages.word.text, "%64s %39s", theirs, r->name) < 1)
        return error_set(-EPROTO, "rank 0 did not say what to restore");
    int rc = series_path(r->path, r->stages.directory, r->name);
    if (rc == 0) rc = series_path(path, r->path, MANIFEST_NAME);
    if (rc || !r->stages.is_first) return rc;
    rc = manifest_read(&work->manifest, FILES_HERE, path, ours);
    if (rc == -EBADMSG || (rc == 0 && strcmp(ours, theirs) != 0))
        rc = error_set(-ENOENT, "%s is not what node 0 sees: all nodes must see one folder", path);
    return rc;
}

/* ---- tables ---- */

/* All that describes a table, beside its name: the manifest has no more. */
enum { FIELDS = 5, FIELD_BYTES = 48 };

static void describe(char text[FIELDS][FIELD_BYTES], uint64_t rows, uint32_t length, uint32_t flags,
                     enum locus_optimizer optimizer, enum locus_element element)
{
    snprintf(text[0], FIELD_BYTES, "%llu rows", (unsigned long long)rows);
    snprintf(text[1], FIELD_BYTES, "rows of %u floats", length);
    snprintf(text[2], FIELD_BYTES, "flags %u", flags);
    snprintf(text[3], FIELD_BYTES, "%s", row_type_name(optimizer));
    snprintf(text[4], FIELD_BYTES, "%s", row_type_element_name(element));
}

static int compare_table(const struct restore *r, const struct keyspace_table *o,
                         const struct manifest_table *t)
{
    char here[FIELDS][FIELD_BYTES], saved[FIELDS][FIELD_BYTES];
    unsigned f = 0;
    describe(here, o->end - o->first, o->length, o->flags, o->optimizer, o->element);
    describe(saved, t->rows, t->length, t->flags, t->optimizer, t->element);
    while (f < FIELDS && strcmp(here[f], saved[f]) == 0) f++;
    if (f == FIELDS) return 0;
    return error_set(-EINVAL, "table \"%s\" has %s here, %s in %s%s", t->name, here[f], saved[f],
                     r->path, f < 2 ? "" : ": give it what it was saved with");
}

static int find_table(const struct restore *r, const struct manifest_table *t, unsigned *number)
{
    const struct keyspace *k = &r->stages.worker->store->keyspace;
    for (unsigned i = 0; i < k->tables; i++) {
        if (strcmp(k->table[i].name, t->name) != 0) continue;
        *number = i;
        return compare_table(r, &k->table[i], t);
    }
    return error_set(-EINVAL, "%s has a table \"%s\", which is none of this job's", r->path,
                     t->name);
}

static int compare_tables(struct restore *r)
{
    const struct manifest *m = &r->stages.work->manifest;
    const struct keyspace *k = &r->stages.worker->store->keyspace;
    int rc = 0;
    free(r->table_of);
    r->table_of = calloc(m->tables + 1, sizeof *r->table_of);
    if (!r->table_of) return error_set(-ENOMEM, "no memory for %u tables", m->tables);
    for (unsigned i = 0; i < m->tables && rc == 0; i++)
        rc = find_table(r, &m->table[i], &r->table_of[i]);
    if (rc == 0 && m->tables != k->tables)
        rc =
            error_set(-EINVAL, "there are %u tables here, %u in %s", k->tables, m->tables, r->path);
    return rc;
}

/* The caller's array takes the note? */
static int compare_room(const struct restore *r)
{
    size_t bytes = r->stages.work->manifest.note_bytes;
    if (!r->note || bytes <= r->note_bytes) return 0;
    return error_set(-EINVAL, "%s has a note of %zu bytes, and there is room for %zu", r->path,
                     bytes, r->note_bytes);
}

/* ---- files ---- */

/* One that was lost reads nothing: its files are the next node's. All see the same losses, or do all
 * of it again. */
static unsigned reader_of(const struct locus *n, unsigned long writer)
{
    unsigned size = (unsigned)n->size, rank = (unsigned)(writer % size);
    while (n->cluster && cluster_has_lost(n->cluster, rank)) rank = (rank + 1) % size;
    return rank;
}

/* Files are assigned to nodes by the rank that wrote them. So if the number of nodes is the same,
 * and rows have the same homes as before, most rows are set on the node that reads them. */
static const struct manifest_file *next_file(struct restore *r)
{
    struct checkpoint_work *work = r->stages.work;
    const struct locus *n = r->stages.worker->node;
    const struct manifest_file *f = NULL;
    pthread_mutex_lock(&work->mutex);
    while (!f && work->next_file < work->manifest.files) {
        unsigned i = work->next_file++;
        unsigned long writer = strtoul(work->manifest.file[i].name, NULL, 10);
        if (reader_of(n, writer) == (unsigned)n->rank) f = &work->manifest.file[i];
    }
    pthread_mutex_unlock(&work->mutex);
    return f;
}

/* Their rows are given to `each`; NULL: they are verified. */
static int take_files(struct restore *r, contents_each *each)
{
    const struct contents c = {&r->blocks, r->path, &r->stages.work->manifest};
    const struct manifest_file *f;
    int rc = 0;
    while (rc == 0 && (f = next_file(r)))
        rc = each ? contents_rows(&c, f, each, r) : contents_verify(&c, f);
    return rc;
}

/* ---- rows ---- */

static int set_batch(struct restore *r)
{
    int rc = r->count ? call_access(r->stages.worker, REQUEST_SET, r->keys, r->count, r->zeros) : 0;
    r->count = 0;
    return rc;
}

/* Rows to zero. */
static int zero_row(void *restore, unsigned table, uint64_t row, const float *values)
{
    struct restore *r = restore;
    const struct keyspace_table *t = &r->stages.worker->store->keyspace.table[table];
    (void)values;
    r->keys[r->count++] = t->first + row;
    return r->count == CONTENTS_ROWS || (r->count + 1) * t->length * sizeof(float) > CONTENTS_BYTES
               ? set_batch(r)
               : 0;
}

static int zero_rows(struct restore *r)
{
    struct slice slice;
    int rc = 0;
    while (rc == 0 && stages_deal(&r->stages, &slice)) {
        rc = home_rows_each(r->stages.worker, &slice, zero_row, r);
        if (rc == 0) rc = set_batch(r); /* rows of one length */
    }
    return rc;
}

/* A contents_each. */
static int set_rows(void *restore, const struct manifest_section *s, const int64_t *rows,
                    size_t count, const float *values)
{
    struct restore *r = restore;
    locus_worker *w = r->stages.worker;
    const struct keyspace_table *t = &w->store->keyspace.table[r->table_of[s->table]];
    bool has_state = t->optimizer != LOCUS_NO_OPTIMIZER;
    for (size_t i = 0; i < count; i++) r->keys[i] = t->first + (uint64_t)rows[i];
    counter_add(&w->counters.checkpoint_rows, count);
    return call_access(w, has_state ? REQUEST_SET_STATE : REQUEST_SET, r->keys, count,
                       (float *)(uintptr_t)values);
}

/* ---- */

static int allocate(struct restore *r)
{
    size_t longest = keyspace_longest(&r->stages.worker->store->keyspace) * sizeof(float);
    r->zeros = calloc(1, longest > CONTENTS_BYTES ? longest : CONTENTS_BYTES);
    r->keys = malloc(CONTENTS_ROWS * sizeof *r->keys);
    int rc = r->zeros && r->keys ? blocks_init(&r->blocks) : -ENOMEM;
    return rc ? error_set(rc, "no memory to read a checkpoint with") : 0;
}

static void release(struct restore *r)
{
    blocks_fini(&r->blocks);
    free(r->zeros);
    free(r->keys);
    free(r->table_of);
}

/* What rank 0 has found, as far as it can be known before anything changes: rows that are there,
 * in tables as they are here. */
static int check(struct restore *r)
{
    int rc = stages_meet(&r->stages, COLLECTIVE_STAGE, read_manifest(r));
    if (rc) return rc;
    rc = compare_tables(r);
    if (rc == 0) rc = compare_room(r);
    if (rc == 0) rc = take_files(r, NULL);
    return stages_meet(&r->stages, COLLECTIVE_STAGE, rc);
}

/* The newest one that is whole; or the one that the caller named. */
static int find_whole(struct restore *r)
{
    struct stages *s = &r->stages;
    int rc = check(r);
    while (rc == -EBADMSG && *r->name) {
        note_damage(r, s->word.text);
        if (s->is_first) stages_renew_work(s->work);
        rc = stages_meet(s, COLLECTIVE_STAGE, stages_is_rank_0(s) ? find(r) : 0);
        if (rc) return rc;
        rc = check(r);
    }
    return rc;
}

/* Says what a failure has left. */
static int changing(struct restore *r, int rc)
{
    char why[sizeof r->damage];
    /* Updates are in the main copies before the next stage, as at the beginning. */
    if (rc == 0) rc = call_flush(r->stages.worker, REQUEST_FLUSH_UPDATES);
    if (rc == 0) return 0;
    snprintf(why, sizeof why, "%s", locus_error());
    return error_set(rc, "%s; rows were being set, and are to be restored again", why);
}

/* Which older ones do not have. */
static void set_draws(struct restore *r)
{
    uint64_t draws = r->stages.work->manifest.draws;
    if (r->stages.is_first)
        store_set_draws(r->stages.worker->store, draws ? draws : DIRECTORY_VERSIONS);
}

static void give_note(struct restore *r)
{
    const struct manifest *m = &r->stages.work->manifest;
    r->note_bytes = m->note_bytes;
    if (r->note && m->note_bytes) memcpy(r->note, m->note, m->note_bytes);
}

static int restore(struct restore *r)
{
    struct stages *s = &r->stages;
    int rc = allocate(r);
    rc = stages_flush(s, rc == 0 && stages_is_rank_0(s) ? find(r) : rc);
    if (rc == 0) rc = find_whole(r);
    if (rc == 0 && s->is_first) s->work->next_file = 0; /* they are dealt anew */
    if (rc == 0) rc = stages_meet(s, COLLECTIVE_STAGE, changing(r, zero_rows(r)));
    if (rc == 0) rc = stages_meet(s, COLLECTIVE_STAGE, changing(r, take_files(r, set_rows)));
    if (rc == 0) set_draws(r);
    if (rc == 0) give_note(r);
    if (rc) return rc;
    return stages_meet(s, COLLECTIVE_END, call_flush(s->worker, REQUEST_FLUSH_REPLICAS));
}

static int try_to_restore(locus_worker *w, const char *directory, void *note, size_t *bytes)
{
    struct restore r = {.note = note, .note_bytes = *bytes};
    int rc = stages_begin(&r.stages, "locus_restore", w, directory, COLLECTIVE_RESTORE);
    if (rc) return rc;
    rc = restore(&r);
    release(&r);
    if (rc == 0) *bytes = r.note_bytes;
    return stages_end(&r.stages, rc);
}

int locus_restore(locus_worker *w, const char *directory)
{
    size_t none = 0;
    return locus_restore_with(w, directory, NULL, &none);
}

int locus_restore_with(locus_worker *w, const char *directory, void *note, size_t *bytes)
{
    int rc;
    if (!bytes) return error_set(-EINVAL, "locus_restore_with: `bytes` is NULL");
    do rc = try_to_restore(w, directory, note, bytes);
    while (rc == MEETING_REPEATS);
    return rc;
}
