#include "feed.h"

#include "fail.h"
#include "pace.h"

#include <stdlib.h>
#include <string.h>

/* Facts a portion, about: small batches are handed over together. Facts that the loader is ahead,
 * about: the papers' "arbitrary large" 1000 (AdaPM, Appendix C); and batches at least. (Four times
 * as far, with four nodes on two cores: rows wanted again a moment later stay replicas, which get
 * older than those that are brought anew. 1.2 times as fast with one fact a step, and less is
 * learned from each; as much in the same time.) */
enum { PORTION_FACTS = 64, AHEAD_FACTS = 2048, AHEAD_BATCHES = 16 };

struct portion {
    size_t count;
    struct batch *batches;
};

size_t feed_relations_max(const struct task *t)
{
    size_t rows = model_relation_rows(&t->model),
           asked = t->options.batch * (t->model.is_reciprocal ? 2 : 1);
    return asked < rows ? asked : rows;
}

static size_t entities_max(const struct task *t)
{
    size_t asked = 2 * t->options.batch;
    if (task_takes_all(t)) return t->model.entities;
    return asked < t->model.entities ? asked : t->model.entities;
}

size_t feed_keys_max(const struct task *t)
{
    return entities_max(t) + feed_relations_max(t);
}

size_t feed_negatives(const struct task *t)
{
    return MODEL_SIDES * t->options.negatives;
}

/* ---- the loader's side ---- */

/* The place of the key in the batch; new ones are added at the end. */
static uint32_t place_of(struct feed *f, struct batch *b, locus_key key)
{
    uint32_t end = b->entities + b->relations;
    uint32_t place = places_find(&f->places, b->keys, end, key);
    if (place < end) return place;
    b->keys[end] = key;
    b->uses[end] = 0;
    return end;
}

static uint32_t use_entity(struct feed *f, struct batch *b, uint32_t entity)
{
    bool is_there = task_takes_all(f->task);
    uint32_t place = is_there ? entity : place_of(f, b, task_entity_key(entity));
    b->entities += place == b->entities;
    b->uses[place] += MODEL_SIDES;
    return place;
}

static uint32_t use_relation(struct feed *f, struct batch *b, enum model_side side,
                             uint32_t relation)
{
    uint32_t row = model_relation_row(&f->task->model, side, relation);
    uint32_t place = place_of(f, b, task_relation_key(f->task, row));
    b->relations += place == b->entities + b->relations;
    b->uses[place] += 1;
    return place;
}

static void draw_negatives(struct feed *f, struct batch *b)
{
    for (uint32_t i = 0; i < b->negatives; i++)
        b->negative_keys[i] =
            task_entity_key((uint32_t)rng_below(&f->rng, f->task->model.entities));
}

/* One intent for a portion: of the 64 facts of small batches, all are wanted for the moment that
 * the 64 take. */
static void announce(struct feed *f, locus_loader *loader, const struct portion *p)
{
    locus_clock end = (locus_clock)f->batches, start = end - (locus_clock)p->count;
    size_t count = 0;
    for (size_t i = 0; i < p->count; i++) {
        const struct batch *b = &p->batches[i];
        size_t known = task_takes_all(f->task) ? b->entities : 0,
               n = b->entities + b->relations - known;
        memcpy(f->announced + count, b->keys + known, n * sizeof *b->keys);
        count += n;
    }
    must_intend(locus_loader_intent(loader, f->announced, count, start, end));
}

static size_t round_up(size_t n, size_t by)
{
    return (n + by - 1) / by;
}

/* All entities, for the part of the epoch that begins. */
static void announce_all(const struct feed *f, locus_loader *loader, const struct batch *b)
{
    size_t batches = round_up(f->end - f->at, f->task->options.batch);
    locus_clock start = (locus_clock)f->batches;
    if (batches == 0) return;
    must_intend(locus_loader_intent(loader, b->keys, f->task->model.entities, start,
                                    start + (locus_clock)batches));
}

/* One sample for a portion, which its batches pull one after the other: cheaper for small batches
 * than one each. */
static void prepare_sample(struct feed *f, locus_loader *loader, struct portion *p)
{
    locus_clock end = (locus_clock)f->batches, start = end - (locus_clock)p->count;
    size_t negatives = 0;
    locus_sample sample;
    for (size_t i = 0; i < p->count; i++) negatives += p->batches[i].negatives;
    must(locus_loader_prepare_sample(loader, f->task->distribution, negatives, start, end, &sample),
         "preparing a sample");
    for (size_t i = 0; i < p->count; i++) {
        p->batches[i].sample = sample;
        p->batches[i].is_last_of_sample = i + 1 == p->count;
    }
}

static void fill_batch(struct feed *f, struct batch *b)
{
    const struct fact *facts = f->task->graph.splits[GRAPH_TRAIN].list;
    size_t left = f->end - f->at;
    b->facts = (uint32_t)(left < f->task->options.batch ? left : f->task->options.batch);
    b->negatives = (uint32_t)feed_negatives(f->task);
    b->relations = 0;
    b->entities = task_takes_all(f->task) ? f->task->model.entities : 0;
    memset(b->uses, 0, b->entities * sizeof *b->uses);
    places_clear(&f->places);
    const uint32_t *order = f->order + f->at;
    for (uint32_t i = 0; i < b->facts; i++) {
        b->subject[i] = use_entity(f, b, facts[order[i]].subject);
        b->object[i] = use_entity(f, b, facts[order[i]].object);
    }
    for (uint32_t i = 0; i < b->facts; i++) {
        for (int side = 0; side < MODEL_SIDES; side++)
            b->relation[side][i] =
                use_relation(f, b, (enum model_side)side, facts[order[i]].relation);
    }
    if (!f->task->distribution) draw_negatives(f, b);
    f->at += b->facts;
    f->batches++;
    b->is_last = f->at == f->end;
}

static size_t facts_of(const struct portion *p)
{
    size_t facts = 0;
    for (size_t i = 0; i < p->count; i++) facts += p->batches[i].facts;
    return facts;
}

/* From epoch and part alone follows which negatives come. (The first part has those of the seed
 * itself. Non-conform ones are chosen later, by what is here.) */
static void seed_negatives(const struct feed *f)
{
    const struct task *t = f->task;
    uint64_t place = (f->epochs - 1) << 32 | (f->part - 1);
    bool is_chosen_later = t->options.common.sampling == LOCUS_NON_CONFORM;
    if (f->worker < 0 || place == 0 || is_chosen_later) return;
    must(locus_distribution_seed_worker(t->distribution, f->worker,
                                        rng_mix(t->options.common.seed) + place),
         "seeding the negative samples");
}

static void begin_epoch(struct feed *f)
{
    f->epochs++;
    f->part = 0;
    f->at = 0;
    rng_shuffle(&f->rng, f->order, f->count);
}

static size_t end_of_part(const struct feed *f)
{
    return (size_t)(f->count * f->part / f->parts);
}

/* False: all are over. */
static bool begin_part(struct feed *f)
{
    if (f->part == f->parts && f->epochs == f->task->options.common.epochs) return false;
    if (f->part == f->parts) begin_epoch(f);
    f->part++;
    f->end = end_of_part(f);
    seed_negatives(f);
    return true;
}

/* Where that many epochs and parts are over: the order of facts follows from those before. */
static void go_to(struct feed *f, const struct progress *from)
{
    f->part = f->parts;
    while (f->epochs < from->epochs + (from->part > 0)) begin_epoch(f);
    f->part = from->part > 0 ? from->part : f->parts;
    f->at = f->end = end_of_part(f);
}

static bool fill(void *feed, locus_loader *loader, void *to)
{
    struct feed *f = feed;
    struct portion *p = to;
    bool begins = f->at == f->end;
    if (begins && !begin_part(f)) return false;
    if (begins && f->signals && task_takes_all(f->task)) announce_all(f, loader, &p->batches[0]);
    for (p->count = 0; p->count < f->portion_batches && f->at < f->end; p->count++)
        fill_batch(f, &p->batches[p->count]);
    world_computed(WORLD_PREPARED, facts_of(p));
    if (f->signals) announce(f, loader, p);
    if (f->task->distribution) prepare_sample(f, loader, p);
    return true;
}

/* ---- memory ---- */

static void batch_init(struct batch *b, const struct task *t, bool draws_negatives)
{
    size_t facts = t->options.batch, keys = feed_keys_max(t);
    b->subject = take_memory(facts, sizeof *b->subject);
    b->object = take_memory(facts, sizeof *b->object);
    for (int side = 0; side < MODEL_SIDES; side++)
        b->relation[side] = take_memory(facts, sizeof(uint32_t));
    b->uses = take_memory(keys, sizeof *b->uses);
    b->keys = take_memory(keys, sizeof *b->keys);
    for (uint32_t e = 0; task_takes_all(t) && e < t->model.entities; e++)
        b->keys[e] = task_entity_key(e);
    if (draws_negatives)
        b->negative_keys = take_memory(feed_negatives(t), sizeof *b->negative_keys);
}

static void batch_fini(struct batch *b)
{
    free(b->subject);
    free(b->object);
    for (int side = 0; side < MODEL_SIDES; side++) free(b->relation[side]);
    free(b->uses);
    free(b->keys);
    free(b->negative_keys);
}

struct turn {
    uint64_t subject; /* mixed */
    uint32_t fact;
};

static int by_subject(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;
    if (x->subject != y->subject) return x->subject < y->subject ? -1 : 1;
    return (x->fact > y->fact) - (x->fact < y->fact);
}

/* The facts of a subject go to one worker, but for those at the borders: its row need not move
 * between nodes, which is half of what the positive facts take. The same order on all nodes: each
 * takes another part of it. */
static void take_share(struct feed *f, const struct pool_member *m)
{
    const struct task *t = f->task;
    const struct fact *facts = t->graph.splits[GRAPH_TRAIN].list;
    size_t total = t->graph.splits[GRAPH_TRAIN].count;
    uint64_t first, end, salt = rng_mix(t->options.common.seed);
    struct turn *all = take_memory(total, sizeof *all);
    for (size_t i = 0; i < total; i++)
        all[i] = (struct turn){rng_mix(salt ^ facts[i].subject), (uint32_t)i};
    qsort(all, total, sizeof *all, by_subject);
    pool_share(total, m->place, m->total, &first, &end);
    f->count = (size_t)(end - first);
    f->order = take_memory(f->count, sizeof *f->order);
    for (size_t i = 0; i < f->count; i++) f->order[i] = all[first + i].fact;
    free(all);
}

void feed_open(struct feed *f, const struct task *t, struct pool_member *m,
               const struct progress *from, uint64_t parts)
{
    *f = (struct feed){.task = t,
                       .member = m,
                       .parts = parts,
                       .batches = pool_clock(m),
                       .worker = t->distribution ? locus_worker_id(m->worker) : -1,
                       .signals = pace_signals_ahead(m->pool)};
    take_share(f, m);
    rng_init(&f->rng, t->options.common.seed, 2 + m->place);
    go_to(f, from);
    places_init(&f->places, feed_keys_max(t));
    f->portion_batches = round_up(PORTION_FACTS, t->options.batch);
    /* Batches of all entities are large, however few facts they have. */
    size_t fit = task_takes_all(t) ? 1 : LOCUS_SAMPLE_KEYS_MAX / feed_negatives(t);
    if (f->portion_batches > fit) f->portion_batches = fit;
    if (world_ahead() > 0) f->portion_batches = 1;
    f->announced = take_memory(f->portion_batches * feed_keys_max(t), sizeof *f->announced);
    f->portion_count = round_up(AHEAD_FACTS, f->portion_batches * t->options.batch);
    if (f->portion_count < AHEAD_BATCHES || task_takes_all(t)) f->portion_count = AHEAD_BATCHES;
    f->portion_count = world_depth(f->portion_count);
    f->portions = take_memory(f->portion_count, sizeof *f->portions);
    for (size_t i = 0; i < f->portion_count; i++) {
        struct portion *p = f->portions[i] = take_memory(1, sizeof *p);
        p->batches = take_memory(f->portion_batches, sizeof *p->batches);
        for (size_t j = 0; j < f->portion_batches; j++)
            batch_init(&p->batches[j], t, !t->distribution);
    }
    must(locus_feed_open(m->worker, fill, f, (void **)f->portions, f->portion_count, &f->loader),
         "opening a loader");
}

const struct batch *feed_next(struct feed *f)
{
    if (!f->taken || f->taken_at == f->taken->count) {
        f->taken = locus_feed_next(f->loader);
        f->taken_at = 0;
    }
    return f->taken ? &f->taken->batches[f->taken_at++] : NULL;
}

void feed_close(struct feed *f)
{
    must(locus_feed_close(f->loader), "closing a loader");
    /* Those that were not used; of the others it is an error. */
    for (size_t i = 0; i < f->portion_count && f->task->distribution; i++)
        (void)locus_finish_sample(f->member->worker, f->portions[i]->batches[0].sample);
    for (size_t i = 0; i < f->portion_count; i++) {
        for (size_t j = 0; j < f->portion_batches; j++) batch_fini(&f->portions[i]->batches[j]);
        free(f->portions[i]->batches);
        free(f->portions[i]);
    }
    free(f->portions);
    free(f->announced);
    places_fini(&f->places);
    free(f->order);
    *f = (struct feed){0};
}
