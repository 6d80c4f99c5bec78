#include "graph.h"

#include "digest.h"
#include "fail.h"
#include "lines.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char form[] = "head TAB relation TAB tail";

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
static struct fact fact_of(struct graph *g, const struct lines *l, enum graph_split split)
{
    struct field x[PARTS];
    lines_take_fields(l, x, PARTS);
    lines_refuse_heading(l, x, PARTS);
    return (struct fact){
        .subject = names_add(&g->entities, x[SUBJECT].text, x[SUBJECT].length),
        .relation = split == GRAPH_TRAIN
                        ? names_add(&g->relations, x[RELATION].text, x[RELATION].length)
                        : trained_relation(g, l, x[RELATION]),
        .object = names_add(&g->entities, x[OBJECT].text, x[OBJECT].length),
    };
}

static void load_split(struct graph *g, const char *path, enum graph_split split)
{
    struct lines l;
    lines_open(&l, path, form);
    while (lines_next(&l)) facts_add(&g->splits[split], fact_of(g, &l, split));
    lines_close(&l);
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

/* A folder of another tool's, a single file, stdin, or nothing. */
static void check_folder(const char *folder)
{
    char path[PATH_MAX];
    graph_file(folder, GRAPH_TRAIN, path);
    if (access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR)) return;
    lines_fail_at(folder, 0, form, "is no folder with train.txt, valid.txt and test.txt in it");
}

void graph_load(struct graph *g, const char *folder)
{
    char path[PATH_MAX];
    uint32_t trained = 0;
    check_folder(folder);
    *g = (struct graph){0};
    names_init(&g->entities);
    names_init(&g->relations);
    for (enum graph_split split = GRAPH_TRAIN; split < GRAPH_SPLITS; split++) {
        graph_file(folder, split, path);
        load_split(g, path, split);
        if (split == GRAPH_TRAIN)
            trained = g->entities.count;
        else
            count_unknown(g, path, split, trained);
    }
}

void graph_fini(struct graph *g)
{
    names_fini(&g->entities);
    names_fini(&g->relations);
    for (int split = 0; split < GRAPH_SPLITS; split++) free(g->splits[split].list);
    *g = (struct graph){0};
}

void graph_file(const char *folder, enum graph_split split, char *path)
{
    if (snprintf(path, PATH_MAX, "%s/%s.txt", folder, graph_split_name(split)) >= PATH_MAX)
        fail("the path \"%.60s...\" is too long", folder);
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
