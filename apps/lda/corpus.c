#include "corpus.h"

#include "digest.h"
#include "fail.h"
#include "lines.h"
#include "rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_MAX = 1 << 30 };

static void *grow(void *list, size_t *capacity, size_t bytes)
{
    *capacity = *capacity ? *capacity + *capacity / 2 : 4096;
    void *larger = realloc(list, *capacity * bytes);
    if (!larger) fail("%zu tokens find no memory", *capacity);
    return larger;
}

static void begin_document(struct corpus *c)
{
    if (c->documents + 2 > c->start_capacity)
        c->start = grow(c->start, &c->start_capacity, sizeof *c->start);
    if (c->documents == 0) c->start[0] = 0;
    c->documents++;
    c->start[c->documents] = c->start[c->documents - 1];
}

static void add_token(struct corpus *c, uint32_t word)
{
    uint64_t at = c->start[c->documents]++;
    if (at >= c->token_capacity) c->token = grow(c->token, &c->token_capacity, sizeof *c->token);
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

/* ---- fields ---- */

static bool next_field(const char **at, const char *end, struct field *f)
{
    while (*at < end && (**at == ' ' || **at == '\t')) ++*at;
    f->text = *at;
    while (*at < end && **at != ' ' && **at != '\t') ++*at;
    f->length = (size_t)(*at - f->text);
    return f->length > 0;
}

static bool is_number(struct field f, double least, double most, uint32_t *number)
{
    double value;
    if (!lines_number(f.text, f.length, &value) || value < least || value > most ||
        value > floor(value))
        return false;
    *number = (uint32_t)value;
    return true;
}

static uint32_t number_of(const struct lines *l, struct field f, double least, double most,
                          const char *what)
{
    uint32_t number = 0;
    if (!is_number(f, least, most, &number))
        lines_fail(l, "\"%.*s\" is no %s: must be a whole number from %.0f to %.0f",
                   lines_shown(f.length), f.text, what, least, most);
    return number;
}

/* ---- the formats ---- */

static void add_pair(struct corpus *c, const struct lines *l, struct field f)
{
    const char *colon = memchr(f.text, ':', f.length);
    if (!colon) lines_fail(l, "\"%.*s\" is no word:count", lines_shown(f.length), f.text);
    struct field word = {f.text, (size_t)(colon - f.text)};
    struct field count = {colon + 1, f.length - word.length - 1};
    uint32_t number = number_of(l, word, 0, NUMBER_MAX, "word");
    uint32_t times = number_of(l, count, 1, NUMBER_MAX, "count");
    for (uint32_t i = 0; i < times; i++) add_token(c, number);
}

static void read_ldac(struct corpus *c, struct lines *l)
{
    do {
        const char *at = l->text, *end = l->text + l->length;
        struct field f;
        uint32_t pairs = 0;
        if (!next_field(&at, end, &f)) continue;
        uint32_t declared = number_of(l, f, 0, NUMBER_MAX, "number of words");
        begin_document(c);
        for (; next_field(&at, end, &f); pairs++) add_pair(c, l, f);
        if (pairs != declared)
            lines_fail(l, "has %u words, and says that it has %u", pairs, declared);
    } while (lines_next(l));
}

struct docword {
    uint32_t head[3]; /* documents, words, entries */
    uint32_t entries;
};

static void add_entry(struct corpus *c, struct docword *d, const struct lines *l)
{
    const char *at = l->text, *end = l->text + l->length;
    struct field f[3];
    for (int i = 0; i < 3; i++)
        if (!next_field(&at, end, &f[i])) lines_fail(l, "an entry is document, word and count");
    uint32_t document = number_of(l, f[0], 1, d->head[0], "document");
    uint32_t word = number_of(l, f[1], 1, d->head[1], "word") - 1;
    uint32_t times = number_of(l, f[2], 1, NUMBER_MAX, "count");
    if (document < c->documents) lines_fail(l, "documents must be in ascending order");
    while (c->documents < document) begin_document(c);
    for (uint32_t i = 0; i < times; i++) add_token(c, word);
    if (++d->entries > d->head[2]) lines_fail(l, "there are more entries than declared");
}

static void read_docword(struct corpus *c, struct lines *l)
{
    struct docword d = {0};
    for (int i = 0; i < 3; i++) {
        const char *at = l->text;
        struct field f = {0};
        next_field(&at, l->text + l->length, &f);
        d.head[i] = number_of(l, f, 1, NUMBER_MAX, "number of documents, words or entries");
        if (!lines_next(l)) lines_fail(l, "the file ends in its head");
    }
    do {
        if (l->length > 0) add_entry(c, &d, l);
    } while (lines_next(l));
    if (d.entries < d.head[2])
        lines_fail(l, "the file ends after %u of %u entries", d.entries, d.head[2]);
    while (c->documents < d.head[0]) begin_document(c);
    if (c->words < d.head[1]) c->words = d.head[1];
}

static void read_text(struct corpus *c, struct lines *l)
{
    do {
        const char *at = l->text, *end = l->text + l->length;
        struct field f;
        begin_document(c);
        while (next_field(&at, end, &f)) add_token(c, names_add(&c->names, f.text, f.length));
    } while (lines_next(l));
}

/* The current line is the first. */
static void read_any(struct corpus *c, struct lines *l)
{
    const char *at = l->text, *end = l->text + l->length;
    struct field f = {0}, second = {0};
    uint32_t number, word;
    bool has_number = next_field(&at, end, &f) && is_number(f, 0, NUMBER_MAX, &number);
    bool has_more = next_field(&at, end, &second);
    const char *colon = has_more ? memchr(second.text, ':', second.length) : NULL;
    bool has_pair = colon && is_number((struct field){second.text, (size_t)(colon - second.text)},
                                       0, NUMBER_MAX, &word);
    if (has_number && has_pair) {
        read_ldac(c, l);
    } else if (has_number && !has_more) {
        read_docword(c, l);
    } else {
        read_text(c, l);
    }
}

static void read_vocabulary(struct corpus *c, const char *path)
{
    struct lines l;
    if (c->names.count > 0) fail("%s: plain text has its words: it takes no --vocabulary", path);
    lines_open(&l, path);
    while (lines_next(&l))
        if (names_add(&c->names, l.text, l.length) + 1 != c->names.count || l.length == 0)
            lines_fail(&l, "is empty, or a word that was there before");
    lines_close(&l);
    if (c->names.count < c->words)
        fail("%s has %u words, and the documents have %u", path, c->names.count, c->words);
    c->words = c->names.count;
}

void corpus_load(struct corpus *c, const char *path, const char *vocabulary)
{
    struct lines l;
    *c = (struct corpus){0};
    names_init(&c->names);
    lines_open(&l, path);
    if (lines_next(&l)) read_any(c, &l);
    lines_close(&l);
    if (c->documents == 0 || c->start[c->documents] == 0) fail("%s has no words", path);
    if (vocabulary) read_vocabulary(c, vocabulary);
}

/* Words of texts are numbered as they come: by name they are what is known of them. */
static uint32_t known_word(const struct corpus *c, uint32_t word, const struct corpus *known)
{
    if (c->names.count == 0) return word < known->words ? word : NAMES_NONE;
    const char *name = names_get(&c->names, word);
    return names_find(&known->names, name, strlen(name));
}

void corpus_load_test(struct corpus *c, const char *path, const struct corpus *known)
{
    uint64_t kept = 0, at = 0;
    corpus_load(c, path, NULL);
    for (uint32_t d = 0; d < c->documents; d++) {
        for (; at < c->start[d + 1]; at++) {
            uint32_t word = known_word(c, c->token[at], known);
            if (word != NAMES_NONE) c->token[kept++] = word;
        }
        c->start[d + 1] = kept;
    }
    if (kept == 0) fail("%s has no word of the documents to train with", path);
}

uint64_t corpus_digest(const struct corpus *c)
{
    uint32_t shape[] = {c->documents, c->words};
    uint64_t tokens = c->start[c->documents];
    uint64_t digest = digest_add(DIGEST_FIRST, shape, sizeof shape);
    digest = digest_add(digest, c->start, (c->documents + 1) * sizeof *c->start);
    return digest_add(digest, c->token, tokens * sizeof *c->token);
}

bool corpus_is_held(uint64_t token, double share, uint64_t seed)
{
    return (double)(rng_mix(rng_mix(seed) + token) >> 11) * 0x1p-53 < share;
}

/* ---- planted topics ---- */

void corpus_generate(struct corpus *c, const char *text, uint64_t seed)
{
    enum { TOPICS_OF_DOCUMENT = 3 };
    unsigned documents, words, tokens, topics;
    struct rng rng;
    char more;
    if (sscanf(text, "%ux%ux%ux%u%c", &documents, &words, &tokens, &topics, &more) != 4 ||
        documents == 0 || tokens == 0 || topics == 0 || topics > words || words > NUMBER_MAX)
        fail_usage("--generate takes DOCUMENTSxWORDSxTOKENSxTOPICS, at most as many topics as "
                   "words, not \"%s\"",
                   text);
    *c = (struct corpus){0};
    names_init(&c->names);
    rng_init(&rng, seed, UINT64_C(1) << 40);
    for (unsigned d = 0; d < documents; d++) {
        uint64_t own[TOPICS_OF_DOCUMENT];
        for (int i = 0; i < TOPICS_OF_DOCUMENT; i++) own[i] = rng_below(&rng, topics);
        begin_document(c);
        for (unsigned t = 0; t < tokens; t++) {
            uint64_t topic = own[rng_below(&rng, TOPICS_OF_DOCUMENT)];
            /* of its words the first ones are the likelier */
            double place = rng_real(&rng) * rng_real(&rng);
            uint64_t count = (words - topic + topics - 1) / topics;
            add_token(c, (uint32_t)((uint64_t)(place * (double)count) * topics + topic));
        }
    }
    if (c->words < words) c->words = words;
}
