"""Layers on a GPU, tables in the host's memory: thousand examples a second, beside torch's own tables and a floor; and what a
memory of n-grams adds to a step of a GPT.

    PYTHONPATH=python python3 lab/python/gpu.py             nine minutes at most; on a CPU where there is no GPU
    PYTHONPATH=python python3 lab/python/gpu.py --quick     small sizes: only to see that it runs

26 fields of 4,096 examples a step, 4 M rows of 64 floats, Zipf 1.1; layers of 512 and 256. The floor: what the step's
different rows need to be gathered in memory by torch's threads, to be copied to the GPU and back from pinned memory, and the
layers alone; the longest of the three, since they can overlap. n-grams: 100 M rows of 64 in bf16, orders 2 and 3, one head.
"""
import argparse
import itertools
import time

import locus.torch as lt
import numpy as np
import torch
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
ZIPF, KEPT = 1.1, 60  # different batches


def finish():
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()


def seconds_of(steps, limit):
    """A step, of as many as `limit` seconds have, after some; steps is an iterator that does one each time."""
    for lasting in (limit / 5, limit):
        finish()
        begin, count = time.monotonic(), 0
        while count == 0 or time.monotonic() - begin < lasting:
            next(steps)
            count += 1
    finish()
    return (time.monotonic() - begin) / count


def repeated(call):
    return (call() for _ in itertools.count())


class Layers(nn.Module):
    def __init__(self, fields, dim):
        super().__init__()
        self.all = nn.Sequential(nn.Linear(fields * dim, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1))

    def forward(self, values):
        return self.all(values.flatten(1)).square().mean()


def steps(look_up, optimizers, layers, batches):
    for batch in batches:
        for each in optimizers:
            each.zero_grad()
        layers(look_up(batch)).backward()
        for each in optimizers:
            each.step()
        yield


def recommend(rows, dim, fields, examples, limit):
    generator = np.random.default_rng(1)
    weights, places = np.cumsum(1 / np.arange(1, rows + 1) ** ZIPF), generator.permutation(rows)
    drawn = [np.searchsorted(weights, generator.random((examples, fields)) * weights[-1]) for _ in range(KEPT)]
    kept = [torch.from_numpy(places[np.minimum(each, rows - 1)]) for each in drawn]
    batches = lambda: itertools.cycle(kept)

    def report(name, seconds):
        print(f"{name:34} {seconds * 1e3:8.2f} ms a step, {examples / seconds / 1e3:7.1f} thousand examples/s", flush=True)

    def dense():
        layers = Layers(fields, dim).to(DEVICE)
        return layers, torch.optim.Adam(layers.parameters())

    for name, place in (("torch, table where the layers are", DEVICE), ("torch, table in memory", "cpu")):
        table, (layers, optimizer) = nn.Embedding(rows, dim, sparse=True, device=place), dense()
        both = optimizer, torch.optim.Adagrad(table.parameters(), 0.01)
        report(name, seconds_of(steps(lambda batch: table(batch.to(place)).to(DEVICE), both, layers, batches()), limit))
        del table, both
    for kind in (lt.Adagrad, lt.RowAdagrad):
        for is_ahead in (False, True):
            table, (layers, optimizer) = lt.Embedding(rows, dim, device=DEVICE), dense()
            own = kind(table, 0.01)
            with lt.open(own):
                given = lt.Prefetch(batches(), keys=lambda batch: {table: batch}) if is_ahead else batches()
                made = steps(table, (optimizer, own), layers, given)
                report(f"locus, {kind.__name__}{', values ahead' if is_ahead else ''}", seconds_of(made, limit))
                made.close()
    floor(rows, dim, kept[0], dense(), report, limit / 4)


def floor(rows, dim, batch, dense, report, limit):
    layers, optimizer = dense
    different, table = torch.unique(batch), torch.zeros(rows, dim)
    buffer = torch.empty(len(different), dim, pin_memory=DEVICE.type == "cuda")
    there, values = buffer.to(DEVICE), torch.randn(*batch.shape, dim, device=DEVICE)
    print(f"{len(different)} different rows a step, {buffer.numel() * 4e-6:.1f} MB", flush=True)

    def copies():
        there.copy_(buffer, non_blocking=True)
        buffer.copy_(there, non_blocking=True)
        finish()
    each = {"floor: rows gathered": repeated(lambda: torch.index_select(table, 0, different, out=buffer)),
            "floor: copied there and back": repeated(copies),
            "floor: layers alone": steps(lambda batch: values, [optimizer], layers, itertools.repeat(batch))}
    took = {name: seconds_of(made, limit) for name, made in each.items()}
    for name, seconds in took.items():
        report(name, seconds)
    report("floor: the longest", max(took.values()))


class Gpt(nn.Module):
    def __init__(self, tokens, width, deep, length, remembered):
        super().__init__()
        self.tokens, self.out = nn.Embedding(tokens, width), nn.Linear(width, tokens)
        self.mix = nn.Linear(remembered, width)
        layer = nn.TransformerEncoderLayer(width, width // 64, 4 * width, 0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, deep)
        self.register_buffer("later", torch.full((length, length), float("-inf")).triu(1))

    def forward(self, tokens, remembered):
        values = self.tokens(tokens) if remembered is None else self.tokens(tokens) + self.mix(remembered)
        return nn.functional.cross_entropy(self.out(self.layers(values, self.later)).flatten(0, 1), tokens.flatten())


def ngrams(rows, width, deep, length, examples, limit):
    tokens, took = 32_000, []
    drawn = np.minimum(np.random.default_rng(2).zipf(1.2, (KEPT, examples, length)), tokens) - 1
    kept = list(torch.from_numpy(drawn))
    memory = lt.NgramTable(rows, 64, orders=(2, 3), heads=1, dtype=torch.bfloat16).to(DEVICE)
    own = lt.RowAdagrad(memory, 0.1)
    with lt.open(own):
        for remembers in (False, True):
            gpt = Gpt(tokens, width, deep, length, memory.width).to(DEVICE)
            optimizers = [torch.optim.AdamW(gpt.parameters())] + ([own] if remembers else [])
            look_up = lambda batch: (batch.to(DEVICE), memory(batch) if remembers else None)
            given = itertools.cycle(kept)
            if remembers:
                given = lt.Prefetch(given, keys=lambda batch: {memory.table: memory.indices(batch)}, ahead=8)
            with torch.autocast(DEVICE.type, dtype=torch.bfloat16):
                made = steps(look_up, optimizers, lambda both: gpt(*both), given)
                took.append(seconds_of(made, limit))
                made.close()
    print(f"GPT of {sum(each.numel() for each in gpt.parameters()) / 1e6:.0f} M parameters: {took[0] * 1e3:.1f} ms a step, with a "
          f"memory of {rows / 1e6:g} M rows {took[1] * 1e3:.1f}: ratio {took[1] / took[0]:.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, and no waiting")
    is_quick = parser.parse_args().quick
    about = torch.cuda.get_device_name() if DEVICE.type == "cuda" else "no GPU"
    print(f"{about}, {torch.get_num_threads()} threads, torch {torch.__version__}, NumPy {np.__version__}", flush=True)
    if is_quick:
        recommend(10_000, 8, 4, 64, 0.2)
        ngrams(100_000, 64, 1, 16, 2, 0.2)
    else:
        recommend(4_000_000, 64, 26, 4096, 25)
        ngrams(100_000_000, 768, 12, 512, 16, 30)


if __name__ == "__main__":
    main()
