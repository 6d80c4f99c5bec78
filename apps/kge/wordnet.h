/*
 * wordnet.h - WordNet's database files as a graph: data.noun, data.verb, data.adj and data.adv with
 * their index files, as the Debian package wordnet-base installs them (their format: wndb(5WN)).
 *
 * An entity is a synset, named by its first word, part of speech and sense: "dog.n.01". Of
 * relations that are each other's inverse (hypernym and hyponym) one is taken; of a symmetric
 * relation (antonym, derivationally_related_form) each pair comes once. So no fact of the test
 * split stands in the training split the other way round, and ranks are those of facts that were
 * never seen.
 *
 * Memory    of the whole database while it is read
 * Waiting   for the disk. Malformed files end the program with file and line
 */
#ifndef KGE_WORDNET_H
#define KGE_WORDNET_H

#include "graph.h"

/* Fills in an empty graph. */
void wordnet_load(struct graph *, const char *folder, uint64_t seed);
/* As graph_file(). */
bool wordnet_file(const char *folder, unsigned i, char *path);

#endif
