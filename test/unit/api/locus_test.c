/* A node: its configuration, what can be asked of it, its end. */
#include "one_node.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct locus_table three[] = {
    {.name = "users", .rows = 10, .length = 3},
    {.name = NULL, .rows = 1, .length = 100},
    {.name = "items", .rows = 5, .length = 16},
};

static struct locus_config three_tables(void)
{
    struct locus_config c;
    locus_config_init(&c);
    c.tables = three;
    c.table_count = 3;
    return c;
}

/* The configuration is refused with a sentence that contains `part`, and no node. */
static void is_refused(const struct locus_config *c, int rc, const char *part)
{
    locus *n = (locus *)(void *)c; /* anything but NULL */
    CHECK_EQ(locus_open(c, &n), rc);
    CHECK(n == NULL);
    CHECK_STR(locus_error(), part);
}

#define IS_REFUSED(part, change) \
    do { \
        struct locus_config c = three_tables(); \
        change; \
        is_refused(&c, -EINVAL, part); \
    } while (0)

static void check_defaults(const struct locus_config *c)
{
    const struct locus_config zero = {.workers = 1, .technique = LOCUS_ADAPTIVE};
    CHECK_EQ(memcmp(c, &zero, sizeof zero), 0);
}

/* A program of an older release gets its part of the defaults, one of a newer release zeros behind
 * them. */
TEST(locus, config_init_sets_one_worker_the_adaptive_technique_and_zeros)
{
    struct {
        struct locus_config c;
        char more[64];
    } newer;
    struct locus_config c;
    size_t known = offsetof(struct locus_config, shards);
    memset(&c, 0, sizeof c);
    locus_config_init(&c);
    check_defaults(&c);
    memset(&c, 0xff, sizeof c);
    locus_config_init_sized(&c, known);
    CHECK_EQ(c.workers, 1);
    for (size_t i = known; i < sizeof c; i++) CHECK_EQ(((unsigned char *)&c)[i], 0xff);
    memset(&newer, 0xff, sizeof newer);
    locus_config_init_sized(&newer.c, sizeof newer);
    CHECK_EQ(newer.c.workers, 1);
    for (size_t i = 0; i < sizeof newer.more; i++) CHECK_EQ(newer.more[i], 0);
}

TEST(locus, open_refuses_what_no_configuration_has)
{
    const struct locus_config whole = three_tables();
    locus *n;
    REFUSED(locus_open(&whole, NULL), -EINVAL, "out");
    REFUSED(locus_open(NULL, &n), -EINVAL, "NULL");
    CHECK(n == NULL);
    IS_REFUSED("workers is 0", c.workers = 0);
    IS_REFUSED("workers is 1025: must be 1 to 1024", c.workers = LOCUS_WORKERS_MAX + 1);
    IS_REFUSED("shards is 257: must be 0 to 256", c.shards = LOCUS_SHARDS_MAX + 1);
    IS_REFUSED("technique is 5", c.technique = (enum locus_technique)5);
    IS_REFUSED("technique is -1", c.technique = (enum locus_technique) - 1);
    IS_REFUSED("peer_timeout_s is -1", c.peer_timeout_s = -1);
    IS_REFUSED("peer_timeout_s is ", c.peer_timeout_s = NAN);
    IS_REFUSED("join_timeout_s is -0.5", c.join_timeout_s = -0.5);
    IS_REFUSED("join_timeout_s is inf", c.join_timeout_s = INFINITY);
    IS_REFUSED("join_timeout_s is 1e+10: must be a number of seconds, at most 1000000000",
               c.join_timeout_s = 1e10);
    IS_REFUSED("size is -3", c.size = -3);
    IS_REFUSED("rank is 1", (c.size = 1, c.rank = 1));
    IS_REFUSED("rank is -1", (c.size = 1, c.rank = -1));
    IS_REFUSED("rank is 1 and size is 0: set both", c.rank = 1);
    IS_REFUSED("4 nodes", (c.size = 4, c.rank = 3)); /* they need a rendezvous */
    IS_REFUSED("no table", c.table_count = 0);
    IS_REFUSED("no table", c.tables = NULL);
    IS_REFUSED("1025 tables", c.table_count = LOCUS_TABLES_MAX + 1);
    /* Checkpoints, hours later, would refuse it. */
    CHECK_EQ(setenv("LOCUS_CHECKPOINTS", "none", 1), 0);
    IS_REFUSED("LOCUS_CHECKPOINTS is \"none\"", (void)0);
    CHECK_EQ(unsetenv("LOCUS_CHECKPOINTS"), 0);
    IS_REFUSED("`rendezvous` is set but LOCUS_RANK", c.rendezvous = "127.0.0.1:1");
    CHECK_EQ(setenv("LOCUS_LAB", "immediate,rounds=many", 1), 0);
    IS_REFUSED("LOCUS_LAB has \"rounds=many\"", (void)0);
    CHECK_EQ(unsetenv("LOCUS_LAB"), 0);
}

/* And no node is waited for, though the cluster has two. */
TEST(locus, open_refuses_tables_that_cannot_be)
{
    char longest[LOCUS_NAME_MAX + 2];
    memset(longest, 'a', sizeof longest - 1);
    longest[LOCUS_NAME_MAX + 1] = '\0';
    const struct {
        struct locus_table table;
        const char *part;
    } wrong[] = {
        {{.rows = 0, .length = 1}, "table 1 has no rows"},
        {{.rows = 1, .length = 0}, "table 1 has rows of 0 floats"},
        {{.rows = 1, .length = LOCUS_LENGTH_MAX + 1}, "rows of 1048577 floats"},
        {{.rows = 1, .length = 1, .flags = 0x40}, "0x40"},
        {{.rows = LOCUS_KEYS_MAX, .length = 1}, "1099511627776"},
        {{.rows = UINT64_MAX, .length = 1}, "18446744073709551615"},
        {{.name = "table0", .rows = 1, .length = 1},
         "tables 0 and 1 have one name, \"table0\": give each its own"},
        {{.name = "", .rows = 1, .length = 1}, "the name of table 1 is empty"},
        {{.name = "a/b", .rows = 1, .length = 1}, "the name of table 1 is \"a/b\""},
        {{.name = "..", .rows = 1, .length = 1}, "the name of table 1 is \"..\""},
        {{.name = "a\nb", .rows = 1, .length = 1}, "the name of table 1 is no text"},
        {{.name = "a\xff", .rows = 1, .length = 1}, "the name of table 1 is no text"},
        {{.name = longest, .rows = 1, .length = 1}, "the name of table 1 has more than 200 bytes"},
#ifndef LOCUS_TSAN /* under which the directory finds no address space before this is noticed */
        {{.name = "huge", .rows = LOCUS_KEYS_MAX - 10, .length = 1}, "use fewer rows"},
#endif
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct locus_table tables[2] = {{.rows = 10, .length = 3}, wrong[i].table};
        struct locus_config c = three_tables();
        c.tables = tables;
        c.table_count = 2;
        if (i < sizeof wrong / sizeof *wrong - 1) /* a shard's, which rank 0 chooses */
            c.size = 2, c.rank = 1, c.rendezvous = "127.0.0.1:1";
        is_refused(&c, -EINVAL, wrong[i].part);
    }
    longest[LOCUS_NAME_MAX] = '\0';
    const struct locus_table named = {.name = longest, .rows = 1, .length = 1};
    CHECK_EQ(locus_close(node_of(&named, 1, 1, 1)), 0);
}

TEST(locus, open_needs_the_address_space_of_the_keys_and_says_of_which_table)
{
#if defined(LOCUS_TSAN) || defined(LOCUS_ASAN)
    SKIP("the sanitizer has its own idea of the address space");
#endif
    static struct locus_table many[LOCUS_TABLES_MAX];
    const struct locus_table dense = {
        .name = "dense", .rows = UINT64_C(1) << 29, .length = LOCUS_LENGTH_MAX};
    struct locus_config c = three_tables();
    c.tables = &dense;
    c.table_count = 1;
    is_refused(&c, -ENOMEM, "dense");
    for (size_t i = 0; i < LOCUS_TABLES_MAX; i++)
        many[i] = (struct locus_table){.rows = 8, .length = LOCUS_LENGTH_MAX};
    locus *n = node_of(many, LOCUS_TABLES_MAX, 1, 8);
    CHECK_EQ(locus_keys(n), 8 * LOCUS_TABLES_MAX);
    CHECK_EQ(locus_close(n), 0);
}

/* With little address space left, at every amount of it: an open fails with a sentence or a node is
 * there, and what was taken for it comes back. */
static void open_with_little(rlim_t bytes)
{
    struct locus_table table = {.rows = 3, .length = LOCUS_LENGTH_MAX};
    struct locus_config c = three_tables();
    struct rlimit limit = {bytes, bytes};
    locus *n;
    mallopt(M_PERTURB, 0x5a); /* what the heap hands out is not zero */
    c.tables = &table;
    c.table_count = 1;
    if (setrlimit(RLIMIT_AS, &limit)) _exit(3);
    int rc = locus_open(&c, &n);
    if (rc == 0) _exit(locus_close(n) == 0 ? 0 : 4);
    _exit(rc == -ENOMEM && *locus_error() ? 0 : 5);
}

static rlim_t address_space_in_use(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f != NULL);
    CHECK_EQ(fscanf(f, "%lu", &pages), 1);
    fclose(f);
    return pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

TEST(locus, open_with_little_address_space_fails_clean)
{
#if defined(LOCUS_TSAN) || defined(LOCUS_ASAN)
    SKIP("the sanitizer has its own idea of the address space");
#endif
    rlim_t used = address_space_in_use();
    for (rlim_t more = 0; more < 72u << 20; more += 1u << 20) {
        int status;
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) open_with_little(used + more);
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK(WIFEXITED(status));
        CHECK_EQ(WEXITSTATUS(status), 0);
    }
}

TEST(locus, config_size_counts_more_than_the_environment)
{
    struct locus_config c = three_tables();
    locus *n;
    setenv("LOCUS_SIZE", "5", 1);
    setenv("LOCUS_RANK", "2", 1);
    setenv("LOCUS_RENDEZVOUS", "127.0.0.1:1", 1);
    c.size = 1;
    CHECK_EQ(locus_open(&c, &n), 0);
    CHECK_EQ(locus_rank(n), 0);
    CHECK_EQ(locus_size(n), 1);
    CHECK_EQ(locus_close(n), 0);
    setenv("LOCUS_SIZE", "1", 1);
    setenv("LOCUS_RANK", "0", 1);
    c.size = 0;
    CHECK_EQ(locus_open(&c, &n), 0);
    CHECK_EQ(locus_close(n), 0);
}

TEST(locus, keys_of_tables_lie_end_to_end)
{
    locus *n = node_of(three, 3, 1, 0);
    CHECK_EQ(locus_keys(n), 16);
    CHECK_EQ(locus_length(n, 0), 3);
    CHECK_EQ(locus_length(n, 9), 3);
    CHECK_EQ(locus_length(n, 10), 100);
    CHECK_EQ(locus_length(n, 11), 16);
    CHECK_EQ(locus_length(n, 15), 16);
    CHECK_EQ(locus_length(n, 16), 0);
    CHECK_EQ(locus_length(n, UINT64_MAX), 0);
    CHECK_EQ(locus_table_first(n, 0), 0);
    CHECK_EQ(locus_table_first(n, 1), 10);
    CHECK_EQ(locus_table_first(n, 2), 11);
    CHECK_EQ(locus_table_first(n, 3), 16);
    CHECK_EQ(locus_table_first(n, UINT32_MAX), 16);
    CHECK_EQ(locus_close(n), 0);
}

TEST(locus, config_is_read_by_open_only)
{
    struct locus_table *tables = malloc(2 * sizeof *tables);
    char *name = strdup("short lived");
    CHECK(tables != NULL);
    tables[0] = (struct locus_table){.name = name, .rows = 4, .length = 2};
    tables[1] = (struct locus_table){.rows = 4, .length = 5};
    locus *n = node_of(tables, 2, 1, 0);
    memset(name, 'x', 5);
    memset(tables, 0xff, 2 * sizeof *tables);
    free(name);
    free(tables);
    CHECK_EQ(locus_keys(n), 8);
    CHECK_EQ(locus_length(n, 3), 2);
    CHECK_EQ(locus_length(n, 4), 5);
    CHECK_EQ(locus_close(n), 0);
}

TEST(locus, owned_keys_come_in_ascending_order_and_in_pages)
{
    for (unsigned shards = 1; shards <= 7; shards += 2) {
        const struct locus_table table = {.rows = 1000, .length = 1};
        locus *n = node_of(&table, 1, 1, shards);
        locus_key keys[7], from = 0;
        size_t sum = 0, got;
        while ((got = locus_owned(n, from, keys, 7)) > 0) {
            for (size_t i = 0; i < got; i++) CHECK_EQ(keys[i], sum + i);
            sum += got;
            from = keys[got - 1] + 1;
            CHECK(got == 7 || sum == 1000);
        }
        CHECK_EQ(sum, 1000);
        CHECK_EQ(locus_owned(n, 0, keys, 0) + locus_owned(n, 0, NULL, 7), 0);
        CHECK_EQ(locus_owned(n, 1000, keys, 7) + locus_owned(n, UINT64_MAX, keys, 7), 0);
        CHECK_EQ(locus_owned(n, 998, keys, 7), 2);
        CHECK_EQ(locus_close(n), 0);
    }
}

TEST(locus, close_refuses_a_node_with_open_workers)
{
    locus *n = one_node(3, 2, 2);
    locus_worker *a = worker_of(n), *b = worker_of(n);
    const locus_key key = 1;
    float row[2] = {4, 5};
    REFUSED(locus_close(n), -EBUSY, "2 of 2 workers");
    CHECK_EQ(locus_worker_close(a), 0);
    REFUSED(locus_close(n), -EBUSY, "1 of 2 workers");
    CHECK_EQ(locus_push(b, &key, 1, row), 0); /* nothing has changed */
    CHECK_EQ(locus_pull(b, &key, 1, row), 0);
    CHECK(row[0] == 4 && row[1] == 5);
    close_both(n, b);
}

TEST(locus, stats_count_keys_of_all_workers)
{
    locus *n = node_of(three, 3, 2, 3);
    struct locus_stats s = stats_of(n), zero = {.owned_now = 16};
    CHECK_EQ(memcmp(&s, &zero, sizeof s), 0);
    locus_worker *a = worker_of(n), *b = worker_of(n);
    const locus_key keys[] = {3, 3, 11};
    float rows[3 + 3 + 16] = {0};
    CHECK_EQ(locus_pull(a, keys, 3, rows), 0);
    CHECK_EQ(locus_pull(b, keys, 1, rows), 0);
    CHECK_EQ(locus_push(a, keys, 2, rows), 0);
    CHECK_EQ(locus_set(b, keys, 3, rows), 0);
    CHECK_EQ(locus_pull_local(b, 2, rows), 0);
    CHECK_EQ(locus_intent(b, keys, 3, 5, 6), 0);
    /* refused calls do not count */
    CHECK_EQ(locus_pull(a, (const locus_key[]){16}, 1, rows), -EINVAL);
    CHECK_EQ(locus_intent(a, (const locus_key[]){16}, 1, 5, 6), -EINVAL);
    s = stats_of(n);
    CHECK_EQ(s.pulled_local, 5);
    CHECK_EQ(s.pushed_local, 5);
    CHECK_EQ(s.intents_signaled, 3);
    CHECK_EQ(s.pulled_remote + s.pushed_remote + s.pulled_replica + s.pushed_replica, 0);
    CHECK_EQ(locus_worker_close(a), 0);
    CHECK_EQ(locus_worker_close(b), 0);
    CHECK_EQ(stats_of(n).pulled_local, 5); /* since open, not since a worker's */
    a = worker_of(n);
    CHECK_EQ(stats_of(n).intents_signaled, 3);
    CHECK_EQ(locus_pull(a, keys, 1, rows), 0);
    CHECK_EQ(stats_of(n).pulled_local, 6);
    close_both(n, a);
}

TEST(locus, stats_fit_programs_of_other_releases)
{
    struct {
        struct locus_stats s;
        char more[32];
    } newer;
    locus *n = one_node(42, 1, 1);
    struct locus_stats s;
    memset(&s, 0xff, sizeof s);
    CHECK_EQ(locus_stats_read_sized(n, &s, offsetof(struct locus_stats, pulled_remote)), 0);
    CHECK_EQ(s.pulled_local, 0);
    CHECK_EQ(s.pulled_replica, 0);
    CHECK_EQ(s.pulled_remote, UINT64_MAX);
    CHECK_EQ(s.owned_now, UINT64_MAX);
    memset(&newer, 0xff, sizeof newer);
    CHECK_EQ(locus_stats_read_sized(n, &newer.s, sizeof newer), 0);
    CHECK_EQ(newer.s.owned_now, 42);
    for (size_t i = 0; i < sizeof newer.more; i++) CHECK_EQ(newer.more[i], 0);
    CHECK_EQ(locus_close(n), 0);
}
