#include "common/folder.h"
#include "ending.h"
#include "line_parts.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY = 4096, THREADS_MAX = 5 };

static const char *path;

/* What was taken, and with which numbers when the lines came by themselves. */
struct taken {
    char text[CAPACITY];
    size_t length;
    size_t parts, unread;
    char refused; /* parts with this letter are not read */
};

struct made {
    char text[CAPACITY];
    size_t length;
};

static void append(char *text, size_t *length, const struct lines *l)
{
    CHECK(*length + l->length + 1 < CAPACITY);
    memcpy(text + *length, l->text, l->length);
    text[*length + l->length] = '\n';
    *length += l->length + 1;
}

static bool read_part(const void *context, void *made, struct lines *part)
{
    const struct taken *t = context;
    struct made *m = made;
    m->length = 0;
    while (lines_step(part)) {
        append(m->text, &m->length, part);
        if (t->refused && memchr(part->text, t->refused, part->length)) return false;
    }
    return true;
}

static uint64_t line_of(const char *text, const char *at)
{
    uint64_t line = 1;
    for (; text < at; text++) line += *text == '\n';
    return line;
}

static void take_part(void *context, void *made, struct lines *part, bool is_read)
{
    struct taken *t = context;
    const struct made *m = made;
    t->parts++;
    t->unread += !is_read;
    if (is_read) {
        memcpy(t->text + t->length, m->text, m->length);
        t->length += m->length;
        return;
    }
    while (lines_next(part)) {
        CHECK_EQ(part->number, line_of(part->file, part->text));
        append(t->text, &t->length, part);
    }
}

static void run(struct lines *l, struct taken *t, unsigned threads, size_t bytes)
{
    static struct made made[2 * THREADS_MAX];
    void *each[2 * THREADS_MAX];
    for (unsigned i = 0; i < line_parts_count(threads); i++) each[i] = &made[i];
    line_parts_run(l, &(struct line_parts){.threads = threads,
                                           .bytes = bytes,
                                           .context = t,
                                           .made = each,
                                           .read = read_part,
                                           .take = take_part});
}

static void check_text(const char *text, const char *wanted, uint64_t lines, char refused)
{
    static struct taken t;
    path = folder_file(text, 0);
    for (unsigned threads = 1; threads <= THREADS_MAX; threads++)
        for (size_t bytes = 1; bytes < 40; bytes += bytes < 8 ? 1 : 5) {
            struct lines l;
            lines_open(&l, path, NULL);
            t = (struct taken){.refused = refused};
            run(&l, &t, threads, bytes);
            CHECK_EQ(t.length, strlen(wanted));
            CHECK(memcmp(t.text, wanted, t.length) == 0);
            CHECK_EQ(l.number, lines);
            CHECK(!lines_next(&l));
            /* several threads read ahead, and one does not */
            if (threads == 1) CHECK(t.parts <= 1 && t.unread == t.parts);
            if (t.parts > 1) CHECK(t.unread == 0 || strchr(text, refused));
            lines_close(&l);
        }
}

/* Those with x are not read ahead, but by who takes them. */
TEST(line_parts, have_all_lines_in_their_order)
{
    static const struct {
        const char *text, *wanted;
        uint64_t lines;
    } cases[] = {
        {"one\ntwo\nthree and more\nfour\nf\nsix\n", "one\ntwo\nthree and more\nfour\nf\nsix\n", 6},
        {"a\nb\nc\nd\ne\nno newline at the end", "a\nb\nc\nd\ne\nno newline at the end\n", 6},
        {"a\na line that is longer than any part, and than two together, by far\nb",
         "a\na line that is longer than any part, and than two together, by far\nb\n", 3},
        {"", "", 0},
        {"a\nb\nxc\nd\ne\nf\ng\nh\nxi\nj\nk\nl\nx", "a\nb\nxc\nd\ne\nf\ng\nh\nxi\nj\nk\nl\nx\n",
         13}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_text(cases[i].text, cases[i].wanted, cases[i].lines, 'x');
}

static void run_with_zeros(const void *threads)
{
    static struct taken t;
    struct lines l;
    lines_open(&l, path, NULL);
    run(&l, &t, *(const unsigned *)threads, 4);
}

TEST(line_parts, zero_byte_is_refused_with_its_line)
{
    static const char text[] = "a\nb\nc\nd\ne\nf\0\ng\nh\0\n";
    path = folder_file(text, sizeof text - 1);
    for (unsigned threads = 1; threads <= THREADS_MAX; threads++)
        ends_with(run_with_zeros, &threads, 1, "file:6: has a zero byte");
}
