/*
 * secrets.h - `locus doctor --hosts`: have the hosts of a list one secret? None shows its own: each
 * answers the same challenge with a keyed hash, as nodes that connect do (net/secret.h), under a
 * label of the doctor's that opens no connection.
 *
 *     -> "secret CHALLENGE PATH"       <- "proof HASH", "none" or "error SENTENCE"
 *
 * PATH is that of LOCUS_SECRET_FILE here, which `locus run` would take along; "-": there is none.
 * The rest a host has from its own environment, as a node that is started there by hand has.
 *
 * Memory    constant
 * Waiting   for answers, SECRETS_TIMEOUT_S each; for the disk that has the file
 * Life      none
 */
#ifndef LOCUS_DOCTOR_SECRETS_H
#define LOCUS_DOCTOR_SECRETS_H

#include "findings.h"
#include "remote.h"

#include <stddef.h>

enum { SECRETS_TIMEOUT_S = 30 };

/* A line for each host that answers. */
void secrets_check(struct findings *, struct remote *, size_t count);
/* Prints the answer to "secret CHALLENGE PATH". False: the line is something else. */
bool secrets_tell(const char *line);

#endif
