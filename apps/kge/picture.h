/*
 * picture.h - loss, MRR and management over time, drawn at the end (--chart).
 *
 * Callers   the first worker of rank 0
 * Memory    for the time of the call
 * Waiting   for the disk
 */
#ifndef KGE_PICTURE_H
#define KGE_PICTURE_H

#include "train.h"

void picture_write(const struct training *, int nodes);

#endif
