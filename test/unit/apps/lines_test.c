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

/* The lines, with | behind each. */
static void has_lines(const char *text, const char *expected)
{
    CLOSED_BY(lines_close) struct lines l;
    char all[128] = "";
    uint64_t count = 0;
    write_text(text, 0);
    for (lines_open(&l, path, NULL); lines_next(&l); count++)
        sprintf(all + strlen(all), "%.*s|", (int)l.length, l.text);
    CHECK_EQ(l.number, count);
    if (strcmp(all, expected) != 0) test_fail(__FILE__, __LINE__, "%s: %s", text, all);
}

TEST(lines, next_ends_with_lf_or_with_the_file)
{
    has_lines("one\n two \n\tthree", "one| two |\tthree|");
    has_lines("", "");
}

static void read_all(const void *text)
{
    struct lines l;
    write_text(text, 0);
    lines_open(&l, path, "a TAB b");
    while (lines_next(&l)) continue;
}

TEST(lines, next_refuses_what_no_form_has)
{
    static const char *const cases[][2] = {
        {"", "text is empty. A line must be \"a TAB b\"; \"locus prepare "},
        {"one\n\ntwo\n", "text:2: is empty. A line must be \"a TAB b\"; \"locus prepare "},
        {"one\r\n", "text:1: has a carriage return in it: lines end with LF"},
        {"\xEF\xBB\xBFone\n", "text:1: begins with a byte order mark"}};
    ENDS_EACH(read_all, 1, cases);
}

TEST(lines, fields_have_tabs_between_and_are_not_empty)
{
    static const struct {
        const char *text;
        size_t count;
        bool are;
    } cases[] = {{"a\tb c\t#", 3, true}, {"a", 1, true},       {"a\tb", 1, false},
                 {"a\tb", 3, false},     {"a\t\tb", 3, false}, {"\ta\tb", 3, false},
                 {"a\tb\t", 3, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lines l = {.text = cases[i].text, .length = strlen(cases[i].text)};
        struct field field[3];
        CHECK_EQ(lines_fields(&l, field, cases[i].count), cases[i].are);
        if (cases[i].are && cases[i].count == 3)
            CHECK(field[1].length == 3 && field[2].text[0] == '#');
    }
}

TEST(lines, numbers_are_whole_fields)
{
    static const char *const wrong[] = {"",  "12x", "0x10",  " 7", "inf", "nan", ".",
                                        "-", "-.",  "1.2.3", "1-", "--1", "e5"};
    double number = 0;
    char many[101];
    memset(many, '1', sizeof many);
    CHECK(lines_number("2.5e1,", 5, &number) && number == 25);
    CHECK(lines_number("-31", 2, &number) && number == -3);
    CHECK(!lines_number("7\0", 2, &number));
    CHECK(!lines_number(many, sizeof many, &number));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (lines_number(wrong[i], strlen(wrong[i]), &number))
            test_fail(__FILE__, __LINE__, "%s is a number", wrong[i]);
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
    static const char texts[] =
        "0 -0 -0.0 .5 5. +3 -.25 1e3 0.1 123456789012345 1234567890123456 0.123456789012345 0.3 "
        "9007199254740993 1E-7 00012 -17.35";
    struct rng rng;
    char text[sizeof texts];
    memcpy(text, texts, sizeof texts);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) is_read_as_strtod(word);
    rng_init(&rng, 1, 2);
    for (int i = 0; i < 20000; i++) {
        snprintf(text, sizeof text, "%.*f", (int)rng_below(&rng, 20),
                 (rng_real(&rng) - 0.5) * (double)(UINT64_C(1) << rng_below(&rng, 60)));
        is_read_as_strtod(text);
        snprintf(text, sizeof text, "%.*g", (int)rng_below(&rng, 18), rng_real(&rng) - 0.5);
        is_read_as_strtod(text);
    }
}

enum change { SHORTER, REPLACED, OVERWRITTEN };

static void read_while_it_changes(const void *change)
{
    const enum change how = *(const enum change *)change;
    struct lines l;
    lines_open(&l, path, NULL);
    lines_next(&l);
    if (how == SHORTER && truncate(path, 0) == 0) lines_next(&l);
    if (how == REPLACED) unlink(path);
    folder_write(folder, "text", "three\nfour\n", 0);
    lines_fail(&l, "no such thing");
}

/* What is wrong in it may be that alone. */
TEST(lines, file_that_changes_is_named_as_the_cause)
{
    for (enum change how = SHORTER; how <= OVERWRITTEN; how++) {
        write_text("one\ntwo\n", 8);
        ends_with(read_while_it_changes, &how, 1,
                  how == SHORTER
                      ? "/text could not be read to its end: it became shorter"
                      : "/text was changed or replaced while it was read: start again\n");
    }
}

TEST(lines, digests_tell_files_and_seeds_apart)
{
    static const char *const texts[] = {"one\ntwo\n", "one\ntwo\n", "one\nTwo\n"};
    uint64_t digests[4];
    for (int i = 0; i < 3; i++) digests[i] = lines_digest(folder_file(texts[i], 0), 7);
    digests[3] = lines_digest(folder_file(texts[0], 0), 8);
    CHECK(digests[0] == digests[1] && digests[0] != digests[2] && digests[0] != digests[3]);
}

static void read_named(const void *name)
{
    struct lines l;
    for (lines_open(&l, name, NULL); lines_next(&l);)
        if (l.number == 2) lines_fail(&l, "no %d", 7);
}

TEST(lines, failures_name_file_and_line)
{
    static const char *const cases[][2] = {{path, "/text:2: has a zero byte"},
                                           {"/no/such/file", "/no/such/file: No such file"},
                                           {"/dev/null", "/dev/null: it is not a regular file"}};
    write_text("one\nt\0o\n", 8);
    ENDS_EACH(read_named, 1, cases);
    write_text("one\ntwo\n", 0);
    ends_with(read_named, path, 1, "/text:2: no 7\n");
}
