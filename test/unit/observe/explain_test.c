/* explain: what a node says of one key, over HTTP as `locus explain` asks; and of what cannot be
 * one. Of keys that move and are copied: test_explain.py. */
#include "observe/metrics.h"

#include "http.h"
#include "one_node.h"

#include <stdio.h>
#include <string.h>

enum { ROWS = 40 };
static const struct locus_table tables[] = {{.name = "users", .rows = ROWS, .length = 2},
                                            {.name = "a:b c", .rows = ROWS, .length = 1}};
static const struct httpd_path paths[] = {{"/key", "text/plain", explain_key}, {0}};

/* A server of the test's own, for the node; its port. */
static unsigned opened(locus *n, struct httpd **d)
{
    int fd;
    CHECK_EQ(httpd_listen("a test", "127.0.0.1:0", 0, &fd), 0);
    unsigned port = http_port_of(fd);
    CHECK_EQ(httpd_open(fd, paths, n, d), 0);
    return port;
}

static void is(unsigned port, const char *path, const char *text)
{
    struct http_answer a = http_get(port, path);
    CHECK_EQ(a.status, 200);
    if (strcmp(a.body, text) != 0)
        test_fail(__FILE__, __LINE__, "%s is\n%s\nand not\n%s", path, a.body, text);
    free(a.text);
}

TEST(explain, key_of_one_node_is_at_home)
{
    struct httpd *d;
    locus *n = node_of(tables, 2, 1, 2);
    unsigned port = opened(n, &d);
    is(port, "/key?key=3",
       "locus-key 1\nnode 0 1 adaptive\nkey 3 3 users\nhome 0\nplace main\nowner 0 0\nintends 0\n"
       "end\n");
    is(port, "/key?table=a%3Ab%20c&key=3",
       "locus-key 1\nnode 0 1 adaptive\nkey 43 3 a:b c\nhome 0\nplace main\nowner 0 0\n"
       "intends 0\nend\n");
    httpd_close(d);
    CHECK_EQ(locus_close(n), 0);
}

TEST(explain, refuses_what_is_no_key)
{
    struct httpd *d;
    locus *n = node_of(tables, 2, 1, 1);
    unsigned port = opened(n, &d);
    http_expect(port, "/key?key=80", 404, "there is no key 80: keys are 0 to 79\n");
    http_expect(port, "/key?key=18446744073709551615", 404, "there is no key 18446744073709551615");
    http_expect(port, "/key?table=users&key=40", 404,
                "table \"users\" has no row 40: its rows are 0 to 39\n");
    http_expect(port, "/key?table=items&key=1", 404,
                "there is no table \"items\"; there are: users, a:b c\n");
    static const char *const wrong[] = {"", "-1", "+1", "1x", "%201", "18446744073709551616"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char path[64];
        snprintf(path, sizeof path, "/key?key=%s", wrong[i]);
        http_expect(port, path, 400, "\" is no number: /key?key=7, or /key?table=T&key=7\n");
    }
    http_expect(port, "/key", 400, "the key \"\" is no number");
    httpd_close(d);
    CHECK_EQ(locus_close(n), 0);
}

/* Of many, as many as can be read; the answer stays within its bound. */
TEST(explain, tables_are_listed_up_to_a_number)
{
    enum { TABLES = 30 };
    struct locus_table many[TABLES];
    char name[TABLES][200];
    struct httpd *d;
    for (int i = 0; i < TABLES; i++) {
        memset(name[i], 'a' + i % 26, sizeof name[i] - 1);
        name[i][0] = (char)('A' + i / 26); /* no two are equal */
        name[i][sizeof name[i] - 1] = '\0';
        many[i] = (struct locus_table){.name = name[i], .rows = 1, .length = 1};
    }
    locus *n = node_of(many, TABLES, 1, 1);
    unsigned port = opened(n, &d);
    http_expect(port, "/key?table=none&key=1", 404, "ttt and 10 more\n");
    httpd_close(d);
    CHECK_EQ(locus_close(n), 0);
}
