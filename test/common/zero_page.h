/* zero_page.h - does this kernel back memory that is only read by one page of zeros, for all? */
#ifndef LOCUS_TEST_ZERO_PAGE_H
#define LOCUS_TEST_ZERO_PAGE_H

#include "base/memory.h"
#include "base/process.h"

#include <stdbool.h>

/* If not, reading costs pages as writing does. */
static inline bool kernel_has_zero_page(void)
{
    enum { PROBE_BYTES = 16 << 20, PROBE_STEP = 4096 };
    void *memory = memory_reserve(PROBE_BYTES);
    volatile const char *probe = memory;
    double before = footprint_resident_bytes();
    for (size_t i = 0; probe && i < PROBE_BYTES; i += PROBE_STEP) (void)probe[i];
    double grown = footprint_resident_bytes() - before;
    if (memory) memory_release(memory, PROBE_BYTES);
    return grown < PROBE_BYTES / 2;
}

#endif
