#include "text_looks.h"

#include "fail.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Documents that begin with a word of their own each have names: of so many, and not by chance. */
enum { NAMED_LEAST = 16 };

/* ---- a line ---- */

static bool has_letter(const struct lines *l)
{
    for (size_t i = 0; i < l->length; i++)
        if (isalpha((unsigned char)l->text[i]) || (unsigned char)l->text[i] >= 0x80) return true;
    return false;
}

static void note_size(size_t size, bool is_first, size_t *least, size_t *most)
{
    if (is_first || size < *least) *least = size;
    if (size > *most) *most = size;
}

static bool is_counted(struct field f)
{
    uint64_t count;
    const char *colon = memrchr(f.text, ':', f.length), *end = f.text + f.length;
    return colon && colon > f.text &&
           field_whole((struct field){colon + 1, (size_t)(end - colon - 1)}, 0, CORPUS_COUNT_MAX,
                       &count);
}

static bool is_whole(struct field f)
{
    uint64_t count;
    return field_whole(f, 0, CORPUS_COUNT_MAX, &count);
}

static size_t tabs_in(const struct lines *l)
{
    size_t tabs = 0;
    for (size_t i = 0; i < l->length; i++) tabs += l->text[i] == '\t';
    return tabs;
}

/* A separator with something on both sides; and Vowpal Wabbit's, wherever it is. */
static bool has_separator(struct field f)
{
    if (memchr(f.text, '|', f.length)) return true;
    for (size_t i = 1; i + 1 < f.length; i++)
        if (f.text[i] == ',' || f.text[i] == ';') return true;
    return false;
}

static bool has_marks(struct field first, struct field last)
{
    char begin = *first.text, end = last.text[last.length - 1];
    return (begin == '{' && end == '}') || (begin == '[' && end == ']') ||
           (begin == '<' && end == '>') || (begin == '"' && end == '"');
}

void text_looks_note(struct text_looks *k, const struct lines *l)
{
    const char *at = l->text;
    struct field word, first = {0}, last = {0};
    size_t words = 0, turns = 0;
    double number = 0;
    *(k->lines == 0 ? &k->has_letters : &k->has_letters_behind) |= has_letter(l);
    for (; lines_text_word(l, &at, &word); words++) {
        if (words == 0) first = word;
        if (words > 0) *(is_counted(word) ? &k->counted : &k->others) += 1;
        turns += is_whole(word) == (words % 2 == 1);
        last = word;
    }
    if (words == 0) return; /* no line of data is so */
    k->fields += has_separator(first) || has_separator(last);
    k->marks += has_marks(first, last);
    k->in_turn += words % 2 == 0 && turns == words;
    bool is_number = lines_number(first.text, first.length, &number);
    k->in_order += is_number && (k->lines == 0 || fabs(number - k->number - 1) < 0.5);
    k->number = number;
    note_size(words, k->lines == 0, &k->shortest, &k->longest);
    note_size(tabs_in(l), k->lines == 0, &k->fewest_tabs, &k->most_tabs);
    k->lines++;
}

/* ---- all of them ---- */

/* Does each document begin with a word that comes once, while most others come again? */
static bool has_names(const struct corpus *c)
{
    uint64_t tokens = c->start[c->documents], again = 0;
    uint32_t *times = take_memory(c->words, sizeof *times), named = 0;
    for (uint64_t i = 0; i < tokens; i++) times[c->token[i]]++;
    for (uint64_t i = 0; i < tokens; i++) again += times[c->token[i]] > 1;
    for (uint32_t d = 0; d < c->documents; d++) named += times[c->token[c->start[d]]] == 1;
    free(times);
    return named == c->documents && named >= NAMED_LEAST && again > (tokens - named) / 2;
}

static void check_numbers(const struct text_looks *k, const struct corpus *c, const char *path)
{
    const char *first = names_get(&c->names, 0);
    double number;
    if (k->has_letters && !k->has_letters_behind && k->lines > 1)
        fail("%s has no letter behind its first line: if that is a heading of numbers, leave it "
             "out, or begin it with #",
             path);
    if (!k->has_letters && !k->has_letters_behind && k->longest <= 3)
        fail("%s has no letter, and at most three numbers a line: it is no text, and docword and "
             "MatrixMarket have a head",
             path);
    if (k->lines > 1 && !k->has_letters && k->shortest == k->longest)
        fail("%s has no letter, and as many numbers in each line: it is a table, and no text",
             path);
    if (k->lines > 1 && c->start[1] == 1 && lines_number(first, strlen(first), &number) &&
        fabs(number - (double)(k->lines - 1)) < 0.5)
        fail("%s begins with the number of its other lines: if that is no document, leave it out, "
             "else move it down",
             path);
}

/* A heading may be without them. */
static bool are_all(const struct text_looks *k, uint64_t lines)
{
    return k->lines > 1 && lines + 1 >= k->lines && lines > 1;
}

void text_looks_check(const struct text_looks *k, const struct corpus *c, const char *path)
{
    if (k->counted > 0 && k->others == 0)
        fail("%s has word:count in each line: LDA-C has numbers for words, and begins lines with "
             "how many there are; in text a word comes as often as it counts",
             path);
    check_numbers(k, c, path);
    if (k->lines > 1 && k->fewest_tabs > 0 && k->fewest_tabs == k->most_tabs)
        fail("%s has columns, with tabs between: leave all but the text out, or put blanks between "
             "its words",
             path);
    if (are_all(k, k->fields))
        fail("%s has columns, with commas, semicolons or | between: leave all but the text out, or "
             "put blanks between its words",
             path);
    if (k->lines > 1 && k->longest == 1)
        fail("%s has one word a line: put blanks between the words of a document, a line each",
             path);
    if (are_all(k, k->marks))
        fail("%s has lines in quotation marks or brackets, as CSV and JSON have them: leave the "
             "text alone",
             path);
    if (k->has_letters && are_all(k, k->in_turn))
        fail("%s has a number behind each word: in text a word comes as often as it counts", path);
    if (k->lines > 2 && k->has_letters && k->in_order == k->lines)
        fail("%s numbers its lines: leave the numbers out, or they are words", path);
    if (has_names(c))
        fail("%s begins each line with a word of its own, the document's name: leave it out, or it "
             "is one of the document's words",
             path);
}
