/*
 * raw.h - floors for whatever goes through a network: the same bytes there and back, or one way,
 * through a TCP connection of two processes.
 *
 * The other end is a process of its own (node_process.h): this program once more, in raw_peer(). It
 * does for each connection what it was asked to do.
 *
 * Callers   the benchmark's thread; main() of the other end
 * Memory    buffers are the caller's; the other end has one
 * Waiting   as the kernel makes a socket wait, or spinning. What goes wrong ends the program with a
 *           sentence
 * Life      raw_start; any number of raw_open ... raw_close; raw_stop
 */
#ifndef BENCH_RAW_H
#define BENCH_RAW_H

#include "latency.h"
#include "node_process.h"

#include <stdbool.h>

/* What node_process_is() says of the other end, whose main() must then call raw_peer(). */
#define RAW_PEER "--raw-peer"

enum raw_kind { RAW_PINGPONG = 1, RAW_STREAM };
struct raw_task {
    uint64_t kind;
    uint64_t request, answer; /* ping-pong: bytes each way */
    uint64_t write;           /* stream: bytes a write */
    /* ping-pong: both ends poll their sockets instead of sleeping in them */
    uint64_t spins;
    uint64_t pinned; /* each end runs on a processor of its own */
};

struct node_process *raw_start(void);
void raw_stop(struct node_process *);

/* `buffer_bytes`: the largest request, answer or write. */
_Noreturn void raw_peer(size_t buffer_bytes);

/* Pinning needs two processors. */
bool raw_can(const struct raw_task *);

/* A connection whose other end does its part of the task. Pinned: this thread, too, until
 * raw_close. */
int raw_open(struct node_process *, const struct raw_task *);
void raw_close(int fd);

/* Goes there and back for so long, but `trips_min` times at least. Returns how many. */
uint64_t raw_round_trips(int fd, const struct raw_task *, void *buffer, uint64_t ns,
                         uint64_t trips_min, struct latency *times);
/* Bytes a second that arrive while `ns` pass. */
double raw_receive_for(int fd, const struct raw_task *, void *buffer, uint64_t ns);

#endif
