#include "member.h"

#include "team.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const struct locus_table table = {.name = "rows", .rows = 8, .length = 1};

static locus *open_member(bool is_timed)
{
    struct locus_config c;
    locus *n;
    locus_config_init(&c);
    c.tables = &table;
    c.table_count = 1;
    c.technique = LOCUS_STATIC;
    c.join_timeout_s = HANG_S;
    double start = now_s();
    int rc = locus_open(&c, &n);
    if (rc) {
        fprintf(stderr, "locus_open: %s\n", locus_error());
        exit(1);
    }
    if (is_timed) printf("rank %d opened after %.3f s\n", locus_rank(n), now_s() - start);
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

static bool is_at(const char *arguments, const char *word, int rank)
{
    char text[64];
    snprintf(text, sizeof text, "%s=%d", word, rank);
    return strstr(arguments, text) != NULL;
}

static _Noreturn void crash(void)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    signal(SIGSEGV, SIG_DFL); /* sanitizers have a handler that writes a report */
    kill(getpid(), SIGSEGV);
    pause();
    abort();
}

/* Who notices a crash returns 1, as applications do. Otherwise it waits to be ended, so that nobody
 * else's failure can be the first. */
static void stay(const char *arguments, locus *n, locus_worker *w)
{
    bool may_crash = strstr(arguments, "crashes-at") != NULL;
    printf("joined\n");
    int rc = locus_barrier(w);
    if (is_at(arguments, "fails-at", locus_rank(n))) _exit(3);
    if (is_at(arguments, "crashes-at", locus_rank(n))) crash();
    if (rc == 0 && may_crash) rc = locus_barrier(w);
    if (rc && may_crash) exit(1);
    for (;;) pause();
}

ROLE(member)
{
    locus *n = open_member(strstr(arguments, "timed") != NULL);
    locus_worker *w;
    CHECK_EQ(locus_worker_open(n, &w), 0);
    if (strstr(arguments, "stays"))
        stay(arguments, n, w);
    else
        add_up(n, w);
    CHECK_EQ(locus_worker_close(w), 0);
    CHECK_EQ(locus_close(n), 0);
}

void member_all_joined(const struct command *c, int nodes)
{
    for (int rank = 0; rank < nodes; rank++) {
        char line[64];
        snprintf(line, sizeof line, "rank %d of %d, sum %d\n", rank, nodes,
                 nodes * (nodes + 1) / 2);
        CHECK_STR(c->out.text, line);
    }
}
