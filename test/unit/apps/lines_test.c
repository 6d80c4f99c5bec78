#include "common/folder.h"
#include "ending.h"
#include "lines.h"
#include "rng.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[FOLDER_PATH_BYTES], path[2 * FOLDER_PATH_BYTES];

static void write_text(const char *text, size_t length)
{
    folder_new(folder);
    folder_write(folder, "text", text, length);
    snprintf(path, sizeof path, "%s/text", folder);
}

static void open_text(struct lines *l, const char *text, size_t length)
{
    write_text(text, length);
    lines_open(l, path);
}

static void next_is(struct lines *l, const char *text)
{
    CHECK(lines_next(l));
    CHECK_EQ(l->length, strlen(text));
    CHECK(memcmp(l->text, text, l->length) == 0);
}

TEST(lines, end_with_lf_or_crlf_or_with_the_file)
{
    CLOSED_BY(lines_close) struct lines l;
    open_text(&l, "one\ntwo\r\n\n\r\nfive\r", 0);
    next_is(&l, "one");
    next_is(&l, "two");
    next_is(&l, "");
    next_is(&l, "");
    next_is(&l, "five");
    CHECK_EQ(l.number, 5);
    CHECK(!lines_next(&l));
}

TEST(lines, an_empty_file_has_none)
{
    CLOSED_BY(lines_close) struct lines l;
    open_text(&l, "", 0);
    CHECK(!lines_next(&l));
}

TEST(lines, numbers_are_whole_fields)
{
    double number = 0;
    char many[101];
    memset(many, '1', sizeof many);
    CHECK(lines_number("2.5e1,", 5, &number) && number == 25);
    CHECK(lines_number("-31", 2, &number) && number == -3);
    CHECK(!lines_number("", 0, &number));
    CHECK(!lines_number("12x", 3, &number));
    CHECK(!lines_number("0x10", 4, &number));
    CHECK(!lines_number(" 7", 2, &number));
    CHECK(!lines_number("7\0", 2, &number));
    CHECK(!lines_number("inf", 3, &number));
    CHECK(!lines_number("nan", 3, &number));
    CHECK(!lines_number(many, sizeof many, &number));
}

/* Whatever way is taken: bit for bit. */
static void is_read_as_strtod(const char *text)
{
    double number = 7, expected = strtod(text, NULL);
    CHECK(lines_number(text, strlen(text), &number));
    if (memcmp(&number, &expected, sizeof number) != 0)
        test_fail(__FILE__, __LINE__, "%s: %.17g is not %.17g", text, number, expected);
}

TEST(lines, numbers_are_those_of_strtod)
{
    static const char *const texts[] = {"0",
                                        "-0",
                                        "-0.0",
                                        ".5",
                                        "5.",
                                        "+3",
                                        "-.25",
                                        "1e3",
                                        "0.1",
                                        "123456789012345",
                                        "1234567890123456",
                                        "0.123456789012345",
                                        "0.3",
                                        "9007199254740993",
                                        "1E-7",
                                        "00012",
                                        "-17.35"};
    struct rng rng;
    char text[64];
    double number;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) is_read_as_strtod(texts[i]);
    rng_init(&rng, 1, 2);
    for (int i = 0; i < 20000; i++) {
        snprintf(text, sizeof text, "%.*f", (int)rng_below(&rng, 20),
                 (rng_real(&rng) - 0.5) * (double)(UINT64_C(1) << rng_below(&rng, 60)));
        is_read_as_strtod(text);
        snprintf(text, sizeof text, "%.*g", (int)rng_below(&rng, 18), rng_real(&rng) - 0.5);
        is_read_as_strtod(text);
    }
    for (const char *const *wrong =
             (const char *const[]){".", "-", "-.", "1.2.3", "1-", "--1", "e5", NULL};
         *wrong; wrong++)
        CHECK(!lines_number(*wrong, strlen(*wrong), &number));
}

TEST(lines, a_byte_order_mark_is_no_text)
{
    CLOSED_BY(lines_close) struct lines l;
    open_text(&l, "\xEF\xBB\xBFone\ntwo\n\xEF\xBB\xBF\n\xEF\xBB\xBFthree\xEF\xBB\xBF\n", 0);
    next_is(&l, "one");
    next_is(&l, "two");
    next_is(&l, "");
    next_is(&l, "three\xEF\xBB\xBF"); /* files that were put together */
}

static void read_all(const void *unused)
{
    struct lines l;
    (void)unused;
    lines_open(&l, path);
    while (lines_next(&l)) {
    }
}

TEST(lines, a_zero_byte_is_no_text)
{
    write_text("one\nt\0o\n", 8);
    ends_with(read_all, NULL, 1, "text:2: has a zero byte");
}

static void read_what_is_gone(const void *ignored)
{
    struct lines l;
    (void)ignored;
    lines_open(&l, path);
    lines_next(&l);
    if (truncate(path, 0) == 0) lines_next(&l);
}

TEST(lines, a_file_that_becomes_shorter_ends_with_a_sentence)
{
    write_text("one\ntwo\n", 8);
    ends_with(read_what_is_gone, NULL, 1, "/text could not be read to its end: it became shorter");
}

static void complain_of_what_was(const void *how)
{
    struct lines l;
    lines_open(&l, path);
    lines_next(&l);
    if (how) unlink(path);
    folder_write(folder, "text", "three\nfour\n", 0);
    lines_fail(&l, "no such thing");
}

/* What is wrong in it may be that alone. */
TEST(lines, a_file_that_changes_is_said_to)
{
    static const char said[] = "/text was changed or replaced while it was read: start again\n";
    for (int i = 0; i < 2; i++) {
        write_text("one\ntwo\n", 8);
        ends_with(complain_of_what_was, i ? said : NULL, 1, said);
    }
}

TEST(lines, equal_files_have_equal_digests)
{
    char other[2 * FOLDER_PATH_BYTES];
    folder_new(folder);
    folder_write(folder, "a", "one\ntwo\n", 0);
    folder_write(folder, "b", "one\ntwo\n", 0);
    folder_write(folder, "c", "one\nTwo\n", 0);
    snprintf(path, sizeof path, "%s/a", folder);
    snprintf(other, sizeof other, "%s/b", folder);
    CHECK_EQ(lines_digest(path, 7), lines_digest(other, 7));
    CHECK(lines_digest(path, 7) != lines_digest(other, 8));
    snprintf(other, sizeof other, "%s/c", folder);
    CHECK(lines_digest(path, 7) != lines_digest(other, 7));
}

static void open_named(const void *name)
{
    struct lines l;
    lines_open(&l, name);
}

TEST(lines, say_why_a_file_cannot_be_read)
{
    ends_with(open_named, "/no/such/file", 1, "/no/such/file: No such file");
    ends_with(open_named, "/tmp", 1, "/tmp: it is a folder, not a file");
    ends_with(open_named, "/dev/null", 1, "/dev/null: it is not a regular file");
}

static void complain(const void *lines)
{
    lines_fail(lines, "no %d", 7);
}

TEST(lines, complain_with_file_and_line)
{
    CLOSED_BY(lines_close) struct lines l;
    open_text(&l, "one\ntwo\n", 0);
    lines_next(&l);
    lines_next(&l);
    ends_with(complain, &l, 1, "/text:2: no 7\n");
}
