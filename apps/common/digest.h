/*
 * digest.h - a number for bytes (FNV-1a), by which nodes see that they have read the same.
 *
 * Callers   any thread
 * Memory    none
 * Waiting   never
 */
#ifndef APPS_DIGEST_H
#define APPS_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define DIGEST_FIRST UINT64_C(0xcbf29ce484222325)

/* Goes on from an earlier digest, or from DIGEST_FIRST. */
static inline uint64_t digest_add(uint64_t digest, const void *bytes, size_t count)
{
    const unsigned char *b = bytes;
    for (size_t i = 0; i < count; i++) {
        /* The analyzer loses sight of a number's later bytes.
         * NOLINTNEXTLINE(clang-analyzer-core.*) */
        digest = (digest ^ b[i]) * UINT64_C(0x100000001b3);
    }
    return digest;
}

#endif
