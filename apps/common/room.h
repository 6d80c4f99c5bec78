/*
 * room.h - lists that grow. What finds no memory ends the program with a sentence (fail.h).
 *
 * Callers   any thread, each with its own list
 * Memory    realloc(); free() it
 * Waiting   never
 */
#ifndef APPS_ROOM_H
#define APPS_ROOM_H

#include <stddef.h>

/* The memory with room for `count` things of `bytes` each; what is new is not zeroed. `things` says
 * what found no memory. */
void *resize_memory(void *memory, size_t count, size_t bytes, const char *things);
/* The list of so many things with room for one more: half as many more whenever it is full. */
void *make_room(void *list, size_t count, size_t *capacity, size_t bytes, const char *things);

#endif
