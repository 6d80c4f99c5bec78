/*
 * descriptors.h - has this process room for more descriptors?
 *
 * Memory    none
 * Waiting   never; it reads the list of descriptors
 * Life      none
 */
#ifndef LOCUS_NET_DESCRIPTORS_H
#define LOCUS_NET_DESCRIPTORS_H

#include <stdbool.h>

/* For so many more than are open now? true, too, if the system does not tell. */
bool descriptors_suffice(unsigned more);
/* Sets the sentence about the links that need them; returns -error. */
int descriptors_lacking(int error, unsigned peers, unsigned shards);

#endif
