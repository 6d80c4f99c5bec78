/*
 * plant.h - makes up a knowledge graph that can be learned. An entity has a type, and is in one of
 * the type's four groups. A relation leads from one type to one type, and from each group of the
 * one to a certain group of the other. Relations, and subjects and objects within a group, are
 * drawn by Zipf's law (exponent 1); one fact in ten has any object instead. No fact comes twice.
 * The same for a seed on all nodes.
 *
 * Memory    the graph's; 16 to 32 bytes a fact while it works
 * Waiting   never
 */
#ifndef KGE_PLANT_H
#define KGE_PLANT_H

#include "graph.h"

/* The splits valid and test get one fact in PLANT_PART each, at most PLANT_HELD_BACK_MAX. */
enum { PLANT_PART = 33, PLANT_HELD_BACK_MAX = 1500 };

/* Fills in an empty graph of so many entities, relations and different facts, in all splits:
 * "100000x500x1000000"; gives up when it is no such text, or asks for more than a tenth of all
 * facts there could be. Entities are named by type, group and rank in it: t3.g1.e0 is the most
 * frequent one of group 1 of type 3. */
void plant_generate(struct graph *, const char *text, uint64_t seed);

#endif
