#include "fields.h"

#include "fail.h"
#include "fields_cut.h"
#include "plain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- a row ---- */

/* Quotation marks are RFC 4180's. Where tabs, "::" or blanks separate, a field that has others is
 * what it is. */
static bool is_strict(const struct fields_form *form)
{
    return strchr(",;|", *form->separator) && *form->separator;
}

static const char *end_of_field(const struct fields_form *form, const char *at, const char *end)
{
    size_t length = strlen(form->separator);
    const char *stop;
    if (length == 1) {
        stop = memchr(at, *form->separator, (size_t)(end - at));
    } else if (length > 1) {
        stop = memmem(at, (size_t)(end - at), form->separator, length);
    } else {
        for (stop = at; stop < end && !lines_is_blank(*stop);) stop++;
    }
    return stop ? stop : end;
}

static bool is_end_of_field(const struct fields_form *form, const char *at, const char *end)
{
    return at == end ||
           (*form->separator ? end_of_field(form, at, end) == at : lines_is_blank(*at));
}

/* A tab is no blank where tabs separate. */
static const char *behind_blanks(const struct fields_form *form, const char *at, const char *end)
{
    while (at < end && lines_is_blank(*at) && *at != *form->separator) at++;
    return at;
}

/* The mark that closes, from behind the one that opens; two together are one of the text. */
static const char *closing_mark(const char *at, const char *end)
{
    for (;; at += 2) {
        at = memchr(at, '"', (size_t)(end - at));
        if (!at || at + 1 == end || at[1] != '"') return at;
    }
}

/* Makes the row one line longer. */
static bool extend(struct fields *f)
{
    struct lines *l = &f->lines, next = *l;
    if (!lines_next(&next)) return false;
    l->length = (size_t)(next.text + next.length - l->text);
    l->next = next.next;
    f->lines_behind++;
    return true;
}

/* At `at`, an opening mark; `at` goes to the end of the field. False: has marks of another kind. */
static bool quoted_field(struct fields *f, const char **at, struct field *to, fields_trouble *wrong)
{
    const struct lines *l = &f->lines;
    const char *from = *at + 1, *end = l->text + l->length, *close = closing_mark(from, end);
    while (!close && is_strict(&f->form)) {
        size_t before = l->length;
        if (!extend(f)) {
            *wrong = "has a quotation mark that no other one closes";
            return false;
        }
        end = l->text + l->length;
        close = closing_mark(l->text + before, end);
    }
    const char *behind = close ? behind_blanks(&f->form, close + 1, end) : NULL;
    bool is_whole = close && (is_end_of_field(&f->form, close + 1, end) ||
                              (*f->form.separator && is_end_of_field(&f->form, behind, end)));
    if (!is_whole) return false;
    *to = (struct field){from, (size_t)(close - from)};
    *at = *f->form.separator ? behind : close + 1;
    return true;
}

static const char inner_mark[] = "has a quotation mark that is not around a whole field: quote the "
                                 "field, and double the mark";

static void bare_field(const struct fields_form *form, const char **at, const char *end,
                       struct field *to)
{
    const char *from = *at, *stop = end_of_field(form, from, end), *last = stop;
    while (last > from && lines_is_blank(last[-1])) last--;
    *to = (struct field){from, (size_t)(last - from)};
    *at = stop;
}

/* A field without quotation marks around it, in a row that has # or a mark somewhere: may it be
 * what it is? */
static fields_trouble check_field(const struct fields_form *form, struct field f)
{
    if (is_strict(form) && memchr(f.text, '"', f.length)) return inner_mark;
    /* Blanks would cut what begins here, and is to end behind them. */
    bool is_open = !*form->separator && f.length > 1 && *f.text == '"';
    if (is_open && !memchr(f.text + 1, '"', f.length - 1)) return inner_mark;
    const char *mark = f.text, *end = f.text + f.length;
    for (; *form->separator && (mark = memchr(mark, '#', (size_t)(end - mark))); mark++) {
        bool is_begun = mark == f.text || lines_is_blank(mark[-1]);
        if (is_begun && (mark + 1 == end || lines_is_blank(mark[1])))
            return "has # between blanks: quote the field, or give the comment a line of its own";
    }
    return NULL;
}

/* In the file, marks are before and behind the text. */
static bool is_quoted(const struct lines *l, struct field f)
{
    return f.text > l->text && f.text[-1] == '"';
}

static fields_trouble check_fields(const struct fields *f)
{
    const struct lines *l = &f->lines;
    fields_trouble wrong = NULL;
    if (!memchr(l->text, '"', l->length) && !memchr(l->text, '#', l->length)) return NULL;
    for (size_t i = 0; !wrong && i < f->count; i++)
        if (!is_quoted(l, f->all[i])) wrong = check_field(&f->form, f->all[i]);
    return wrong;
}

/* NULL, or the beginning of attributes as NetworkX writes them: {...} up to the end. */
static const char *attributes(const struct lines *l)
{
    const char *at = l->text, *end = l->text + l->length;
    while (end > at && lines_is_blank(end[-1])) end--;
    if (end == at || end[-1] != '}') return NULL;
    while ((at = memchr(at, '{', (size_t)(end - at)))) {
        if (at > l->text && strchr(" \t,;|", at[-1])) return at;
        at++;
    }
    return NULL;
}

static const char *end_of_row(const struct fields *f)
{
    const char *stop = f->form.is_loose ? attributes(&f->lines) : NULL;
    return stop ? stop : f->lines.text + f->lines.length;
}

/* One field, and `at` to the separator behind it. */
static fields_trouble next_field(struct fields *f, const char **at, const char **end,
                                 struct field *to)
{
    fields_trouble wrong = NULL;
    *at = behind_blanks(&f->form, *at, *end);
    if (*at < *end && **at == '"') {
        bool is_whole = quoted_field(f, at, to, &wrong);
        /* it goes on in the next line, or what looked like attributes stands within its marks */
        if (f->lines_behind > 0 || *at > *end) *end = f->lines.text + f->lines.length;
        if (is_whole || wrong) return wrong;
        if (is_strict(&f->form)) return inner_mark;
    }
    bare_field(&f->form, at, *end, to);
    return NULL;
}

/* Two marks within quotation marks become one. */
static void unquote(struct fields *f)
{
    const struct lines *l = &f->lines;
    if (!memchr(l->text, '"', l->length)) return;
    if (!f->unquoted || f->unquoted_capacity < l->length) {
        free(f->unquoted);
        f->unquoted = take_memory(l->length, 1);
        f->unquoted_capacity = l->length;
    }
    char *to = f->unquoted;
    for (size_t i = 0; i < f->count; i++) {
        struct field *x = &f->all[i];
        if (!is_quoted(l, *x) || !memchr(x->text, '"', x->length)) continue;
        char *first = to;
        for (size_t k = 0; k < x->length; k++) {
            *to++ = x->text[k];
            if (x->text[k] == '"') k++;
        }
        *x = (struct field){first, (size_t)(to - first)};
    }
}

fields_trouble fields_cut(struct fields *f)
{
    const struct fields_form *form = &f->form;
    const char *at = f->lines.text, *end = end_of_row(f);
    size_t length = strlen(form->separator);
    for (f->count = 0;;) {
        if (length == 0) {
            at = behind_blanks(form, at, end);
            if (at == end || (*at == '#' && (at + 1 == end || lines_is_blank(at[1])))) break;
        }
        if (f->count == FIELDS_MAX) return "has more columns than any format here may have";
        fields_trouble wrong = next_field(f, &at, &end, &f->all[f->count]);
        if (wrong) return wrong;
        f->count++;
        if (length == 0) continue;
        if (at == end) break;
        at += length;
    }
    fields_trouble wrong = check_fields(f);
    unquote(f);
    return wrong;
}

/* ---- comments that may be rows ---- */

/* A comment without a blank behind its mark looks like a row, if it has as many fields, and numbers
 * where rows have them: it may be a name that begins with # or %. */
static bool may_be_row(struct fields *f)
{
    const struct fields_form *form = &f->form;
    const enum fields_kind *kind = f->kind - form->hidden;
    struct lines l = f->lines;
    size_t numbers = 0;
    double number;
    while (l.length > 0 && lines_is_blank(*l.text)) l.text++, l.length--;
    if (l.length < 2 || strchr("#% \t!", l.text[1]) || memchr(l.text, '"', l.length)) return false;
    struct lines kept = f->lines;
    f->lines = l;
    bool is_row = !fields_cut(f) && (form->is_loose ? f->count >= form->least + form->hidden
                                                    : f->count == form->columns);
    f->lines = kept;
    for (size_t i = 0; is_row && i < f->count && i < form->columns; i++) {
        struct field x = f->all[i];
        if (kind[i] != FIELDS_NUMBERS) continue;
        if (i == 0) x.text++, x.length--;
        is_row = lines_number(x.text, x.length, &number);
        numbers++;
    }
    return is_row && (numbers > 0 || f->has_begun);
}

/* What some files of the UCI collection begin with: | and a text of one field. */
static bool is_title(const struct fields *f)
{
    const struct lines *l = &f->lines;
    const char *end = l->text + l->length;
    return *l->text == '|' && *f->form.separator && *f->form.separator != '|' &&
           end_of_field(&f->form, l->text, end) == end;
}

/* Where it is no heading, so it is passed over by who only looks. */
static bool is_heading_of_other(struct fields *f)
{
    const struct lines *l = &f->lines;
    struct field line = {l->text, l->length};
    if (!l->is_joined) return false;
    if (!f->first.text) f->first = line;
    return (f->name || !f->kind) && line.text != f->first.text && field_equals(line, f->first);
}

bool fields_next_line(struct fields *f)
{
    struct lines *l = &f->lines;
    l->number += f->lines_behind;
    f->lines_behind = 0;
    while (lines_next(l)) {
        if (!lines_is_data(l)) {
            if (f->form.columns > 0 && l->length > 0 && may_be_row(f))
                lines_fail(l, "is a comment, or a row whose first field begins so: put a blank "
                              "behind the mark, or quote the field");
            continue;
        }
        if (!f->has_begun && is_title(f)) continue;
        if (is_heading_of_other(f)) continue;
        return true;
    }
    return false;
}

/* ---- rows ---- */

void fields_check(const struct fields *f)
{
    const struct fields_form *form = &f->form;
    const char *plural = plain_s(f->count);
    size_t least = form->least + form->hidden;
    if (form->is_loose && f->count < least)
        lines_fail(&f->lines, "has %zu field%s; must have at least %zu", f->count, plural, least);
    if (form->is_loose && f->name && f->count > form->columns)
        lines_fail(&f->lines, "has %zu field%s; the heading has %zu", f->count, plural,
                   form->columns);
    if (!form->is_loose && f->count != form->columns)
        lines_fail(&f->lines, "has %zu field%s; the first row has %zu", f->count, plural,
                   form->columns);
}

static bool is_heading(const struct fields *f)
{
    for (size_t i = 0; i < f->count; i++)
        if (!f->name || !field_equals(f->field[i], f->name[i])) return false;
    return true;
}

bool fields_next(struct fields *f)
{
    for (;;) {
        if (!fields_next_line(f)) return false;
        fields_trouble wrong = fields_cut(f);
        if (wrong) lines_fail(&f->lines, "%s", wrong);
        fields_check(f);
        f->count -= f->form.hidden;
        bool is_first = !f->has_begun;
        f->has_begun = true;
        if (!f->name || !is_heading(f)) return true;
        if (!is_first) lines_fail(&f->lines, "is the heading again");
    }
}

void fields_open(struct fields *f, const char *path, const struct fields_wanted *wanted)
{
    *f = (struct fields){0};
    lines_open(&f->lines, path);
    size_t length = strlen(path);
    if ((length > 4 && strcmp(path + length - 4, ".mtx") == 0) ||
        (length > 3 && strcmp(path + length - 3, ".mm") == 0))
        fail("%s is named as MatrixMarket is, and does not begin with its banner, \"%s\"", path,
             LINES_MATRIX_MARKET);
    f->all = take_memory(FIELDS_MAX, sizeof *f->all);
    fields_look(f, wanted);
    f->field = f->all + f->form.hidden;
}

void fields_close(struct fields *f)
{
    lines_close(&f->lines);
    if (f->name) free(f->name - f->form.hidden);
    if (f->kind) free(f->kind - f->form.hidden);
    free(f->said);
    free(f->all);
    free(f->unquoted);
    free(f->names);
    *f = (struct fields){0};
}

/* ---- columns ---- */

/* The next letter or digit, small; 0: none. */
static int next_letter(const char **at, const char *end)
{
    while (*at < end) {
        char c = *(*at)++;
        if (c >= 'A' && c <= 'Z') return c + 'a' - 'A';
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c < 0) return c;
    }
    return 0;
}

static bool is_about(struct field f, const char *name)
{
    const char *at = f.text, *end = f.text + f.length, *stop = name + strlen(name);
    int a, b;
    do {
        a = next_letter(&at, end);
        b = next_letter(&name, stop);
    } while (a == b && a != 0);
    return a == b;
}

size_t fields_column(const struct fields *f, const char *name, bool is_exact)
{
    size_t columns = f->form.columns - f->form.hidden;
    for (size_t i = 0; f->name && i < columns; i++)
        if (is_exact ? field_is(f->name[i], name) : is_about(f->name[i], name)) return i;
    return FIELDS_NONE;
}

bool fields_said(const struct fields *f, struct fields *as_heading)
{
    *as_heading = *f;
    as_heading->name = f->said;
    return f->said != NULL;
}

void fields_fail_said(const struct fields *f)
{
    fail("%s: a comment names its columns, in another order than that of files without a heading: "
         "make it a heading, without its mark, or take it out",
         f->lines.path);
}

bool fields_ends(const struct fields *f, size_t *from, size_t *to)
{
    static const char *const usual[][2] = {{"source", "target"},
                                           {"sourceid", "targetid"},
                                           {"source", "destination"},
                                           {"source", "dest"},
                                           {"src", "dst"},
                                           {"src", "dest"},
                                           {"from", "to"},
                                           {"fromid", "toid"},
                                           {"fromnode", "tonode"},
                                           {"node1", "node2"},
                                           {"id1", "id2"},
                                           {"u", "v"},
                                           {"fromnodeid", "tonodeid"},
                                           {"nodea", "nodeb"},
                                           {"head", "tail"},
                                           {"headid", "tailid"},
                                           {"headentity", "tailentity"},
                                           {"subject", "object"},
                                           {"subjectid", "objectid"},
                                           {"subj", "obj"},
                                           {"entity1", "entity2"},
                                           {"e1", "e2"},
                                           {"lhs", "rhs"},
                                           {"h", "t"},
                                           {"s", "o"}};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        *from = fields_column(f, usual[i][0], false);
        *to = fields_column(f, usual[i][1], false);
        if (*from != FIELDS_NONE && *to != FIELDS_NONE) return true;
    }
    return false;
}

bool fields_is_missing(const struct fields *f, size_t column, struct field x)
{
    return x.length == 0 || (f->kind[column] != FIELDS_WORDS && field_is_missing(x));
}

/* ---- parts ---- */

bool fields_has_quotes(const struct fields *f)
{
    return f->lines.file && memchr(f->lines.next, '"', (size_t)(f->lines.end - f->lines.next));
}

size_t fields_of_line(const struct fields_form *form, const struct lines *l, struct field *to,
                      size_t max)
{
    const char *at = l->text, *end = l->text + l->length;
    size_t length = strlen(form->separator), count = 0;
    bool has_mark = memchr(at, '#', l->length);
    if (lines_is_passed_over(l) || memchr(at, '\r', l->length)) return 0;
    for (;;) {
        at = behind_blanks(form, at, end);
        if (length == 0 && at == end) return count;
        if (length == 0 && *at == '#') return 0;
        if (count == max) return max + 1;
        bare_field(form, &at, end, &to[count]);
        if (has_mark && check_field(form, to[count])) return 0;
        count++;
        if (length == 0) continue;
        if (at == end) return count;
        at += length;
    }
}
