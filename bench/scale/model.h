/*
 * model.h - what the simulated machines and their network are like: every constant, its unit and
 * where it comes from.
 *
 * This table is all there is; --model changes it. lab/papers/machine.h has a longer one.
 *
 * Callers   all parts
 * Memory    the caller's
 * Waiting   never
 */
#ifndef BENCH_SCALE_MODEL_H
#define BENCH_SCALE_MODEL_H

#include <stdbool.h>
#include <stddef.h>

/* X(name, value, unit, what, where from). Loopback figures hold for the machine that the table was
 * made on: both ends of a frame are in them, so a kernel that really sends over a card may cost
 * more or less. */
#define MODEL(X) \
    X(latency, 20000, "ns", "a frame's way from card to card, the switch included", "assumed") \
    X(bandwidth, 1.25, "bytes/ns", "of a card, each way: 10 Gbit/s", "assumed") \
    X(packet_bytes, 1448, "bytes", "of a frame in one packet", "MTU 1500, TCP with time stamps") \
    X(packet_overhead, 90, "bytes", "around a packet", "Ethernet 38, IP 20, TCP 32") \
    X(own_core, 0, "", "1: shards pace as with a core of their own", "0: as on shared cores") \
    X(wake, 30000, "ns", "until a thread that sleeps is awake", "idle processor, 25 to 40 us") \
    X(wake_cpu, 3000, "ns", "shard: processor time of that", \
      "two_nodes, ping-pong, blocking less spinning") \
    X(turn, 200, "ns", "shard: a turn that something has come for", \
      "shard_turn 20 ns; clock, ring and mailbox assumed") \
    X(turn_peer, 0, "ns", "shard: a turn, for each other node", \
      "a turn looks at those it has something for") \
    X(frame_out, 3000, "ns", "shard: sending a frame, system call included", \
      "two_nodes, ping-pong, spinning") \
    X(frame_in, 1500, "ns", "shard: receiving a frame", "the same: both 4.2 us") \
    X(byte_out, 0.25, "ns", "shard: a byte of a frame that is sent", \
      "two_nodes, pull, 16 and 128 floats") \
    X(byte_in, 0.2, "ns", "shard: a byte of a frame that arrives", \
      "two_nodes, pull, 16 and 128 floats") \
    X(row_byte, 0.15, "ns", "shard: a byte of a row, read or written", \
      "two_nodes, pull, 16 and 128 floats") \
    X(entry_out, 50, "ns", "shard: writing an entry, without its row", \
      "two_nodes, pull, 64 and 1024 keys") \
    X(entry_in, 90, "ns", "shard: serving an entry, without its row", \
      "two_nodes, pull, 64 and 1024 keys") \
    X(item, 30, "ns", "shard: taking on a key that a worker asks for", \
      "two_nodes, pull, 64 and 1024 keys") \
    X(intent, 50, "ns", "shard: a want that begins and ends", "assumed: two looks at a record") \
    X(pull, 40, "ns", "worker: a key that is here", "local_access, 128 floats") \
    X(push, 45, "ns", "worker: a key that is here", "local_access, 128 floats")

struct model {
#define X(name, value, unit, what, source) double name;
    MODEL(X)
#undef X
};

/* A row of such a table: a double of a struct. */
struct constant {
    const char *name, *unit, *what, *source;
    double value;
    size_t offset;
};
extern const struct constant model_constants[];
extern const unsigned model_count;

double *constant_in(const struct constant *, void *in);
void constants_init(const struct constant *, unsigned count, void *in);
/* "latency=50000,bandwidth=12.5"; false: *wrong is the part that is none of these. */
bool constants_change(const struct constant *, unsigned count, void *in, const char *changes,
                      const char **wrong);

#endif
