/*
 * save.h - the trained model as a file, and a look at it: nearest neighbours.
 *
 * Callers   every worker, together; rank 0's first one does it
 * Memory    of the entities' embeddings, for neighbours
 * Waiting   for rows of other nodes, and for the disk
 */
#ifndef KGE_SAVE_H
#define KGE_SAVE_H

#include "task.h"

/* Writes --out: tensors "entities" and "relations" (with reciprocal relations, the second rows
 * follow all the first), "entity_names" and "relation_names" as bytes, one name a line, in the
 * order of the rows. */
void save_model(const struct task *, struct pool_member *);
/* Shows the nearest neighbours, by the cosine, of each of the words of --near. */
void save_show_neighbours(const struct task *, struct pool_member *);

#endif
