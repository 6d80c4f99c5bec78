/* locus_restore(): find one that is whole, zero what is written, set what was. */
#include "checkpoint/contents.h"
#include "checkpoint/steps.h"

#include "base/error.h"
#include "worker/call.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct restore {
    struct steps steps;
    char name[SERIES_NAME], path[SERIES_PATH];
    char damage[WORD_TEXT_BYTES], last_damage[WORD_TEXT_BYTES]; /* sentences; "": none */
    struct blocks blocks;
    unsigned *table_of; /* [tables of the manifest] number here */
    locus_key *keys;    /* to set */
    float *zeros;       /* for as many */
    size_t count;
    void *record;        /* the caller's */
    size_t record_bytes; /* room in it */
};

/* ---- which one ---- */

static int read_digest(struct restore *r, char digest[DIGEST_TEXT])
{
    struct manifest m;
    char path[SERIES_PATH];
    int rc = series_path(r->path, r->steps.directory, r->name);
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
    int rc = series_older(r->steps.directory, r->name);
    if (rc == -ENOENT)
        return error_set(-EBADMSG, "%s%s", r->damage,
                         strcmp(r->damage, r->last_damage) ? "; all older ones are damaged, too"
                                                           : "");
    if (rc == 0)
        fprintf(stderr, "locus: %s; going on from the one before, %s/%s\n", r->last_damage,
                r->steps.directory, r->name);
    return rc;
}

/* By rank 0: the newest, or after damage the one before, whose manifest can be read. It tells the
 * name, and how the manifest looks there. */
static int find(struct restore *r)
{
    char digest[DIGEST_TEXT];
    int rc = *r->damage ? go_back(r) : series_newest(r->steps.directory, r->name);
    while (rc == 0 && (rc = read_digest(r, digest)) == -EBADMSG && *r->name) {
        note_damage(r, locus_error());
        rc = go_back(r);
    }
    if (rc == 0) snprintf(r->steps.word.text, sizeof r->steps.word.text, "%s %s", digest, r->name);
    return rc;
}

/* Rank 0 has said the name, and how the manifest looks there. */
static int read_manifest(struct restore *r)
{
    struct share *c = r->steps.share;
    char path[SERIES_PATH], ours[DIGEST_TEXT], theirs[DIGEST_TEXT];
    if (sscanf(r->steps.word.text, "%64s %39s", theirs, r->name) < 1)
        return error_set(-EPROTO, "rank 0 did not say what to restore");
    int rc = series_path(r->path, r->steps.directory, r->name);
    if (rc == 0) rc = series_path(path, r->path, MANIFEST_NAME);
    if (rc || !r->steps.is_first) return rc;
    rc = manifest_read(&c->manifest, FILES_HERE, path, ours);
    if (rc == -EBADMSG || (rc == 0 && strcmp(ours, theirs) != 0))
        rc = error_set(-ENOENT, "%s is not what node 0 sees: all nodes must see one folder", path);
    if (rc) return rc;
    c->seals = contents_seals(&c->manifest);
    return c->seals ? 0 : error_set(-ENOMEM, "no memory for the list of files");
}

/* ---- tables ---- */

/* All that describes a table, beside its name: the manifest has no more. */
enum field { FIELD_ROWS, FIELD_LENGTH, FIELD_FLAGS, FIELD_OPTIMIZER, FIELD_ELEMENT, FIELDS };
static const struct {
    const char *before, *unit, *there, *remedy;
} fields[FIELDS] = {
    [FIELD_ROWS] = {"", " rows", "", ""},
    [FIELD_LENGTH] = {"rows of ", " floats", "of ", ""},
    [FIELD_FLAGS] = {"flags ", "", "", ": give it the flags that it was saved with"},
    [FIELD_OPTIMIZER] = {"", "", "", ": give it the optimizer that it was saved with"},
    [FIELD_ELEMENT] = {"", "", "", ": give it the element that it was saved with"},
};

static void show_field(enum field f, uint64_t value, char text[32])
{
    const char *name = f == FIELD_OPTIMIZER ? row_type_name((enum locus_optimizer)value)
                       : f == FIELD_ELEMENT ? row_type_element_name((enum locus_element)value)
                                            : NULL;
    if (name)
        snprintf(text, 32, "%s", name);
    else
        snprintf(text, 32, "%llu", (unsigned long long)value);
}

static int compare_table(const struct restore *r, const struct keyspace_table *o,
                         const struct manifest_table *t)
{
    const uint64_t here[FIELDS] = {o->end - o->first, o->length, o->flags, o->optimizer,
                                   o->element};
    const uint64_t saved[FIELDS] = {t->rows, t->length, t->flags, t->optimizer, t->element};
    char ours[32], theirs[32];
    enum field f = 0;
    while (f < FIELDS && here[f] == saved[f]) f++;
    if (f == FIELDS) return 0;
    show_field(f, here[f], ours);
    show_field(f, saved[f], theirs);
    return error_set(-EINVAL, "table \"%s\" has %s%s%s here, %s%s in %s%s", t->name,
                     fields[f].before, ours, fields[f].unit, fields[f].there, theirs, r->path,
                     fields[f].remedy);
}

static int find_table(const struct restore *r, const struct manifest_table *t, unsigned *number)
{
    const struct keyspace *k = &r->steps.worker->store->keyspace;
    for (unsigned i = 0; i < k->tables; i++) {
        if (strcmp(k->table[i].name, t->name) != 0) continue;
        *number = i;
        return compare_table(r, &k->table[i], t);
    }
    return error_set(-EINVAL, "table \"%s\" of %s is none of this cluster's", t->name, r->path);
}

static int compare_tables(struct restore *r)
{
    const struct manifest *m = &r->steps.share->manifest;
    const struct keyspace *k = &r->steps.worker->store->keyspace;
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

/* The caller's array takes the record? */
static int compare_room(const struct restore *r)
{
    size_t bytes = r->steps.share->manifest.record_bytes;
    if (!r->record || bytes <= r->record_bytes) return 0;
    return error_set(-EINVAL, "%s has a record of %zu bytes, and there is room for %zu", r->path,
                     bytes, r->record_bytes);
}

/* ---- files ---- */

/* Files are assigned to nodes by the rank that wrote them. So if the number of nodes is the same,
 * and rows have the same homes as before, most rows are set on the node that reads them. */
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

static struct contents contents_of(struct restore *r)
{
    return (struct contents){&r->blocks, r->path, &r->steps.share->manifest, r->steps.share->seals};
}

static int verify_files(struct restore *r)
{
    const struct contents c = contents_of(r);
    const struct manifest_file *f;
    int rc = 0;
    while (rc == 0 && (f = next_file(r))) rc = contents_verify(&c, f);
    return rc;
}

/* ---- rows ---- */

static int set_batch(struct restore *r)
{
    int rc = r->count ? call_access(r->steps.worker, REQUEST_SET, r->keys, r->count, r->zeros) : 0;
    r->count = 0;
    return rc;
}

/* Rows to zero. */
static int zero_row(void *restore, unsigned table, uint64_t row, const float *values)
{
    struct restore *r = restore;
    const struct keyspace_table *t = &r->steps.worker->store->keyspace.table[table];
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
    while (rc == 0 && steps_deal(&r->steps, &slice)) {
        rc = home_rows_each(r->steps.worker, &slice, zero_row, r);
        if (rc == 0) rc = set_batch(r); /* rows of one length */
    }
    return rc;
}

struct target {
    struct restore *restore;
    locus_key first; /* of the table */
    bool has_state;
};

static int set_rows(void *target, const int64_t *rows, size_t count, const float *values)
{
    const struct target *t = target;
    locus_worker *w = t->restore->steps.worker;
    locus_key *keys = t->restore->keys;
    for (size_t i = 0; i < count; i++) keys[i] = t->first + (uint64_t)rows[i];
    counter_add(&w->counters.checkpoint_rows, count);
    return call_access(w, t->has_state ? REQUEST_SET_STATE : REQUEST_SET, keys, count,
                       (float *)(uintptr_t)values);
}

static int set_file(struct restore *r, const struct manifest_file *f)
{
    const struct contents c = contents_of(r);
    const struct keyspace *k = &r->steps.worker->store->keyspace;
    int rc = 0;
    for (unsigned i = 0; i < f->sections && rc == 0; i++) {
        const struct manifest_section *s = &f->section[i];
        const struct keyspace_table *table = &k->table[r->table_of[s->table]];
        struct target t = {r, table->first, table->optimizer != LOCUS_NO_OPTIMIZER};
        rc = contents_rows(&c, f, s, set_rows, &t);
    }
    return rc;
}

static int set_files(struct restore *r)
{
    const struct manifest_file *f;
    int rc = 0;
    while (rc == 0 && (f = next_file(r))) rc = set_file(r, f);
    return rc;
}

/* ---- */

static int allocate(struct restore *r)
{
    size_t longest = keyspace_longest(&r->steps.worker->store->keyspace) * sizeof(float);
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

/* Files are dealt anew. */
static int rewind_files(struct restore *r)
{
    if (r->steps.is_first) r->steps.share->next_file = 0;
    return 0;
}

/* What rank 0 has found, as far as it can be known before anything changes: rows that are there,
 * in tables as they are here. */
static int look(struct restore *r)
{
    int rc = steps_meet(&r->steps, COLLECTIVE_STEP, read_manifest(r));
    if (rc) return rc;
    rc = compare_tables(r);
    if (rc == 0) rc = compare_room(r);
    if (rc == 0) rc = verify_files(r);
    return steps_meet(&r->steps, COLLECTIVE_STEP, rc);
}

/* The newest one that is whole; or the one that the caller named. */
static int look_for_whole(struct restore *r)
{
    struct steps *s = &r->steps;
    int rc = look(r);
    while (rc == -EBADMSG && *r->name) {
        note_damage(r, s->word.text);
        if (s->is_first) share_begin(s->share);
        rc = steps_meet(s, COLLECTIVE_STEP, steps_is_rank_0(s) ? find(r) : 0);
        if (rc) return rc;
        rc = look(r);
    }
    return rc;
}

/* Says what a failure has left. */
static int changing(struct restore *r, int rc)
{
    char why[sizeof r->damage];
    if (rc == 0 && r->steps.worker->node->moves)
        /* Updates are in the main copies before the next step, as at the beginning. */
        rc = call_flush(r->steps.worker, REQUEST_FLUSH_UPDATES);
    if (rc == 0) return 0;
    snprintf(why, sizeof why, "%s", locus_error());
    return error_set(rc, "%s; rows were being set, and are to be restored again", why);
}

/* Which older ones do not have. */
static void set_draws(struct restore *r)
{
    uint64_t draws = r->steps.share->manifest.draws;
    if (r->steps.is_first)
        store_set_draws(r->steps.worker->store, draws ? draws : DIRECTORY_VERSIONS);
}

static void give_record(struct restore *r)
{
    const struct manifest *m = &r->steps.share->manifest;
    r->record_bytes = m->record_bytes;
    if (r->record && m->record_bytes) memcpy(r->record, m->record, m->record_bytes);
}

static int restore(struct restore *r)
{
    struct steps *s = &r->steps;
    int rc = allocate(r);
    rc = steps_flush(s, rc == 0 && steps_is_rank_0(s) ? find(r) : rc);
    if (rc == 0) rc = look_for_whole(r);
    if (rc == 0) rc = rewind_files(r);
    if (rc == 0) rc = steps_meet(s, COLLECTIVE_STEP, changing(r, zero_rows(r)));
    if (rc == 0) rc = steps_meet(s, COLLECTIVE_STEP, changing(r, set_files(r)));
    if (rc == 0) set_draws(r);
    if (rc == 0) give_record(r);
    if (rc == 0 && s->worker->node->moves)
        rc = steps_meet(s, COLLECTIVE_END, call_flush(s->worker, REQUEST_FLUSH_REPLICAS));
    else if (rc == 0)
        rc = steps_meet(s, COLLECTIVE_END, 0);
    return rc;
}

int locus_restore(locus_worker *w, const char *directory)
{
    size_t none = 0;
    return locus_restore_with(w, directory, NULL, &none);
}

int locus_restore_with(locus_worker *w, const char *directory, void *record, size_t *bytes)
{
    if (!bytes) return error_set(-EINVAL, "locus_restore_with: `bytes` is NULL");
    struct restore r = {.record = record, .record_bytes = *bytes};
    int rc = steps_begin(&r.steps, "locus_restore", w, directory, COLLECTIVE_RESTORE);
    if (rc) return rc;
    rc = restore(&r);
    release(&r);
    if (rc == 0) *bytes = r.record_bytes;
    return steps_end(&r.steps, rc);
}
