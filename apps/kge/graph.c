#include "graph.h"

#include "digest.h"
#include "fail.h"
#include "fields.h"
#include "wordnet.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = PATH_MAX };

const char *graph_split_name(enum graph_split split)
{
    static const char *const names[GRAPH_SPLITS] = {"train", "valid", "test"};
    return names[split];
}

void facts_add(struct facts *f, struct fact fact)
{
    if (f->count == f->capacity) {
        f->capacity = f->capacity ? f->capacity * 2 : 1024;
        struct fact *longer = realloc(f->list, f->capacity * sizeof *longer);
        if (!longer) fail("%zu facts find no memory", f->capacity);
        f->list = longer;
    }
    f->list[f->count++] = fact;
}

static void path_of(char *path, const char *folder, const char *file)
{
    if (snprintf(path, PATH_BYTES, "%s/%s", folder, file) >= PATH_BYTES)
        fail("the path \"%.60s...\" is too long", folder);
}

static bool has_file(const char *folder, const char *file)
{
    char path[PATH_BYTES];
    struct stat about;
    path_of(path, folder, file);
    if (stat(path, &about) == 0) return true;
    if (errno != ENOENT) fail("%s: %s", path, strerror(errno));
    return false;
}

/* One that no training fact has could only be guessed. */
static uint32_t trained_relation(const struct graph *g, const struct lines *l, struct field name)
{
    uint32_t relation = names_find(&g->relations, name.text, name.length);
    if (relation == NAMES_NONE)
        lines_fail(l, "the relation \"%.*s\" is not in train.txt", lines_shown(name.length),
                   name.text);
    return relation;
}

static struct fact fact_of(struct graph *g, const struct fields *f, enum graph_split split)
{
    static const char *const are[] = {"subject", "relation", "object"};
    const struct field *x = f->field;
    if (f->count != 3)
        lines_fail(&f->lines, "has %zu fields; a fact is subject, relation and object", f->count);
    for (int i = 0; i < 3; i++) lines_check_name(&f->lines, x[i], are[i]);
    return (struct fact){
        .subject = names_add(&g->entities, x[0].text, x[0].length),
        .relation = split == GRAPH_TRAIN ? names_add(&g->relations, x[1].text, x[1].length)
                                         : trained_relation(g, &f->lines, x[1]),
        .object = names_add(&g->entities, x[2].text, x[2].length),
    };
}

static void load_split(struct graph *g, const char *folder, enum graph_split split)
{
    char path[PATH_BYTES];
    struct fields f;
    graph_file(folder, split, path);
    fields_open(&f, path, &(struct fields_wanted){.least = 3, .known = &g->entities});
    while (fields_next(&f)) facts_add(&g->splits[split], fact_of(g, &f, split));
    fields_close(&f);
    if (g->splits[split].count == 0)
        fail("%s is empty: it must have rows of subject, relation and object", path);
}

void graph_load(struct graph *g, const char *path, uint64_t seed)
{
    struct stat about;
    *g = (struct graph){0};
    names_init(&g->entities);
    names_init(&g->relations);
    if (stat(path, &about) != 0) fail("--data %s: %s", path, strerror(errno));
    if (!S_ISDIR(about.st_mode))
        fail("--data %s is not a folder: it must have train.txt, valid.txt and test.txt", path);
    if (has_file(path, "train.txt")) {
        for (int split = 0; split < GRAPH_SPLITS; split++)
            load_split(g, path, (enum graph_split)split);
    } else if (has_file(path, "data.noun")) {
        wordnet_load(g, path, seed);
    } else {
        fail("--data %s has neither train.txt nor WordNet's data.noun in it", path);
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
    char file[16];
    if (!has_file(folder, "train.txt")) return wordnet_file(folder, i, path);
    if (i >= GRAPH_SPLITS) return false;
    snprintf(file, sizeof file, "%s.txt", graph_split_name((enum graph_split)i));
    path_of(path, folder, file);
    return true;
}

uint64_t graph_digest(const struct graph *g)
{
    uint64_t digest = digest_add(DIGEST_FIRST, g->entities.text, g->entities.text_length);
    digest = digest_add(digest, g->relations.text, g->relations.text_length);
    for (int split = 0; split < GRAPH_SPLITS; split++)
        digest =
            digest_add(digest, g->splits[split].list, g->splits[split].count * sizeof(struct fact));
    return digest;
}
