/*
 * ctr_save.h - writes the model as safetensors: wide (a weight of each feature), vectors,
 * layerN.weight and layerN.bias from 0 on, and the features' names where they have some.
 *
 * Callers   the first worker of rank 0, after training
 * Memory    some rows, and the largest layer
 * Waiting   for rows of other nodes, and the disk
 */
#ifndef CTR_CTR_SAVE_H
#define CTR_CTR_SAVE_H

#include "ctr.h"

void ctr_save(const struct ctr *, struct pool_member *);

#endif
