#include "graph.h"

#include "digest.h"
#include "fail.h"
#include "fields.h"
#include "rng.h"
#include "wordnet.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = PATH_MAX };

/* How a folder's files are called: our splits, those of DGL-KE, and of PyKEEN's datasets; behind
 * them what the numbers of entities and relations stand for. */
enum { ENTITIES = GRAPH_SPLITS, RELATIONS, FILES };
static const char *const layouts[][FILES] = {
    {"train.txt", "valid.txt", "test.txt", "entities.dict", "relations.dict"},
    {"train.tsv", "valid.tsv", "test.tsv", "entities.tsv", "relations.tsv"},
    {"training/numeric_triples.tsv.gz", "validation/numeric_triples.tsv.gz",
     "testing/numeric_triples.tsv.gz", "training/entity_to_id.tsv.gz",
     "training/relation_to_id.tsv.gz"},
};

const char *graph_split_name(enum graph_split split)
{
    static const char *const names[GRAPH_SPLITS] = {"train", "valid", "test"};
    return names[split];
}

void facts_add(struct facts *f, struct fact fact)
{
    f->list = make_room(f->list, f->count, &f->capacity, sizeof *f->list, "facts");
    f->list[f->count++] = fact;
}

/* The file, or else the same compressed. False: there is neither, and the path is that of the file. */
static bool find_file(char *path, const char *folder, const char *file)
{
    static const char *const endings[] = {"", ".gz", ".xz", ".zst", ""};
    struct stat about;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (snprintf(path, PATH_BYTES, "%s/%s%s", folder, file, endings[i]) >= PATH_BYTES)
            fail("the path \"%.60s...\" is too long", folder);
        if (stat(path, &about) == 0) return true;
        if (errno != ENOENT && errno != ENOTDIR) fail("%s: %s", path, strerror(errno));
    }
    return false;
}

static bool has_file(const char *folder, const char *file)
{
    char path[PATH_BYTES];
    return find_file(path, folder, file);
}

/* NULL: it has none of them. */
static const char *const *layout_of(const char *folder)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (has_file(folder, layouts[i][GRAPH_TRAIN])) return layouts[i];
    return NULL;
}

/* One that no training fact has could only be guessed. */
static uint32_t trained_relation(const struct graph *g, const struct lines *l, struct field name)
{
    uint32_t relation = names_find(&g->relations, name.text, name.length);
    if (relation == NAMES_NONE)
        lines_fail(l, "no fact to train with has the relation \"%.*s\"", lines_shown(name.length),
                   name.text);
    return relation;
}

enum { SUBJECT, RELATION, OBJECT, PARTS };
static const char in_order[] = "hrt";

/* Where a fact's parts are: they may come in any order if the heading says so, or who called. */
static void find_columns(const struct fields *f, const char *order, size_t at[PARTS])
{
    enum { IN_ALL = SUBJECT + RELATION + OBJECT };
    for (size_t i = 0; order && i < PARTS; i++)
        at[i] = (size_t)(strchr(order, in_order[i]) - order);
    if (order) return;
    at[SUBJECT] = SUBJECT;
    at[OBJECT] = OBJECT;
    if (f->name && f->form.columns - f->form.hidden == PARTS &&
        !fields_ends(f, &at[SUBJECT], &at[OBJECT]))
        fail("%s: its heading does not tell which columns are subject and object: give them these "
             "names, or put # before it, if they are the first and the third",
             f->lines.path);
    struct fields said;
    size_t from, to;
    if (fields_said(f, &said) && fields_ends(&said, &from, &to) &&
        (from != SUBJECT || to != OBJECT))
        fields_fail_said(f);
    at[RELATION] = IN_ALL - at[SUBJECT] - at[OBJECT];
}

/* "<a>\t<b>\t<c> .": the dot ends a line of N-Triples, and is no part of the object. */
static void check_dot(const struct lines *l, struct field subject, struct field object)
{
    const char *last = object.text + object.length - 1;
    if (*subject.text == '<' && object.length > 1 && *last == '.' && strchr(" \t>\"", last[-1]))
        lines_fail(l, "ends with a dot, as a line of N-Triples does: leave it out");
}

static struct fact fact_of(struct graph *g, const struct fields *f, const size_t at[PARTS],
                           enum graph_split split)
{
    static const char *const are[PARTS] = {"subject", "relation", "object"};
    struct field x[PARTS];
    if (f->count != PARTS)
        lines_fail(&f->lines, "has %zu fields; a fact is subject, relation and object", f->count);
    for (int i = 0; i < PARTS; i++) {
        x[i] = f->field[at[i]];
        lines_check_name(&f->lines, x[i], are[i]);
        if (fields_is_missing(f, at[i], x[i])) lines_fail(&f->lines, "the %s is missing", are[i]);
    }
    check_dot(&f->lines, x[SUBJECT], x[OBJECT]);
    return (struct fact){
        .subject = names_add(&g->entities, x[SUBJECT].text, x[SUBJECT].length),
        .relation = split == GRAPH_TRAIN
                        ? names_add(&g->relations, x[RELATION].text, x[RELATION].length)
                        : trained_relation(g, &f->lines, x[RELATION]),
        .object = names_add(&g->entities, x[OBJECT].text, x[OBJECT].length),
    };
}

/* Other programs write subject, object and relation, or the relation first: then what seems to be
 * relations are entities, more of them than there seem to be objects, or subjects. */
static void check_order(const struct graph *g, const char *path)
{
    const struct facts *f = &g->splits[GRAPH_TRAIN];
    bool *is[2] = {take_memory(g->entities.count, 1), take_memory(g->entities.count, 1)};
    size_t count[2] = {0, 0}, shared[2] = {0, 0};
    for (size_t i = 0; i < f->count; i++)
        is[0][f->list[i].subject] = is[1][f->list[i].object] = true;
    for (int end = 0; end < 2; end++) {
        for (uint32_t e = 0; e < g->entities.count; e++) count[end] += is[end][e];
        for (uint32_t r = 0; r < g->relations.count; r++) {
            const char *name = names_get(&g->relations, r);
            uint32_t entity = names_find(&g->entities, name, strlen(name));
            shared[end] += entity != NAMES_NONE && is[end][entity];
        }
        free(is[end]);
    }
    if (shared[0] > count[1] || shared[1] > count[0])
        fail(
            "%s has entities where relations should be: say its order by --format, or give it, and "
            "the other files, a heading that calls the columns subject, relation and object",
            path);
}

static void load_split(struct graph *g, const char *path, const char *order, enum graph_split split)
{
    size_t at[PARTS];
    struct fields f;
    fields_open(&f, path, &(struct fields_wanted){.least = PARTS, .known = &g->entities});
    find_columns(&f, order, at);
    while (fields_next(&f)) facts_add(&g->splits[split], fact_of(g, &f, at, split));
    if (g->splits[split].count == 0)
        fail("%s is empty: it must have rows of subject, relation and object", path);
    if (split == GRAPH_TRAIN && !f.name && !order) check_order(g, path);
    fields_close(&f);
}

static void count_unknown(struct graph *g, const char *path, enum graph_split split,
                          uint32_t trained)
{
    struct facts *f = &g->splits[split];
    for (size_t i = 0; i < f->count; i++)
        f->unknown += f->list[i].subject >= trained || f->list[i].object >= trained;
    if (f->unknown == f->count)
        fail("%s has no fact of which both entities are in facts to train with: are its names "
             "others?",
             path);
}

/* ---- what numbers stand for ---- */

/* The file's two columns, in either order: number, name. */
static void read_meanings(struct names is[2], const char *path)
{
    struct fields f;
    char number[16];
    size_t rows = 0;
    bool is_counted[2] = {true, true};
    for (int i = 0; i < 2; i++) names_init(&is[i]);
    fields_open(&f, path, &(struct fields_wanted){.least = 2});
    for (; fields_next(&f); rows++)
        for (size_t i = 0; i < 2; i++) {
            lines_check_name(&f.lines, f.field[i], "name");
            names_add(&is[i], f.field[i].text, f.field[i].length);
            if (is[i].count == rows) lines_fail(&f.lines, "has what an earlier line has");
        }
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < 2; i++) {
            int length = snprintf(number, sizeof number, "%zu", row);
            is_counted[i] &= names_find(&is[i], number, (size_t)length) != NAMES_NONE;
        }
    if (f.form.columns != 2 || (!is_counted[0] && !is_counted[1]))
        fail("%s: its rows must be a number, from 0 on, and what it stands for; or leave it out",
             path);
    fields_close(&f);
    if (is_counted[0]) return;
    struct names numbers = is[1];
    is[1] = is[0];
    is[0] = numbers;
}

/* DGL-KE and PyKEEN number what facts are about, and name it in a file of its own. Facts may have
 * the names nevertheless. */
static void name_numbers(struct names *n, const char *path)
{
    struct names is[2], named;
    bool has_all[2] = {true, true}, is_same = true;
    read_meanings(is, path);
    names_init(&named);
    for (uint32_t i = 0; i < n->count; i++) {
        const char *text = names_get(n, i);
        uint32_t at[2];
        for (int k = 0; k < 2; k++) {
            at[k] = names_find(&is[k], text, strlen(text));
            has_all[k] &= at[k] != NAMES_NONE;
        }
        if (!has_all[0] && !has_all[1])
            fail("%s has neither numbers nor names of all facts, such as %s: leave it out, or "
                 "complete it",
                 path, text);
        is_same &= at[0] == at[1];
        const char *name = has_all[0] ? names_get(&is[1], at[0]) : "";
        names_add(&named, name, strlen(name));
    }
    if (has_all[0] && has_all[1] && !is_same)
        fail("%s: facts may have its numbers or its names: leave it out, if they have names", path);
    struct names kept = *n;
    if (has_all[0]) {
        *n = named;
        named = kept;
    }
    names_fini(&named);
    for (int k = 0; k < 2; k++) names_fini(&is[k]);
}

static void load_splits(struct graph *g, const char *folder, const char *order)
{
    char path[PATH_BYTES];
    const char *const *layout = layout_of(folder);
    uint32_t trained = 0;
    for (unsigned split = 0; split < GRAPH_SPLITS; split++) {
        find_file(path, folder, layout[split]);
        load_split(g, path, order, (enum graph_split)split);
        if (split == GRAPH_TRAIN)
            trained = g->entities.count;
        else
            count_unknown(g, path, (enum graph_split)split, trained);
    }
    for (unsigned file = ENTITIES; file < FILES; file++) {
        if (!find_file(path, folder, layout[file])) continue;
        name_numbers(file == ENTITIES ? &g->entities : &g->relations, path);
    }
}

/* Leaves at least one training fact to each entity and relation. */
void graph_divide(struct graph *g, const struct fact *facts, size_t count, uint64_t seed,
                  const char *path)
{
    struct rng rng;
    uint32_t *order = take_memory(count, sizeof *order);
    uint32_t *uses = take_memory(g->entities.count, sizeof *uses),
             *of_relation = take_memory(g->relations.count, sizeof *of_relation);
    for (size_t i = 0; i < count; i++) {
        order[i] = (uint32_t)i;
        uses[facts[i].subject]++;
        uses[facts[i].object]++;
        of_relation[facts[i].relation]++;
    }
    rng_init(&rng, seed, 0);
    rng_shuffle(&rng, order, count);
    size_t wanted = count / GRAPH_PART;
    for (size_t i = 0; i < count; i++) {
        struct fact f = facts[order[i]];
        enum graph_split split = g->splits[GRAPH_TEST].count < wanted ? GRAPH_TEST : GRAPH_VALID;
        bool is_free = g->splits[split].count < wanted && uses[f.subject] > 1 &&
                       uses[f.object] > 1 && of_relation[f.relation] > 1;
        if (!is_free) split = GRAPH_TRAIN;
        if (is_free) {
            uses[f.subject]--;
            uses[f.object]--;
            of_relation[f.relation]--;
        }
        facts_add(&g->splits[split], f);
    }
    for (int split = 0; split < GRAPH_SPLITS; split++)
        if (g->splits[split].count == 0)
            fail(
                "%s has too few facts (%zu) to be split into train, valid and test: each entity and "
                "relation must be in one to train with, too",
                path, count);
    free(order);
    free(uses);
    free(of_relation);
}

static int compare_facts(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct fact));
}

/* Each fact counts once. */
static void load_file(struct graph *g, const char *path, const char *order, uint64_t seed)
{
    size_t kept = 0;
    load_split(g, path, order, GRAPH_TRAIN);
    struct facts all = g->splits[GRAPH_TRAIN];
    g->splits[GRAPH_TRAIN] = (struct facts){0};
    qsort(all.list, all.count, sizeof *all.list, compare_facts);
    for (size_t i = 0; i < all.count; i++)
        if (i == 0 || compare_facts(&all.list[i], &all.list[kept - 1]) != 0)
            all.list[kept++] = all.list[i];
    graph_divide(g, all.list, kept, seed, path);
    free(all.list);
}

void graph_load(struct graph *g, const char *path, const char *order, uint64_t seed)
{
    struct stat about;
    *g = (struct graph){0};
    names_init(&g->entities);
    names_init(&g->relations);
    if (stat(path, &about) != 0 || !S_ISDIR(about.st_mode)) {
        load_file(g, path, order, seed);
    } else if (layout_of(path)) {
        load_splits(g, path, order);
    } else if (has_file(path, "data.noun")) {
        if (order) fail("--format is for columns, and %s has WordNet's own files", path);
        wordnet_load(g, path, seed);
    } else {
        fail("--data %s has none of train.txt, train.tsv, PyKEEN's %s and WordNet's data.noun in "
             "it",
             path, layouts[2][GRAPH_TRAIN]);
    }
}

void graph_fini(struct graph *g)
{
    names_fini(&g->entities);
    names_fini(&g->relations);
    for (int split = 0; split < GRAPH_SPLITS; split++) free(g->splits[split].list);
    *g = (struct graph){0};
}

bool graph_file(const char *folder, unsigned i, char *path)
{
    const char *const *layout = layout_of(folder);
    if (!layout) return has_file(folder, "data.noun") && wordnet_file(folder, i, path);
    unsigned file = 0;
    for (unsigned read = 0; file < FILES; file++)
        if ((file < GRAPH_SPLITS || has_file(folder, layout[file])) && read++ == i) break;
    if (file < FILES) find_file(path, folder, layout[file]);
    return file < FILES;
}

uint64_t graph_digest(const struct graph *g, enum graph_split first, enum graph_split end)
{
    uint64_t digest = names_digest(&g->entities, g->entities.count, DIGEST_FIRST);
    digest = names_digest(&g->relations, g->relations.count, digest);
    for (enum graph_split split = first; split < end; split++)
        digest =
            digest_add(digest, g->splits[split].list, g->splits[split].count * sizeof(struct fact));
    return digest;
}

static int compare(const void *a, const void *b)
{
    const struct fact *x = a, *y = b;
    if (x->subject != y->subject) return x->subject < y->subject ? -1 : 1;
    if (x->relation != y->relation) return x->relation < y->relation ? -1 : 1;
    if (x->object != y->object) return x->object < y->object ? -1 : 1;
    return 0;
}

static size_t sort_and_unite(struct fact *facts, size_t count)
{
    size_t kept = 0;
    qsort(facts, count, sizeof *facts, compare);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || compare(&facts[i], &facts[kept - 1]) != 0) facts[kept++] = facts[i];
    }
    return kept;
}

void filter_init_places(struct filter *f, const struct graph *g)
{
    const struct facts *facts = &g->splits[GRAPH_TRAIN];
    for (int side = 0; side < FILTER_SIDES; side++) {
        struct fact *to = f->sorted[side] = take_memory(facts->count, sizeof *to);
        for (size_t i = 0; i < facts->count; i++) {
            const struct fact *fact = &facts->list[i];
            to[i] = (struct fact){fact->relation, 0,
                                  side == FILTER_OBJECTS ? fact->object : fact->subject};
        }
        f->count[side] = sort_and_unite(to, facts->count);
    }
}

void filter_init(struct filter *f, const struct graph *g)
{
    size_t total = 0;
    for (int split = 0; split < GRAPH_SPLITS; split++) total += g->splits[split].count;
    for (int side = 0; side < FILTER_SIDES; side++) {
        struct fact *to = f->sorted[side] = take_memory(total, sizeof *to);
        for (int split = 0; split < GRAPH_SPLITS; split++) {
            for (size_t i = 0; i < g->splits[split].count; i++) {
                struct fact fact = g->splits[split].list[i];
                *to++ = side == FILTER_OBJECTS
                            ? fact
                            : (struct fact){fact.object, fact.relation, fact.subject};
            }
        }
        f->count[side] = sort_and_unite(f->sorted[side], total);
    }
}

void filter_fini(struct filter *f)
{
    for (int side = 0; side < FILTER_SIDES; side++) free(f->sorted[side]);
    *f = (struct filter){0};
}

/* The first fact that is not before (given, relation, 0). */
static size_t lower_bound(const struct fact *facts, size_t count, struct fact wanted)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&facts[middle], &wanted) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const struct fact *filter_answers(const struct filter *f, enum filter_side side, uint32_t given,
                                  uint32_t relation, size_t *count)
{
    const struct fact *facts = f->sorted[side];
    size_t first = lower_bound(facts, f->count[side], (struct fact){given, relation, 0});
    size_t end = first;
    while (end < f->count[side] && facts[end].subject == given && facts[end].relation == relation)
        end++;
    *count = end - first;
    return facts + first;
}
