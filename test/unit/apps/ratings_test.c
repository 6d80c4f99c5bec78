/* mf's cells: from files, made up, held back. */
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
    ratings_load(r, path, NULL, 0, 1, threads);
}

/* ---- files ---- */

TEST(ratings, load_takes_names_as_they_are)
{
    for (unsigned threads = 1; threads <= 2; threads++) {
        CLOSED_BY(ratings_fini) struct ratings r;
        load_as(&r, (struct ratings){.is_implicit = false},
                "1\t\"31\"\t2.5\n1\t# x, y\t3.0\n01\t\"31\"\t3.5", threads);
        CHECK(r.train == 3 && r.test == 0 && r.rows == 2 && r.columns == 2);
        CHECK(fabs(r.mean - 3) < 1e-12 && r.list[2].value == 3.5F);
        CHECK_STR(names_get(&r.row_names, 1), "01");
        CHECK_STR(names_get(&r.column_names, 0), "\"31\"");
        CHECK_STR(names_get(&r.column_names, 1), "# x, y");
    }
}

TEST(ratings, implicit_ones_count_whatever_their_values)
{
    CLOSED_BY(ratings_fini) struct ratings r;
    load_as(&r, (struct ratings){.is_implicit = true}, "u\tx\t5\nv\ty\t0\nu\ty\t-2\n", 2);
    CHECK_EQ(r.train, 3);
    for (size_t c = 0; c < 3; c++) CHECK(r.list[c].value == 1);
    CHECK(r.list[1].row == 1 && r.list[2].row == 0 && r.list[2].column == 1);
}

/* Of 20 columns row 0 has all, row 1 half of them; cells to test with stay behind. */
TEST(ratings, absent_cells_are_none_that_are_there)
{
    enum { TIMES = 40, COLUMNS = 20 };
    char text[1024] = "";
    size_t of_column[COLUMNS] = {0};
    CLOSED_BY(ratings_fini) struct ratings r;
    for (int i = 0; i < COLUMNS; i++)
        sprintf(text + strlen(text), i % 2 ? "a\t%d\t1\nb\t%d\t1\n" : "a\t%d\t1\n", i, i);
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

TEST(ratings, load_refuses_other_lines)
{
    static const char *const cases[][2] = {
        {"user\titem\trating\n1\t2\t3\n", "cells:1: \"rating\" is no value: must be a number"},
        {"1\t2\t3,5\n", "cells:1: \"3,5\" is no value"},
        {"1\t2\t3\n1\t2\tnan\n", "cells:2: \"nan\" is no value"},
        {"1\t2\t1e39\n", "cells:1: \"1e39\" is no value: is too large for a float"},
        {"1\t2\t3\n1\t\t3\n", "cells:2: has an empty field"},
        {"1\t2\t3\t978301\n",
         "cells:1: has 4 fields with tabs between, not 3. A line must be \"row TAB "
         "column TAB value\"; \"locus prepare "},
        {"1,2,3\n", "cells:1: has 1 field with tabs"},
        {"1\t2\t3\r\n", "cells:1: has a carriage return"},
        {"", "cells is empty. A line must be \"row TAB column TAB value\""}};
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
    static const char plain[] = "u\ti\t3\nv\tj\t4\n";
    static const struct {
        const char *texts[2];
        int status;
        const char *part;
    } cases[] = {
        {{plain, "v\ti\t3\n"}, 0, "2 rows, 3, 0 unknown\n"},
        {{"0\t3\t1\n0\t7\t2\n1\t3\t1\n", "0\t3\t3\n1\t7\t4\n2\t3\t4\n3\t7\t3\n"},
         0,
         "4 rows, 3, 2 unknown\n"},
        {{plain, plain}, 0, "2 rows, 3, 0 unknown, the same\n"},
        {{plain, "u\tj\t2\nw\ti\t3\nu\tk\t3\n"}, 0, "3 rows, 2, 2 unknown\n"},
        {{plain, "i\tu\t3\nj\tv\t4\n"}, 1, "or its columns in another order?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ends_with(load_two, cases[i].texts, cases[i].status, cases[i].part);
}

/* ---- files that several threads read ---- */

enum { LONG_LINES = 150000, LONG_BYTES = LONG_LINES * 40 };

/* Four parts and more. */
static char *long_text(size_t *length)
{
    char *text = take_memory(LONG_BYTES + 256, 1), *at = text;
    for (size_t i = 0; i < LONG_LINES; i++) {
        size_t row = rng_mix(i) % (i + 10) % 900 + 1, column = rng_mix(i) % 777 + 1;
        at += sprintf(at, "u%zu\t%zu and some more\t%.1f\n", row, column, (double)(i % 11) / 2);
    }
    *length = (size_t)(at - text);
    CHECK(*length > (size_t)3 * LINE_PARTS_BYTES);
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
    char *text = long_text(&length);
    is_read_alike(text, length - 1); /* no newline at the end */
    free(text);
}

/* The line behind this byte becomes wrong, and is the first one. */
static void is_refused_at(char *text, size_t length, size_t byte, const char *what)
{
    char part[64], *begin = strchr(text + byte, '\n') + 1;
    size_t line = 1;
    for (const char *c = text; c < begin; c++) line += *c == '\n';
    strchr(begin, '\t')[1] = '\t';
    snprintf(part, sizeof part, "cells:%zu: %s", line, what);
    write_cells(text, length);
    ends_with(load_cells, &three_threads, 1, part);
    ends_with(load_cells, &one_thread, 1, part);
}

/* From the last part to the first: it is always the first wrong line that is named. */
TEST(ratings, threads_name_the_first_wrong_line)
{
    size_t length;
    char *text = long_text(&length);
    for (size_t part = 4; part-- > 0;)
        is_refused_at(text, length, part * LINE_PARTS_BYTES + 100, "has 4 fields");
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

TEST(ratings, write_gives_files_that_load_takes)
{
    CLOSED_BY(ratings_fini) struct ratings r;
    CLOSED_BY(ratings_fini) struct ratings again;
    char train[3 * FOLDER_PATH_BYTES], test[3 * FOLDER_PATH_BYTES];
    size_t length;
    char *text = long_text(&length);
    write_cells(text, length);
    free(text);
    ratings_init(&r);
    ratings_load(&r, path, NULL, 0.2, 1, 1);
    snprintf(train, sizeof train, "%s/split/train.txt", folder);
    snprintf(test, sizeof test, "%s/split/test.txt", folder);
    snprintf(path, sizeof path, "%s/split", folder);
    ratings_write(&r, path);
    ratings_init(&again);
    ratings_load(&again, train, test, 0, 1, 1);
    CHECK(again.train == r.train && again.test == r.test && r.test > 0);
    for (size_t i = 0; i < r.train + r.test; i++) {
        const struct rating *x = &r.list[i], *y = &again.list[i];
        CHECK(memcmp(&x->value, &y->value, sizeof x->value) == 0);
        CHECK_STR(names_get(&r.row_names, x->row), names_get(&again.row_names, y->row));
        CHECK_STR(names_get(&r.column_names, x->column), names_get(&again.column_names, y->column));
    }
}
