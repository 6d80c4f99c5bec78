/*
 * labels.h - the nodes' classes, and which nodes are to train, to validate and to test with.
 *
 * Classes are words, in files as marks.h reads them; -1 is none. The nodes' purposes are words of
 * such a file, too: train, val (valid, validation), test, anything else is none of these. Without
 * a file a share of the nodes that have a class is drawn for each purpose.
 *
 * Callers   main() loads; any thread reads
 * Memory    9 bytes a node
 * Waiting   for the disk
 */
#ifndef GNN_LABELS_H
#define GNN_LABELS_H

#include "network.h"

enum labels_purpose { LABELS_TRAIN, LABELS_VALIDATE, LABELS_TEST, LABELS_PURPOSES };

#define LABELS_NONE UINT32_MAX
enum { LABELS_CLASSES_MAX = 4096 };

struct labels {
    uint32_t nodes, classes;
    uint32_t *class_of;              /* LABELS_NONE: it has none */
    uint8_t *purpose_of;             /* enum labels_purpose, or LABELS_PURPOSES */
    struct names names;              /* of classes */
    uint32_t *list[LABELS_PURPOSES]; /* ascending */
    uint32_t count[LABELS_PURPOSES];
};

void labels_init(struct labels *);
void labels_fini(struct labels *);
/* Before network_finish(): nodes without edges may be added. */
void labels_load(struct labels *, struct network *, const char *path);
/* After it, and after the classes are known: purposes from a file, or shares drawn by the seed. */
void labels_split_by_file(struct labels *, struct network *, const char *path);
void labels_split(struct labels *, double train, double validate, uint64_t seed);
/* Room for so many nodes, each of which is given a class. */
void labels_reserve(struct labels *, uint32_t nodes);
/* Of the nodes to test with; or of those to train and to validate with, which choose the model. */
uint64_t labels_digest(const struct labels *, bool of_test);

#endif
