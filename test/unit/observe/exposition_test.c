/* exposition: every kind of sample is a line as Prometheus reads it. */
#include "observe/metrics.h"

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text is these lines, and no more; it is given back. */
static void is(struct httpd_reply *e, const char *lines)
{
    CHECK(!e->failed);
    if (strcmp(e->text, lines) != 0)
        test_fail(__FILE__, __LINE__, "it is \"%s\", not \"%s\"", e->text, lines);
    CHECK_EQ(e->length, strlen(lines));
    free(e->text);
    *e = (struct httpd_reply){0};
}

TEST(exposition, samples_are_lines_with_labels_and_all_digits)
{
    struct httpd_reply e = {0};
    exposition_head(&e, "a_total", "counter", "What it counts.");
    exposition_sample(&e, "a_total", NULL, 3);
    is(&e, "# HELP a_total What it counts.\n# TYPE a_total counter\na_total 3\n");
    exposition_sample(&e, "a", NULL, 0.25);
    is(&e, "a 0.25\n");
    exposition_sample(&e, "a", "peer=\"p\"", 9007199254740991.0 / 16);
    is(&e, "a{peer=\"p\"} 562949953421312\n"); /* to 15 digits */
}

/* The sums of all below, as the format wants them; times in seconds, the last bucket is +Inf. */
TEST(exposition, times_buckets_are_sums_from_a_microsecond_on)
{
    struct httpd_reply e = {0};
    struct locus_histogram h = {0};
    h.count[3] = 1; /* 8 to 15 ns */
    h.count[LOCUS_HISTOGRAM_BUCKETS - 2] = 2;
    h.count[LOCUS_HISTOGRAM_BUCKETS - 1] = 4;
    exposition_times(&e, "t", "T.", &h, 1.5);
    char last[128];
    double end = 1e-9 * (double)(UINT64_C(1) << (LOCUS_HISTOGRAM_BUCKETS - 2));
    snprintf(last, sizeof last,
             "t_bucket{le=\"%.9g\"} 1\nt_bucket{le=\"%.9g\"} 3\nt_bucket{le=\"+Inf\"} 7\n"
             "t_sum 1.5\nt_count 7\n",
             end, 2 * end);
    CHECK_STR(e.text, "# TYPE t histogram\nt_bucket{le=\"1.024e-06\"} 1\n");
    CHECK_STR(e.text, last);
    free(e.text);
}

TEST(exposition, numbers_have_a_bucket_each_up_to_seven)
{
    struct httpd_reply e = {0};
    struct locus_histogram h = {.sum = 31};
    h.count[0] = 1;
    h.count[7] = 2;
    h.count[8] = 3; /* more than is shown one by one */
    exposition_numbers(&e, "n", "N.", &h);
    is(&e, "# HELP n N.\n# TYPE n histogram\n"
           "n_bucket{le=\"0\"} 1\nn_bucket{le=\"1\"} 1\nn_bucket{le=\"2\"} 1\n"
           "n_bucket{le=\"3\"} 1\nn_bucket{le=\"4\"} 1\nn_bucket{le=\"5\"} 1\n"
           "n_bucket{le=\"6\"} 1\nn_bucket{le=\"7\"} 3\nn_bucket{le=\"+Inf\"} 6\n"
           "n_sum 31\nn_count 6\n");
}
