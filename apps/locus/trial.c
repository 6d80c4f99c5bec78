#include "trial.h"

#include "clock.h"
#include "locus.h"
#include "port.h"
#include "say.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 64, LENGTH = 32, PULLS = 200 };

struct seat {
    const char *rendezvous;
    int rank, rc;
    double joined_s, pull_s;
    char sentence[FINDING_TEXT_MAX - 64];
};

static void note(struct seat *s, int rc)
{
    if (rc == 0 || s->rc) return;
    s->rc = rc;
    snprintf(s->sentence, sizeof s->sentence, "%s", locus_error());
}

/* A row of the other's, again and again. */
static int measure(struct seat *s, locus *node, locus_worker *w)
{
    float row[LENGTH];
    locus_key here[ROWS], key = 0;
    size_t n = locus_owned(node, 0, here, ROWS);
    int rc = 0;
    for (size_t i = 0; i < n && here[i] == key; i++) key++;
    if (key == ROWS) return 0;
    double start = clock_s();
    for (unsigned i = 0; i < PULLS && rc == 0; i++) rc = locus_pull(w, &key, 1, row);
    s->pull_s = (clock_s() - start) / PULLS;
    return rc;
}

static void *attend(void *seat)
{
    static const struct locus_table table = {.name = "trial", .rows = ROWS, .length = LENGTH};
    struct seat *s = seat;
    struct locus_config c;
    locus *node = NULL;
    locus_worker *w = NULL;
    locus_config_init(&c);
    c.tables = &table;
    c.table_count = 1;
    c.shards = 1;
    c.technique = LOCUS_RELOCATE; /* the row stays there: nobody localizes it */
    c.rank = s->rank;
    c.size = 2;
    c.rendezvous = s->rendezvous;
    c.join_timeout_s = TRIAL_JOIN_S;
    double start = clock_s();
    note(s, locus_open(&c, &node));
    if (s->rc) return NULL;
    s->joined_s = clock_s() - start;
    note(s, locus_worker_open(node, &w));
    if (w) {
        note(s, measure(s, node, w));
        note(s, locus_barrier(w));
        note(s, locus_worker_close(w));
    }
    note(s, locus_close(node));
    return NULL;
}

/* What a node says of the other is less than what that one says itself. */
static const struct seat *worse(const struct seat *a, const struct seat *b)
{
    if (!a->rc) return b;
    bool is_echo = a->rc == -ECONNRESET || a->rc == -ETIMEDOUT;
    return b->rc && is_echo ? b : a;
}

static void hold_trial(struct findings *all, const char *rendezvous)
{
    struct seat seat[2] = {{.rendezvous = rendezvous, .rank = 0},
                           {.rendezvous = rendezvous, .rank = 1}};
    pthread_t thread;
    int rc = pthread_create(&thread, NULL, attend, &seat[1]);
    if (rc) {
        find(all, FIND_FAIL, "trial", "no thread for a node: %s (ulimit -u)", strerror(rc));
        return;
    }
    attend(&seat[0]);
    pthread_join(thread, NULL);
    const struct seat *bad = worse(&seat[0], &seat[1]);
    if (bad->rc)
        find(all, FIND_FAIL, "trial", "%s", bad->sentence);
    else
        find(all, FIND_OK, "trial",
             "two nodes here join in %.0f ms; a row from the other takes %.0f us",
             1e3 * seat[0].joined_s, 1e6 * seat[0].pull_s);
}

void trial_check(struct findings *all)
{
    struct port port = {.fd = -1};
    if (port_hold(&port, 0)) {
        find(all, FIND_FAIL, "trial",
             "no port of loopback can be had: bring lo up (ip link set lo up), or raise ulimit -n");
        return;
    }
    unsetenv("LOCUS_LISTEN");
    unsetenv("LOCUS_TRACE");
    unsetenv("LOCUS_METRICS");
    hold_trial(all, port.address);
    port_release(&port);
}
