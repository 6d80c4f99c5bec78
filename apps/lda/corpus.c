#include "corpus.h"

#include "digest.h"
#include "fail.h"
#include "libsvm.h"
#include "matrix_market.h"
#include "rng.h"
#include "text_looks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NUMBER_MAX = LIBSVM_INDEX_MAX, COUNT_MAX = CORPUS_COUNT_MAX };

static void begin_document(struct corpus *c)
{
    c->start =
        make_room(c->start, c->documents + 1, &c->start_capacity, sizeof *c->start, "documents");
    if (c->documents == 0) c->start[0] = 0;
    c->documents++;
    c->start[c->documents] = c->start[c->documents - 1];
}

static void add_token(struct corpus *c, uint32_t word)
{
    uint64_t at = c->start[c->documents]++;
    c->token = make_room(c->token, at, &c->token_capacity, sizeof *c->token, "tokens");
    c->token[at] = word;
    if (word >= c->words) c->words = word + 1;
}

void corpus_fini(struct corpus *c)
{
    free(c->start);
    free(c->token);
    names_fini(&c->names);
    *c = (struct corpus){0};
}

/* What a file declares, or its largest number, may be a slip: it is refused before it takes memory,
 * unless there are some tokens for it. */
static void check_size(const char *path, const char *what, uint64_t size, uint64_t tokens)
{
    enum { ALWAYS = 1 << 16, OF_A_TOKEN = 256 };
    if (size > ALWAYS && size / OF_A_TOKEN > tokens)
        fail("%s has %" PRIu64 " %s by its numbers, and only %" PRIu64
             " tokens: number them without gaps%s",
             path, size, what, tokens, *what == 'w' ? ", or name all with --vocabulary" : "");
}

/* ---- LDA-C ---- */

static void read_ldac(struct corpus *c, const char *path)
{
    struct libsvm s;
    struct libsvm_pair p;
    libsvm_open(&s, path);
    while (libsvm_next(&s)) {
        const struct lines *l = &s.lines;
        uint64_t declared = lines_take_whole(l, s.label, 0, NUMBER_MAX, "number of words");
        uint64_t pairs = 0;
        begin_document(c);
        for (; libsvm_pair(&s, "word", &p); pairs++) {
            if (p.has_field) lines_fail(l, "has two colons in a word:count");
            uint64_t times = lines_take_whole(l, p.value, 0, COUNT_MAX, "count");
            for (uint64_t i = 0; i < times; i++) add_token(c, p.index);
        }
        if (pairs != declared)
            lines_fail(l, "has %" PRIu64 " words, and says that it has %" PRIu64, pairs, declared);
    }
    libsvm_close(&s);
}

/* ---- entries of document, word and count ---- */

struct entries {
    struct entry {
        uint32_t document, word, count;
    } * list;
    size_t count, capacity;
    uint64_t tokens;
};

static void add_entry(struct entries *e, uint64_t document, uint64_t word, uint64_t count)
{
    e->list = make_room(e->list, e->count, &e->capacity, sizeof *e->list, "entries");
    e->list[e->count++] = (struct entry){(uint32_t)document, (uint32_t)word, (uint32_t)count};
    e->tokens += count;
}

/* The documents, whatever the order of the entries. */
static void take_entries(struct corpus *c, const char *path, struct entries *e, uint64_t documents,
                         uint64_t words)
{
    check_size(path, "documents", documents, e->tokens);
    c->documents = (uint32_t)documents;
    c->words = (uint32_t)words;
    c->start = take_memory(documents + 2, sizeof *c->start);
    c->token = take_memory(e->tokens + 1, sizeof *c->token);
    /* Counted two places on: after placing, start[d + 1] is the end of d's. */
    for (size_t i = 0; i < e->count; i++) c->start[e->list[i].document + 2] += e->list[i].count;
    for (uint64_t d = 0; d < documents; d++) c->start[d + 2] += c->start[d + 1];
    for (size_t i = 0; i < e->count; i++)
        for (uint32_t n = 0; n < e->list[i].count; n++)
            c->token[c->start[e->list[i].document + 1]++] = e->list[i].word;
    free(e->list);
}

static void read_matrix(struct corpus *c, const char *path)
{
    struct matrix_market m;
    struct matrix_market_cell cell;
    struct entries e = {0};
    matrix_market_open(&m, path, MATRIX_PATTERN);
    while (matrix_market_next(&m, &cell)) {
        if (!(cell.value >= 0 && cell.value <= COUNT_MAX) || cell.value > floor(cell.value))
            lines_fail(&m.lines, "%g is no count: must be a whole number from 0 to %d", cell.value,
                       COUNT_MAX);
        add_entry(&e, cell.row, cell.column, (uint64_t)cell.value);
    }
    take_entries(c, path, &e, m.rows, m.columns);
    matrix_market_close(&m);
}

static void numbers_of(const struct lines *l, struct field *numbers, size_t count)
{
    const char *at = l->text;
    struct field more;
    for (size_t i = 0; i < count; i++)
        if (!lines_word(l, &at, &numbers[i]))
            lines_fail(l, "has too few numbers: an entry is document, word and count");
    if (lines_word(l, &at, &more))
        lines_fail(l, "has too many numbers: %s",
                   count == 1 ? "the head has three lines of one each"
                              : "an entry is document, word and count");
}

static void read_docword(struct corpus *c, const char *path)
{
    struct lines l;
    struct entries e = {0};
    struct field f[3];
    uint64_t head[3] = {0}; /* documents, words, entries */
    lines_open(&l, path);
    for (int i = 0; i < 3 && lines_next_data(&l); i++) {
        numbers_of(&l, f, 1);
        head[i] =
            lines_take_whole(&l, f[0], 1, NUMBER_MAX, "number of documents, words or entries");
    }
    while (lines_next_data(&l)) {
        numbers_of(&l, f, 3);
        if (e.count == head[2]) lines_fail(&l, "there are more entries than declared");
        uint64_t document = lines_take_whole(&l, f[0], 1, head[0], "document"),
                 word = lines_take_whole(&l, f[1], 1, head[1], "word"),
                 count = lines_take_whole(&l, f[2], 0, COUNT_MAX, "count");
        add_entry(&e, document - 1, word - 1, count);
    }
    if (e.count < head[2])
        lines_fail(&l, "the file ends after %zu of %" PRIu64 " entries", e.count, head[2]);
    take_entries(c, path, &e, head[0], head[1]);
    lines_close(&l);
}

/* ---- which format ---- */

/* A number, then word:count; `all`: so many of them, and nothing else. */
static bool is_ldac(const struct lines *l, bool all)
{
    const char *at = l->text;
    struct field word;
    uint64_t declared, number, pairs = 0;
    if (!lines_word(l, &at, &word) || !field_whole(word, 0, NUMBER_MAX, &declared)) return false;
    while (lines_word(l, &at, &word)) {
        const char *colon = memchr(word.text, ':', word.length);
        if (!colon) return false;
        word.length = (size_t)(colon - word.text);
        if (!field_whole(word, 0, NUMBER_MAX, &number)) return false;
        pairs++;
        if (!all) return true;
    }
    return pairs > 0 && pairs == declared;
}

/* Is a number all that the line has? */
static bool is_alone(const struct lines *l, uint64_t *number)
{
    const char *at = l->text;
    struct field word;
    return lines_word(l, &at, &word) && field_whole(word, 0, UINT64_C(1) << 52, number) &&
           !lines_word(l, &at, &word);
}

/* Three lines of a number each are docword's head; but zeros may be LDA-C's documents without
 * words. */
static enum format look(struct lines *l)
{
    enum format format = FORMAT_TEXT;
    unsigned alone = 0;
    uint64_t number, sum = 0;
    while (lines_next_data(l)) {
        if (sum == 0 && is_ldac(l, false)) format = FORMAT_LDAC;
        if (!is_alone(l, &number)) break;
        sum += number;
        if (++alone >= 3 && sum > 0) return FORMAT_DOCWORD;
    }
    return format;
}

/* Of several files the first one's: docword behind a text would be words. */
static enum format format_of(const char *path)
{
    struct lines l;
    if (matrix_market_is(path)) return FORMAT_MATRIX;
    lines_open(&l, path);
    enum format format = look(&l);
    while (format == FORMAT_TEXT && lines_next_file(&l))
        if (look(&l) == FORMAT_DOCWORD)
            lines_fail(&l, "ends the head of docword, and the first file is text: name all files' "
                           "format with --format");
    lines_close(&l);
    return format;
}

/* ---- text ---- */

static void add_line(struct corpus *c, const struct lines *l)
{
    const char *at = l->text;
    struct field word;
    if (!c->is_named && is_ldac(l, true))
        lines_fail(l, "is a line of LDA-C, and the first one is not: if that is a heading, leave "
                      "it out, or begin it with #");
    begin_document(c);
    while (lines_text_word(l, &at, &word))
        add_token(c, names_add(&c->names, word.text, word.length));
}

/* Gives up where it may be a document whose first word is #word. */
static bool is_comment(const struct lines *l)
{
    const char *at = l->text, *end = l->text + l->length;
    while (at < end && lines_is_blank(*at)) at++;
    if (at == end || !strchr("#%", *at)) return false;
    if (at + 1 < end && !strchr("#% \t!", at[1]))
        lines_fail(l, "is a comment, or a document that begins so: put a blank behind the mark, or "
                      "a word before it");
    return true;
}

static void read_text(struct corpus *c, const char *path)
{
    struct lines l;
    struct text_looks k = {0};
    lines_open(&l, path);
    while (lines_next(&l)) {
        if (!lines_is_data(&l)) {
            c->comments += is_comment(&l);
            continue;
        }
        add_line(c, &l);
        text_looks_note(&k, &l);
    }
    lines_close(&l);
    if (c->documents > 0 && !c->is_named) text_looks_check(&k, c, path);
}

/* A word may be # or %: of one word a line is no comment. */
static bool next_word(struct lines *l)
{
    while (lines_next(l)) {
        while (l->length > 0 && lines_is_blank(l->text[l->length - 1])) l->length--;
        while (l->length > 0 && lines_is_blank(*l->text)) l->text++, l->length--;
        bool is_one = !memchr(l->text, ' ', l->length) && !memchr(l->text, '\t', l->length);
        if (is_one) lines_check_end(l);
        if (l->length > 0 && (is_one || lines_is_data(l))) return true;
    }
    return false;
}

/* Is the part before the first separator a number, or, `is_last`, the part behind the last? */
static bool has_number(struct field f, bool is_last)
{
    const char *at = f.text, *end = f.text + f.length;
    double number;
    if (is_last) {
        for (at = end; at > f.text && !strchr(" \t,;:", at[-1]);) at--;
        return at > f.text && lines_number(at, (size_t)(end - at), &number);
    }
    while (at < end && !strchr(" \t,;:", *at)) at++;
    return at < end && lines_number(f.text, (size_t)(at - f.text), &number);
}

static bool is_usual_heading(const char *text)
{
    static const char *const usual[] = {"word",  "words",  "term",       "terms",
                                        "token", "tokens", "vocabulary", "vocab"};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (strcasecmp(text, usual[i]) == 0) return true;
    return false;
}

static void read_vocabulary(struct corpus *c, const char *path)
{
    struct lines l;
    if (c->format == FORMAT_TEXT)
        fail("%s: plain text has its words: it takes no --vocabulary", path);
    uint32_t numbers_first = 0, numbers_last = 0;
    lines_open(&l, path);
    while (next_word(&l)) {
        uint32_t before = c->names.count;
        struct field word = {l.text, l.length};
        numbers_first += has_number(word, false);
        numbers_last += has_number(word, true);
        if (names_add(&c->names, l.text, l.length) < before)
            lines_fail(&l, "has a word that was there before");
    }
    lines_close(&l);
    if (c->names.count > 1 && (numbers_first == c->names.count || numbers_last == c->names.count))
        fail("%s has a number beside each word: leave it out", path);
    bool is_declared = c->format != FORMAT_LDAC;
    if (!is_declared && c->names.count == c->words + 1 && is_usual_heading(names_get(&c->names, 0)))
        fail(
            "%s: \"%s\", its first line, may be a heading, for one word less would do: leave it out",
            path, names_get(&c->names, 0));
    if (is_declared ? c->names.count != c->words : c->names.count < c->words)
        fail("%s has %u words, and the documents have %u", path, c->names.count, c->words);
    c->words = c->names.count;
}

static void read_documents(struct corpus *c, const char *path, enum format named)
{
    typedef void read_format(struct corpus *, const char *path);
    static read_format *const read[] = {[FORMAT_TEXT] = read_text,
                                        [FORMAT_LDAC] = read_ldac,
                                        [FORMAT_DOCWORD] = read_docword,
                                        [FORMAT_MATRIX] = read_matrix};
    *c = (struct corpus){.format = named ? named : format_of(path),
                         .is_named = named != FORMAT_AUTO};
    names_init(&c->names);
    read[c->format](c, path);
    if (c->documents == 0 || c->start[c->documents] == 0) fail("%s has no words", path);
}

void corpus_load(struct corpus *c, const char *path, enum format format, const char *vocabulary)
{
    read_documents(c, path, format);
    if (vocabulary) read_vocabulary(c, vocabulary);
    check_size(path, "words", c->words, vocabulary ? c->words : c->start[c->documents]);
}

/* Words of texts are numbered as they come: by name they are what is known of them. */
static uint32_t known_word(const struct corpus *c, uint32_t word, const struct corpus *known)
{
    if (c->format != FORMAT_TEXT) return word < known->words ? word : NAMES_NONE;
    const char *name = names_get(&c->names, word);
    return names_find(&known->names, name, strlen(name));
}

static void range_of(const struct corpus *c, uint32_t *least, uint32_t *most)
{
    *least = UINT32_MAX;
    *most = 0;
    for (uint64_t i = 0; i < c->start[c->documents]; i++) {
        if (c->token[i] < *least) *least = c->token[i];
        if (c->token[i] > *most) *most = c->token[i];
    }
}

/* Are the numbers of both those of the same words? */
static void check_numbers(const struct corpus *c, const char *path, const struct corpus *known)
{
    uint32_t least, most, test_least, test_most;
    bool are_declared = c->format > FORMAT_LDAC && known->format > FORMAT_LDAC;
    if (are_declared && c->words != known->words)
        fail(
            "%s has %u words by its head, and the documents to train with have %u: number the same "
            "words alike",
            path, c->words, known->words);
    range_of(known, &least, &most);
    range_of(c, &test_least, &test_most);
    if (c->format == known->format && ((test_least == least + 1 && test_most == most + 1) ||
                                       (test_least + 1 == least && test_most + 1 == most)))
        fail(
            "%s has words %u to %u, and the documents to train with have %u to %u: begin both with "
            "0, as LDA-C does",
            path, test_least, test_most, least, most);
}

void corpus_load_test(struct corpus *c, const char *path, const struct corpus *known)
{
    uint64_t kept = 0, at = 0;
    read_documents(c, path, known->is_named ? known->format : FORMAT_AUTO);
    if (known->format == FORMAT_TEXT && c->format != FORMAT_TEXT)
        fail("%s has numbers of words, and the documents to train with have words", path);
    if (c->format != FORMAT_TEXT) check_numbers(c, path, known);
    for (uint32_t d = 0; d < c->documents; d++) {
        for (; at < c->start[d + 1]; at++) {
            uint32_t word = known_word(c, c->token[at], known);
            if (word != NAMES_NONE) c->token[kept++] = word;
        }
        c->start[d + 1] = kept;
    }
    c->unknown = at - kept;
    if (kept == 0) fail("%s has no word of the documents to train with", path);
}

uint64_t corpus_digest(const struct corpus *c)
{
    uint32_t shape[] = {c->documents, c->words};
    uint64_t tokens = c->start[c->documents];
    uint64_t digest = digest_add(DIGEST_FIRST, shape, sizeof shape);
    digest = names_digest(&c->names, c->names.count, digest);
    digest = digest_add(digest, c->start, (c->documents + 1) * sizeof *c->start);
    return digest_add(digest, c->token, tokens * sizeof *c->token);
}

bool corpus_is_held(uint64_t token, double share, uint64_t seed)
{
    return (double)(rng_mix(rng_mix(seed) + token) >> 11) * 0x1p-53 < share;
}
