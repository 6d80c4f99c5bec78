"""What a step of an embedding costs in one process, and shared by several; processor time of each kind of thread.

    PYTHONPATH=python /usr/bin/python3 lab/python/processes.py
    PYTHONPATH=python build/gcc/bin/locus run -n 2 -- /usr/bin/python3 lab/python/processes.py

1 M rows of 64 floats, Adagrad, Prefetch, Zipf 1.1, 16,384 indices a step: of all processes together, which share them, or
of the one process, whose library has two threads. torch has one. Processor time changes little on a busy machine.
"""
import collections
import os
import sys
import time

import locus.torch as lt
import numpy as np
import torch

ROWS, DIMENSION, BATCH, ZIPF, BATCHES, WARM, STEPS = 1_000_000, 64, 16_384, 1.1, 50, 40, 200


def processor_ms():
    """Of each kind of thread."""
    spent = collections.Counter(all=time.process_time() * 1e3)
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/comm") as comm, open(f"/proc/self/task/{task}/schedstat") as times:
            name = "training" if int(task) == os.getpid() else comm.read().strip()
            if name.startswith(("training", "locus")):
                spent[name] += int(times.read().split()[0]) / 1e6
    return spent


def batches(rank, size):
    generator = np.random.default_rng(2)
    weights = np.cumsum(1 / np.arange(1, ROWS + 1) ** ZIPF)
    places, drawn = generator.permutation(ROWS), np.random.default_rng(rank)
    each = [np.searchsorted(weights, drawn.random(BATCH // size) * weights[-1]) for _ in range(BATCHES)]
    each = [torch.from_numpy(places[np.minimum(one, ROWS - 1)]) for one in each]
    return (each[step % BATCHES] for step in range(WARM + STEPS))


def main():
    torch.set_num_threads(1)
    embedding = lt.Embedding(ROWS, DIMENSION)
    optimizer = lt.Adagrad(embedding, lr=0.01)
    with lt.open(optimizer, threads=1 if int(os.environ.get("LOCUS_SIZE", 1)) > 1 else 2) as job:
        target = torch.randn(BATCH // job.size, DIMENSION)
        for step, batch in enumerate(lt.Prefetch(batches(job.rank, job.size), keys=lambda batch: {embedding: batch})):
            if step == WARM:
                job.barrier()
                before = processor_ms()
            optimizer.zero_grad()
            (embedding(batch) * target).sum().backward()
            optimizer.step()
        job.worker.wait_all()
        job.barrier()
        spent = processor_ms()
        spent.subtract(before)
        said = ", ".join(f"{name} {ms / STEPS:.2f}" for name, ms in sorted(spent.items()) if ms / STEPS > 0.05)
        sys.stdout.write(f"node {job.rank} of {job.size}, ms a step: {said}\n")


if __name__ == "__main__":
    main()
