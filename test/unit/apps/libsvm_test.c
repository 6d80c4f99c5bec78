#include "common/folder.h"
#include "ending.h"
#include "libsvm.h"
#include "test.h"

#include <stdio.h>

static const char *path;

static void read_all(char *all, size_t capacity)
{
    CLOSED_BY(libsvm_close) struct libsvm s;
    struct libsvm_pair p;
    size_t at = 0;
    libsvm_open(&s, path, "label index:value ...");
    while (libsvm_next(&s)) {
        at += (size_t)snprintf(all + at, capacity - at, "%.*s", (int)s.label.length, s.label.text);
        while (libsvm_pair(&s, "feature", &p)) {
            if (p.has_field) at += (size_t)snprintf(all + at, capacity - at, " %u", p.field);
            at += (size_t)snprintf(all + at, capacity - at, p.has_field ? ":%u:%.*s" : " %u:%.*s",
                                   p.index, (int)p.value.length, p.value.text);
        }
        at += (size_t)snprintf(all + at, capacity - at, "/");
    }
}

static void read_text(const void *text)
{
    char all[1024];
    path = folder_file(text, 0);
    read_all(all, sizeof all);
}

TEST(libsvm, lines_have_a_label_and_pairs)
{
    char all[1024] = "";
    path = folder_file("1 3:0.5 7:1\n-1\n+1 2:4:1 2:5:-1e3\na.b 0:x", 0);
    read_all(all, sizeof all);
    CHECK_STR(all, "1 3:0.5 7:1/-1/+1 2:4:1 2:5:-1e3/a.b 0:x/");
}

TEST(libsvm, pairs_that_are_none_are_refused)
{
    static const char *const cases[][2] = {
        {"0 1:1\n1 2\n", "file:2: \"2\" is no feature: must be index:value. A line must be \"label "
                         "index:value ...\"; \"locus prepare "},
        {"0 1.5:1\n", "file:1: \"1.5\" is no feature: must be a whole number from 0 to 1073741823"},
        {"0 1073741824:1\n", "file:1: \"1073741824\" is no feature"},
        {"0 -1:1:1\n", "file:1: \"-1\" is no field"},
        {"0  1:1\n", "file:1: has two blanks"},
        {"0 1:1 \n", "file:1: has two blanks between words, or one at the end"},
        {"0 1:1 # x\n", "file:1: \"#\" is no feature"}};
    ENDS_EACH(read_text, 1, cases);
}
