#include "wv_report.h"

#include "json.h"
#include "plain.h"
#include "run_log.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

void wv_report_start(const struct wv *w, const struct pool *pool)
{
    const struct wv_options *o = &w->options;
    if (o->common.json) return;
    printf("%s: %" PRIu64 " words; %u different ones occur %" PRIu64
           " times or more, together %" PRIu64 " times\n",
           o->common.data, w->vocabulary.read, w->vocabulary.words.count, o->min_count,
           w->vocabulary.total);
    printf("skip-gram, %" PRIu64 " floats, window %" PRIu64 ", %" PRIu64
           " negatives of each %s, subsampling %g; %s, "
           "rate %g\n",
           o->dim, o->window, o->negatives, o->is_shared ? "window" : "pair", o->subsample,
           o->optimizer == WV_ADAGRAD ? "AdaGrad" : "SGD", o->rate);
    settings_show_pool(&o->common, pool, true);
}

void wv_report_epoch(const struct wv *w, uint64_t number, const struct wv_epoch *e)
{
    double loss = e->pairs > 0 ? e->loss / e->pairs : 0;
    run_log_point("Loss of a pair", loss);
    run_log_point("Words trained a second", e->words / e->seconds);
    if (!w->options.common.json) {
        printf("epoch %3" PRIu64 "   loss %8.4f   %7.2f s   %9.0f words/s   %9.0f pairs/s\n",
               number, loss, e->seconds, e->words / e->seconds, e->pairs / e->seconds);
        fflush(stdout);
        return;
    }
    struct json j;
    json_begin_epoch(&j, number, e->seconds, e->words / e->seconds);
    json_number(&j, "pairs_per_second", e->pairs / e->seconds);
    json_number(&j, "loss", loss);
    json_end(&j);
}

/* No number when there is nothing to have a share of. */
static double share(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : NAN;
}

/* "12.34 %", or what is said instead. */
static const char *percent(char *text, size_t capacity, double part)
{
    if (isnan(part)) return "-";
    snprintf(text, capacity, "%.2f %%", 100 * part);
    return text;
}

static void report_section(bool json, const char *name, uint64_t correct, uint64_t answerable,
                           uint64_t asked)
{
    char text[32];
    if (!json) {
        plain_print("  %-30s %8s   %6" PRIu64 " of %6" PRIu64 " answerable, of %6" PRIu64 "\n",
                    name, percent(text, sizeof text, share(correct, answerable)), correct,
                    answerable, asked);
        return;
    }
    struct json j;
    json_begin(&j, "section");
    json_text(&j, "section", name);
    json_number(&j, "accuracy", share(correct, answerable));
    json_count(&j, "correct", correct);
    json_count(&j, "answerable", answerable);
    json_count(&j, "questions", asked);
    json_end(&j);
}

static void report_analogies(const struct judge *judge, const struct verdict *v)
{
    const struct analogies *a = &judge->analogies;
    bool json = judge->wv->options.common.json;
    uint64_t correct = 0;
    for (uint32_t i = 0; i < a->sections.count; i++) {
        report_section(json, names_get(&a->sections, i), v->correct[i], a->answerable[i],
                       a->asked[i]);
        correct += v->correct[i];
    }
    if (!json) {
        char text[32];
        printf("analogies   %s: %" PRIu64 " of %zu answerable, of %zu   (%.1f s)\n",
               percent(text, sizeof text, share(correct, a->count)), correct, a->count, a->total,
               v->seconds);
        return;
    }
    struct json j;
    json_begin(&j, "eval");
    json_text(&j, "task", "analogies");
    json_number(&j, "accuracy", share(correct, a->count));
    json_count(&j, "correct", correct);
    json_count(&j, "answerable", a->count);
    json_count(&j, "questions", a->total);
    json_number(&j, "seconds", v->seconds);
    json_end(&j);
}

static void report_similarity(const struct judge *judge, const struct verdict *v)
{
    const struct similarities *s = &judge->similarities;
    if (!judge->wv->options.common.json) {
        if (isnan(v->similarity))
            printf("similarity  not defined   (%zu of %zu pairs answerable)\n", s->count, s->total);
        else
            printf("similarity  Spearman %.4f   (%zu of %zu pairs answerable)\n", v->similarity,
                   s->count, s->total);
        return;
    }
    struct json j;
    json_begin(&j, "eval");
    json_text(&j, "task", "similarity");
    json_number(&j, "spearman", v->similarity);
    json_count(&j, "answerable", s->count);
    json_count(&j, "questions", s->total);
    json_end(&j);
}

void wv_report_verdict(const struct judge *judge, const struct verdict *v)
{
    if (judge->wv->options.analogies) report_analogies(judge, v);
    if (judge->wv->options.similarity) report_similarity(judge, v);
    fflush(stdout);
}
