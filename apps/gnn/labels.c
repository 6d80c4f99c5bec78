#include "labels.h"

#include "digest.h"
#include "fail.h"
#include "marks.h"
#include "rng.h"

#include <math.h>
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
    l->nodes = capacity;
}

/* ---- classes ---- */

static void set_class(void *labels, const struct lines *lines, uint32_t node, struct field word)
{
    struct labels *l = labels;
    double number;
    bool is_number = lines_number(word.text, word.length, &number);
    if (is_number && number == -1) return;
    if (is_number && number != floor(number))
        lines_fail(lines, "\"%.*s\" is no class: is the last field one? A heading may name another",
                   lines_shown(word.length), word.text);
    lines_check_name(lines, word, "class");
    if (field_is_missing(word))
        lines_fail(lines, "\"%.*s\" may be a class, or none: write -1 for none, or a longer name",
                   (int)word.length, word.text);
    labels_reserve(l, node + 1);
    uint32_t class = names_add(&l->names, word.text, word.length);
    if (class >= LABELS_CLASSES_MAX)
        lines_fail(lines, "there are more than %d classes: is the last field a class?",
                   LABELS_CLASSES_MAX);
    if (l->class_of[node] != LABELS_NONE && l->class_of[node] != class)
        lines_fail(lines, "a node has two classes: \"%s\" and \"%s\"",
                   names_get(&l->names, l->class_of[node]), names_get(&l->names, class));
    l->class_of[node] = class;
}

void labels_load(struct labels *l, struct network *n, const char *path)
{
    marks_read(n, path, true, set_class, l);
    l->classes = l->names.count;
    uint32_t labelled = 0;
    for (uint32_t v = 0; v < l->nodes; v++) labelled += l->class_of[v] != LABELS_NONE;
    if (l->classes > 2 && l->classes == labelled)
        fail("%s: each node has a class of its own: is the last field a class? A heading may name "
             "another",
             path);
    if (l->classes < 2)
        fail("%s has %u class%s: must have two at least; -1 is none", path, l->classes,
             l->classes == 1 ? "" : "es");
}

/* ---- purposes ---- */

static void set_purpose(void *labels, const struct lines *lines, uint32_t node, struct field word)
{
    struct labels *l = labels;
    enum labels_purpose p = LABELS_PURPOSES;
    if (field_is_word(word, "train")) p = LABELS_TRAIN;
    if (field_is_word(word, "val") || field_is_word(word, "valid") ||
        field_is_word(word, "validation"))
        p = LABELS_VALIDATE;
    if (field_is_word(word, "test")) p = LABELS_TEST;
    if (p == LABELS_PURPOSES) {
        if (field_is_word(word, "none") || field_is(word, "-1")) return;
        lines_fail(lines, "\"%.*s\" is no purpose: must be train, val, test or none",
                   lines_shown(word.length), word.text);
    }
    if (l->purpose_of[node] != LABELS_PURPOSES && l->purpose_of[node] != p)
        lines_fail(lines, "a node has two purposes");
    l->purpose_of[node] = (uint8_t)p;
}

static void list_purposes(struct labels *l)
{
    for (int p = 0; p < LABELS_PURPOSES; p++)
        l->list[p] = take_memory(l->nodes, sizeof *l->list[p]);
    for (uint32_t v = 0; v < l->nodes; v++) {
        uint8_t p = l->purpose_of[v];
        if (p < LABELS_PURPOSES && l->class_of[v] != LABELS_NONE) l->list[p][l->count[p]++] = v;
    }
    if (l->count[LABELS_TRAIN] == 0) fail("there is no node with a class to train with");
}

static void begin_split(struct labels *l)
{
    l->purpose_of = take_memory(l->nodes, sizeof *l->purpose_of);
    memset(l->purpose_of, LABELS_PURPOSES, l->nodes);
}

void labels_split_by_file(struct labels *l, struct network *n, const char *path)
{
    labels_reserve(l, n->nodes);
    begin_split(l);
    marks_read(n, path, false, set_purpose, l);
    list_purposes(l);
}

/* Exact shares of those that have a class. */
void labels_split(struct labels *l, double train, double validate, uint64_t seed)
{
    struct rng rng;
    uint32_t *order = take_memory(l->nodes, sizeof *order), count = 0;
    begin_split(l);
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
    list_purposes(l);
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
