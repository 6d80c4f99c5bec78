/* metrics: what a node tells over HTTP is what it counts. A cluster's are
 * test/cluster/metrics.c's. */
#include "observe/metrics.h"

#include "worker/node.h"
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
    struct httpd *m = (void *)&m;
    CHECK_EQ(unsetenv("LOCUS_METRICS"), 0);
    CHECK_EQ(metrics_listen(0, &fd), 0);
    CHECK_EQ(fd, -1);
    CHECK_EQ(setenv("LOCUS_METRICS", "", 1), 0);
    CHECK_EQ(metrics_listen(0, &fd), 0);
    CHECK_EQ(fd, -1);
    CHECK_EQ(metrics_start(NULL, -1, &m), 0);
    CHECK(m == NULL);
    httpd_close(m);
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

/* A cluster of one has no shards that see keys. The port is gone before the node is. */
TEST(metrics, keys_of_one_node_are_none)
{
    locus *n = observed();
    locus_worker *w = worker_of(n);
    unsigned port = port_of_node();
    const locus_key key = 7;
    float row[2];
    CHECK_EQ(locus_pull(w, &key, 1, row), 0);
    http_expect(port, "/keys", 200, "\nlocus_sampled_keys 0\n");
    int fd = http_connect(port); /* and says nothing */
    char byte;
    close_both(n, w);
    CHECK(recv(fd, &byte, 1, 0) <= 0);
    close(fd);
    CHECK(!http_listens(port));
}
