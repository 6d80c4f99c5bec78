/*
 * labels.h - the nodes' classes, and which nodes are to train, to validate and to test with.
 *
 * A line of a file is a node's name, a tab, and its class, or its purpose: train, val or test. A
 * node without one has no line. Without a file of purposes a share of the nodes that have a class
 * is drawn for each.
 *
 * Callers   main() loads or generates; any thread reads
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
    struct names names;              /* of classes; empty where they were generated */
    uint32_t *list[LABELS_PURPOSES]; /* ascending */
    uint32_t count[LABELS_PURPOSES];
};

void labels_init(struct labels *);
void labels_fini(struct labels *);
/* Classes, and purposes, from files: before network_finish(), for they may name nodes that have no
 * edges. Give up, with file and line, when they are malformed. */
void labels_load(struct labels *, struct network *, const char *path);
void labels_load_purposes(struct labels *, struct network *, const char *path);
/* After it, and labels_reserve(): lists the nodes of each purpose; or draws purposes by the seed, and
 * lists them. */
void labels_list(struct labels *);
void labels_split(struct labels *, double train, double validate, uint64_t seed);
/* Room for so many nodes, which have neither class nor purpose. */
void labels_reserve(struct labels *, uint32_t nodes);
/* Of the nodes to test with; or of those to train and to validate with, which choose the model. */
uint64_t labels_digest(const struct labels *, bool of_test);

/* A graph whose degrees follow a power law, with planted classes: each edge's first end is drawn by
 * the law, the second one by the law, too, among the nodes of the same class with probability
 * `same`, else among all. The same for a seed on all nodes. */
struct planted {
    const char *text; /* "1000000x16x32": nodes, mean degree, classes */
    double exponent;  /* of the degrees' distribution: above 2 */
    double same;
    uint64_t seed;
};

/* Leaves the network to be finished, and the labels to be split. Gives up when it is no such
 * text. */
void planted_generate(const struct planted *, struct network *, struct labels *);

#endif
