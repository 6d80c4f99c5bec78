/*
 * no_unpack.h - instead of unpack.c, for a fuzzer of readers: other programs decompress, and are not
 * what is tried.
 */
#ifndef LOCUS_FUZZ_NO_UNPACK_H
#define LOCUS_FUZZ_NO_UNPACK_H

#include "unpack.h"

#include <stdlib.h>
#include <unistd.h>

int unpack(const char *file, int fd, const struct stat *about)
{
    (void)file;
    (void)about;
    return dup(fd);
}

int unpack_stdin(void)
{
    return dup(STDIN_FILENO);
}

/* Several files as one: a fuzzer has one. */
int unpack_nameless(void)
{
    abort();
}

void unpack_write(int fd, const char *bytes, size_t count)
{
    (void)fd;
    (void)bytes;
    (void)count;
    abort();
}

#endif
