/*
 * folder.h - folders of its own for a test's files, with all that is in them gone when its process
 * ends.
 */
#ifndef TEST_COMMON_FOLDER_H
#define TEST_COMMON_FOLDER_H

#include <stddef.h>

enum { FOLDER_PATH_BYTES = 256 };

void folder_new(char *folder);
/* Before a child that makes some, and ends as it likes: they go with this process, too. */
void folder_begin(void);
/* Another folder goes then, too. */
void folder_goes(const char *folder);
/* "folder/file"; valid until the next call. */
const char *folder_path(const char *folder, const char *file);
/* Writes folder/file; text of `length` bytes, or up to its zero byte when length is 0. */
void folder_write(const char *folder, const char *file, const char *text, size_t length);
/* The same into a file in a new folder; its path, valid until the next call of a path. */
const char *folder_file(const char *text, size_t length);
/* Reads a file whole, with a zero byte behind it; free() it. */
char *folder_read(const char *folder, const char *file, size_t *length);

#endif
