#include "report.h"

#include "json.h"
#include "counters.h"
#include "fail.h"
#include "run_log.h"

#include <inttypes.h>
#include <stdio.h>

static const char *model_name(const struct task *t)
{
    return t->model.kind == MODEL_COMPLEX ? "ComplEx" : "RESCAL";
}

void report_start(const struct task *t, const struct pool *pool)
{
    const struct options *o = &t->options;
    for (int split = GRAPH_VALID; split < GRAPH_SPLITS; split++) {
        const struct facts *f = &t->graph.splits[split];
        if (f->unknown > 0)
            fprintf(stderr,
                    "%s: %zu of the %zu facts of %s.txt have an entity that is not in "
                    "train.txt\n",
                    fail_program(), f->unknown, f->count,
                    graph_split_name((enum graph_split)split));
    }
    if (o->common.json) return;
    printf("%s: %u entities, %u relations; %zu facts to train on, %zu valid, %zu test\n", o->source,
           t->model.entities, t->model.relations, t->graph.splits[GRAPH_TRAIN].count,
           t->graph.splits[GRAPH_VALID].count, t->graph.splits[GRAPH_TEST].count);
    printf("%s, %" PRIu64 " floats; %s over %" PRIu64
           " negatives of each side %s; batches of %" PRIu64 "\n",
           model_name(t), o->dim, o->loss == LOSS_SOFTMAX ? "softmax" : "logistic loss",
           o->negatives, o->has_own_negatives ? "a fact" : "a batch", o->batch);
    settings_show_pool(&o->common, pool, true);
}

void report_epoch(const struct task *t, uint64_t number, const struct epoch *e)
{
    double gflops = step_operations(t) * e->examples_per_second * 1e-9;
    run_log_point("Loss of a fact", e->loss);
    run_log_point("Facts trained a second", e->examples_per_second);
    if (!t->options.common.json) {
        printf("epoch %3" PRIu64 "   loss %8.4f   %7.2f s   %9.0f facts/s   %.1f GFLOP/s\n", number,
               e->loss, e->seconds, e->examples_per_second, gflops);
        fflush(stdout);
        return;
    }
    struct json j;
    json_begin_epoch(&j, number, e->seconds, e->examples_per_second);
    json_number(&j, "loss", e->loss);
    json_number(&j, "gflops", gflops);
    json_end(&j);
}

void report_quality(const struct task *t, enum graph_split split, const struct quality *q)
{
    if (split == GRAPH_VALID) run_log_point("MRR, valid, filtered", q->mrr);
    if (!t->options.common.json) {
        printf("%-5s       MRR %.4f   hits@1 %.4f   hits@3 %.4f   hits@10 %.4f   (%.1f s)\n",
               graph_split_name(split), q->mrr, q->hits1, q->hits3, q->hits10, q->seconds);
        fflush(stdout);
        return;
    }
    struct json j;
    json_begin(&j, "eval");
    json_text(&j, "split", graph_split_name(split));
    json_number(&j, "mrr", q->mrr);
    json_number(&j, "hits@1", q->hits1);
    json_number(&j, "hits@3", q->hits3);
    json_number(&j, "hits@10", q->hits10);
    json_number(&j, "seconds", q->seconds);
    json_end(&j);
}

static struct locus_stats training_stats(const struct training *t)
{
    struct locus_stats sum = {0};
    for (size_t i = 0; i < t->epoch_count; i++) counters_add(&sum, &t->epochs[i].stats);
    return sum;
}

void report_stats(const struct training *t, int nodes, const struct locus_stats *all)
{
    bool json = t->task->options.common.json;
    struct locus_stats s = json ? *all : training_stats(t);
    counters_show(&s, "accesses in training", nodes, json);
}
