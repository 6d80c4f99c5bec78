#include "cluster.h"

#include "../../apps/lasso/lasso_job.h"
#include "../../apps/lda/lda_job.h"
#include "../../apps/common/programs.h"
#include "scale/platform.h"
#include "scale/virtual.h"

#include <stdlib.h>
#include <string.h>

static const struct papers *papers;

static int wv_job(int argc, char **argv)
{
    return training_run(&wv_training, argc, argv);
}

static int mf_job(int argc, char **argv)
{
    return training_run(&mf_training, argc, argv);
}

static int ctr_job(int argc, char **argv)
{
    return training_run(&ctr_training, argc, argv);
}

static int gnn_job(int argc, char **argv)
{
    return training_run(&gnn_training, argc, argv);
}

static int kge_job(int argc, char **argv)
{
    return training_run(&kge_training, argc, argv);
}

int (*cluster_job(const char *name))(int argc, char **argv)
{
    if (strcmp(name, "ctr") == 0) return ctr_job;
    if (strcmp(name, "gnn") == 0) return gnn_job;
    if (strcmp(name, "kge") == 0) return kge_job;
    if (strcmp(name, "lasso") == 0) return lasso_job;
    if (strcmp(name, "lda") == 0) return lda_job;
    if (strcmp(name, "mf") == 0) return mf_job;
    if (strcmp(name, "wv") == 0) return wv_job;
    return NULL;
}

bool cluster_job_heeds_ahead(const char *name)
{
    return strcmp(name, "kge") == 0 || strcmp(name, "mf") == 0 || strcmp(name, "wv") == 0;
}

static void be_node(void *none)
{
    (void)none;
    papers->job(papers->argc, papers->argv);
}

int cluster_run(const struct papers *p)
{
    papers = p;
    setenv("LOCUS_ADVICE", "0", 1); /* it looks at the real clock */
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
