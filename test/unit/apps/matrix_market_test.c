#include "common/folder.h"
#include "ending.h"
#include "matrix_market.h"
#include "test.h"

#include <stdio.h>

static const char *path;
static const unsigned none, array = MATRIX_ARRAY, graph = MATRIX_PATTERN | MATRIX_SYMMETRIC;

static void read_all(const void *kinds)
{
    CLOSED_BY(matrix_market_close) struct matrix_market m;
    struct matrix_market_cell c;
    matrix_market_open(&m, path, *(const unsigned *)kinds);
    printf("%ux%u:", m.rows, m.columns);
    while (matrix_market_next(&m, &c)) printf(" %u,%u=%g", c.row, c.column, c.value);
    printf("/\n");
    fflush(stdout);
}

static void reads(const unsigned *kinds, const char *text, const char *expected)
{
    path = folder_file(text, 0);
    CHECK(matrix_market_is(path));
    ends_with(read_all, kinds, 0, expected);
}

static void refuses(const unsigned *kinds, const char *text, const char *part)
{
    path = folder_file(text, 0);
    ends_with(read_all, kinds, 1, part);
}

TEST(matrix_market, a_banner_may_stand_behind_comments)
{
    reads(&none, "%%MatrixMarket matrix coordinate real general\n3 4 2\n1 4 0.1\n3 1 -2e3\n",
          "3x4: 0,3=0.1 2,0=-2000/");
    reads(&none,
          "\xEF\xBB\xBF\n# first\n%%matrixmarket Matrix Coordinate Integer General \r\n% x\n\n"
          " 3\t4 2 % size\r\n% y\n1 4 7 % cell\n \n3 1 2 # too\n\n",
          "3x4: 0,3=7 2,0=2/");
    reads(&none, "%%MatrixMarket matrix coordinate real general\n1000000000 5 1\n9 1 1\n",
          "1000000000x5: 8,0=1/");
    path = folder_file("1 2 3\n%%MatrixMarket matrix coordinate real general\n", 0);
    CHECK(!matrix_market_is(path));
    path = folder_file("% x\n", 0);
    CHECK(!matrix_market_is(path));
}

TEST(matrix_market, kinds_that_a_program_does_not_know_are_refused)
{
    reads(&array, "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n",
          "2x2: 0,0=1 1,0=2 0,1=3 1,1=4/");
    reads(&graph, "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n",
          "3x3: 1,0=1 2,2=1/");
    refuses(&none, "%%MatrixMarket matrix array real general\n2 2\n",
            "file:1: must be \"%%MatrixMarket matrix\", coordinate, real, integer, and general");
    refuses(&graph, "%%MatrixMarket matrix coordinate complex symmetric\n2 2 1\n",
            "real, integer or pattern");
    refuses(&none, "%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 1.5\n",
            "file:3: \"1.5\" is no whole number, and the banner says integer");
    reads(&none, "%%MatrixMarket matrix coordinate integer general % x\n2 2 1\n1 1 3.0\n",
          "2x2: 0,0=3/");
    refuses(&graph, "%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n",
            "file:2: has 2 rows and 3 columns");
}

#define BANNER "%%MatrixMarket matrix coordinate real general\n"

TEST(matrix_market, malformed_files_are_refused)
{
    refuses(&none, BANNER, "file:1: the file ends before its size");
    refuses(&none, BANNER "3 4\n", "file:2: has 2 numbers; a size here has 3");
    refuses(&none, BANNER "3 4 13\n", "\"13\" is no number of values");
    refuses(&none, BANNER "3 4 1\n1 1 1\n2 1 1\n", "file:4: there are more values than the 1");
    refuses(&none, BANNER "3 4 1\n4 1 1\n",
            "file:3: \"4\" is no row: must be a whole number from 1 to 3");
}
