/* What a file's first rows tell: the separator, whether there is a heading, the columns' kinds. */
#include "fail.h"
#include "fields_cut.h"
#include "names.h"
#include "plain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TAB, COLONS, COMMA, SEMICOLON, BAR, BLANKS, SEPARATORS };
enum { WORDS_COMPARED = 8, NUMBERS_TRUSTED = 3 };

static const char *const separators[SEPARATORS] = {"\t", "::", ",", ";", "|", ""};
static const char *const separator_names[SEPARATORS] = {"tabs",       "\"::\"", "commas",
                                                        "semicolons", "bars",   "blanks"};

/* Before the first row again. */
static void go_back(struct fields *f, const struct lines *start)
{
    f->lines = *start;
    f->lines_behind = 0;
    f->has_begun = false;
}

/* The next row that is looked at; false: there is none, or it is wrong. */
static bool next_row(struct fields *f, fields_trouble *wrong)
{
    *wrong = NULL;
    if (!fields_next_line(f)) return false;
    *wrong = fields_cut(f);
    f->has_begun = true;
    return !*wrong;
}

/* ---- the separator ---- */

/* What the rows look like when one of them separates. */
struct attempt {
    size_t rows, fewest, most; /* fields of a row */
    bool is_padding;           /* it stands only behind commas and the like */
    bool has_padding;          /* so it is in a row */
    bool has_pairs;            /* a field of each row is two numbers with a blank between */
    bool has_tabs;             /* between a row's fields */
    size_t fields;             /* of the last row that was looked at */
    fields_trouble wrong;      /* of the first row that is no row: too few fields, too */
    uint64_t line;
    bool is_even;
};

static bool is_pair(const struct lines *l, struct field f)
{
    const char *end = f.text + f.length, *blank = f.text;
    double number;
    while (blank < end && !lines_is_blank(*blank)) blank++;
    const char *second = blank;
    while (second < end && lines_is_blank(*second)) second++;
    bool is_quoted = f.text > l->text && f.text[-1] == '"';
    return !is_quoted && second < end && lines_number(f.text, (size_t)(blank - f.text), &number) &&
           lines_number(second, (size_t)(end - second), &number);
}

static void look_at_row(struct attempt *a, const struct fields *f)
{
    bool has_pair = false, is_padding = true;
    if (a->rows == 0 || f->count < a->fewest) a->fewest = f->count;
    if (f->count > a->most) a->most = f->count;
    for (size_t i = 0; i < f->count; i++) {
        struct field x = f->all[i];
        bool is_padded = x.length > 0 && strchr(",;|", x.text[x.length - 1]);
        if (i + 1 < f->count && !is_padded) is_padding = false;
        has_pair = has_pair || is_pair(&f->lines, x);
    }
    if (!is_padding) a->is_padding = false;
    if (is_padding && f->count > 1) a->has_padding = true;
    if (!has_pair) a->has_pairs = false;
    if (memchr(f->lines.text, '\t', f->lines.length)) a->has_tabs = true;
    a->rows++;
}

static struct attempt attempt(struct fields *f, const struct fields_wanted *wanted, int separator)
{
    struct attempt a = {.is_padding = true, .has_pairs = true};
    const struct lines start = f->lines;
    size_t least = separator != BLANKS && wanted->least < 2 ? 2 : wanted->least;
    f->form.separator = separators[separator];
    while (!a.wrong && a.rows < FIELDS_LOOKED_AT && next_row(f, &a.wrong)) {
        if (f->count < least) a.wrong = "";
        if (!a.wrong) look_at_row(&a, f);
    }
    a.line = f->lines.number;
    a.fields = f->count;
    a.is_even = !a.wrong && (a.fewest == a.most || wanted->is_loose);
    go_back(f, &start);
    return a;
}

/* No separator makes rows of all lines: complains about the first line that the best one leaves. */
static _Noreturn void complain(struct fields *f, const struct attempt *attempts,
                               const struct fields_wanted *wanted)
{
    bool is_tabs = attempts[TAB].rows > 0 || !attempts[BLANKS].wrong;
    int best = attempts[BLANKS].has_padding           ? COMMA
               : attempts[BLANKS].has_tabs && is_tabs ? TAB
                                                      : BLANKS;
    fields_trouble wrong;
    for (int s = 0; s < BLANKS && best != TAB; s++)
        if (attempts[s].rows > attempts[best].rows ||
            (attempts[s].rows == attempts[best].rows &&
             ((*attempts[s].wrong && best == BLANKS) ||
              attempts[s].fields > attempts[best].fields)))
            best = s;
    f->form.separator = separators[best];
    for (size_t i = 0; i <= attempts[best].rows; i++) next_row(f, &wrong);
    if (wrong) lines_fail(&f->lines, "%s", wrong);
    lines_fail(&f->lines, "has %zu field%s, with %s between; must have at least %zu", f->count,
               plain_s(f->count), separator_names[best], wanted->least);
}

static _Noreturn void complain_of_two(struct fields *f, int one, int other)
{
    fields_trouble wrong;
    next_row(f, &wrong);
    lines_fail(&f->lines,
               "may have %s or %s between its fields: quote the fields that have others "
               "than the separator in them",
               separator_names[one], separator_names[other]);
}

/* The only one of those before blanks that is even, or that makes rows of all lines; two:
 * complains. */
static int only_one(struct fields *f, const struct attempt *a, bool is_even)
{
    int found = SEPARATORS;
    for (int s = 0; s < BLANKS; s++) {
        if (a[s].wrong || (is_even && !a[s].is_even)) continue;
        if (found < SEPARATORS) complain_of_two(f, found, s);
        found = s;
    }
    return found;
}

static int separator_of(struct fields *f, const struct fields_wanted *wanted)
{
    struct attempt a[SEPARATORS];
    for (int s = 0; s < SEPARATORS; s++) a[s] = attempt(f, wanted, s);
    if (a[BLANKS].rows == 0 && !a[BLANKS].wrong) return BLANKS; /* no line at all */
    if (a[TAB].is_even && !a[TAB].is_padding) return TAB;
    a[TAB].wrong = a[TAB].is_even ? "pads" : a[TAB].wrong;
    a[TAB].is_even = false;
    int found = only_one(f, a, true);
    if (found < SEPARATORS) {
        if (a[found].has_pairs && a[BLANKS].is_even) complain_of_two(f, found, BLANKS);
        return found;
    }
    found = only_one(f, a, false);
    /* Blanks that make rows of all lengths are part of fields, where there are tabs. */
    bool is_mixed = a[BLANKS].has_tabs && a[BLANKS].fewest < a[BLANKS].most;
    bool is_wrong = a[BLANKS].wrong || is_mixed || a[BLANKS].has_padding;
    if (found == SEPARATORS && is_wrong) complain(f, a, wanted);
    return found < SEPARATORS ? found : BLANKS;
}

/* ---- the first row ---- */

struct first_row {
    struct lines at;
    struct field *field;
    size_t count;
    size_t *numbers, *words; /* of the column in other rows */
    bool *is_seen;           /* in another row: in its column, or, of few columns, in any */
    size_t rows;             /* others */
    uint64_t begins;         /* with 0 or 1 ... */
    bool counts;             /* ... and all of the first column is the number of the row */
};

static void take_first(struct fields *f, struct first_row *r)
{
    size_t bytes = 1;
    for (size_t i = 0; i < f->count; i++) bytes += f->all[i].length;
    r->at = f->lines;
    r->count = f->count;
    r->field = take_memory(f->count, sizeof *r->field);
    r->numbers = take_memory(f->count, sizeof *r->numbers);
    r->words = take_memory(f->count, sizeof *r->words);
    r->is_seen = take_memory(f->count, sizeof *r->is_seen);
    r->counts = field_whole(f->all[0], 0, 1, &r->begins);
    char *to = f->names = take_memory(bytes, 1);
    for (size_t i = 0; i < f->count; i++) {
        memcpy(to, f->all[i].text, f->all[i].length);
        r->field[i] = (struct field){to, f->all[i].length};
        to += f->all[i].length;
    }
}

static void note_seen(const struct fields *f, struct first_row *r)
{
    for (size_t i = 0; i < r->count; i++) {
        if (r->is_seen[i] || r->field[i].length == 0) continue;
        bool is_any = r->count <= WORDS_COMPARED;
        for (size_t k = is_any ? 0 : i; k < f->count && (is_any || k == i); k++)
            if (field_equals(f->all[k], r->field[i])) r->is_seen[i] = true;
    }
}

static void note_row(const struct fields *f, struct first_row *r)
{
    double number;
    uint64_t count;
    note_seen(f, r);
    uint64_t next = r->begins + r->rows + 1;
    r->counts = r->counts && field_whole(f->all[0], next, next, &count);
    for (size_t i = 0; i < r->count && i < f->count; i++) {
        if (field_is_missing(f->all[i])) continue;
        bool is_number = lines_number(f->all[i].text, f->all[i].length, &number);
        r->numbers[i] += is_number;
        r->words[i] += !is_number;
    }
    r->rows++;
}

/* Of several files, the first row of one may be a heading, and tells nothing about columns. */
static bool may_be_heading(const struct fields *f)
{
    return f->lines.is_joined && lines_is_first(&f->lines);
}

/* At least so many, and all of their file. */
static void note_rows(struct fields *f, struct first_row *r, size_t least)
{
    fields_trouble wrong;
    bool is_over = false;
    while (!is_over && r->rows < FIELDS_LOOKED_AT && next_row(f, &wrong)) {
        f->form.columns = r->count;
        fields_check(f);
        f->form.columns = 0; /* comments may be anything yet */
        bool is_row = !may_be_heading(f);
        if (is_row) note_row(f, r);
        r->begins += !is_row; /* its number is passed over, too */
        is_over = !is_row && r->rows >= least;
    }
}

static void free_first(struct first_row *r)
{
    free(r->numbers);
    free(r->words);
    free(r->is_seen);
}

/* ---- a size without a banner ---- */

/* "rows columns cells", where all other lines are cells of that matrix. */
static bool is_matrix_size(struct fields *f, const struct first_row *r, const struct lines *start)
{
    uint64_t size[3], cell[2], rows = 0;
    fields_trouble wrong;
    if (r->count != 3 || r->rows == 0) return false;
    for (int i = 0; i < 3; i++)
        if (!field_whole(r->field[i], i < 2, UINT64_C(1) << 52, &size[i])) return false;
    go_back(f, start);
    next_row(f, &wrong);
    bool has_mark = f->lines.number > start->number + 1 && *start->next == '%';
    while (rows <= size[2] && next_row(f, &wrong)) {
        rows++;
        if (f->count < 2 || f->count > 3 || !field_whole(f->all[0], 1, size[0], &cell[0]) ||
            !field_whole(f->all[1], 1, size[1], &cell[1]))
            return false;
    }
    return rows == size[2] || has_mark;
}

/* "nodes edges", where all other lines are so many edges of that graph, up to its last node. */
static bool is_graph_size(struct fields *f, const struct first_row *r, const struct lines *start)
{
    uint64_t size[2], node, last = 0, rows = 0;
    fields_trouble wrong;
    if (!f->form.is_loose || r->count != 2 || r->rows < NUMBERS_TRUSTED) return false;
    for (int i = 0; i < 2; i++)
        if (!field_whole(r->field[i], 1, UINT64_C(1) << 52, &size[i])) return false;
    go_back(f, start);
    for (next_row(f, &wrong); rows <= size[1] && next_row(f, &wrong); rows++)
        for (size_t i = 0; i < 2; i++) {
            if (f->count < 2 || !field_whole(f->all[i], 0, size[0], &node)) return false;
            if (node > last) last = node;
        }
    return rows == size[1] && last + 1 >= size[0];
}

static void check_size(struct fields *f, const struct first_row *r, const struct lines *start)
{
    if (is_matrix_size(f, r, start))
        lines_fail(&r->at,
                   "looks like MatrixMarket's size, without its banner: begin the file "
                   "with \"%s matrix coordinate real general\"",
                   LINES_MATRIX_MARKET);
    if (is_graph_size(f, r, start))
        lines_fail(&r->at, "looks like a graph's numbers of nodes and edges: begin it with #; or, "
                           "if it is an edge, move it down");
}

/* ---- the heading ---- */

/* Usual names of columns, of small letters and digits alone. */
static const char *const usual[] = {
    "book",       "bookid",       "category",  "class",       "classid",  "click",      "count",
    "customer",   "date",         "dest",      "destination", "dst",      "edge",       "entity1",
    "entity2",    "feature",      "from",      "fromid",      "fromnode", "fromnodeid", "group",
    "head",       "headid",       "id",        "index",       "isbn",     "item",       "itemid",
    "label",      "labels",       "movie",     "movieid",     "name",     "node",       "node1",
    "node2",      "nodea",        "nodeb",     "nodeid",      "obj",      "object",     "objectid",
    "predicate",  "product",      "productid", "purpose",     "rating",   "rel",        "relation",
    "relationid", "relationship", "score",     "source",      "sourceid", "split",      "src",
    "subj",       "subject",      "subjectid", "tag",         "tail",     "tailid",     "target",
    "targetid",   "term",         "time",      "timestamp",   "title",    "to",         "toid",
    "tonode",     "tonodeid",     "type",      "user",        "userid",   "value",      "weight",
    "word",       "word1",        "word2",     "wordid"};

static bool is_usual(struct field name)
{
    struct fields one = {.form.columns = 1, .name = &name};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (fields_column(&one, usual[i], false) == 0) return true;
    return false;
}

static bool is_row_name(struct field f)
{
    return f.length == 0 || field_is(f, "Unnamed: 0");
}

enum first { ROW, HEADING, NAMED_TWICE, UNSURE };

/* A number, or one with something wrong about it: no name of a column. */
static bool is_like_number(struct field f)
{
    return f.length > 0 && (strchr("+-.0123456789", *f.text) || field_is_word(f, "inf") ||
                            field_is_word(f, "infinity"));
}

/* Where all columns have words: names of columns are usual ones, which no row has. A row none of
 * whose words comes again, where others' do, is hardly a row. */
static enum first of_words(struct fields *f, const struct first_row *r, const struct lines *start)
{
    size_t named = 0, seen = 0, repeated = 0;
    fields_trouble wrong;
    for (size_t i = 0; i < r->count; i++) {
        named += is_usual(r->field[i]) || (i == 0 && r->count > 1 && is_row_name(r->field[i]));
        seen += r->is_seen[i];
    }
    if (named == r->count) return r->rows == 0 || seen == 0 ? HEADING : UNSURE;
    if (seen > 0 || r->count > WORDS_COMPARED || r->rows < 2) return ROW;
    struct names words;
    names_init(&words);
    go_back(f, start);
    next_row(f, &wrong);
    struct first_row rest = *r;
    bool is_seen[WORDS_COMPARED] = {false};
    rest.is_seen = is_seen;
    for (size_t rows = 0; next_row(f, &wrong); rows++) {
        if (may_be_heading(f)) continue;
        note_seen(f, &rest);
        for (size_t i = 0; rows < FIELDS_LOOKED_AT && i < f->count; i++) {
            uint32_t before = words.count;
            repeated += names_add(&words, f->all[i].text, f->all[i].length) < before;
        }
    }
    names_fini(&words);
    for (size_t i = 0; i < r->count; i++) seen += is_seen[i];
    return seen == 0 && repeated > 0 ? UNSURE : ROW;
}

static bool has_twice(const struct first_row *r)
{
    for (size_t i = 1; i < r->count; i++)
        for (size_t k = 0; k < i; k++)
            if (field_equals(r->field[i], r->field[k])) return true;
    return false;
}

/* 0, 1, 2, ...: names that a program gave. */
static bool is_counted(const struct first_row *r, size_t first)
{
    uint64_t number;
    for (size_t i = first; i < r->count; i++)
        if (!field_whole(r->field[i], i - first, i - first, &number) ||
            memchr(r->field[i].text, '.', r->field[i].length))
            return false;
    return true;
}

static bool is_named(const struct first_row *r, const char *name)
{
    for (size_t i = 0; name && i < r->count; i++)
        if (field_is(r->field[i], name)) return true;
    return false;
}

static enum first first_of(struct fields *f, const struct first_row *r, const struct lines *start,
                           const char *name)
{
    size_t columns = 0, words = 0;
    bool has_row_names = is_row_name(r->field[0]) && r->count > 1, is_trusted = false,
         is_row = false;
    if (is_named(r, name)) return has_twice(r) ? NAMED_TWICE : HEADING;
    if (has_row_names && is_counted(r, 1)) return HEADING;
    if (r->count > 2 && *f->form.separator && r->rows > 0 && is_counted(r, 0)) return UNSURE;
    for (size_t i = has_row_names; i < r->count; i++) {
        struct field x = r->field[i];
        bool has_numbers = r->numbers[i] > 0 && r->words[i] == 0;
        bool is_word = !is_like_number(x) && !field_is_missing(x);
        columns += has_numbers;
        if (is_word || !has_numbers) is_row = is_row || r->is_seen[i];
        if (has_numbers && is_word) {
            words++;
            is_trusted = is_trusted || r->numbers[i] >= NUMBERS_TRUSTED;
        }
    }
    if (columns == 0) return of_words(f, r, start);
    if (words == 0) return ROW;
    if (words < columns) return is_trusted ? UNSURE : ROW;
    if (is_row) return UNSURE;
    return has_twice(r) ? NAMED_TWICE : HEADING;
}

/* "# item,user,rating", as NumPy writes it: names alone, of all columns. */
static void note_said(struct fields *f, const struct first_row *r, const struct lines *start)
{
    struct lines l = *start;
    while (lines_next(&l) && l.number < r->at.number) {
        while (l.length > 0 && strchr("#% \t", *l.text)) l.text++, l.length--;
        f->lines = l;
        if (l.length == 0 || memchr(l.text, '"', l.length) || fields_cut(f) || f->count != r->count)
            continue;
        size_t named = 0;
        while (named < f->count && is_usual(f->all[named])) named++;
        if (named < f->count) continue;
        free(f->said);
        f->said = take_memory(f->count, sizeof *f->said);
        memcpy(f->said, f->all, f->count * sizeof *f->said);
    }
}

/* ---- all of it ---- */

/* Does a row have usual names of columns alone, words wherever rows have numbers, or half of the
 * heading's names, in whatever order? */
static bool is_other_heading(const struct fields *f, const struct first_row *r, enum first first)
{
    struct fields heading = {.form.columns = r->count, .name = r->field};
    char name[LINES_SHOWN_MAX];
    size_t named = 0, known = 0, words = 0, numbers = 0;
    for (size_t i = 0; i < f->count; i++) {
        struct field x = f->all[i];
        bool has_numbers = i < r->count && r->numbers[i] >= NUMBERS_TRUSTED && r->words[i] == 0;
        snprintf(name, sizeof name, "%.*s", lines_shown(x.length), x.text);
        named += is_usual(x);
        numbers += has_numbers;
        if (is_like_number(x) || field_is_missing(x)) continue;
        words += has_numbers;
        known += fields_column(&heading, name, false) != FIELDS_NONE;
    }
    return (f->count == r->count && named == f->count) || (words > 0 && words == numbers) ||
           (first == HEADING && known > 0 && 2 * known >= f->count);
}

/* It would be taken for a row. */
static void check_other_headings(struct fields *f, const struct first_row *r,
                                 const struct lines *start, enum first first)
{
    fields_trouble wrong;
    go_back(f, start);
    next_row(f, &wrong);
    while (lines_next_file(&f->lines))
        if (next_row(f, &wrong) && is_other_heading(f, r, first))
            lines_fail(&f->lines,
                       "is another heading than the first file's: order the columns as there, "
                       "and copy its heading, or leave this one out");
}

static void set_columns(struct fields *f, struct first_row *r, enum first first)
{
    bool is_hiding = first == HEADING && r->count > f->form.least && is_row_name(r->field[0]);
    f->form.columns = r->count;
    f->form.hidden = is_hiding;
    f->counts_rows = first == ROW && r->counts && r->rows >= NUMBERS_TRUSTED;
    f->kind = take_memory(r->count, sizeof *f->kind);
    for (size_t i = 0; i < r->count; i++) {
        double number;
        struct field x = r->field[i];
        if (first != HEADING && !field_is_missing(x)) {
            bool is_number = lines_number(x.text, x.length, &number);
            r->numbers[i] += is_number;
            r->words[i] += !is_number;
        }
        f->kind[i] = r->words[i] ? FIELDS_WORDS : r->numbers[i] ? FIELDS_NUMBERS : FIELDS_EMPTY;
    }
    f->kind += f->form.hidden;
    if (first == HEADING) {
        f->name = r->field + f->form.hidden;
    } else {
        free(r->field);
    }
}

void fields_look(struct fields *f, const struct fields_wanted *wanted)
{
    const struct lines start = f->lines;
    struct first_row r = {0};
    fields_trouble wrong;
    f->form = (struct fields_form){.is_loose = wanted->is_loose, .least = wanted->least};
    f->form.separator = separators[separator_of(f, wanted)];
    if (!next_row(f, &wrong)) {
        go_back(f, &start);
        return;
    }
    take_first(f, &r);
    for (size_t i = 0; wanted->known && i < r.count; i++)
        r.is_seen[i] = names_find(wanted->known, r.field[i].text, r.field[i].length) != NAMES_NONE;
    note_rows(f, &r, NUMBERS_TRUSTED);
    const struct fields so_far = *f;
    check_size(f, &r, &start);
    enum first kind = first_of(f, &r, &start, wanted->name);
    if (f->lines.is_joined) check_other_headings(f, &r, &start, kind);
    go_back(f, &so_far.lines);
    f->lines_behind = so_far.lines_behind;
    f->has_begun = true;
    note_rows(f, &r, FIELDS_LOOKED_AT);
    if (kind == UNSURE)
        lines_fail(&r.at, "may be a heading or a row: begin it with #, and it is neither; or, if "
                          "it is a row, move it down");
    if (kind == NAMED_TWICE)
        lines_fail(&r.at,
                   "two columns have one name: rename one; or, if it is a row, move it down");
    set_columns(f, &r, kind);
    if (kind == ROW) note_said(f, &r, &start);
    free_first(&r);
    go_back(f, &start);
}
