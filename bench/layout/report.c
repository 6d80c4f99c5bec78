/* Tables, JSON lines and the picture. */
#include "layout.h"

#include "../common/floors.h"
#include "../common/json.h"
#include "../common/machine.h"
#include "../common/plot.h"
#include "../common/report.h"
#include "../common/table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void report_start(const struct bench *b)
{
    FILE *out = b->report;
    report_title(out, "layout: latch and version of a row in the directory word or in the row");
    fprintf(out,
            "array    the floor: packed rows, %s instructions, no protection, no prefetching\n",
            floors_instructions());
    fprintf(
        out,
        "word     latch and version in the directory word, neighbours' words in different cache lines\n");
    fprintf(out, "  -near  neighbours' words side by side\n");
    fprintf(out, "row      latch and version in 8 bytes before the row, rows packed\n");
    fprintf(out, "  -padded  every row begins with a cache line\n");
    fprintf(
        out,
        "method   the layouts take turns; x is the median ratio to the array within a repetition, of %u;\n",
        b->repetitions);
    fprintf(out, "         +- is the largest median distance from it in the line\n");
    if (b->options.quick)
        fprintf(
            out,
            "quick    sizes that fit into caches: these figures say that it runs, not how fast\n");
    fputc('\n', out);
}

/* ---- Settings ---- */

static void json_cell(const struct bench *b, unsigned length, unsigned choice, unsigned team,
                      unsigned operation, unsigned layout)
{
    const struct cell *c = &b->cells[length][choice][team][operation][layout];
    char name[96];
    if (!c->measured) return;
    cell_name(name, sizeof name, b, length, choice, team, operation, layout);
    json_begin(b->json, "layout");
    json_text(b->json, "cell", name);
    json_text(b->json, "layout", layouts[layout]->name);
    json_text(b->json, "operation", operation_names[operation]);
    json_count(b->json, "length", lengths[length]);
    json_count(b->json, "rows", rows_of(b, lengths[length]));
    json_count(b->json, "keys_per_call", operation_keys[operation]);
    json_text(b->json, "keys", key_choice_name((enum key_choice)choice));
    json_count(b->json, "threads", b->teams[team]);
    json_count(b->json, "repetitions", b->repetitions);
    json_spread(b->json, "ns_per_key", c->time);
    json_spread(b->json, "ratio_to_array", c->to_array);
    if (c->to_word.median > 0) json_spread(b->json, "ratio_to_word", c->to_word);
    json_end(b->json);
}

static void add_operation(struct table *t, unsigned operation, const struct cell *cells)
{
    double distance = 0;
    table_add(t, "%s", operation_names[operation]);
    table_add(t, "%u", operation_keys[operation]);
    table_add(t, "%.1f", cells[ARRAY].time.median);
    for (unsigned layout = ARRAY + 1; layout < LAYOUTS; layout++) {
        table_add_if(t, cells[layout].measured, "%.2fx", cells[layout].to_array.median);
        distance = fmax(distance, cells[layout].to_array.mad);
    }
    table_add(t, "+- %.2f", distance);
}

void report_setting(const struct bench *b, unsigned length, unsigned choice, unsigned team)
{
    struct table t = table_new("lrrrrrrr");
    const char *const header[] = {"",          "keys a call", "array ns",   "word",
                                  "word-near", "row",         "row-padded", ""};
    table_header(&t, header);
    for (unsigned operation = 0; operation < OPERATIONS; operation++) {
        const struct cell *cells = b->cells[length][choice][team][operation];
        for (unsigned layout = 0; layout < LAYOUTS; layout++)
            json_cell(b, length, choice, team, operation, layout);
        if (cells[ARRAY].measured) add_operation(&t, operation, cells);
    }
    fprintf(b->report, "%" PRIu32 " float%s a row, %" PRIu64 " k rows, %s keys, %u thread%s\n",
            lengths[length], lengths[length] == 1 ? "" : "s", rows_of(b, lengths[length]) / 1000,
            key_choice_name((enum key_choice)choice), b->teams[team],
            b->teams[team] == 1 ? "" : "s");
    table_print(&t, b->report);
    fputc('\n', b->report);
}

/* ---- Memory ---- */

static void json_memory(const struct bench *b, unsigned length, unsigned layout)
{
    json_begin(b->json, "layout");
    json_text(b->json, "layout", layouts[layout]->name);
    json_text(b->json, "operation", "memory");
    json_count(b->json, "length", lengths[length]);
    json_count(b->json, "rows", rows_of(b, lengths[length]));
    json_number(b->json, "bytes_beside_values_per_key", b->bytes_beside[length][layout]);
    json_end(b->json);
}

void report_memory(const struct bench *b)
{
    struct table t = table_new("lrrrr");
    table_add(&t, "bytes a key beside its values");
    for (unsigned layout = ARRAY + 1; layout < LAYOUTS; layout++)
        table_add(&t, "%s", layouts[layout]->name);
    for (unsigned length = 0; length < LENGTHS; length++) {
        if (!length_selected(b, length)) continue;
        table_add(&t, "%" PRIu32 " float%s a row", lengths[length],
                  lengths[length] == 1 ? "" : "s");
        for (unsigned layout = ARRAY + 1; layout < LAYOUTS; layout++) {
            bool known = layout_selected(b, length, layout);
            table_add_if(&t, known, "%.1f", b->bytes_beside[length][layout]);
            if (known) json_memory(b, length, layout);
        }
    }
    table_print(&t, b->report);
    fputc('\n', b->report);
}

/* ---- Summary ---- */

/* The geometric mean, over the row lengths, of the ratios to `word`; 0 when there is none. */
static double mean_to_word(const struct bench *b, unsigned choice, unsigned team,
                           unsigned operation, unsigned layout)
{
    double logarithms = 0;
    unsigned count = 0;
    for (unsigned length = 0; length < LENGTHS; length++) {
        const struct cell *c = &b->cells[length][choice][team][operation][layout];
        if (c->to_word.median <= 0) continue;
        logarithms += log(c->to_word.median);
        count++;
    }
    return count ? exp(logarithms / count) : 0;
}

static void add_means(struct table *t, const struct bench *b, unsigned choice, unsigned team,
                      unsigned operation)
{
    if (mean_to_word(b, choice, team, operation, WORD) <= 0) return;
    table_add(t, "%s", operation_names[operation]);
    table_add(t, "%u", operation_keys[operation]);
    table_add(t, "%s", key_choice_name((enum key_choice)choice));
    table_add(t, "%u", b->teams[team]);
    for (unsigned layout = WORD_NEAR; layout < LAYOUTS; layout++) {
        double mean = mean_to_word(b, choice, team, operation, layout);
        table_add_if(t, mean > 0, "%.2f", mean);
    }
}

void report_summary(const struct bench *b)
{
    struct table t = table_new("lrlrrrr");
    const char *const header[] = {"time, word = 1", "keys a call", "keys",      "threads",
                                  "word-near",      "row",         "row-padded"};
    table_header(&t, header);
    for (unsigned team = 0; team < b->team_count; team++) {
        for (unsigned choice = 0; choice < CHOICES; choice++) {
            table_gap(&t);
            for (unsigned operation = 0; operation < OPERATIONS; operation++)
                add_means(&t, b, choice, team, operation);
        }
    }
    fprintf(b->report,
            "Ratios to `word` within a repetition, geometric mean over the row lengths\n");
    table_print(&t, b->report);
}

/* ---- The picture: uniform keys, one thread ---- */

static bool fill_group(const struct bench *b, struct plot_group *g, unsigned length,
                       unsigned operation)
{
    static const char *const labels[LENGTHS] = {"1", "16", "128", "1000"};
    static const char *const sections[OPERATIONS] = {"pull, 1 key a call", "pull, 64 keys a call",
                                                     "push, 1 key a call", "push, 64 keys a call"};
    const struct cell *cells = b->cells[length][KEYS_UNIFORM][0][operation];
    bool complete = true;
    *g = (struct plot_group){.section = sections[operation], .label = labels[length]};
    for (unsigned layout = WORD; layout < LAYOUTS; layout++) {
        g->values[layout - WORD] = cells[layout].to_array.median;
        complete &= cells[layout].measured;
    }
    return complete;
}

static void draw_groups(const struct bench *b, const struct plot_group *groups, size_t count)
{
    char subtitle[256];
    snprintf(subtitle, sizeof subtitle,
             "random rows among 1 M (100 k of 1000 floats), one thread, %s; lower is better",
             machine_processor());
    plot_svg(&(struct plot){.title = "Latch and version: directory word or row",
                            .subtitle = subtitle,
                            .axis = "time a row (plain array = 1)",
                            .label_name = "floats",
                            .unit = "x",
                            .baseline = "plain array",
                            .series = {"word", "word-near", "row", "row-padded"},
                            .series_count = LAYOUTS - WORD,
                            .groups = groups,
                            .group_count = count},
             1, b->options.svg, b->report);
}

void draw(const struct bench *b)
{
    struct plot_group groups[OPERATIONS * LENGTHS];
    size_t count = 0;
    bool complete = true;
    for (unsigned operation = 0; operation < OPERATIONS; operation++) {
        for (unsigned length = 0; length < LENGTHS; length++)
            complete &= fill_group(b, &groups[count++], length, operation);
    }
    if (complete)
        draw_groups(b, groups, count);
    else
        fprintf(b->report,
                "%s was not drawn: the picture needs all layouts, uniform keys and one thread.\n",
                b->options.svg);
}
