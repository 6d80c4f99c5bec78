#include "gnn_report.h"

#include "fail.h"
#include "json.h"
#include "partition.h"
#include "run_log.h"

#include <inttypes.h>
#include <stdio.h>

static const char *source_of(const struct gnn *g)
{
    return g->options.common.data ? g->options.common.data : g->options.planted;
}

void gnn_report_start(const struct gnn *g, const struct pool *pool)
{
    const struct gnn_options *o = &g->options;
    const struct labels *l = &g->labels;
    double between = partition_cut_share(&g->network, g->part_of);
    if (g->network.has_more)
        fprintf(stderr,
                "%s: %s has more than two nodes of an edge; weights and other attributes are not "
                "used\n",
                fail_program(), o->common.data);
    if (g->network.added > 0)
        fprintf(stderr, "%s: %s names %u nodes that are in no edge\n", fail_program(), o->labels,
                g->network.added);
    if (o->common.json) {
        struct json j;
        if (pool->size == 1) return;
        json_begin(&j, "partition");
        json_number(&j, "edges_between", between);
        json_end(&j);
        return;
    }
    printf("%s: %u nodes, %" PRIu64 " edges, %u classes; %u nodes to train with, %u to validate "
           "with, %u to test with\n",
           source_of(g), g->network.nodes, network_edges(&g->network), l->classes,
           l->count[LABELS_TRAIN], l->count[LABELS_VALIDATE], l->count[LABELS_TEST]);
    if (gnn_has_features(g))
        printf("%u features; ", g->features.count);
    else
        printf("embeddings of %" PRIu64 "; ", o->dim);
    printf("%" PRIu64 " hidden; batches of %" PRIu64 ", %" PRIu64 " neighbours; AdaGrad, rate %g\n",
           o->hidden, o->batch, o->neighbours, o->rate);
    settings_show_pool(&o->common, pool, false);
    if (pool->size > 1) printf("%.1f %% of the edges are between nodes' parts\n", 100 * between);
    fflush(stdout);
}

void gnn_report_epoch(const struct gnn *g, uint64_t number, const struct gnn_epoch *e)
{
    double loss = e->nodes > 0 ? e->loss / e->nodes : 0;
    run_log_point("Loss of a node", loss);
    run_log_point("Nodes trained a second", e->nodes / e->seconds);
    if (!g->options.common.json) {
        printf("epoch %3" PRIu64 "   loss %8.4f   %7.2f s   %9.0f nodes/s\n", number, loss,
               e->seconds, e->nodes / e->seconds);
        fflush(stdout);
        return;
    }
    struct json j;
    json_begin_epoch(&j, number, e->seconds, e->nodes / e->seconds);
    json_number(&j, "loss", loss);
    json_end(&j);
}

void gnn_report_accuracy(const struct gnn *g, const struct accuracy *a)
{
    if (g->labels.count[LABELS_VALIDATE] > 0) run_log_point("Accuracy, validation", a->validation);
    if (!g->options.common.json) {
        printf("accuracy    ");
        if (g->labels.count[LABELS_VALIDATE] > 0) printf("validation %.4f   ", a->validation);
        if (g->labels.count[LABELS_TEST] > 0) printf("test %.4f   ", a->test);
        printf("(%.1f s)\n", a->seconds);
        fflush(stdout);
        return;
    }
    struct json j;
    json_begin(&j, "eval");
    json_text(&j, "split", "test");
    json_number(&j, "accuracy", a->test);
    json_number(&j, "validation_accuracy", a->validation);
    json_number(&j, "seconds", a->seconds);
    json_end(&j);
}

void gnn_report_best(const struct gnn *g, uint64_t number, const struct accuracy *a)
{
    if (!g->options.common.json) {
        printf("best        validation %.4f   test %.4f   after epoch %" PRIu64 "\n", a->validation,
               a->test, number);
        return;
    }
    struct json j;
    json_begin(&j, "best");
    json_count(&j, "epoch", number);
    json_number(&j, "accuracy", a->test);
    json_number(&j, "validation_accuracy", a->validation);
    json_end(&j);
}
