#include "pair.h"

#include "cluster/nodes.h"
#include "worker/node.h"
#include "threads.h"

#include <stdio.h>

void pair_init(struct pair *p, const struct locus_table *tables, size_t count)
{
    *p = (struct pair){.context = NULL};
    snprintf(p->address, sizeof p->address, "%s", nodes_address());
    locus_config_init(&p->config);
    p->config.size = 2;
    p->config.tables = tables;
    p->config.table_count = count;
    p->config.workers = p->config.shards = 1;
}

struct part {
    struct pair *pair;
    int rank;
    void (*each)(struct pair *, int rank);
};

static void *take(void *part)
{
    const struct part *t = part;
    t->each(t->pair, t->rank);
    return NULL;
}

void pair_do(struct pair *p, void (*each)(struct pair *, int rank))
{
    struct part part[2];
    for (int i = 0; i < 2; i++) part[i] = (struct part){p, i, each};
    threads_run(take, part, sizeof *part, 2);
}

static void open_one(struct pair *p, int rank)
{
    struct locus_config c = p->config;
    c.rank = rank;
    c.rendezvous = p->address;
    int rc = locus_open(&c, &p->node[rank]);
    if (rc) test_fail(__FILE__, __LINE__, "rank %d: %s", rank, locus_error());
    CHECK_EQ(locus_worker_open(p->node[rank], &p->worker[rank]), 0);
}

void pair_open(struct pair *p)
{
    pair_do(p, open_one);
}

static void close_one(struct pair *p, int rank)
{
    CHECK_EQ(locus_worker_close(p->worker[rank]), 0);
    CHECK_EQ(locus_close(p->node[rank]), 0);
}

void pair_end(struct pair *p)
{
    pair_do(p, close_one);
}

locus_key pair_key_of(const struct pair *p, int home, locus_key from)
{
    for (locus_key key = from;; key++) {
        struct row_ref ref = store_row_ref(&p->node[0]->store, key);
        int at = row_ref_is_home(ref) ? 0 : (int)row_ref_home(ref);
        if (at == home) return key;
    }
}

void pair_bring(struct pair *p, int rank, locus_key key)
{
    CHECK_EQ(locus_localize(p->worker[rank], &key, 1), 0);
    for (;;) {
        struct row_ref ref = store_row_ref(&p->node[rank]->store, key);
        if (row_ref_is_here(ref, directory_load(row_ref_word(ref)))) return;
        sleep_s(0.001);
    }
}
