/*
 * memory_files.h - a file system in memory in the place of the system's (checkpoint/files.h): one
 * that fails when told, and of which a crash leaves what was synced, and of the rest whatever it
 * likes.
 *
 * What was written to a file since it was synced, and names in a folder that have changed since
 * that was, may be there after a crash or not: each by itself, for no file system promises an
 * order.
 *
 * Callers   tests; one thread at a time
 * Memory    static tables; files from malloc, until memory_files_end
 * Waiting   in `before`
 * Life      memory_files_begin; any calls; memory_files_end
 */
#ifndef TEST_COMMON_MEMORY_FILES_H
#define TEST_COMMON_MEMORY_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Before each call: its name, as "write", and of which file. 0: it works; a negative errno: it
 * fails with it. NULL: all work. */
typedef int memory_files_before(const char *call, const char *path);

/* Takes the system's place; empty but for ".". */
void memory_files_begin(memory_files_before *);
/* Gives it back. */
void memory_files_end(void);

/* Nobody has a file open any more. `throw` says what becomes of what was not synced: any number
 * each time. */
void memory_files_crash(uint64_t (*throw)(void *), void *context);

/* Another disk, which has what this one has; to be given to memory_files_take() once. */
struct disk *memory_files_copy(void);
/* In the place of this one, whose memory is freed. */
void memory_files_take(struct disk *);

uint64_t memory_files_calls(void); /* so far */
unsigned memory_files_open(void);  /* file descriptors */
/* A file's bytes, NULL: there is none. Valid until the next call. */
unsigned char *memory_files_bytes(const char *path, size_t *bytes);

#endif
