/*
 * A node of a cluster that a launcher starts, as its environment says:
 *
 *     member once             joins, says "rank 1 of 3, sum 6" and leaves; all others also join
 *     member stays            says "joined" and goes on until it is ended
 *     member fails RANK       the same, but that one returns 3 when all have joined
 *     member crashes RANK     likewise by SIGSEGV; the others return 1 when they notice
 */
#include "locus.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static locus *node;
static locus_worker *worker;

static void must(int rc)
{
    if (rc == 0) return;
    fprintf(stderr, "%s\n", locus_error());
    exit(1);
}

/* Every node adds its rank + 1. */
static void add_up(void)
{
    const locus_key key = 5;
    float sum = 0, mine = (float)(locus_rank(node) + 1);
    must(locus_push(worker, &key, 1, &mine));
    must(locus_barrier(worker));
    must(locus_pull(worker, &key, 1, &sum));
    printf("rank %d of %d, sum %g\n", locus_rank(node), locus_size(node), (double)sum);
}

/* Who fails does it when all have joined; the others wait to be ended, so that nobody else's failure
 * can be the first. */
static _Noreturn void stay(bool may_crash, bool fails)
{
    printf("joined\n");
    int rc = locus_barrier(worker);
    if (fails && !may_crash) _exit(3);
    if (fails) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(SIGSEGV, SIG_DFL); /* sanitizers have a handler that writes a report */
        raise(SIGSEGV);
    }
    if (rc == 0 && may_crash) rc = locus_barrier(worker);
    if (rc && may_crash) exit(1);
    for (;;) pause();
}

int main(int argc, char **argv)
{
    static const struct locus_table table = {.name = "rows", .rows = 8, .length = 1};
    struct locus_config c;
    setvbuf(stdout, NULL, _IOLBF, 0);
    locus_config_init(&c);
    c.tables = &table;
    c.table_count = 1;
    c.technique = LOCUS_STATIC;
    c.join_timeout_s = 150;
    must(locus_open(&c, &node));
    must(locus_worker_open(node, &worker));
    if (strcmp(argv[1], "once") != 0)
        stay(strcmp(argv[1], "crashes") == 0, argc > 2 && atoi(argv[2]) == locus_rank(node));
    add_up();
    must(locus_worker_close(worker));
    must(locus_close(node));
    return 0;
}
