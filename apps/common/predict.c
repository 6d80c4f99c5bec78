#include "predict.h"

#include "fail.h"
#include "plain.h"
#include "saved.h"
#include "word2vec.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the model's rows as other tools read them: --export ---- */

enum { NONE, TSV, TEXT, BINARY };
static const char *const saved_formats[] = {
    [NONE] = "none", [TSV] = "tsv", [TEXT] = "text", [BINARY] = "binary", [BINARY + 1] = NULL};

static const struct named {
    const char *tensor, *names;
} all[] = {{"entities", "entity_names"}, {"relations", "relation_names"},
           {"inputs", "word_names"},     {"outputs", "word_names"},
           {"rows", "row_names"},        {"columns", "column_names"},
           {"row_biases", "row_names"},  {"column_biases", "column_names"},
           {"vectors", "features"},      {"wide", "features"},
           {"embeddings", "nodes"},      {"layer1.weight", "features"},
           {"word_topics", "words"},     {"coefficients", "columns"}};

static const struct saved_tensor *find(const struct saved *s, const char *name)
{
    const struct saved_tensor *t = NULL;
    for (size_t i = 0; i < s->tensor_count && !t; i++)
        if (strcmp(s->tensors[i].name, name) == 0) t = &s->tensors[i];
    return t;
}

static bool is_table(const struct saved_tensor *t)
{
    return t->type == TENSORS_F32 || t->type == TENSORS_F64;
}

/* `tensor` NULL: the first one of those above. Sets where its names are, if it may have some. */
static const struct saved_tensor *choose(const struct saved *s, const char *tensor,
                                         const char **names)
{
    const struct saved_tensor *t = tensor ? find(s, tensor) : NULL;
    for (size_t i = 0; i < sizeof all / sizeof *all && !*names; i++) {
        if (!tensor) t = find(s, all[i].tensor);
        if (t && (tensor || is_table(t)) && strcmp(t->name, all[i].tensor) == 0)
            *names = all[i].names;
    }
    if (!t && !tensor)
        saved_fail(s, "has no tensor whose rows may have names: --tensor says which to export");
    if (!t) saved_fail(s, "has no tensor \"%s\" (--tensor)", tensor);
    if (!is_table(t))
        saved_fail(s, "its tensor \"%s\" has the type %s, and is no table of numbers", t->name,
                   tensors_types[t->type].name);
    return t;
}

static void write_name(const struct names *n, uint64_t row)
{
    if (n->count == 0) printf("%" PRIu64, row);
    for (const char *c = n->count > 0 ? names_get(n, (uint32_t)(row % n->count)) : ""; *c; c++)
        putchar(*c == '\t' || *c == '\r' ? ' ' : *c);
}

static void write_tsv(const struct saved_tensor *t, const struct names *n)
{
    uint64_t columns = t->columns ? t->columns : 1;
    const float *floats = t->values;
    const double *doubles = t->values;
    for (uint64_t row = 0; row < t->rows; row++) {
        write_name(n, row);
        for (uint64_t i = row * columns; i < (row + 1) * columns; i++) {
            if (t->type == TENSORS_F32)
                printf("\t%.9g", (double)floats[i]);
            else
                printf("\t%.17g", doubles[i]);
        }
        putchar('\n');
    }
}

static void write_word2vec(const struct saved *s, const struct saved_tensor *t,
                           const struct names *n, bool is_binary)
{
    struct word2vec w;
    if (t->type != TENSORS_F32) saved_fail(s, "\"%s\" are doubles: --export tsv", t->name);
    word2vec_begin(&w, stdout, n, t->rows, t->columns ? t->columns : 1, is_binary);
    for (uint64_t row = 0; row < t->rows; row++) word2vec_put(&w, row, saved_row(t, row));
    word2vec_end(&w);
}

/* A tensor of floats or doubles; NULL: the first one whose rows may have names. A name that comes
 * again has a number behind it in word2vec's files; without names a row has its number, from 0. */
static void saved_export(const struct saved *s, int format, const char *tensor)
{
    const char *where = NULL;
    struct names names;
    const struct saved_tensor *t = choose(s, tensor, &where);
    saved_row_names(s, t, where ? where : "", &names);
    if (format == TSV)
        write_tsv(t, &names);
    else
        write_word2vec(s, t, &names, format == BINARY);
    names_fini(&names);
}

/* ---- answers ---- */

static struct json *begin(struct predict *p)
{
    bool is_first = !p->has_begun;
    p->has_begun = true;
    if (is_first && p->is_json) json_begin(&p->json, "prediction");
    if (!is_first && !p->is_json) putchar('\t');
    return p->is_json ? &p->json : NULL;
}

void predict_text(struct predict *p, const char *name, struct field text)
{
    struct json *j = begin(p);
    if (!j) plain_print("%.*s", (int)text.length, text.text);
    if (!j) return;
    char *copy = take_memory(text.length + 1, 1);
    memcpy(copy, text.text, text.length);
    json_text(j, name, copy);
    free(copy);
}

void predict_number(struct predict *p, const char *name, double number)
{
    struct json *j = begin(p);
    json_number(j, name, number);
    if (!j) printf(isfinite(number) ? "%.9g" : "nan", number);
}

void predict_numbers(struct predict *p, const char *name, const double *list, size_t count)
{
    if (p->is_json)
        json_numbers(begin(p), name, list, count);
    else
        for (size_t i = 0; i < count; i++) predict_number(p, name, list[i]);
}

void predict_end(struct predict *p)
{
    if (p->is_json)
        json_end(&p->json);
    else
        putchar('\n');
    p->has_begun = false;
}

struct field predict_called(const struct names *n, uint32_t number, uint32_t first,
                            char text[PREDICT_NUMBER_BYTES])
{
    snprintf(text, PREDICT_NUMBER_BYTES, "%" PRIu32, number + first);
    const char *its = n->count > 0 ? names_get(n, number) : text;
    return (struct field){its, strlen(its)};
}

void predict_name(struct predict *p, const char *name, const struct names *n, uint32_t number,
                  uint32_t first)
{
    char text[PREDICT_NUMBER_BYTES];
    predict_text(p, name, predict_called(n, number, first, text));
}

uint32_t predict_row(const struct names *n, uint64_t rows, struct field f, uint32_t first)
{
    uint64_t number;
    if (n->count > 0) return names_find(n, f.text, f.length);
    if (rows == 0 || !field_whole(f, first, rows - 1 + first, &number)) return NAMES_NONE;
    return (uint32_t)(number - first);
}

/* ---- the best ones ---- */

void predict_offer(struct predict *p, uint32_t number, float score)
{
    top_offer(p->candidates, &p->candidate_count, p->best, number, score);
}

/* ---- lines ---- */

/* Is the line a name, with blanks or commas in it? */
static bool is_name(const struct predict *p)
{
    const char *first = p->lines.text, *end = first + p->lines.length;
    while (first < end && *first == ' ') first++;
    while (first < end && end[-1] == ' ') end--;
    for (size_t i = 0; i < 2 && p->alone[i]; i++)
        if (names_find(p->alone[i], first, (size_t)(end - first)) != NAMES_NONE) return true;
    return false;
}

/* Quotation marks are as any others. */
static void cut(struct predict *p)
{
    const struct lines *l = &p->lines;
    char mark = memchr(l->text, '\t', l->length) || is_name(p) ? '\t'
                : memchr(l->text, ',', l->length)              ? ','
                                                               : ' ';
    p->fields = 0;
    for (size_t at = 0, stop; at <= l->length; at = stop + 1) {
        while (at < l->length && l->text[at] == ' ') at++;
        for (stop = at; stop < l->length && l->text[stop] != mark;) stop++;
        size_t last = stop;
        while (last > at && l->text[last - 1] == ' ') last--;
        if (mark == ' ' && last == at) break;
        if (p->fields == p->kind->fields_max)
            lines_fail(l, "has more than %zu fields: %s predict --help says what a line is",
                       p->kind->fields_max, fail_program());
        p->field[p->fields++] = (struct field){l->text + at, last - at};
    }
    if (p->fields_first == 0) p->fields_first = p->fields;
    if (p->fields != p->fields_first)
        lines_fail(l, "has %zu field%s, and the lines before have %zu: ask one kind of question",
                   p->fields, plain_s(p->fields), p->fields_first);
}

static bool next(struct predict *p)
{
    struct field word;
    if (!p->kind->is_text) return lines_next_data(&p->lines);
    while (lines_next(&p->lines)) {
        const char *at = p->lines.text;
        lines_check_end(&p->lines);
        if (lines_text_word(&p->lines, &at, &word)) return true;
    }
    return false;
}

void predict_lines(struct predict *p)
{
    lines_open_stream(&p->lines, p->path);
    while (next(p)) {
        if (p->kind->fields_max > 0) cut(p);
        p->candidate_count = 0;
        p->kind->answer(p);
        if (fflush(stdout) != 0) break;
    }
    lines_close(&p->lines);
}

/* ---- the command ---- */

static void open_model(struct predict *p, const char *path)
{
    char wanted[64];
    saved_open(&p->model, path);
    const char *model = saved_note(&p->model, "model");
    if (!model)
        saved_fail(&p->model,
                   "is no model of %s: its metadata have no \"model\" (of an archive: notes.json)",
                   fail_program());
    snprintf(wanted, sizeof wanted, "|%s|", model);
    if (!strstr(p->kind->model, wanted))
        saved_fail(&p->model, "is no model of %s: it says that it is \"%s\"", fail_program(),
                   model);
}

static void parse(struct predict *p, const char *program, int argc, char **argv)
{
    const struct predict_kind *k = p->kind;
    char name[64], **words;
    struct args_list list = {0};
    const struct args_option section = OPTION_SECTION("options");
    const struct args_option best[] = {
        OPTION_COUNT("--best", "N", &p->best, k->best > 0, PREDICT_BEST_MAX, 0, k->best_help)};
    const struct args_option last[] = {
        OPTION_FLAG("--json", &p->is_json, 0, "JSON lines on stdout"),
        OPTION_CHOICE(
            "--export", "FORMAT", &p->format, saved_formats, 0,
            "instead of predictions write the model's rows on\nstdout: tsv, or word2vec's text or binary"),
        OPTION_TEXT("--tensor", "NAME", &p->tensor, 0,
                    "the rows to export; without, the first that have names"),
    };
    snprintf(name, sizeof name, "%s predict", program);
    args_add(&list, &section, 1);
    if (k->best_help) args_add(&list, best, 1);
    if (k->options) k->options(p->program, &list);
    args_add(&list, last, sizeof last / sizeof *last);
    args_parse(&(struct args_program){.name = name,
                                      .about = k->about,
                                      .more = k->more,
                                      .arguments = "MODEL [FILE]",
                                      .options = list.options,
                                      .option_count = list.count,
                                      .words = &words},
               argc, argv);
    if (!words[0]) fail_usage("MODEL is missing: a file that %s has written by --out", program);
    for (char **word = words + 1; *word; word++)
        if (strncmp(*word, "--", 2) == 0)
            fail_usage("%s is behind MODEL: options come before it", *word);
    if (words[1] && words[2])
        fail_usage("\"%s\" is one word too many: MODEL and FILE are all", words[2]);
    args_needs("--tensor", "--export");
    if (p->format && p->is_json) fail_usage("--json has no effect with --export: leave it out");
    if (p->format && words[1]) fail_usage("--export reads no FILE, and \"%s\" is given", words[1]);
    p->path = words[1] ? words[1] : "-";
    open_model(p, words[0]);
}

int predict_run(const char *program, const struct predict_kind *kind, int argc, char **argv)
{
    struct predict p = {.kind = kind, .best = kind->best};
    fail_set_program(program);
    p.program = take_memory(1, kind->program_bytes);
    parse(&p, program, argc, argv);
    if (p.format) {
        saved_export(&p.model, p.format, p.tensor);
        saved_close(&p.model);
        free(p.program);
        return fail_unless_printed();
    }
    p.candidates = take_memory(p.best + 1, sizeof *p.candidates);
    p.field = take_memory(kind->fields_max + 1, sizeof *p.field);
    kind->open(&p);
    if (kind->all)
        kind->all(&p);
    else
        predict_lines(&p);
    kind->close(&p);
    if (p.unknown > 0)
        fprintf(stderr, "%s: %" PRIu64 " line%s with a name that the model does not know\n",
                program, p.unknown, plain_s(p.unknown));
    saved_close(&p.model);
    free(p.program);
    free(p.candidates);
    free(p.field);
    return fail_unless_printed();
}
