/*
 * memory.h - address space that is reserved at once, and costs memory only where it is written.
 *
 * A reservation of a chunk or more begins with small pages, so that a write alone in its
 * surroundings costs 4 KiB. Its users say what they touch for the first time. When half of a
 * chunk's pages are in use, or a page of it and half of the chunk's before it, it becomes one huge
 * page.
 *
 * Memory    the kernel's; new pages are zero; 72 bytes a chunk, of those in use
 * Waiting   memory_touched and memory_discard: while another thread changes the kind of pages; for
 *           the kernel, which copies at most 2 MiB
 * Life      memory_reserve, any use, memory_release
 */
#ifndef LOCUS_BASE_MEMORY_H
#define LOCUS_BASE_MEMORY_H

#include <stddef.h>

/* a huge page: the unit in which row memory is requested and returned */
enum { MEMORY_CHUNK_BYTES = 2 << 20 };

/* At least `bytes` zeros, aligned to a chunk when at least that large. NULL: the address space was
 * refused. */
void *memory_reserve(size_t bytes);
/* Releases exactly a reserved range; NULL is allowed. */
void memory_release(void *, size_t bytes);
/* Of the reservation `memory` of `bytes`: the range [from, from + count) is about to be written, or
 * was just now, perhaps for the first time. Cheap, but not for a fast path; any thread. */
void memory_touched(void *memory, size_t bytes, const void *from, size_t count);
/* Returns the pages within [from, from + count) to the system: they read as zeros until written
 * again. */
void memory_discard(void *memory, size_t bytes, void *from, size_t count);

#endif
