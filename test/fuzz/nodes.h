/*
 * nodes.h - the shards of a few nodes in one thread, with requests of their workers under way, on a
 * network that belongs to the fuzzer: it delivers their frames in any order of the links, changes
 * what is in them, repeats it, sends it to others, and makes up frames of its own.
 *
 * So most of what arrives is sound, however deep the protocol goes, and the rest is close to it.
 * All operations of wire.h occur, and the first number beyond them. Nothing is assumed about what
 * they bring about, but that each turn ends, that nobody touches anything beyond a frame, an entry
 * or a row, and that every request of a worker is completed once, when its node has heard of a
 * failure at the latest.
 *
 * A frame passes here only if a link would let it pass; one that a shard refuses cuts the link both
 * ways, and each end is told (shard_fail) some time later.
 *
 * Callers   the fuzzers of the shard
 * Memory    every frame, entry and row of the exact size
 * Waiting   never
 * Life      one nodes_run a call of LLVMFuzzerTestOneInput
 */
#ifndef LOCUS_FUZZ_NODES_H
#define LOCUS_FUZZ_NODES_H

#include "input.h"

#include "protocol/request.h"

/* `completed`: NULL, or what else to do with a request that is complete. */
void nodes_run(const uint8_t *data, size_t size, void (*completed)(const struct request *, int rc));

#endif
