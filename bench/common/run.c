#include "run.h"

#include "clock.h"
#include "machine.h"
#include "must.h"
#include "team.h"

#include "common/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct run run;

/* One of `values`, `count` and `text`. */
struct figure {
    char name[48];
    double *values; /* [repetitions] */
    unsigned valued;
    uint64_t count;
    const char *text;
};

static const struct json_style style = {"benchmark", ", ", ": ", 6};
static const char *program_name, *only; /* NULL: all cells */
static struct cell cells[CELLS_MAX];
static unsigned cell_total;

/* ---- The command line ---- */

static void add_common(struct args_list *list)
{
    const struct args_option common[] = {
        OPTION_SECTION("options of all benchmarks"),
        OPTION_FLAG("--quick", &run.quick, 0,
                    "small sizes, a few seconds: shows that it runs, not how fast"),
        OPTION_SMALL("--threads", "N", &run.threads, 1, TEAM_MAX, 0,
                     "the largest number of threads"),
        OPTION_SMALL("--repetitions", "N", &run.repetitions, 1, REPETITIONS_MAX, 0,
                     "how often each cell is measured"),
        OPTION_TEXT("--only", "WORDS", &only, 0,
                    "only cells with all these words in their name, such as: pull,length=128"),
    };
    args_add(list, common, sizeof common / sizeof *common);
}

void run_parse(const struct program *p, int argc, char **argv)
{
    static struct args_list list;
    const struct args_option own = OPTION_SECTION("options of this one");
    fail_set_program(program_name = p->name);
    run.threads = team_processors();
    add_common(&list);
    if (p->more_count > 0) {
        args_add(&list, &own, 1);
        args_add(&list, p->more, p->more_count);
    }
    args_parse(&(struct args_program){.name = p->name,
                                      .about = p->about,
                                      .options = list.options,
                                      .option_count = list.count},
               argc, argv);
    if (!run.repetitions) run.repetitions = run.quick ? p->quick : p->full;
}

static bool has_word(const char *name, const char *word, size_t length)
{
    for (const char *at = name; *at != '\0';) {
        size_t word_length = strcspn(at, " ");
        if (word_length == length && memcmp(at, word, length) == 0) return true;
        at += word_length + (at[word_length] == ' ');
    }
    return false;
}

/* Whether each of the words of --only, which commas separate, is a word of the name. */
static bool is_selected(const char *name)
{
    for (const char *word = only; word && *word != '\0';) {
        size_t length = strcspn(word, ",");
        if (length > 0 && !has_word(name, word, length)) return false;
        word += length + (word[length] == ',');
    }
    return true;
}

/* ---- Cells ---- */

struct cell *run_cell(const void *what, const void *where, bool is_shown, const char *name, ...)
{
    if (cell_total == CELLS_MAX) fail("more than %d cells", CELLS_MAX);
    struct cell *c = &cells[cell_total++];
    va_list arguments;
    va_start(arguments, name);
    vsnprintf(c->name, sizeof c->name, name, arguments);
    va_end(arguments);
    c->what = what;
    c->where = where;
    c->is_chosen = is_shown && is_selected(c->name);
    c->figure = must_alloc(CELL_FIGURES * sizeof *c->figure);
    return c;
}

struct cell *run_next(const struct cell *c)
{
    size_t next = c ? (size_t)(c - cells) + 1 : 0;
    return next < cell_total ? &cells[next] : NULL;
}

static struct figure *figure_of(struct cell *c, const char *name)
{
    for (unsigned i = 0; i < c->figures; i++)
        if (strcmp(c->figure[i].name, name) == 0) return &c->figure[i];
    if (c->figures == CELL_FIGURES) fail("%s has more than %d figures", c->name, CELL_FIGURES);
    struct figure *f = &c->figure[c->figures++];
    snprintf(f->name, sizeof f->name, "%s", name);
    return f;
}

double *cell_figure(struct cell *c, const char *name)
{
    struct figure *f = figure_of(c, name);
    if (!f->values) f->values = must_alloc(run.repetitions * sizeof *f->values);
    if (f->valued <= run.repetition) f->valued = run.repetition + 1;
    return &f->values[run.repetition];
}

uint64_t *cell_count(struct cell *c, const char *name)
{
    return &figure_of(c, name)->count;
}

void cell_text(struct cell *c, const char *name, const char *text)
{
    figure_of(c, name)->text = text;
}

void cell_times(struct cell *c, const struct latency *times)
{
    uint64_t shortest = latency_percentile(times, 0);
    *cell_figure(c, "p50_ns") = (double)latency_percentile(times, 50);
    *cell_figure(c, "p99_ns") = (double)latency_percentile(times, 99);
    *cell_figure(c, "p999_ns") = (double)latency_percentile(times, 99.9);
    uint64_t *least = cell_count(c, "shortest_ns"), *most = cell_count(c, "longest_ns");
    if (*least == 0 || shortest < *least) *least = shortest;
    if (times->longest_ns > *most) *most = times->longest_ns;
}

/* ---- The run ---- */

static void begin_line(struct json *j)
{
    json_begin_in(j, &style, stdout, program_name);
}

static bool is_chosen(const struct cell *c, const void *where)
{
    return c->is_chosen && c->where == where;
}

bool run_has(const void *where)
{
    for (const struct cell *c = NULL; (c = run_next(c));)
        if (is_chosen(c, where)) return true;
    return false;
}

void run_begin(void)
{
    struct json j;
    bool any = false;
    for (const struct cell *c = NULL; (c = run_next(c));) any |= c->is_chosen;
    if (!any) fail_usage("--only %s chooses no cell; --help tells the words", only);
    clock_measure();
    begin_line(&j);
    json_text(&j, "machine", machine_name());
    json_count(&j, "processors", team_processors());
    json_number(&j, "load", machine_load());
    json_count(&j, "quick", run.quick);
    json_count(&j, "repetitions", run.repetitions);
    json_count(&j, "clock_ns", clock_cost_ns);
    json_end(&j);
}

void run_end(void)
{
    struct json j;
    begin_line(&j);
    json_number(&j, "load_after", machine_load());
    json_end(&j);
}

static void report(const struct cell *c)
{
    struct json j;
    bool is_measured = false;
    for (unsigned i = 0; i < c->figures; i++) is_measured |= c->figure[i].valued > 0;
    if (!is_measured) return;
    begin_line(&j);
    json_text(&j, "cell", c->name);
    for (unsigned i = 0; i < c->figures; i++) {
        const struct figure *f = &c->figure[i];
        if (f->text)
            json_text(&j, f->name, f->text);
        else if (f->values)
            json_numbers(&j, f->name, f->values, f->valued);
        else
            json_count(&j, f->name, f->count);
    }
    json_end(&j);
}

void run_report(const void *where)
{
    run.repetition = 0;
    for (const struct cell *c = NULL; (c = run_next(c));)
        if (is_chosen(c, where)) report(c);
}

void run_measure(const void *where, void (*measure)(struct cell *))
{
    struct cell *chosen[CELLS_MAX];
    unsigned count = 0;
    for (struct cell *c = NULL; (c = run_next(c));)
        if (is_chosen(c, where)) chosen[count++] = c;
    for (run.repetition = 0; run.repetition < run.repetitions; run.repetition++)
        for (unsigned i = 0; i < count; i++)
            measure(chosen[run.repetition % 2 ? count - 1 - i : i]);
    run_report(where);
}
