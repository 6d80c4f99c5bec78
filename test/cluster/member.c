#include "member.h"

#include "team.h"

#include <stdio.h>
#include <stdlib.h>

static const struct locus_table table = {.name = "rows", .rows = 8, .length = 1};

static locus *open_member(void)
{
    struct locus_config c;
    locus *n;
    locus_config_init(&c);
    c.tables = &table;
    c.table_count = 1;
    c.technique = LOCUS_STATIC;
    c.join_timeout_s = HANG_S;
    int rc = locus_open(&c, &n);
    if (rc) {
        fprintf(stderr, "locus_open: %s\n", locus_error());
        exit(1);
    }
    return n;
}

/* Every node adds its rank + 1. */
static void add_up(locus *n, locus_worker *w)
{
    const locus_key key = 5;
    const float one = (float)(locus_rank(n) + 1);
    float sum = 0;
    CHECK_EQ(locus_push(w, &key, 1, &one), 0);
    CHECK_EQ(locus_barrier(w), 0);
    CHECK_EQ(locus_pull(w, &key, 1, &sum), 0);
    printf("rank %d of %d, sum %g\n", locus_rank(n), locus_size(n), (double)sum);
}

ROLE(member)
{
    locus *n = open_member();
    locus_worker *w;
    (void)arguments;
    CHECK_EQ(locus_worker_open(n, &w), 0);
    add_up(n, w);
    CHECK_EQ(locus_worker_close(w), 0);
    CHECK_EQ(locus_close(n), 0);
}
