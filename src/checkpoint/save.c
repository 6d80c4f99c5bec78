/* locus_checkpoint(): quiesce, write, agree, commit. */
#include "checkpoint/stages.h"
#include "checkpoint/tensors.h"

#include "base/error.h"
#include "base/process.h"
#include "worker/call.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct save {
    struct stages stages;
    char name[SERIES_NAME], path[SERIES_PATH], nonce[MANIFEST_NONCE + 1];
    bool is_made;      /* the folder, by us */
    bool is_committed; /* or may be */
    const void *note;
    size_t note_bytes;
    struct tensors tensors; /* this worker's files */
};

static int make_folder(struct save *s)
{
    unsigned keep;
    int rc = series_keeps(&keep);
    if (rc == 0) rc = series_create(s->stages.directory, s->name, s->nonce);
    if (rc) return rc;
    s->is_made = true;
    snprintf(s->stages.word.text, sizeof s->stages.word.text, "%s %s", s->name, s->nonce);
    return 0;
}

/* What rank 0 said. */
static int find_folder(struct save *s)
{
    _Static_assert(SERIES_NAME == 40 && MANIFEST_NONCE == 32, "the widths below");
    if (sscanf(s->stages.word.text, "%39s %32s", s->name, s->nonce) != 2)
        return error_set(-EPROTO, "rank 0 did not say where to write");
    int rc = series_path(s->path, s->stages.directory, s->name);
    return rc ? rc : series_check(s->path, s->nonce);
}

static int describe(const struct save *s, struct manifest *m)
{
    const struct keyspace *k = &s->stages.worker->store->keyspace;
    int rc = 0;
    *m = (struct manifest){.number = strtoull(strrchr(s->name, '-') + 1, NULL, 10),
                           .time = time(NULL),
                           .nodes = (unsigned)s->stages.worker->node->size};
    memcpy(m->nonce, s->nonce, sizeof m->nonce);
    if (s->stages.worker->store->has_bf16)
        m->draws = store_draws(s->stages.worker->store) % MANIFEST_NUMBER_MAX;
    for (unsigned i = 0; i < k->tables && rc == 0; i++)
        rc = manifest_add_table(m, k->table[i].name, k->table[i].end - k->table[i].first,
                                k->table[i].length, k->table[i].flags, k->table[i].optimizer,
                                k->table[i].element);
    if (rc) manifest_fini(m);
    return rc ? error_set(rc, "no memory for the manifest") : 0;
}

static int add_row(void *save, unsigned table, uint64_t row, const float *values)
{
    struct save *s = save;
    counter_add(&s->stages.worker->counters.checkpoint_rows, 1);
    return tensors_add(&s->tensors, table, row, values);
}

static int write_slices(struct save *s)
{
    struct slice slice;
    int rc = 0;
    while (rc == 0 && stages_deal(&s->stages, &slice))
        rc = home_rows_each(s->stages.worker, &slice, add_row, s);
    return rc ? rc : tensors_end(&s->tensors);
}

static int write_rows(struct save *s)
{
    struct manifest tables;
    struct tensors *t = &s->tensors;
    int rc = find_folder(s);
    if (rc == 0) rc = describe(s, &tables);
    if (rc) return rc;
    rc = tensors_init(t, &tables, s->path, s->stages.worker->node->rank, s->stages.worker->id);
    if (rc == 0) rc = write_slices(s);
    pthread_mutex_lock(&s->stages.work->mutex);
    if (rc == 0 && manifest_move_files(&s->stages.work->manifest, &t->files))
        rc = error_set(-ENOMEM, "no memory for the list of files");
    pthread_mutex_unlock(&s->stages.work->mutex);
    tensors_fini(t);
    manifest_fini(&tables);
    return rc;
}

static int part_path(const struct save *s, int rank, char path[SERIES_PATH])
{
    char name[32];
    snprintf(name, sizeof name, "%d" SERIES_PART, rank);
    return series_path(path, s->path, name);
}

/* What this node wrote, for rank 0 to read. */
static int write_part(struct save *s)
{
    struct manifest *ours = &s->stages.work->manifest, all;
    char path[SERIES_PATH];
    int rc = describe(s, &all);
    if (rc) return rc;
    if (manifest_move_files(&all, ours)) rc = error_set(-ENOMEM, "no memory for the manifest");
    if (rc == 0) rc = part_path(s, s->stages.worker->node->rank, path);
    if (rc == 0) rc = manifest_write(&all, path);
    if (rc == 0) rc = series_sync(s->path);
    manifest_fini(&all);
    return rc;
}

static int read_parts(const struct save *s, struct manifest *all)
{
    int rc = describe(s, all);
    const locus *n = s->stages.worker->node;
    for (int rank = 0; rank < n->size && rc == 0; rank++) {
        struct manifest part;
        char path[SERIES_PATH];
        if (n->cluster && cluster_has_lost(n->cluster, (unsigned)rank)) continue;
        rc = part_path(s, rank, path);
        if (rc == 0) rc = manifest_read(&part, FILES_HERE, path, NULL);
        if (rc) break;
        if (strcmp(part.nonce, s->nonce) != 0)
            rc = error_set(-EBADMSG, "%s is of another checkpoint", path);
        if (rc == 0 && manifest_move_files(all, &part))
            rc = error_set(-ENOMEM, "no memory for the manifest");
        manifest_fini(&part);
    }
    return rc;
}

static int commit(struct save *s)
{
    struct manifest all;
    unsigned keep;
    int rc = read_parts(s, &all);
    if (rc == 0 && manifest_set_note(&all, s->note, s->note_bytes))
        rc = error_set(-ENOMEM, "no memory for the note");
    if (rc == 0) rc = series_commit(s->stages.directory, s->name, &all);
    manifest_fini(&all);
    if (rc) return rc;
    s->is_committed = true;
    if (series_keeps(&keep) == 0) series_retain(s->stages.directory, keep);
    return 0;
}

/* The same stages in the same order on every worker; each ends all of them where one has failed. */
static int save(struct save *s)
{
    struct stages *stages = &s->stages;
    int rc = stages_flush(stages, stages_is_rank_0(stages) ? make_folder(s) : 0);
    if (rc == 0) rc = stages_meet(stages, COLLECTIVE_STAGE, write_rows(s));
    if (rc == 0) rc = stages_meet(stages, COLLECTIVE_STAGE, stages->is_first ? write_part(s) : 0);
    if (rc == 0) rc = stages_meet(stages, COLLECTIVE_END, stages_is_rank_0(stages) ? commit(s) : 0);
    return rc;
}

static int try_to_save(locus_worker *w, const char *directory, const void *note, size_t bytes)
{
    struct save s = {.note = note, .note_bytes = bytes};
    int rc = stages_begin(&s.stages, "locus_checkpoint", w, directory, COLLECTIVE_CHECKPOINT);
    if (rc) return rc;
    sigset_t before = oversize_begin();
    rc = save(&s);
    oversize_end(before);
    if (rc && s.is_made && !s.is_committed) series_remove(directory, s.name);
    return stages_end(&s.stages, rc);
}

int locus_checkpoint(locus_worker *w, const char *directory)
{
    return locus_checkpoint_with(w, directory, NULL, 0);
}

int locus_checkpoint_with(locus_worker *w, const char *directory, const void *note, size_t bytes)
{
    int rc;
    if (bytes && !note)
        return error_set(-EINVAL, "locus_checkpoint_with: `note` is NULL for %zu bytes", bytes);
    if (bytes > LOCUS_NOTE_MAX)
        return error_set(-EINVAL, "locus_checkpoint_with: a note of %zu bytes: must be at most %d",
                         bytes, LOCUS_NOTE_MAX);
    do rc = try_to_save(w, directory, note, bytes);
    while (rc == MEETING_REPEATS);
    return rc;
}
