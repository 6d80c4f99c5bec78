#include "wordnet.h"

#include "fail.h"
#include "lines.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 4, PATH_BYTES = 4096, WORD_BYTES = 256, NAME_BYTES = WORD_BYTES + 16 };

/* Parts of speech: the files' endings, and the letters that pointers have; satellites of adjectives
 * (s) are adjectives. */
static const char *const part_files[PARTS] = {"noun", "verb", "adj", "adv"};
static const char part_letters[PARTS + 1] = "nvar";

struct pointer_kind {
    const char *symbol, *relation;
    bool is_symmetric;
};

/* Of two inverse kinds the second is left out: hyponyms (~ ~i), holonyms (#m #s #p), members of
 * domains (-c -r -u). */
static const struct pointer_kind pointer_kinds[] = {
    {"@", "hypernym", false},
    {"@i", "instance_hypernym", false},
    {"%m", "member_meronym", false},
    {"%s", "substance_meronym", false},
    {"%p", "part_meronym", false},
    {";c", "domain_topic", false},
    {";r", "domain_region", false},
    {";u", "domain_usage", false},
    {"*", "entailment", false},
    {">", "cause", false},
    {"\\", "pertainym", false},
    {"<", "participle_of", false},
    {"=", "attribute", true},
    {"!", "antonym", true},
    {"+", "derivationally_related_form", true},
    {"^", "also_see", true},
    {"$", "verb_group", true},
    {"&", "similar_to", true},
};

enum { KINDS = sizeof pointer_kinds / sizeof *pointer_kinds };
static const char *const left_out[] = {"~", "~i", "#m", "#s", "#p", "-c", "-r", "-u"};

/* ---- words of a line ---- */

struct words {
    const struct lines *line;
    const char *next, *end;
};

static size_t next_word(struct words *w, const char **word)
{
    while (w->next < w->end && *w->next == ' ') w->next++;
    *word = w->next;
    while (w->next < w->end && *w->next != ' ') w->next++;
    size_t length = (size_t)(w->next - *word);
    if (length == 0) lines_fail(w->line, "ends before the entry is complete");
    return length;
}

static uint32_t next_number(struct words *w, int base, const char *what)
{
    const char *word;
    char text[16], *end;
    size_t length = next_word(w, &word);
    if (length < sizeof text) {
        memcpy(text, word, length);
        text[length] = '\0';
        unsigned long value = strtoul(text, &end, base);
        if (isxdigit((unsigned char)text[0]) && *end == '\0' && value <= UINT32_MAX)
            return (uint32_t)value;
    }
    lines_fail(w->line, "\"%.*s\" is no %s", lines_shown(length), word, what);
}

/* An index into part_letters. */
static int next_part(struct words *w)
{
    const char *word;
    size_t length = next_word(w, &word);
    char letter = *word == 's' ? 'a' : *word;
    const char *at = strchr(part_letters, letter);
    if (length != 1 || !at)
        lines_fail(w->line, "\"%.*s\" is no part of speech", lines_shown(length), word);
    return (int)(at - part_letters);
}

/* Headers are lines that begin with two spaces. */
static bool next_entry(struct lines *l, struct words *w)
{
    do {
        if (!lines_next(l)) return false;
    } while (l->length == 0 || l->text[0] == ' ');
    *w = (struct words){l, l->text, l->text + l->length};
    return true;
}

static void path_of(char *path, const char *folder, const char *kind, int part)
{
    if (snprintf(path, PATH_BYTES, "%s/%s.%s", folder, kind, part_files[part]) >= PATH_BYTES)
        fail("the path \"%.60s...\" is too long", folder);
}

static void open_file(struct lines *l, char *path, const char *folder, const char *kind, int part)
{
    path_of(path, folder, kind, part);
    lines_open(l, path);
}

bool wordnet_file(const char *folder, unsigned i, char *path)
{
    if (i >= 2 * PARTS) return false;
    path_of(path, folder, i < PARTS ? "data" : "index", (int)(i % PARTS));
    return true;
}

/* ---- senses: which offsets a word has, in the order of its senses ---- */

struct senses {
    struct names words; /* of one part of speech */
    uint64_t *starts;   /* in offsets; one more than there are words */
    uint32_t *offsets;
    size_t count, capacity;
};

static void add_offset(struct senses *s, uint32_t offset)
{
    s->offsets = make_room(s->offsets, s->count, &s->capacity, sizeof *s->offsets, "senses");
    s->offsets[s->count++] = offset;
}

/* lemma pos synset_cnt p_cnt [ptr_symbol...] sense_cnt tagsense_cnt synset_offset
 * [synset_offset...] */
static void add_index_entry(struct senses *s, struct words *w, size_t *starts_capacity)
{
    const char *word, *skipped;
    size_t length = next_word(w, &word);
    if (names_find(&s->words, word, length) != NAMES_NONE)
        lines_fail(w->line, "the word \"%.*s\" comes twice", lines_shown(length), word);
    names_add(&s->words, word, length);
    next_part(w);
    uint32_t synsets = next_number(w, 10, "number of synsets"),
             pointers = next_number(w, 10, "number of pointers");
    for (uint32_t i = 0; i < pointers; i++) next_word(w, &skipped);
    next_number(w, 10, "number of senses");
    next_number(w, 10, "number of tagged senses");
    s->starts = make_room(s->starts, s->words.count, starts_capacity, sizeof *s->starts, "words");
    s->starts[s->words.count - 1] = s->count;
    for (uint32_t i = 0; i < synsets; i++) add_offset(s, next_number(w, 10, "offset of a synset"));
    s->starts[s->words.count] = s->count;
}

static void load_senses(struct senses *s, const char *folder, int part)
{
    char path[PATH_BYTES];
    struct lines l;
    struct words w;
    size_t starts_capacity = 1024;
    *s = (struct senses){.starts = take_memory(starts_capacity, sizeof(uint64_t))};
    names_init(&s->words);
    open_file(&l, path, folder, "index", part);
    while (next_entry(&l, &w)) add_index_entry(s, &w, &starts_capacity);
    lines_close(&l);
}

static void free_senses(struct senses *s)
{
    names_fini(&s->words);
    free(s->starts);
    free(s->offsets);
}

/* From 1; 0 when the index does not know. */
static unsigned sense_of(const struct senses *s, const char *word, size_t length, uint32_t offset)
{
    uint32_t number = names_find(&s->words, word, length);
    if (number == NAMES_NONE) return 0;
    for (uint64_t i = s->starts[number]; i < s->starts[number + 1]; i++) {
        if (s->offsets[i] == offset) return (unsigned)(i - s->starts[number] + 1);
    }
    return 0;
}

/* ---- synsets ---- */

struct synset {
    uint32_t offset;
    uint32_t name; /* in database.names */
};

struct loaded_fact {
    uint32_t kind;
    uint64_t subject, object; /* part of speech and offset */
};

struct database {
    struct names names;
    struct synset *synsets[PARTS]; /* in the order of their offsets */
    size_t counts[PARTS], capacities[PARTS];
    struct loaded_fact *facts;
    size_t fact_count, fact_capacity;
};

static uint64_t address_of(int part, uint32_t offset)
{
    return (uint64_t)part << 32 | offset;
}

/* As the index writes it: lower case, and without an adjective's marker such as "(a)". */
static size_t plain_word(char *plain, const char *word, size_t length)
{
    size_t n = 0;
    while (n < length && n < WORD_BYTES - 1 && word[n] != '(') {
        plain[n] = (char)tolower((unsigned char)word[n]);
        n++;
    }
    plain[n] = '\0';
    return n;
}

static void name_synset(char *name, const struct senses *s, int part, uint32_t offset,
                        const char *word, size_t length)
{
    char plain[WORD_BYTES];
    size_t n = plain_word(plain, word, length);
    unsigned sense = sense_of(s, plain, n, offset);
    if (sense) {
        snprintf(name, NAME_BYTES, "%s.%c.%02u", plain, part_letters[part], sense);
    } else {
        snprintf(name, NAME_BYTES, "%s.%c.%08u", plain, part_letters[part], offset);
    }
}

static void add_synset(struct database *d, int part, const struct words *w, struct synset synset)
{
    if (d->counts[part] > 0 && d->synsets[part][d->counts[part] - 1].offset >= synset.offset)
        lines_fail(w->line, "the offset %08u is not greater than the one before", synset.offset);
    d->synsets[part] = make_room(d->synsets[part], d->counts[part], &d->capacities[part],
                                 sizeof *d->synsets[part], "synsets");
    d->synsets[part][d->counts[part]++] = synset;
}

/* The index of the kind, or KINDS for one that is left out. */
static uint32_t next_kind(struct words *w)
{
    const char *symbol;
    size_t length = next_word(w, &symbol);
    for (uint32_t k = 0; k < KINDS; k++) {
        if (strlen(pointer_kinds[k].symbol) == length &&
            memcmp(pointer_kinds[k].symbol, symbol, length) == 0)
            return k;
    }
    for (size_t k = 0; k < sizeof left_out / sizeof *left_out; k++) {
        if (strlen(left_out[k]) == length && memcmp(left_out[k], symbol, length) == 0) return KINDS;
    }
    lines_fail(w->line, "\"%.*s\" is no kind of pointer", lines_shown(length), symbol);
}

static void add_fact(struct database *d, struct loaded_fact fact)
{
    if (fact.kind == KINDS || fact.subject == fact.object) return;
    if (pointer_kinds[fact.kind].is_symmetric && fact.subject > fact.object) {
        uint64_t kept = fact.subject;
        fact.subject = fact.object;
        fact.object = kept;
    }
    d->facts = make_room(d->facts, d->fact_count, &d->fact_capacity, sizeof *d->facts, "facts");
    d->facts[d->fact_count++] = fact;
}

/* offset lex_filenum ss_type w_cnt word lex_id [word lex_id...] p_cnt [symbol offset pos
 * source/target...] ... | gloss */
static void add_data_entry(struct database *d, struct words *w, int part,
                           const struct senses *senses)
{
    const char *word, *skipped;
    char name[NAME_BYTES];
    uint32_t offset = next_number(w, 10, "offset");
    next_word(w, &skipped);
    if (next_part(w) != part) lines_fail(w->line, "is of another part of speech than the file");
    uint32_t words = next_number(w, 16, "number of words");
    if (words == 0) lines_fail(w->line, "has no words");
    size_t length = next_word(w, &word);
    next_word(w, &skipped);
    for (uint32_t i = 1; i < words; i++) {
        next_word(w, &skipped);
        next_word(w, &skipped);
    }
    name_synset(name, senses, part, offset, word, length);
    add_synset(d, part, w, (struct synset){offset, names_add(&d->names, name, strlen(name))});
    uint32_t pointers = next_number(w, 10, "number of pointers");
    for (uint32_t i = 0; i < pointers; i++) {
        uint32_t kind = next_kind(w), target = next_number(w, 10, "offset");
        int target_part = next_part(w);
        next_word(w, &skipped);
        add_fact(d, (struct loaded_fact){kind, address_of(part, offset),
                                         address_of(target_part, target)});
    }
}

static void load_part(struct database *d, const char *folder, int part)
{
    char path[PATH_BYTES];
    struct senses senses;
    struct lines l;
    struct words w;
    load_senses(&senses, folder, part);
    open_file(&l, path, folder, "data", part);
    while (next_entry(&l, &w)) add_data_entry(d, &w, part, &senses);
    lines_close(&l);
    if (d->counts[part] == 0) fail("%s has no synsets", path);
    free_senses(&senses);
}

static const char *name_at(const struct database *d, uint64_t address, const char *folder)
{
    uint32_t offset = (uint32_t)address;
    int part = (int)(address >> 32);
    size_t low = 0, high = d->counts[part];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (d->synsets[part][middle].offset < offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == d->counts[part] || d->synsets[part][low].offset != offset)
        fail("%s: a pointer leads to offset %08u of data.%s, where no synset is", folder, offset,
             part_files[part]);
    return names_get(&d->names, d->synsets[part][low].name);
}

/* ---- the graph ---- */

static int compare_facts(const void *a, const void *b)
{
    const struct loaded_fact *x = a, *y = b;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    if (x->subject != y->subject) return x->subject < y->subject ? -1 : 1;
    if (x->object != y->object) return x->object < y->object ? -1 : 1;
    return 0;
}

static void unite_facts(struct database *d)
{
    size_t kept = 0;
    qsort(d->facts, d->fact_count, sizeof *d->facts, compare_facts);
    for (size_t i = 0; i < d->fact_count; i++) {
        if (i == 0 || compare_facts(&d->facts[i], &d->facts[kept - 1]) != 0)
            d->facts[kept++] = d->facts[i];
    }
    d->fact_count = kept;
}

static struct fact fact_of(struct graph *g, const struct database *d, const struct loaded_fact *f,
                           const char *folder)
{
    const char *subject = name_at(d, f->subject, folder), *object = name_at(d, f->object, folder);
    const char *relation = pointer_kinds[f->kind].relation;
    return (struct fact){
        .subject = names_add(&g->entities, subject, strlen(subject)),
        .relation = names_add(&g->relations, relation, strlen(relation)),
        .object = names_add(&g->entities, object, strlen(object)),
    };
}

void wordnet_load(struct graph *g, const char *folder, uint64_t seed)
{
    struct database d = {0};
    names_init(&d.names);
    for (int part = 0; part < PARTS; part++) load_part(&d, folder, part);
    unite_facts(&d);
    struct fact *facts = take_memory(d.fact_count, sizeof *facts);
    for (size_t i = 0; i < d.fact_count; i++) facts[i] = fact_of(g, &d, &d.facts[i], folder);
    graph_divide(g, facts, d.fact_count, seed, folder);
    free(facts);
    free(d.facts);
    for (int part = 0; part < PARTS; part++) free(d.synsets[part]);
    names_fini(&d.names);
}
