/*
 * layout.c - latch and version of a row: in the directory word or in the row? Both, side by side,
 * in one run.
 *
 * It looks into the library: the layout that the library has is measured through its own headers,
 * so that nothing but the layout differs. Read layout/layout.h first; word.c, word_near.c and
 * header.c are the layouts.
 */
#include "layout/layout.h"

#include "common/json.h"

static const char *const about =
    "Times pull and push with latch and version of a row in its directory word (word: what\n"
    "locus does; word-near: without keeping neighbours' words in different cache lines) and in\n"
    "the row (row; row-padded: every row begins with a cache line), against a plain array.\n"
    "A cell's name, for --only, is like: word pull length=128 keys=64 uniform threads=1\n"
    "  first word    array word word-near row row-padded\n"
    "  further ones  pull push; length=1 16 128 1000; keys=1 64 (keys a call); uniform zipf-1.1;\n"
    "                threads=1 N";

static struct bench bench;

static void choose_sizes(struct bench *b)
{
    const struct options *o = &b->options;
    b->repetitions = o->repetitions ? o->repetitions : o->quick ? 2 : o->demo ? 5 : 7;
    b->teams[0] = 1;
    b->teams[1] = o->threads;
    b->team_count = o->threads > 1 ? 2 : 1;
    b->sequence = o->quick ? 1 << 16 : 1 << 21;
}

static void refuse_empty_selection(const struct bench *b)
{
    for (unsigned length = 0; length < LENGTHS; length++) {
        if (length_selected(b, length)) return;
    }
    options_refuse_selection(&b->options);
}

int main(int argc, char **argv)
{
    struct bench *b = &bench;
    options_parse(&b->options, &(struct program){.name = "layout", .about = about}, argc, argv);
    choose_sizes(b);
    refuse_empty_selection(b);
    b->report = options_report(&b->options);
    b->json = json_open(b->options.json);
    report_start(b);
    for (unsigned length = 0; length < LENGTHS; length++) {
        if (length_selected(b, length)) measure_length(b, length);
    }
    report_memory(b);
    report_summary(b);
    if (b->options.svg != NULL) draw(b);
    json_close(b->json);
    return 0;
}
