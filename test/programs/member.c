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
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static void must(int rc, const char *call)
{
    if (rc == 0) return;
    fprintf(stderr, "%s: %s\n", call, locus_error());
    exit(1);
}

/* Every node adds its rank + 1. */
static void add_up(locus *n, locus_worker *w)
{
    const locus_key key = 5;
    const float one = (float)(locus_rank(n) + 1);
    float sum = 0;
    must(locus_push(w, &key, 1, &one), "locus_push");
    must(locus_barrier(w), "locus_barrier");
    must(locus_pull(w, &key, 1, &sum), "locus_pull");
    printf("rank %d of %d, sum %g\n", locus_rank(n), locus_size(n), (double)sum);
}

/* Who fails does it when all have joined; the others wait to be ended, so that nobody else's failure
 * can be the first. */
static void stay(locus_worker *w, const char *word, bool is_it)
{
    bool may_crash = strcmp(word, "crashes") == 0;
    printf("joined\n");
    int rc = locus_barrier(w);
    if (is_it && !may_crash) _exit(3);
    if (is_it) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(SIGSEGV, SIG_DFL); /* sanitizers have a handler that writes a report */
        raise(SIGSEGV);
    }
    if (rc == 0 && may_crash) rc = locus_barrier(w);
    if (rc && may_crash) exit(1);
    for (;;) pause();
}

int main(int argc, char **argv)
{
    static const struct locus_table table = {.name = "rows", .rows = 8, .length = 1};
    const char *word = argc > 1 ? argv[1] : "once";
    struct locus_config c;
    locus *n;
    locus_worker *w;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    locus_config_init(&c);
    c.tables = &table;
    c.table_count = 1;
    c.technique = LOCUS_STATIC;
    c.join_timeout_s = 150;
    must(locus_open(&c, &n), "locus_open");
    must(locus_worker_open(n, &w), "locus_worker_open");
    if (strcmp(word, "once") == 0)
        add_up(n, w);
    else
        stay(w, word, argc > 2 && atoi(argv[2]) == locus_rank(n));
    must(locus_worker_close(w), "locus_worker_close");
    must(locus_close(n), "locus_close");
    return 0;
}
