/*
 * memory.h - address space that is reserved at once, and costs memory only where it is written.
 *
 * Callers   slab, bitset, directory
 * Memory    the kernel's; new pages are zero
 * Waiting   never
 * Life      memory_reserve, any use, memory_release
 */
#ifndef LOCUS_STORE_MEMORY_H
#define LOCUS_STORE_MEMORY_H

#include <stddef.h>

/* a huge page: the unit in which row memory is requested and returned */
enum { MEMORY_CHUNK_BYTES = 2 << 20 };

/* At least `bytes` zeros, aligned to a chunk when larger than one; huge pages where the kernel
 * gives them. NULL: the address space was refused. */
void *memory_reserve(size_t bytes);
/* Releases exactly a reserved range; NULL is allowed. */
void memory_release(void *, size_t bytes);
/* Returns the pages within [from, from + bytes) to the system: they read as zeros until written
 * again. */
void memory_discard(void *from, size_t bytes);

#endif
