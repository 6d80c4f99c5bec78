#include "common/folder.h"
#include "ending.h"
#include "fields.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static const char *path;

/* All rows, with | between fields and / behind rows; names of columns before, behind which is =. */
static void read_all(char *all, size_t capacity, const struct fields_wanted *wanted)
{
    CLOSED_BY(fields_close) struct fields f;
    size_t at = 0;
    fields_open(&f, path, wanted);
    for (size_t i = 0; f.name && i < f.form.columns - f.form.hidden; i++)
        at += (size_t)snprintf(all + at, capacity - at, "%.*s%s", (int)f.name[i].length,
                               f.name[i].text, i + 1 < f.form.columns - f.form.hidden ? "|" : "=");
    while (fields_next(&f)) {
        for (size_t i = 0; i < f.count; i++)
            at += (size_t)snprintf(all + at, capacity - at, "%s%.*s", i ? "|" : "",
                                   (int)f.field[i].length, f.field[i].text);
        at += (size_t)snprintf(all + at, capacity - at, "/");
    }
    all[at] = '\0';
}

static const struct fields_wanted two = {.least = 2}, three = {.least = 3},
                                  edges = {.least = 2, .is_loose = true};

static void reads(const struct fields_wanted *wanted, const char *text, const char *expected)
{
    char all[1024] = "";
    path = folder_file(text, 0);
    read_all(all, sizeof all, wanted);
    if (strcmp(all, expected) != 0)
        test_fail(__FILE__, __LINE__, "%s: is read as %s, not %s", text, all, expected);
}

static void read_wanted(const void *wanted)
{
    char all[4096];
    read_all(all, sizeof all, wanted);
}

static void refuses(const struct fields_wanted *wanted, const char *text, const char *part)
{
    path = folder_file(text, 0);
    ends_with(read_wanted, wanted, 1, part);
}

TEST(fields, blank_lines_and_comments_are_passed_over)
{
    reads(&two, "\n# nothing\n", "");
    reads(&two, "1,2\n3,4", "1|2/3|4/");
    reads(&two, "\n \n# made\n%by\n1,2\n\n # a tool\r\n3,4\r\n\n#\n \t\n", "1|2/3|4/");
    reads(&two, "\xEF\xBB\xBF# x\n1 , 2 \n 3,4\t\n", "1|2/3|4/");
    reads(&two, "|1x3 Cross validator\n1,a.\n2,b.\n", "1|a./2|b./");
    reads(&two,
          "\xEF\xBB\xBF"
          "1,2\n\xEF\xBB\xBF"
          "1,4\n",
          "1|2/1|4/");
}

TEST(fields, comment_that_may_be_a_row_is_refused)
{
    refuses(&two, "a,1\n#b,2\n", "file:2: is a comment, or a row");
    refuses(&two, "1 2\n#3 4\n", "file:2: is a comment, or a row");
    reads(&two, "#user,rating\na,1\n# b,2\n##b,2\n#b\n", "a|1/");
}

TEST(fields, separator_is_one_in_a_file)
{
    refuses(&two, "a,b\rc,d\re,f\r", "file:1: has a carriage return");
    reads(&three, "u\tx, y\t1\nv\ty\t2\n", "u|x, y|1/v|y|2/");
    reads(&three, "u::x:y::1::9\nv::y::2::9\n", "u|x:y|1|9/v|y|2|9/");
    reads(&three, "u;x;1,5\nv;y;2\n", "u|x|1,5/v|y|2/"); /* a wrong number is no heading */
    reads(&three, "u  x\t1\n v y 2 \n", "u|x|1/v|y|2/");
    refuses(&two, "a;1,5\nb;2,5\n", "file:1: may have commas or semicolons");
}

TEST(fields, rows_have_as_many_fields_as_the_first)
{
    refuses(&three, "1,2,3\n1,2\n",
            "file:2: has 2 fields, with commas between; must have at least 3");
    refuses(&two, "1,2,3\n1,2\n", "file:2: has 2 fields; the first row has 3");
    refuses(&two, "one\n", "file:1: has 1 field, with blanks between; must have at least 2");
    reads(&edges, "1 2\n3 4 {'weight': 3.0, 'x': 2}\n5 6 {}\n7 8 0.5\n", "1|2/3|4/5|6/7|8|0.5/");
    refuses(&edges, "x y\tz w\nx\n", "file:2: has 1 field, with tabs between");
}

TEST(fields, quotation_marks_are_those_of_rfc_4180)
{
    reads(&two, "\"Smith, John\",\"Lee, Kim\"\nx,y\n", "Smith, John|Lee, Kim/x|y/");
    reads(&two, "\"a \"\"b\"\" c\" , \"\"\n\"\"\"\",d\n", "a \"b\" c|/\"|d/");
    reads(&two, "\"one\ntwo\",1\n\"a\r\n\nb\",2\n", "one\ntwo|1/a\r\n\nb|2/");
    refuses(&two, "\"one\ntwo\",1\nx\"y,2\n", "file:3: has a quotation mark that is not around");
    refuses(&two, "a,1\nb,2\n\"c,3\nd,4\n",
            "file:3: has a quotation mark that no other one closes");
    reads(&two, "a\t#b\nC#\t\"#\"\n", "a|#b/C#|#/");
    /* where no text needs them, they are text */
    reads(&two, "\"a b\"\t1\n\"Heroes\"_(x)\t2\n\"\t3\n", "a b|1/\"Heroes\"_(x)|2/\"|3/");
}

TEST(fields, heading_is_known_by_the_rows_behind_it)
{
    reads(&three, "userId,movieId,rating\n1,31,2.5\n", "userId|movieId|rating=1|31|2.5/");
    reads(&two, ",Node_A,Node_B\nr1,x,y\nr2,y,z\n", "Node_A|Node_B=x|y/y|z/");
}

TEST(fields, heading_that_may_be_a_row_is_refused)
{
    char text[8 * FIELDS_LOOKED_AT + 64] = "user,rating\n";
    refuses(&two, "follower,followee\nx,y\ny,z\n", "file:1: may be a heading or a row");
    /* and one that comes again where nobody looks any more */
    for (int i = 0; i < FIELDS_LOOKED_AT; i++) strcat(text, "x,1\n");
    strcat(text, "user,rating\n");
    refuses(&two, text, "file:1002: is the heading again");
}

TEST(fields, row_names_are_no_column)
{
    reads(&three, ",userId,movieId,rating\n0,1,31,2.5\n1,1,29,3\n",
          "userId|movieId|rating=1|31|2.5/1|29|3/");
    reads(&two, ",0,1\n0,5,6\n1,7,8\n", "0|1=5|6/7|8/");
}

TEST(fields, sizes_of_matrices_and_graphs_are_no_rows)
{
    reads(&edges, "4 3\n1 2\n2 3\n3 4\n1 5\n", "4|3/1|2/2|3/3|4/1|5/");
}

TEST(fields, heading_has_as_many_fields_as_any_row)
{
    refuses(&edges, "from to\n1 0 1\n2 1 2\n", "file:2: has 3 fields; the heading has 2");
}

TEST(fields, columns_have_kinds_and_names)
{
    CLOSED_BY(fields_close) struct fields f;
    path = folder_file("name,Age in years,n,w\nx,1,NA,\n,,?,NaN\ny,2,7,null\n", 0);
    fields_open(&f, path, &two);
    CHECK_EQ(f.kind[0], FIELDS_WORDS);
    CHECK_EQ(f.kind[1], FIELDS_NUMBERS);
    CHECK_EQ(f.kind[2], FIELDS_NUMBERS);
    CHECK_EQ(f.kind[3], FIELDS_EMPTY);
    CHECK_EQ(fields_column(&f, "ageinyears", false), 1);
    CHECK_EQ(fields_column(&f, "age_In-years", false), 1);
    CHECK_EQ(fields_column(&f, "age in years", true), FIELDS_NONE);
    CHECK_EQ(fields_column(&f, "n", true), 2);
    CHECK_EQ(fields_column(&f, "na", false), FIELDS_NONE);
}
