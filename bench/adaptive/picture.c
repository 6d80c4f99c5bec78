/* The picture: what a node sends with each technique, and how far ahead intent must be signaled. */
#include "bench.h"

#include "../common/machine.h"
#include "../common/plot.h"

#include <math.h>

enum { TECHNIQUES = 5, WORKLOADS_DRAWN = 4, OFFSETS = 7, ACTS = 2 };

static const char *const techniques[TECHNIQUES] = {"adaptive", "static", "relocate", "replicate",
                                                   "full-replication"};
static const char *const acts[ACTS] = {"adaptive", "immediate"};

/* Returns whether the value is known. */
static bool put(struct plot_group *g, size_t series, double value)
{
    g->values[series] = value;
    return !isnan(value);
}

/* Return whether all cells were measured. */
static bool bytes_of_techniques(const struct bench *b, struct plot_group groups[WORKLOADS_DRAWN])
{
    static const struct {
        const char *workload, *section, *nodes;
    } drawn[WORKLOADS_DRAWN] = {
        {"skewed", "all nodes draw from the same rows", "2"},
        {"skewed", "all nodes draw from the same rows", "4"},
        {"own", "each node draws from rows of its own", "2"},
        {"own", "each node draws from rows of its own", "4"},
    };
    bool is_complete = true;
    char name[96];
    for (size_t i = 0; i < WORKLOADS_DRAWN; i++) {
        groups[i] = (struct plot_group){.section = drawn[i].section, .label = drawn[i].nodes};
        for (size_t t = 0; t < TECHNIQUES; t++) {
            snprintf(name, sizeof name, "%s nodes=%s %s offset=100 pace=1ms", drawn[i].workload,
                     drawn[i].nodes, techniques[t]);
            is_complete &= put(&groups[i], t, median_of(b, name, SENT) / 1e6);
        }
    }
    return is_complete;
}

static bool remote_by_offset(const struct bench *b, struct plot_group groups[OFFSETS])
{
    static const char *const offsets[OFFSETS] = {"1", "3", "10", "30", "100", "300", "1000"};
    bool is_complete = true;
    char name[96];
    for (size_t i = 0; i < OFFSETS; i++) {
        groups[i] =
            (struct plot_group){.section = "clocks between signal and use", .label = offsets[i]};
        for (size_t a = 0; a < ACTS; a++) {
            snprintf(name, sizeof name, "skewed nodes=2 %s offset=%s pace=free", acts[a],
                     offsets[i]);
            is_complete &= put(&groups[i], a, median_of(b, name, REMOTE) * 100);
        }
    }
    return is_complete;
}

/* Two plots, one below the other. */
static void draw(const struct bench *b, struct plot_group *bytes, struct plot_group *remote)
{
    char of_bytes[256], of_remote[256];
    snprintf(
        of_bytes, sizeof of_bytes,
        "%d rows pulled and pushed a clock of 1 ms, intent 100 clocks ahead, median, %s; lower is better",
        BATCH_KEYS, machine_processor());
    snprintf(
        of_remote, sizeof of_remote,
        "two nodes that draw from the same rows, clocks as fast as they go, median, %s; lower is better",
        machine_processor());
    const struct plot plots[] = {
        {.title = "Bytes that a node sends",
         .subtitle = of_bytes,
         .axis = "megabytes",
         .label_name = "nodes",
         .unit = "",
         .series = {"adaptive", "static", "relocate", "replicate", "full replication"},
         .series_count = TECHNIQUES,
         .groups = bytes,
         .group_count = WORKLOADS_DRAWN},
        {.title = "Accesses that go to another node",
         .subtitle = of_remote,
         .axis = "percent",
         .label_name = "offset",
         .unit = "",
         .series = {"adaptive", "acting on intent at once"},
         .series_count = ACTS,
         .groups = remote,
         .group_count = OFFSETS},
    };
    plot_svg(plots, sizeof plots / sizeof *plots, b->run.options.svg, b->run.report);
}

void picture_draw(const struct bench *b)
{
    struct plot_group bytes[WORKLOADS_DRAWN] = {0}, remote[OFFSETS] = {0};
    bool is_complete = bytes_of_techniques(b, bytes);
    is_complete &= remote_by_offset(b, remote);
    if (is_complete)
        draw(b, bytes, remote);
    else
        fprintf(
            b->run.report,
            "%s was not drawn: the picture needs skewed and own with all techniques and offsets.\n",
            b->run.options.svg);
}
