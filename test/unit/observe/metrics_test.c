/* metrics: what a node tells over HTTP is what it counts. A cluster's are
 * test/cluster/metrics.c's. */
#include "observe/metrics.h"

#include "base/histogram.h"
#include "worker/node.h"
#include "worker/observer.h"
#include "http.h"
#include "locus.h"
#include "one_node.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROWS = 50 };

/* ---- whether there are any ---- */

TEST(metrics, listen_only_when_asked)
{
    int fd = 7;
    struct metrics *m = (void *)&m;
    CHECK_EQ(unsetenv("LOCUS_METRICS"), 0);
    CHECK_EQ(metrics_listen(0, &fd), 0);
    CHECK_EQ(fd, -1);
    CHECK_EQ(setenv("LOCUS_METRICS", "", 1), 0);
    CHECK_EQ(metrics_listen(0, &fd), 0);
    CHECK_EQ(fd, -1);
    CHECK_EQ(metrics_start(NULL, -1, &m), 0);
    CHECK(m == NULL);
    metrics_stop(NULL);
}

TEST(metrics, open_fails_without_the_address)
{
    locus *n;
    struct locus_config c;
    const struct locus_table table = {.rows = ROWS, .length = 1};
    int fd;
    CHECK_EQ(setenv("LOCUS_METRICS", "192.0.2.1:9400", 1), 0);
    REFUSED(metrics_listen(2, &fd), -EADDRNOTAVAIL, "LOCUS_METRICS is \"192.0.2.1:9400\"");
    locus_config_init(&c);
    c.tables = &table;
    c.table_count = 1;
    CHECK_EQ(locus_open(&c, &n), -EADDRNOTAVAIL);
    CHECK(n == NULL);
}

/* ---- what they say ---- */

/* The port at which the node listens: its server has the only socket that does. */
static unsigned port_of_node(void)
{
    for (int fd = 3; fd < 1024; fd++) {
        int listens = 0, family = 0;
        socklen_t bytes = sizeof listens;
        if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &bytes) || family != AF_INET) continue;
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) == 0 && listens)
            return http_port_of(fd);
    }
    test_fail(__FILE__, __LINE__, "nobody listens");
}

static locus *observed(void)
{
    CHECK_EQ(setenv("LOCUS_METRICS", "127.0.0.1:0", 1), 0);
    return one_node(ROWS, 2, 1);
}

/* Each name is described once, before its samples. */
TEST(metrics, samples_follow_the_head_of_their_name)
{
    char head[128] = "", name[100];
    locus *n = observed();
    struct http_answer a = http_get(port_of_node(), "/metrics");
    unsigned lines = 0;
    CHECK(strstr(a.body, "_peer_") == NULL); /* there is none */
    for (char *line = strtok(a.body, "\n"); line; line = strtok(NULL, "\n"), lines++) {
        if (sscanf(line, "# TYPE %99s", name) == 1) snprintf(head, sizeof head, "%s", name);
        CHECK(*line == '#' || strncmp(line, head, strlen(head)) == 0);
    }
    CHECK(lines > 20);
    free(a.text);
    CHECK_EQ(locus_close(n), 0);
}

/* Of a program that reads in place. */
TEST(metrics, pulls_that_are_timed_are_also_reads_in_place)
{
    locus *n = observed();
    locus_worker *w = worker_of(n);
    const locus_key keys[] = {1, 2};
    const float *rows[2];
    float copies[4];
    while (histogram_count(&w->observer->pull) == 0)
        for (int i = 0; i < 1000; i++)
            if (locus_read_rows(w, keys, 2, copies, rows)) locus_read_end(w);
    close_both(n, w);
}

/* Keys are noted for a while after somebody has asked. The port is gone before the node is. */
TEST(metrics, hot_keys_are_listed_once_asked_for)
{
    locus *n = observed();
    locus_worker *w = worker_of(n);
    unsigned port = port_of_node();
    const locus_key hot = 7;
    float row[2];
    http_expect(port, "/keys", 200, "\nlocus_sampled_keys 0\n");
    for (;;) {
        for (int i = 0; i < 1000; i++) CHECK_EQ(locus_pull(w, &hot, 1, row), 0);
        struct http_answer a = http_get(port, "/keys");
        CHECK_EQ(a.status, 200);
        bool is_listed = strstr(a.body, "locus_hot_keys{key=\"7\",place=\"local\"} ") != NULL;
        free(a.text);
        if (is_listed) break;
    }
    int fd = http_connect(port); /* and says nothing */
    char byte;
    close_both(n, w);
    CHECK(recv(fd, &byte, 1, 0) <= 0);
    close(fd);
    CHECK(!http_listens(port));
}
