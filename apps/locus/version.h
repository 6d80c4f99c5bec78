/*
 * version.h - the release, as a text.
 *
 * Memory    none
 * Waiting   never
 * Life      none
 */
#ifndef LOCUS_RUN_VERSION_H
#define LOCUS_RUN_VERSION_H

#include "locus.h"

#define VERSION_WORD(number) #number
#define VERSION_JOIN(major, minor, patch) \
    VERSION_WORD(major) "." VERSION_WORD(minor) "." VERSION_WORD(patch)
#define LOCUS_VERSION_TEXT \
    VERSION_JOIN(LOCUS_VERSION_MAJOR, LOCUS_VERSION_MINOR, LOCUS_VERSION_PATCH)

#endif
