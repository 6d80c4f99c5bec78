/* mf's cells: from files, made up, held back. What all files of rows have (separators, headings,
 * comments, quotation marks) is fields_test.c's and matrix_market_test.c's. */
#include "common/folder.h"
#include "ending.h"
#include "fail.h"
#include "line_parts.h"
#include "mf/ratings.h"
#include "rng.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MATRIX "%%MatrixMarket matrix coordinate real general\n"

static char folder[FOLDER_PATH_BYTES], path[2 * FOLDER_PATH_BYTES];

static void write_cells(const char *text, size_t length)
{
    folder_new(folder);
    folder_write(folder, "cells", text, length);
    snprintf(path, sizeof path, "%s/cells", folder);
}

/* Reads cells with the wishes of `like`. */
static void load_as(struct ratings *r, struct ratings like, const char *text, unsigned threads)
{
    write_cells(text, 0);
    ratings_init(r);
    r->is_implicit = like.is_implicit;
    r->split = like.split;
    ratings_load(r, path, NULL, like.split ? 0.1 : 0, 1, threads);
}

static void load(struct ratings *r, const char *text)
{
    load_as(r, (struct ratings){.is_implicit = false}, text, 1);
}

static uint64_t digest_of(const struct ratings *r)
{
    return ratings_digest(r, 0, r->train + r->test);
}

/* ---- files ---- */

/* From each of them the same, with one thread and with several. */
TEST(ratings, columns_are_found_by_their_names_or_places)
{
    static const char *const texts[] = {
        "1,31,2.5\n1,29,3.0\n2,31,3.5\n",
        "1::31::2.5::978300760\r\n1::29::3::978300761\r\n2::31::3.5::978300762\r\n",
        "\xEF\xBB\xBF\n# x\nuserId,movieId,rating\n1,31,2.5\n\n1,29,3.0\n# y\n2,31,3.5\n\n",
        "rating;time;Movie-ID;User-ID\n2.5;7;31;1\n3;8;29;1\n3.50;9;31;2\n",
        ("\"\" \"user\" \"item\" \"score\"\n\"1\" \"1\" \"31\" 2.5\n\"2\" \"1\" \"29\" 3\n"
         "\"3\" \"2\" \"31\" 3.5\n"),
        "#user item rating\n1 31\t2.5 \n 1 29 3.0\n2 31 3.5"};
    uint64_t first = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (unsigned threads = 1; threads <= 2; threads++) {
            CLOSED_BY(ratings_fini) struct ratings r;
            load_as(&r, (struct ratings){.is_implicit = false}, texts[i], threads);
            CHECK(r.train == 3 && r.test == 0 && r.rows == 2 && r.columns == 2);
            CHECK(fabs(r.mean - 3) < 1e-12 && r.list[2].value == 3.5F);
            CHECK_STR(names_get(&r.row_names, 1), "2");
            CHECK_STR(names_get(&r.column_names, 1), "29");
            if (first == 0) first = digest_of(&r);
            if (digest_of(&r) != first) test_fail(__FILE__, __LINE__, "%s: other cells", texts[i]);
        }
}

TEST(ratings, implicit_ones_need_no_ratings)
{
    static const char *const texts[] = {
        "u\tx\nv\ty\nu\ty\n", "item,user\nx,u\ny,v\ny,u\n", "u::x::5\nv::y::2\nu::y::none\n",
        "%%MatrixMarket matrix coordinate pattern general\n2 2 3\n1 1\n2 2\n1 2\n",
        MATRIX "2 2 3\n1 1 5\n2 2 0\n1 2 3\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CLOSED_BY(ratings_fini) struct ratings r;
        load_as(&r, (struct ratings){.is_implicit = true}, texts[i], 2);
        CHECK_EQ(r.train, 3);
        for (size_t c = 0; c < 3; c++) CHECK(r.list[c].value == 1);
        if (r.list[1].row != 1 || r.list[1].column != 1 || r.list[2].row || r.list[2].column != 1)
            test_fail(__FILE__, __LINE__, "%s: other cells", texts[i]);
    }
}

/* Of 20 columns row 0 has all, row 1 half of them; cells to test with stay behind. */
TEST(ratings, absent_cells_are_none_that_are_there)
{
    enum { TIMES = 40, COLUMNS = 20 };
    char text[1024] = "";
    size_t of_column[COLUMNS] = {0};
    CLOSED_BY(ratings_fini) struct ratings r;
    for (int i = 0; i < COLUMNS; i++)
        sprintf(text + strlen(text), i % 2 ? "a\t%d\nb\t%d\n" : "a\t%d\n", i, i);
    load_as(&r, (struct ratings){.is_implicit = true}, text, 1);
    r.train--;
    r.test++; /* b and 19 */
    ratings_add_absent(&r, TIMES, 1);
    CHECK_EQ(r.train, 29 + 9 * TIMES);
    CHECK_EQ(r.test, 1);
    CHECK(r.list[r.train].value == 1 && r.list[r.train].column == COLUMNS - 1);
    for (size_t i = 29; i < r.train; i++) {
        CHECK(r.list[i].row == 1 && ratings_is_absent(&r, &r.list[i]));
        of_column[r.list[i].column]++;
    }
    for (size_t i = 0; i < COLUMNS - 1; i++) CHECK((of_column[i] > 9) == (i % 2 == 0));
    CHECK(fabs(r.mean - 29.0 / (double)r.train) < 1e-12);
}

TEST(ratings, names_are_texts_and_large_numbers_no_sizes)
{
    CLOSED_BY(ratings_fini) struct ratings r;
    CLOSED_BY(ratings_fini) struct ratings matrix;
    load(&r, "7,NA,1\n07,\"#1, or \"\"two\"\"\nlines\",2\n7.0,nan,3\nx,?,4\n");
    CHECK(r.rows == 4 && r.columns == 4);
    CHECK_STR(names_get(&r.row_names, 1), "07");
    CHECK_STR(names_get(&r.column_names, 1), "#1, or \"two\"\nlines");
    load(&matrix, MATRIX "300000000 5 3\n1 1 4\n300000000 2 3\n3 1 5\n");
    CHECK(matrix.rows == 3 && matrix.columns == 5 && matrix.column_names.count == 0);
    CHECK_STR(names_get(&matrix.row_names, 2), "300000000");
    CHECK(matrix.list[1].value == 3 && matrix.list[1].row == 2 && matrix.list[1].column == 1 &&
          matrix.list[2].row == 1);
}

static const unsigned one_thread = 1, three_threads = 3;

static void load_cells(const void *threads)
{
    struct ratings r;
    ratings_init(&r);
    ratings_load(&r, path, NULL, 0, 1, *(const unsigned *)threads);
}

static void load_only(const void *text)
{
    write_cells(text, 0);
    load_cells(&one_thread);
}

TEST(ratings, malformed_cells_are_refused_with_their_line)
{
    static const char *const cases[][2] = {
        {"u,i,r,t\n1,2,,978301\n", "cells:2: \"\" is no rating"},
        {"1\t2\t3,5\n", "cells:1: \"3,5\" is no rating"},
        {"1,2,3\nNA,2,3\n", "cells:2: has an empty or missing user"},
        {"1,2,3\n1,4,3\n1,nan,3\n", "cells:3: has an empty or missing item"},
        {MATRIX "2 2 1\n1 1 1e39\n", "cells:3: 1e+39 is no rating: is too large"},
        {MATRIX "2 2 2\n1 1 5\n", "cells:3: the file ends after 1 of 2 values"}};
    ENDS_EACH(load_only, 1, cases);
}

TEST(ratings, columns_that_cannot_be_told_are_refused)
{
    static const char *const cases[][2] = {
        {"1,5,3,4,4\n2,1,3,5,5\n3,4,4,1,2\n", "has 5 columns, and no heading that tells"},
        {"0,1,31,2.5\n1,1,29,3\n", "cells:1: \"2.5\" is no time, as a fourth column has"},
        {"1,31,978300760\n2,29,978300761\n", "has times in its third column"},
        {"1,10,20\n2,11,20\n3,10,21\n4,12,22\n", "has numbers of its rows in its first column"},
        {"# item,user,rating\n1,2,3\n2,2,4\n", "a comment names its columns, in another order"}};
    ENDS_EACH(load_only, 1, cases);
}

static void load_two(const void *texts)
{
    const char *const *text = texts;
    CLOSED_BY(ratings_fini) struct ratings r;
    char second[2 * FOLDER_PATH_BYTES];
    write_cells(text[0], 0);
    snprintf(second, sizeof second, "%s/test", folder);
    folder_write(folder, "test", text[1], 0);
    ratings_init(&r);
    ratings_load(&r, path, second, 0, 1, 1);
    printf("%u rows, %g, %zu unknown%s\n", r.rows, (double)r.list[r.train].value, r.unknown,
           r.is_tested_again ? ", the same" : "");
    fflush(stdout);
}

TEST(ratings, a_test_is_of_the_rows_and_columns_trained_with)
{
    static const char named[] = "rating,user,item\n3,1,10\n4,2,10\n", plain[] = "u,i,3\nv,j,4\n",
                      matrix[] = MATRIX "3 2 2\n1 1 3\n2 2 4\n";
    static const struct {
        const char *texts[2];
        int status;
        const char *part;
    } cases[] = {
        {{named, "item,rating,user\n10,5,1\n"}, 0, "2 rows, 5, 0 unknown\n"},
        {{plain, "v,i,3\n"}, 0, "2 rows, 3, 0 unknown\n"},
        {{"0 3 1\n0 7 2\n1 3 1\n", "0 3 3\n1 7 4\n2 3 4\n3 7 3\n"}, 0, "4 rows, 3, 2 unknown\n"},
        {{plain, "u,j,2\nw,i,3\nu,k,3\n"}, 0, "3 rows, 2, 2 unknown\n"},
        {{plain, "i,u,3\nj,v,4\n"}, 1, "or its columns in another order?"},
        {{matrix, MATRIX "3 2 2\n2 1 3\n3 2 5\n"}, 0, "3 rows, 3, 1 unknown\n"},
        {{matrix, MATRIX "2 3 1\n1 2 3\n"}, 1, "2 rows and 3 columns, and the matrix to train"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ends_with(load_two, cases[i].texts, cases[i].status, cases[i].part);
}

/* ---- files that several threads read ---- */

enum { LONG_LINES = 150000, LONG_BYTES = LONG_LINES * 40 };

static const char long_matrix[] = MATRIX "% of a test\n1000 1000 150000\n";

/* Four parts and more, of names or of a matrix. */
static char *long_text(bool is_matrix, const char *first, size_t *length)
{
    char *text = take_memory(LONG_BYTES + 256, 1), *at = text + sprintf(text, "%s", first);
    for (size_t i = 0; i < LONG_LINES; i++) {
        size_t row = rng_mix(i) % (i + 10) % 900 + 1, column = rng_mix(i) % 777 + 1;
        at += sprintf(at,
                      is_matrix ? "%7zu %5zu\t%.6f0000000\n" : "u%zu,%zu and more,%.1f,978312345\n",
                      row, column, (double)(i % 11) / 2);
    }
    *length = (size_t)(at - text);
    CHECK(*length > (size_t)4 * LINE_PARTS_BYTES);
    return text;
}

/* One and the same with 1 and with several threads; in the tests' file, too. */
static void is_read_alike(const char *text, size_t length)
{
    CLOSED_BY(ratings_fini) struct ratings one;
    write_cells(text, length);
    ratings_init(&one);
    ratings_load(&one, path, path, 0, 1, 1);
    for (unsigned threads = 2; threads <= 4; threads++) {
        CLOSED_BY(ratings_fini) struct ratings several;
        ratings_init(&several);
        ratings_load(&several, path, path, 0, 1, threads);
        CHECK(several.train == LONG_LINES && several.test == LONG_LINES);
        CHECK_EQ(ratings_digest(&several, 0, 2 * LONG_LINES),
                 ratings_digest(&one, 0, 2 * LONG_LINES));
        CHECK(several.rows == one.rows && several.columns == one.columns);
        CHECK(memcmp(&several.mean, &one.mean, sizeof one.mean) == 0);
    }
}

TEST(ratings, threads_read_a_file_as_one_does)
{
    size_t length;
    char *text = long_text(true, long_matrix, &length);
    is_read_alike(text, length - 1); /* no newline at the end */
    free(text);
    text = long_text(false, "% of a test\nuser,item,rating,time\n", &length);
    /* a name of two lines, which no part of the file begins within */
    char *row = strchr(text + (size_t)3 * LINE_PARTS_BYTES, '\n') + 1, *name = strchr(row, ',') + 1;
    memcpy(name, "\"\n", 2);
    strchr(name, ',')[-1] = '"';
    is_read_alike(text, length);
    free(text);
}

/* The line behind this byte becomes wrong, and is the first one. */
static void is_refused_at(char *text, size_t length, size_t byte, const char *what)
{
    char part[64], *begin = strchr(text + byte, '\n') + 1;
    size_t line = 1;
    for (const char *c = text; c < begin; c++) line += *c == '\n';
    begin[1] = ',';
    snprintf(part, sizeof part, "cells:%zu: %s", line, what);
    write_cells(text, length);
    ends_with(load_cells, &three_threads, 1, part);
    ends_with(load_cells, &one_thread, 1, part);
}

/* From the last part to the first: it is always the first wrong line that is named. */
TEST(ratings, threads_name_the_first_wrong_line)
{
    size_t length;
    char *text = long_text(false, "", &length);
    for (size_t part = 5; part-- > 0;)
        is_refused_at(text, length, part * LINE_PARTS_BYTES + 100, "has 5 fields");
    free(text);
    /* more cells than declared, before a line that is wrong */
    text = long_text(true, MATRIX "% of a test\n1000 1000 100000\n", &length);
    strchr(text + length - 200, '\n')[1] = 'x';
    write_cells(text, length);
    ends_with(load_cells, &three_threads, 1, "cells:100004: there are more values than the 100000");
    free(text);
}

/* ---- held back ---- */

TEST(ratings, a_share_is_held_back)
{
    CLOSED_BY(ratings_fini) struct ratings r;
    char seen[10000] = {0};
    ratings_init(&r);
    for (uint32_t i = 0; i < 10000; i++) ratings_add(&r, (struct rating){.row = i, .value = 1});
    r.rows = 10000;
    r.columns = 1;
    ratings_finish(&r, 0.2, 5);
    CHECK(r.train + r.test == 10000 && r.test > 1800 && r.test < 2200);
    for (size_t i = 0; i < 10000; i++) CHECK_EQ(seen[r.list[i].row]++, 0);
}

/* The cell that is held back of the row "u"; "v" has one alone, which stays. */
TEST(ratings, one_of_each_row_is_held_back)
{
    static const struct {
        int split;
        const char *text, *column;
    } cases[] = {
        {RATINGS_ROW, "u x 1\nv x 2\nu y 3\nu z 4\n", ""},
        {RATINGS_LAST, "u x 1 978300762\nv x 2 978300769\nu y 3 978300764\nu z 4 978300763\n", "y"},
        {RATINGS_LAST, "date,user,item,rating\n5,u,x,1\n9,v,x,2\n4,u,y,3\n3,u,z,4\n", "x"},
        {RATINGS_LAST,
         "u\tx\t1\t2004-01-31 10:00\nv\tx\t2\t2004-01-31\nu\ty\t3\t2003-12-31 23:59:59\n"
         "u\tz\t4\t2004-01-31 10:00\n",
         "z"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLOSED_BY(ratings_fini) struct ratings r;
        load_as(&r, (struct ratings){.split = cases[i].split}, cases[i].text, 3);
        CHECK(r.test == 1 && r.train == 3);
        CHECK_STR(names_get(&r.row_names, r.list[3].row), "u");
        CHECK_STR(names_get(&r.column_names, r.list[3].column), cases[i].column);
    }
}

static void load_by_time(const void *text)
{
    struct ratings r;
    load_as(&r, (struct ratings){.split = RATINGS_LAST}, text, 1);
}

TEST(ratings, times_that_are_none_are_refused)
{
    static const char *const cases[][2] = {
        {"u x 1\nv x 2\nu y 3\nu z 4\n", "has no times, of which the last"},
        {"user,item,rating,time\nu,x,1,5\nv,y,1,noon\n",
         ":3: \"noon\" is no time: must be a number"},
        {"user,item,rating,time\nu,x,1,2004-01-31 01:00 pm\n", "pm\" is no time"},
        {MATRIX "2 2 1\n1 1 5\n", "is MatrixMarket, which has no times"}};
    ENDS_EACH(load_by_time, 1, cases);
}
