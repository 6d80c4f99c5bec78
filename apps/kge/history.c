#include "history.h"

#include "chart.h"
#include "counters.h"
#include "fail.h"
#include "plain.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void history_add(struct history *h, double seconds, double loss, const struct locus_stats *stats)
{
    double before_s = h->count ? h->list[h->count - 1].ended_s : 0;
    h->list = make_room(h->list, h->count, &h->capacity, sizeof *h->list, "epochs");
    h->list[h->count++] = (struct history_epoch){.ended_s = before_s + seconds,
                                                 .seconds = seconds,
                                                 .loss = loss,
                                                 .valid_mrr = -1,
                                                 .stats = *stats};
}

void history_set_mrr(struct history *h, double mrr)
{
    if (h->count) h->list[h->count - 1].valid_mrr = mrr;
}

/* ---- the picture ---- */

enum line { TIME, LOSS, MRR, LOCAL, RELOCATIONS, REPLICAS, LINES };

static void take_lines(const struct history *h, double *lines[LINES])
{
    for (size_t i = 0; i < h->count; i++) {
        const struct history_epoch *e = &h->list[i];
        lines[TIME][i] = e->ended_s;
        lines[LOSS][i] = e->loss;
        lines[MRR][i] = e->valid_mrr < 0 ? NAN : e->valid_mrr;
        lines[LOCAL][i] = 100 * counters_local_share(&e->stats);
        lines[RELOCATIONS][i] = (double)e->stats.relocated_in / e->seconds;
        lines[REPLICAS][i] = (double)e->stats.replicas_created / e->seconds;
    }
}

static struct chart_series series(const struct history *h, double *const lines[LINES],
                                  enum line line, const char *label)
{
    return (struct chart_series){
        .label = label, .x = lines[TIME], .y = lines[line], .count = h->count};
}

void history_draw(const struct history *h, const struct task *t, int nodes)
{
    const struct options *o = &t->options;
    static const char x_label[] = "seconds of training";
    char subtitle[256];
    double *lines[LINES];
    for (int i = 0; i < LINES; i++) lines[i] = take_memory(h->count, sizeof(double));
    take_lines(h, lines);
    snprintf(subtitle, sizeof subtitle,
             "%.80s, %" PRIu64 " floats, %d node%s of %" PRIu64 " worker%s, %s",
             settings_source(&o->common), o->dim, nodes, plain_s((uint64_t)nodes),
             o->common.workers, plain_s(o->common.workers),
             settings_technique_name(o->common.technique));
    struct chart c = {.title = o->model == MODEL_COMPLEX ? "ComplEx" : "RESCAL",
                      .subtitle = subtitle,
                      .panel_count = 4};
    c.panels[0] =
        (struct chart_panel){.title = "Loss of a fact", .x_label = x_label, .series_count = 1};
    c.panels[0].series[0] = series(h, lines, LOSS, "loss");
    c.panels[1] = (struct chart_panel){
        .title = "MRR, valid, filtered", .x_label = x_label, .series_count = 1};
    c.panels[1].series[0] = series(h, lines, MRR, "MRR");
    c.panels[2] = (struct chart_panel){.title = "Accesses without the network, %",
                                       .x_label = x_label,
                                       .series_count = 1,
                                       .y_max = 100};
    c.panels[2].series[0] = series(h, lines, LOCAL, "local");
    c.panels[3] =
        (struct chart_panel){.title = "Rows a second", .x_label = x_label, .series_count = 2};
    c.panels[3].series[0] = series(h, lines, RELOCATIONS, "relocated");
    c.panels[3].series[1] = series(h, lines, REPLICAS, "replicated");
    chart_write(&c, o->chart);
    for (int i = 0; i < LINES; i++) free(lines[i]);
}
