#include "rejoin.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* With a node that has come, if there is one. */
void rejoin_begin(struct training_worker *w)
{
    struct training *t = w->training;
    int goes_on = checkpoints_resume(&t->checkpoints, w->member, &w->progress);
    w->is_outside = goes_on == -EAGAIN;
    if (w->is_outside) return;
    if (goes_on) w->steps = w->member->total; /* it has had its first ones */
    t->kind->begin(w, goes_on);
}

/* Of a loss before the first epoch is over nothing may be left: all begins anew. */
static void begin_again(struct training_worker *w, bool is_behind)
{
    const struct training_kind *kind = w->training->kind;
    if (w->is_outside)
        w->steps = w->member->total;
    else
        kind->rest(w);
    memset(w->state, 0, kind->worker_bytes);
    w->is_outside = false;
    if (is_behind)
        kind->begin(w, true);
    else
        rejoin_begin(w);
}

/* What a newcomer has to know; the first worker gives it. */
enum {
    NEWS_COME, /* workers; they give that alone */
    NEWS_FIRST,
    NEWS_BEHIND,
    NEWS_CHECKPOINT,
    NEWS_EVALUATION,
    NEWS_NEW,
    NEWS_JUDGED,
    NEWS_END,
    NEWS_GOOD,
    NEWS_EPOCHS,
    NEWS_PART,
    NEWS_SECONDS,
    NEWS_CLOCK,
    NEWS_FIGURES,
    NEWS = NEWS_FIGURES + CHECKPOINTS_FIGURES
};

static void give_news(const struct training_worker *w, const struct due *due, double news[NEWS])
{
    const struct progress *p = &w->progress;
    memset(news, 0, NEWS * sizeof *news);
    news[NEWS_COME] = w->is_outside;
    if (!training_is_first(w)) return;
    news[NEWS_FIRST] = 1;
    news[NEWS_BEHIND] = due->is_behind;
    news[NEWS_CHECKPOINT] = due->checkpoint;
    news[NEWS_EVALUATION] = due->evaluation;
    news[NEWS_NEW] = due->is_new;
    news[NEWS_JUDGED] = due->is_judged;
    news[NEWS_END] = due->is_end;
    news[NEWS_GOOD] = due->is_good;
    news[NEWS_EPOCHS] = (double)p->epochs;
    news[NEWS_PART] = (double)p->part;
    news[NEWS_SECONDS] = due->is_behind ? meter_now() - w->training->began_s : p->seconds;
    news[NEWS_CLOCK] = (double)pool_clock(w->member);
    memcpy(news + NEWS_FIGURES, p->figures, sizeof p->figures);
}

static void take_news(struct training_worker *w, struct due *due, const double news[NEWS])
{
    struct progress *p = &w->progress;
    *due = (struct due){.is_behind = news[NEWS_BEHIND] > 0,
                        .checkpoint = news[NEWS_CHECKPOINT] > 0,
                        .evaluation = news[NEWS_EVALUATION] > 0,
                        .is_new = news[NEWS_NEW] > 0,
                        .is_judged = news[NEWS_JUDGED] > 0,
                        .is_end = news[NEWS_END] > 0,
                        .is_good = news[NEWS_GOOD] > 0};
    *p = (struct progress){.epochs = (uint64_t)news[NEWS_EPOCHS],
                           .part = (uint64_t)news[NEWS_PART],
                           .seconds = news[NEWS_SECONDS]};
    memcpy(p->figures, news + NEWS_FIGURES, sizeof p->figures);
    /* With bounded staleness between epochs all are at the same clock. */
    while (w->member->pool->bound.is_on && (double)pool_clock(w->member) < news[NEWS_CLOCK])
        locus_advance_clock(w->member->worker);
}

static void say_nodes(const struct training_worker *w, bool is_short)
{
    double nodes = pool_nodes(w->member), of = w->member->pool->size, epoch = training_epochs(w);
    const struct figure figures[] = {{.name = "nodes", .value = nodes},
                                     {.name = "of", .value = of},
                                     {.name = "epoch", .value = epoch},
                                     {.name = "whole", .value = !is_short}};
    char text[128];
    snprintf(text, sizeof text, "nodes     %.0f of %.0f divide all after epoch %g%s", nodes, of,
             epoch, is_short ? ", a part of which nobody did" : "");
    if (training_is_first(w))
        figures_say(w->training->settings->json, "nodes", text, figures,
                    sizeof figures / sizeof *figures);
}

bool rejoin_meet(struct training_worker *w, struct due *due)
{
    struct pool_member *m = w->member;
    double news[NEWS];
    bool is_other = m->pool->survives;
    while (is_other) {
        give_news(w, due, news);
        pool_let_in(m, news, NEWS);
        if (news[NEWS_FIRST] <= 0) return false;
        if (w->is_outside) take_news(w, due, news);
        due->checkpoint = news[NEWS_CHECKPOINT] > 0; /* as the first one has decided */
        is_other = pool_deal(m) || news[NEWS_COME] > 0;
        if (!is_other) return true;
        begin_again(w, due->is_behind);
        if (w->is_outside) continue;
        say_nodes(w, due->is_short);
        due->is_short = false;
    }
    return true;
}

bool rejoin_deal(struct training_worker *w)
{
    bool is_other = pool_deal(w->member);
    if (is_other) say_nodes(w, false);
    if (is_other) begin_again(w, true);
    return is_other;
}
