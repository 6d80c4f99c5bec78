/*
 * arena.h - memory that can be put back to what it was: all that the library asks for lies in one
 * place, so that a state of the world is a copy of it.
 *
 * The program is linked so that malloc and its kind, as called by the library and by us, come here
 * (mk/build.mk). While the arena is closed, before and after an exploration, they are the C
 * library's.
 *
 * Memory    static
 * Waiting   never
 * Life      arena_open, arena_save / arena_restore, arena_close
 */
#ifndef LOCUS_EXHAUSTIVE_ARENA_H
#define LOCUS_EXHAUSTIVE_ARENA_H

#include <stddef.h>

/* Empty. */
void arena_open(void);
void arena_close(void);

/* All but large ranges of memory.h, which hold rows: their user copies those that matter.
 * Returns the bytes of the copy, which must have room for ARENA_COPY_BYTES. */
enum { ARENA_COPY_BYTES = 1 << 18 };
size_t arena_save(char *copy);
size_t arena_restore(const char *copy);

/* Memory of the C library's, also while the arena is open: zeros. NULL: none is left. */
void *arena_outside(size_t bytes);
void arena_outside_free(void *);

#endif
