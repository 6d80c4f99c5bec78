"""What Python costs, beside floors of the same run:

    PYTHONPATH=python /usr/bin/python3 lab/python/ratios.py [--quick]

Pull of 64 and 10,000 keys of 128 floats beside the call of C (through ctypes, with addresses at hand); and a step of an
embedding, forward, backward and optimizer, beside torch.nn.Embedding(sparse=True) with torch's optimizer: 1 M x 64, batches
of 8192, Zipf 1.1, torch on one thread. Times are of the processor, all threads of the process, so that a busy machine
changes them little. Floor and candidate take turns; each figure is the median of its times, and each ratio the median of the
ratios of neighbours, in both orders.
"""
import argparse
import ctypes
import statistics
import sys
import time

import locus
import numpy as np

ROWS, FLOATS = 1_000_000, 128
EMBEDDING_ROWS, DIMENSION, BATCH, ZIPF = 1_000_000, 64, 8192, 1.1


def per_call(call, calls):
    begin = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - begin) / calls


def compare(name, unit, scale, candidate, floor, calls, turns):
    pairs = []
    for turn in range(-1, 2 * turns):  # in both orders: whoever comes second finds more in the cache
        both = [(which, per_call((candidate, floor)[which], calls)) for which in ((0, 1) if turn % 2 else (1, 0))]
        pairs.append([seconds for _, seconds in sorted(both)])
    pairs = pairs[1:]
    ours, theirs = (statistics.median(pair[i] for pair in pairs) * scale for i in (0, 1))
    ratio = statistics.median(a / b for a, b in pairs)
    print(f"{name:28} {ours:9.2f} {unit}  floor {theirs:9.2f} {unit}  ratio {ratio:5.2f}  "
          f"more {ours - theirs:8.2f} {unit}", flush=True)


def pulls(turns):
    with locus.open([locus.Table("rows", ROWS, FLOATS)]) as node, node.worker() as worker:
        generator = np.random.default_rng(1)
        for n, calls in ((64, 3000), (10_000, 100)):
            keys = generator.integers(0, ROWS, n)
            worker.push(keys, np.ones((n, FLOATS), np.float32))
            out = np.empty((n, FLOATS), np.float32)
            call, handle = locus._c.lib.locus_pull, ctypes.c_void_p(worker._handle)
            at, to = ctypes.c_void_p(keys.ctypes.data), ctypes.c_void_p(out.ctypes.data)
            count = ctypes.c_size_t(n)
            compare(f"pull of {n} keys", "us", 1e6, lambda: worker.pull(keys, out),
                    lambda: call(handle, at, count, to), calls, turns)


def batches_of(count):
    import torch
    generator = np.random.default_rng(2)
    weights = 1 / np.arange(1, EMBEDDING_ROWS + 1) ** ZIPF
    drawn = generator.choice(EMBEDDING_ROWS, (count, BATCH), p=weights / weights.sum())
    return torch.from_numpy(generator.permutation(EMBEDDING_ROWS)[drawn])


def steps(turns):
    import locus.torch as lt
    import torch
    torch.set_num_threads(1)
    batches, target = batches_of(50), torch.randn(BATCH, DIMENSION)
    for name, own, other in (("Adagrad", lt.Adagrad, torch.optim.Adagrad), ("Adam", lt.Adam, torch.optim.SparseAdam)):
        ours = lt.Embedding(EMBEDDING_ROWS, DIMENSION)
        theirs = torch.nn.Embedding(EMBEDDING_ROWS, DIMENSION, sparse=True)
        optimizer = own(ours, lr=0.01)
        with lt.open(optimizer):
            def trainer(module, opt):
                place = [0]

                def step():
                    batch = batches[place[0] % len(batches)]
                    place[0] += 1
                    opt.zero_grad()
                    (module(batch) * target).sum().backward()
                    opt.step()
                return step
            compare(f"Embedding, step of {name}", "ms", 1e3, trainer(ours, optimizer),
                    trainer(theirs, other(list(theirs.parameters()), lr=0.01)), 20, turns)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a turn each: only to see that it runs")
    turns = 1 if parser.parse_args().quick else 6
    pulls(turns)
    try:
        import torch  # noqa: F401
    except ImportError:
        sys.exit("skipped: the embeddings: there is no torch here (python3-torch)")
    steps(turns)


if __name__ == "__main__":
    main()
