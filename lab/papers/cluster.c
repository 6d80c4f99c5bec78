#include "cluster.h"

#include "scale/platform.h"
#include "scale/virtual.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct papers *papers;

static const struct training_kind *const programs[] = {
    &ctr_training, &gnn_training, &kge_training, &lasso_training,
    &lda_training, &mf_training,  &wv_training};

const struct training_kind *cluster_program(const char *name)
{
    static const char prefix[] = "locus-";
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (strcmp(programs[i]->name + sizeof prefix - 1, name) == 0) return programs[i];
    return NULL;
}

static void be_node(void *none)
{
    (void)none;
    training_run(papers->program, papers->argc, papers->argv);
}

int cluster_run(const struct papers *p)
{
    papers = p;
    platform_begin(p->nodes, &p->machine.model);
    if (p->never_synchronizes) platform_never_synchronize();
    world_begin(p);
    scheduling_begin(p);
    for (unsigned n = 0; n < p->nodes; n++) virtual_start(n, be_node, NULL);
    if (!virtual_run()) {
        fprintf(stderr, "papers: all threads wait for each other\n");
        return 1;
    }
    world_report();
    platform_end();
    return 0;
}
