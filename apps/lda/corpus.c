#include "corpus.h"

#include "digest.h"
#include "fail.h"
#include "libsvm.h"
#include "rng.h"

#include <inttypes.h>
#include <stdlib.h>

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

static const char ldac[] = "count word:count ...";

static void read_ldac(struct corpus *c, const char *path)
{
    struct libsvm s;
    struct libsvm_pair p;
    libsvm_open(&s, path, ldac);
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

/* ---- UCI docword ---- */

static const char docword[] = "document word count, after three lines of their numbers";

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

static void take_numbers(const struct lines *l, struct field *numbers, size_t count)
{
    const char *at = NULL;
    struct field more;
    bool are_all = true;
    for (size_t i = 0; i < count && are_all; i++)
        are_all = lines_word(l, &at, &numbers[i]) && numbers[i].length > 0;
    if (!are_all || lines_word(l, &at, &more))
        lines_fail(l, "must be %s",
                   count == 1 ? "one number" : "three numbers, with one blank between");
}

static void read_docword(struct corpus *c, const char *path)
{
    enum { DOCUMENTS, WORDS, ENTRIES, HEAD };
    struct lines l;
    struct entries e = {0};
    struct field f[3];
    uint64_t head[HEAD] = {0};
    lines_open(&l, path, docword);
    for (int i = 0; i < HEAD; i++) {
        if (!lines_next(&l)) lines_fail(&l, "the file ends in its head of three lines");
        take_numbers(&l, f, 1);
        head[i] =
            lines_take_whole(&l, f[0], 1, NUMBER_MAX, "number of documents, words or entries");
    }
    while (lines_next(&l)) {
        take_numbers(&l, f, 3);
        if (e.count == head[ENTRIES]) lines_fail(&l, "there are more entries than declared");
        uint64_t document = lines_take_whole(&l, f[0], 1, head[DOCUMENTS], "document"),
                 word = lines_take_whole(&l, f[1], 1, head[WORDS], "word"),
                 count = lines_take_whole(&l, f[2], 0, COUNT_MAX, "count");
        add_entry(&e, document - 1, word - 1, count);
    }
    if (e.count < head[ENTRIES])
        lines_fail(&l, "the file ends after %zu of %" PRIu64 " entries", e.count, head[ENTRIES]);
    take_entries(c, path, &e, head[DOCUMENTS], head[WORDS]);
    lines_close(&l);
}

/* ---- which of them, and its vocabulary ---- */

/* A number alone, above 0: LDA-C has as many words behind it. */
static bool is_docword(const char *path)
{
    struct lines l;
    uint64_t number;
    lines_open(&l, path, NULL);
    bool is_number = lines_step(&l) &&
                     field_whole((struct field){l.text, l.length}, 1, NUMBER_MAX, &number);
    lines_close(&l);
    return is_number;
}

static void read_vocabulary(struct corpus *c, const char *path)
{
    struct lines l;
    struct field word;
    lines_open(&l, path, "word");
    while (lines_next(&l)) {
        uint32_t before = c->names.count;
        lines_take_fields(&l, &word, 1);
        if (names_add(&c->names, word.text, word.length) < before)
            lines_fail(&l, "has a word that was there before");
    }
    lines_close(&l);
    if (c->is_docword ? c->names.count != c->words : c->names.count < c->words)
        fail("%s has %u words, and the documents have %u", path, c->names.count, c->words);
    c->words = c->names.count;
}

void corpus_load(struct corpus *c, const char *path, const char *vocabulary)
{
    *c = (struct corpus){.is_docword = is_docword(path)};
    names_init(&c->names);
    (c->is_docword ? read_docword : read_ldac)(c, path);
    if (c->start[c->documents] == 0)
        lines_fail_at(path, 0, c->is_docword ? docword : ldac, "has no words");
    if (vocabulary) read_vocabulary(c, vocabulary);
    check_size(path, "words", c->words, vocabulary ? c->words : c->start[c->documents]);
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
