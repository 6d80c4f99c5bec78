#include "labels.h"

#include "digest.h"
#include "fail.h"
#include "rng.h"

#include <stdlib.h>
#include <string.h>

void labels_init(struct labels *l)
{
    *l = (struct labels){0};
    names_init(&l->names);
}

void labels_fini(struct labels *l)
{
    names_fini(&l->names);
    free(l->class_of);
    free(l->purpose_of);
    for (int p = 0; p < LABELS_PURPOSES; p++) free(l->list[p]);
    *l = (struct labels){0};
}

void labels_reserve(struct labels *l, uint32_t nodes)
{
    if (nodes <= l->nodes) return;
    uint32_t capacity = l->nodes ? l->nodes : 1024;
    while (capacity < nodes) capacity *= 2;
    uint32_t *larger = resize_memory(l->class_of, capacity, sizeof *larger, "classes of nodes");
    for (uint32_t v = l->nodes; v < capacity; v++) larger[v] = LABELS_NONE;
    l->class_of = larger;
    l->purpose_of = resize_memory(l->purpose_of, capacity, 1, "purposes of nodes");
    memset(l->purpose_of + l->nodes, LABELS_PURPOSES, capacity - l->nodes);
    l->nodes = capacity;
}

/* ---- files ---- */

/* Calls `use` with each line's node, and the word behind it. */
typedef void use_word(struct labels *, const struct lines *, uint32_t node, struct field word);

static void read_words(struct labels *l, struct network *n, const char *path, const char *form,
                       use_word *use)
{
    struct lines lines;
    struct field field[2];
    uint32_t known = n->names.count, named = 0;
    lines_open(&lines, path, form);
    while (lines_next(&lines)) {
        lines_take_fields(&lines, field, 2);
        lines_refuse_heading(&lines, field, 2);
        uint32_t node = network_node(n, &lines, field[0]);
        named += node < known;
        use(l, &lines, node, field[1]);
    }
    if (named == 0) fail("%s says nothing of any node of the graph", path);
    lines_close(&lines);
}

static void set_class(struct labels *l, const struct lines *lines, uint32_t node, struct field word)
{
    labels_reserve(l, node + 1);
    if (l->class_of[node] != LABELS_NONE) lines_fail(lines, "is the second class of this node");
    l->class_of[node] = names_add(&l->names, word.text, word.length);
    if (l->class_of[node] >= LABELS_CLASSES_MAX)
        lines_fail(lines, "there are more than %d classes", LABELS_CLASSES_MAX);
}

void labels_load(struct labels *l, struct network *n, const char *path)
{
    read_words(l, n, path, "node TAB class", set_class);
    l->classes = l->names.count;
    if (l->classes < 2) fail("%s has one class: must have two at least", path);
}

static void set_purpose(struct labels *l, const struct lines *lines, uint32_t node,
                        struct field word)
{
    static const char *const purposes[LABELS_PURPOSES] = {"train", "val", "test"};
    int p = 0;
    while (p < LABELS_PURPOSES &&
           (strlen(purposes[p]) != word.length || memcmp(purposes[p], word.text, word.length) != 0))
        p++;
    if (p == LABELS_PURPOSES)
        lines_fail(lines, "\"%.*s\" is no purpose: must be train, val or test",
                   lines_shown(word.length), word.text);
    labels_reserve(l, node + 1);
    if (l->purpose_of[node] != LABELS_PURPOSES)
        lines_fail(lines, "is the second purpose of this node");
    l->purpose_of[node] = (uint8_t)p;
}

void labels_load_purposes(struct labels *l, struct network *n, const char *path)
{
    read_words(l, n, path, "node TAB train|val|test", set_purpose);
}

/* ---- who is for what ---- */

void labels_list(struct labels *l)
{
    for (int p = 0; p < LABELS_PURPOSES; p++)
        l->list[p] = take_memory(l->nodes, sizeof *l->list[p]);
    for (uint32_t v = 0; v < l->nodes; v++) {
        uint8_t p = l->purpose_of[v];
        if (p < LABELS_PURPOSES && l->class_of[v] != LABELS_NONE) l->list[p][l->count[p]++] = v;
    }
    if (l->count[LABELS_TRAIN] == 0) fail("there is no node with a class to train with");
}

/* Exact shares of those that have a class. */
void labels_split(struct labels *l, double train, double validate, uint64_t seed)
{
    struct rng rng;
    uint32_t *order = take_memory(l->nodes, sizeof *order), count = 0;
    for (uint32_t v = 0; v < l->nodes; v++)
        if (l->class_of[v] != LABELS_NONE) order[count++] = v;
    rng_init(&rng, seed, UINT64_C(1) << 60);
    rng_shuffle(&rng, order, count);
    uint32_t first = (uint32_t)(train * count), second = (uint32_t)((train + validate) * count);
    for (uint32_t i = 0; i < count; i++) {
        enum labels_purpose p = i < second ? LABELS_VALIDATE : LABELS_TEST;
        l->purpose_of[order[i]] = (uint8_t)(i < first ? LABELS_TRAIN : p);
    }
    free(order);
    labels_list(l);
}

uint64_t labels_digest(const struct labels *l, bool of_test)
{
    uint64_t digest = names_digest(&l->names, l->names.count, DIGEST_FIRST);
    digest = digest_add(digest, &l->classes, sizeof l->classes);
    for (int p = of_test ? LABELS_TEST : 0; p < (of_test ? LABELS_PURPOSES : LABELS_TEST); p++)
        for (uint32_t i = 0; i < l->count[p]; i++) {
            uint32_t node[] = {l->list[p][i], l->class_of[l->list[p][i]], (uint32_t)p};
            digest = digest_add(digest, node, sizeof node);
        }
    return digest;
}
