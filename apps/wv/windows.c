#include "windows.h"

#include "fail.h"

#include <stdlib.h>

/* Words that the loader is ahead, about, so that rows have tens of milliseconds to come; in
 * batches, at least and at most: each has a sample open, and LOCUS_SAMPLES_MAX is the end. */
enum { AHEAD_WORDS = 16384, AHEAD_BATCHES = 4, AHEAD_BATCHES_MAX = 1024 };

/* The learning rate does not fall below this share of the first one (the original program's). */

size_t windows_pairs_max(const struct wv *w)
{
    return 2 * w->options.window * w->options.batch;
}

size_t windows_keys_max(const struct wv *w)
{
    return windows_pairs_max(w) + w->options.batch;
}

size_t windows_negatives_max(const struct wv *w)
{
    return w->options.negatives * windows_pairs_max(w);
}

/* ---- sentences ---- */

/* False: the text is over, and so is the sentence. */
static bool read_sentence(struct windows *s)
{
    s->sentence_length = s->sentence_at = 0;
    while (s->sentence_length < WINDOWS_SENTENCE_MAX) {
        enum text_event e = text_next(&s->text);
        if (e == TEXT_END) return s->sentence_length > 0;
        if (e == TEXT_LINE) {
            if (s->sentence_length > 0) return true;
            continue;
        }
        uint32_t word = names_find(&s->wv->vocabulary.words, s->text.word, s->text.length);
        if (word == NAMES_NONE) continue;
        s->words++;
        if (s->keep[word] < 1 && rng_real(&s->rng) >= s->keep[word]) continue;
        s->sentence[s->sentence_length++] = word;
    }
    return true;
}

/* ---- batches ---- */

static uint32_t place_of(struct windows *s, struct window_batch *b, locus_key key)
{
    uint32_t place = places_find(&s->places, b->keys, b->keys_used, key);
    if (place == b->keys_used) b->keys[b->keys_used++] = key;
    return place;
}

/* The word in the middle at `at`, with those within a window of 1 to --window words to either
 * side. */
static void add_middle(struct windows *s, struct window_batch *b, size_t at)
{
    size_t width = 1 + (size_t)rng_below(&s->rng, s->wv->options.window);
    size_t first = at < width ? 0 : at - width;
    size_t end = s->sentence_length - at <= width ? s->sentence_length : at + width + 1;
    if (end - first == 1) return;
    for (size_t i = first; i < end; i++) {
        if (i != at) b->neighbour[b->pairs++] = place_of(s, b, wv_input_key(s->sentence[i]));
    }
    b->middle[b->middles] = place_of(s, b, wv_output_key(s->wv, s->sentence[at]));
    b->pairs_end[b->middles++] = b->pairs;
}

/* Where nothing is signaled ahead; else the manager draws them. */
static void draw_negatives(struct windows *s, struct window_batch *b)
{
    for (uint32_t i = 0; i < b->negatives; i++)
        b->negatives_drawn[i] = wv_output_key(s->wv, noise_draw(&s->wv->noise, &s->rng));
}

static void announce(struct windows *s, locus_loader *loader, struct window_batch *b)
{
    locus_clock now = (locus_clock)s->batches;
    must_intend(locus_loader_intent(loader, b->keys, b->keys_used, now, now + 1));
    must(locus_loader_prepare_sample(loader, s->wv->distribution, b->negatives, now, now + 1,
                                     &b->sample),
         "preparing a sample");
}

static void fill_middles(struct windows *s, struct window_batch *b)
{
    while (b->middles < s->wv->options.batch) {
        if (s->sentence_at == s->sentence_length && !read_sentence(s)) {
            s->is_over = true;
            return;
        }
        add_middle(s, b, s->sentence_at++);
    }
}

/* From seed and epoch alone follows what is drawn in it: widths of windows, words that are left
 * out, negatives. (In the first one the latter have the seed itself. Non-conform ones are chosen
 * later, by what is here.) */
static void begin_epoch(struct windows *s)
{
    const struct settings *o = &s->wv->options.common;
    rng_init(&s->rng, o->seed, s->epochs << 32 | (2 + s->place));
    if (s->worker >= 0 && s->epochs > 0 && o->sampling != LOCUS_NON_CONFORM)
        must(locus_distribution_seed_worker(s->wv->distribution, s->worker,
                                            rng_mix(o->seed) + s->epochs),
             "seeding the negative samples");
    s->epochs++;
    s->is_over = false;
    text_rewind(&s->text);
}

static bool fill(void *windows, locus_loader *loader, void *to)
{
    struct windows *s = windows;
    struct window_batch *b = to;
    if (s->is_over && s->epochs == s->wv->options.common.epochs) return false;
    if (s->is_over) begin_epoch(s);
    b->middles = b->pairs = b->keys_used = 0;
    places_clear(&s->places);
    fill_middles(s, b);
    world_computed(WORLD_PREPARED, b->pairs);
    b->negatives = (uint32_t)s->wv->options.negatives * b->pairs;
    if (s->wv->distribution) {
        announce(s, loader, b);
    } else {
        draw_negatives(s, b);
    }
    b->words = s->words;
    s->words = 0;
    b->is_last = s->is_over;
    s->batches++;
    return true;
}

/* ---- memory ---- */

static struct window_batch *batch_new(const struct wv *w, bool draws_negatives)
{
    struct window_batch *b = take_memory(1, sizeof *b);
    b->middle = take_memory(w->options.batch, sizeof *b->middle);
    b->pairs_end = take_memory(w->options.batch, sizeof *b->pairs_end);
    b->neighbour = take_memory(windows_pairs_max(w), sizeof *b->neighbour);
    b->keys = take_memory(windows_keys_max(w), sizeof *b->keys);
    if (draws_negatives)
        b->negatives_drawn = take_memory(windows_negatives_max(w), sizeof *b->negatives_drawn);
    return b;
}

static void batch_free(struct window_batch *b)
{
    free(b->middle);
    free(b->pairs_end);
    free(b->neighbour);
    free(b->keys);
    free(b->negatives_drawn);
    free(b);
}

void windows_open(struct windows *s, const struct wv *w, struct pool_member *m, uint64_t epochs)
{
    *s = (struct windows){.wv = w,
                          .member = m,
                          .is_over = true,
                          .epochs = epochs,
                          .batches = pool_clock(m),
                          .place = m->place,
                          .worker = w->distribution ? locus_worker_id(m->worker) : -1};
    text_open(&s->text, w->options.common.data, m->place, m->total);
    if (!lines_is_same(&s->text.file.about, &w->vocabulary.text))
        lines_fail_changed(w->options.common.data);
    s->keep = take_memory(w->vocabulary.words.count, sizeof *s->keep);
    for (uint32_t i = 0; i < w->vocabulary.words.count; i++)
        s->keep[i] = vocabulary_keep(&w->vocabulary, i, w->options.subsample);
    places_init(&s->places, windows_keys_max(w));
    s->count = AHEAD_WORDS / w->options.batch;
    if (s->count < AHEAD_BATCHES) s->count = AHEAD_BATCHES;
    if (s->count > AHEAD_BATCHES_MAX) s->count = AHEAD_BATCHES_MAX;
    s->count = world_depth(s->count);
    s->list = take_memory(s->count, sizeof *s->list);
    for (size_t i = 0; i < s->count; i++) s->list[i] = batch_new(w, !w->distribution);
    must(locus_feed_open(m->worker, fill, s, (void **)s->list, s->count, &s->feed),
         "opening a loader");
}

const struct window_batch *windows_next(struct windows *s)
{
    return locus_feed_next(s->feed);
}

void windows_close(struct windows *s)
{
    must(locus_feed_close(s->feed), "closing a loader");
    /* Those that were not used; of the others it is an error. */
    for (size_t i = 0; i < s->count && s->wv->distribution; i++)
        (void)locus_finish_sample(s->member->worker, s->list[i]->sample);
    for (size_t i = 0; i < s->count; i++) batch_free(s->list[i]);
    free(s->list);
    places_fini(&s->places);
    free(s->keep);
    text_close(&s->text);
    *s = (struct windows){0};
}
