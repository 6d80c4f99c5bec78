/* exposition: every kind of sample is a line as Prometheus reads it, and a text that cannot be
 * whole is none. */
#include "observe/exposition.h"

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text is these lines, and no more; it is given back. */
static void is(struct exposition *e, const char *lines)
{
    CHECK(!e->failed);
    if (strcmp(e->text, lines) != 0)
        test_fail(__FILE__, __LINE__, "it is \"%s\", not \"%s\"", e->text, lines);
    CHECK_EQ(e->length, strlen(lines));
    free(e->text);
    *e = (struct exposition){0};
}

TEST(exposition, samples_are_lines_with_labels_and_all_digits)
{
    struct exposition e = {0};
    struct locus_histogram h = {.sum = 2500000000};
    h.count[1] = 4;
    h.count[LOCUS_HISTOGRAM_BUCKETS - 1] = 1;
    exposition_summary(&e, "s", "shard", 2, &h);
    is(&e, "s_sum{shard=\"2\"} 2.5\ns_count{shard=\"2\"} 5\n"); /* seconds */
    exposition_head(&e, "a_total", "counter", "What it counts.");
    exposition_sample(&e, "a_total", NULL, 3);
    is(&e, "# HELP a_total What it counts.\n# TYPE a_total counter\na_total 3\n");
    exposition_sample(&e, "a", NULL, 0.25);
    is(&e, "a 0.25\n");
    exposition_sample(&e, "a", "peer=\"p\"", 9007199254740991.0 / 16);
    is(&e, "a{peer=\"p\"} 562949953421312\n"); /* to 15 digits */
    exposition_numbered(&e, "a", "peer", 3, 4096);
    is(&e, "a{peer=\"3\"} 4096\n");
    exposition_key(&e, "a", UINT64_C(1) << 60, "local", 5);
    is(&e, "a{key=\"1152921504606846976\",place=\"local\"} 5\n");
}

/* The sums of all below, as the format wants them; times in seconds, the last bucket is +Inf. */
TEST(exposition, times_buckets_are_sums_from_a_microsecond_on)
{
    struct exposition e = {0};
    struct locus_histogram h = {0};
    h.count[3] = 1; /* 8 to 15 ns */
    h.count[LOCUS_HISTOGRAM_BUCKETS - 2] = 2;
    h.count[LOCUS_HISTOGRAM_BUCKETS - 1] = 4;
    exposition_times(&e, "t", &h, 1.5);
    char last[128];
    double end = 1e-9 * (double)(UINT64_C(1) << (LOCUS_HISTOGRAM_BUCKETS - 2));
    snprintf(last, sizeof last,
             "t_bucket{le=\"%.9g\"} 1\nt_bucket{le=\"%.9g\"} 3\nt_bucket{le=\"+Inf\"} 7\n"
             "t_sum 1.5\nt_count 7\n",
             end, 2 * end);
    CHECK(strncmp(e.text, "t_bucket{le=\"1.024e-06\"} 1\n",
                  strlen("t_bucket{le=\"1.024e-06\"} 1\n")) == 0);
    CHECK_STR(e.text, last);
    free(e.text);
}

TEST(exposition, numbers_have_a_bucket_each_up_to_seven)
{
    struct exposition e = {0};
    struct locus_histogram h = {.sum = 31};
    h.count[0] = 1;
    h.count[7] = 2;
    h.count[8] = 3; /* more than is shown one by one */
    exposition_numbers(&e, "n", &h);
    is(&e, "n_bucket{le=\"0\"} 1\nn_bucket{le=\"1\"} 1\nn_bucket{le=\"2\"} 1\n"
           "n_bucket{le=\"3\"} 1\nn_bucket{le=\"4\"} 1\nn_bucket{le=\"5\"} 1\n"
           "n_bucket{le=\"6\"} 1\nn_bucket{le=\"7\"} 3\nn_bucket{le=\"+Inf\"} 6\n"
           "n_sum 31\nn_count 6\n");
}

/* Beyond its first room, and again: no line is lost or broken where it grows. */
TEST(exposition, text_grows_by_whole_lines)
{
    enum { LINES = 20000 };
    struct exposition e = {0};
    char line[64];
    for (unsigned i = 0; i < LINES; i++) exposition_sample(&e, "a_name_of_some_length", NULL, i);
    CHECK(!e.failed && e.text[e.length] == '\0');
    const char *at = e.text;
    for (uint64_t i = 0; i < LINES; i++) {
        int n = snprintf(line, sizeof line, "a_name_of_some_length %llu\n", (unsigned long long)i);
        CHECK(strncmp(at, line, (size_t)n) == 0);
        at += n;
    }
    CHECK_EQ(*at, '\0');
    free(e.text);
}

TEST(exposition, text_beyond_its_bound_fails)
{
    struct exposition e = {0};
    size_t lines = 0;
    for (; !e.failed; lines++) exposition_sample(&e, "a", NULL, 1234567890);
    CHECK(e.length <= EXPOSITION_BYTES_MAX);
    CHECK(e.length > EXPOSITION_BYTES_MAX - 64);
    size_t length = e.length;
    exposition_sample(&e, "b", NULL, 1); /* this one would find room */
    CHECK(e.failed);
    CHECK_EQ(e.length, length);
    free(e.text);
    char name[600]; /* longer than any line */
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    e = (struct exposition){0};
    exposition_sample(&e, name, NULL, 1);
    CHECK(e.failed);
    free(e.text);
}
