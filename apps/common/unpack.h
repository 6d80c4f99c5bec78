/*
 * unpack.h - what is in a file that may be compressed: by gzip, xz or zstd, which its first bytes
 * say. The tool of that name decompresses it, once for all who read it, into a file without a name
 * in TMPDIR, or /tmp; and so is stdin copied.
 *
 * Callers   any thread
 * Memory    none; a descriptor for each such file, until the program ends
 * Waiting   for the tool, and for the disk. Any failure ends the program with a sentence
 */
#ifndef APPS_UNPACK_H
#define APPS_UNPACK_H

#include <stddef.h>
#include <sys/stat.h>

/* A descriptor of the contents, to be mapped: a copy of `fd`, or of the file without a name. `about`
 * the file: one that has changed is decompressed again. */
int unpack(const char *path, int fd, const struct stat *about);
/* The same of stdin. */
int unpack_stdin(void);
/* A file without a name, and bytes for it. */
int unpack_nameless(void);
void unpack_write(int fd, const char *bytes, size_t count);

#endif
