#!/usr/bin/env python3
"""ctr and gnn on plain arrays beside PyTorch, the same model, batch and number of threads, in one run.

    tasks.py ctr PROGRAMS DATA [--turns 3] [--examples 100000]
    tasks.py gnn PROGRAMS DATA [--turns 3]

PROGRAMS has locus-ctr and locus-gnn. DATA has census_148d_train.libsvm and census_148d_test.libsvm, and for gnn facebook/, which
`locus prepare gnn` makes (lab/README.md). Of ctr there is made-up data, too: 26 fields, 100,000 categories by Zipf.

Times are of the processor, all threads of the process, so that a busy machine changes them less. Those of the programs are
the difference of a long run and a short one: training alone, with the loader. Those of PyTorch are of its steps (forward,
backward, AdaGrad; its batches are made before), on one thread. They take turns; each figure is the least of its turns.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
sys.path.append(str(Path(__file__).resolve().parents[1]))

import made  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

DIMENSION, HIDDEN, BATCH, RATE = 8, (64, 32), 128, 0.02
GRAPH_DIMENSION, GRAPH_HIDDEN, GRAPH_BATCH, NEIGHBOURS = 64, 64, 32, 16


# ---- the programs, and what is said of both ----

def run(command):
    """The processor's seconds, and the lines of JSON."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, [json.loads(line) for line in text.splitlines()]


def processor(call):
    began = time.process_time()
    call()
    return time.process_time() - began


def compare(what, command, epochs, examples, quality_of, in_torch, turns):
    """An epoch's seconds of the program: what `epochs` further ones take. in_torch returns its own, and how well it did."""
    print(f"{what}, {examples} examples to train with")
    command = [*command, "--baseline", "--json"]
    _, lines = run([*command, "--epochs", str(epochs)])
    ours, theirs = [], []
    for _ in range(turns):
        short, long = (run([*command, "--eval-every", "0", "--epochs", str(n)])[0] for n in (1, 1 + epochs))
        ours.append((long - short) / epochs)
        theirs.append(in_torch())
    seconds, quality = min(each[0] for each in theirs), theirs[-1][1]
    for who, took, how in (("plain arrays, with the loader", min(ours), quality_of(lines)), ("PyTorch", seconds, quality)):
        print(f"{who:<34} {took:8.3f} s an epoch {took / examples * 1e6:9.2f} us an example   {how}", flush=True)
    print(f"PyTorch takes {seconds / min(ours):.1f} times the processor's time\n")


# ---- click-through rates ----

def read_clicks(lines):
    """Labels, and the numbers of each example's features, of which all have the same number; their values are 1."""
    words = [line.split() for line in lines]
    features = [[int(word.split(":")[-2]) for word in line[1:]] for line in words]
    return np.array([float(line[0]) > 0 for line in words], np.float32), np.array(features, np.int64)


def quality_of_clicks(logits, labels):
    order = np.argsort(logits, kind="stable")
    _, place, count = np.unique(logits[order], return_inverse=True, return_counts=True)
    end = np.cumsum(count)
    ranks = (end - (count - 1) / 2)[place]
    clicks = labels[order] > 0
    positive = clicks.sum()
    auc = (ranks[clicks].sum() - positive * (positive + 1) / 2) / (positive * (len(labels) - positive))
    loss = np.mean(np.logaddexp(0, logits) - labels * logits)
    return f"AUC {auc:.4f}, log loss {loss:.4f}"


class WideDeep:
    """apps/ctr with PyTorch: a row has a feature's weight and vector; each field has one feature."""

    def __init__(self, features, fields, rate, is_sparse):
        self.rows = torch.nn.Embedding(features, 1 + DIMENSION, sparse=is_sparse)
        with torch.no_grad():
            self.rows.weight.uniform_(-0.05 * 3 ** 0.5, 0.05 * 3 ** 0.5)
            self.rows.weight[:, 0] = 0
        layers, inputs = [], fields * DIMENSION
        for units in HIDDEN:
            layers += [torch.nn.Linear(inputs, units), torch.nn.ReLU()]
            inputs = units
        self.layers = torch.nn.Sequential(*layers, torch.nn.Linear(inputs, 1))
        self.optimizer = torch.optim.Adagrad([*self.rows.parameters(), *self.layers.parameters()], lr=rate)
        self.loss = torch.nn.BCEWithLogitsLoss()

    def logits(self, features):
        rows = self.rows(features)
        return rows[:, :, 0].sum(1) + self.layers(rows[:, :, 1:].flatten(1))[:, 0]

    def epoch(self, labels, features, first_rate, last_rate):
        order = torch.randperm(len(labels))
        labels, features = labels[order], features[order]

        def steps():
            for at in range(0, len(labels), BATCH):
                for group in self.optimizer.param_groups:
                    group["lr"] = first_rate + (last_rate - first_rate) * at / len(labels)
                self.optimizer.zero_grad(set_to_none=True)
                self.loss(self.logits(features[at:at + BATCH]), labels[at:at + BATCH]).backward()
                self.optimizer.step()
        return processor(steps)

    def judge(self, labels, features):
        with torch.no_grad():
            return quality_of_clicks(self.logits(torch.from_numpy(features)).numpy().astype(float), labels)


def torch_clicks(train, test, epochs, is_sparse):
    """The least seconds of an epoch, and how well the last one did."""
    torch.manual_seed(1)
    count = int(max(train[1].max(), test[1].max())) + 1
    model, step = WideDeep(count, train[1].shape[1], RATE, is_sparse), 0.9 * RATE / epochs
    labels, features = (torch.from_numpy(array) for array in train)
    seconds = [model.epoch(labels, features, RATE - epoch * step, RATE - (epoch + 1) * step) for epoch in range(epochs)]
    return min(seconds), model.judge(*test)


def clicks(options):
    def told(lines):
        last = [line for line in lines if line.get("split") == "test"][-1]
        return f"AUC {last['auc']:.4f}, log loss {last['log_loss']:.4f}"

    def of(what, train, test, epochs, is_sparse):
        command = [f"{options.programs}/locus-ctr", "--data", train, "--test", test, "--lr", str(RATE), *"--reg 0 --validate 0".split()]
        parts = [read_clicks(Path(path).read_text(encoding="ascii").splitlines()) for path in (train, test)]
        compare(what, command, epochs, len(parts[0][0]), told, lambda: torch_clicks(*parts, epochs, is_sparse), options.turns)

    census = [f"{options.data}/census_148d_{part}.libsvm" for part in ("train", "test")]
    if all(map(os.path.exists, census)):
        of("census, 148 features in 13 fields", *census, 8, False)
    path = made.options("ctr", f"26x100000x{options.examples * 11 // 10}").split()[1]
    with tempfile.TemporaryDirectory() as folder, open(path, encoding="ascii") as file:
        lines, files = file.readlines(), [f"{folder}/{part}.ffm" for part in ("train", "test")]
        for name, part in zip(files, (lines[:options.examples], lines[options.examples:])):
            Path(name).write_text("".join(part), encoding="ascii")
        of("made up, 26 fields, 100,000 categories", *files, 2, True)


# ---- classes of nodes ----

class Graph:
    """Facebook pages, as apps/gnn reads them: nodes are named by numbers."""

    def __init__(self, edges, classes):
        pairs = np.loadtxt(edges, dtype=np.int64, delimiter="\t")
        with open(classes) as lines:
            word_of = dict(line.rstrip("\n").split("\t") for line in lines)
        words = [word_of[str(node)] for node in range(len(word_of))]
        names = sorted(set(words))
        self.class_of = np.array([names.index(word) for word in words])
        self.nodes, self.classes = len(words), len(names)
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        both = np.unique(np.concatenate((pairs, pairs[:, ::-1])), axis=0)
        self.start = np.searchsorted(both[:, 0], np.arange(self.nodes + 1))
        self.neighbour = both[:, 1]

    def around(self, nodes, draw):
        """The nodes and up to NEIGHBOURS of each's neighbours: different ones, and the matrix of the mean."""
        ends, rows, weights = [], [], []
        for at, node in enumerate(nodes):
            near = self.neighbour[self.start[node]:self.start[node + 1]]
            if len(near) > NEIGHBOURS:
                near = draw.choice(near, NEIGHBOURS, replace=False)
            ends.append(np.append(node, near))
            rows += [at] * (1 + len(near))
            weights += [1 / (1 + len(near))] * (1 + len(near))
        different, columns = np.unique(np.concatenate(ends), return_inverse=True)
        matrix = torch.sparse_coo_tensor(np.stack((rows, columns)), np.array(weights, np.float32), (len(nodes), len(different)))
        return different, matrix.coalesce()

    def batch(self, nodes, draw):
        middle, upper = self.around(nodes, draw)
        inputs, lower = self.around(middle, draw)
        return torch.from_numpy(inputs), lower, upper, torch.from_numpy(self.class_of[nodes])


class Convolution:
    """apps/gnn with PyTorch."""

    def __init__(self, graph):
        self.rows = torch.nn.Embedding(graph.nodes, GRAPH_DIMENSION, sparse=True)
        with torch.no_grad():
            self.rows.weight.uniform_(-0.1 * 3 ** 0.5, 0.1 * 3 ** 0.5)
        self.first = torch.nn.Linear(GRAPH_DIMENSION, GRAPH_HIDDEN)
        self.last = torch.nn.Linear(GRAPH_HIDDEN, graph.classes)
        layers = [*self.first.parameters(), *self.last.parameters()]
        self.optimizer = torch.optim.Adagrad([{"params": self.rows.parameters(), "lr": 0.1}, {"params": layers, "lr": 0.01}])
        self.loss = torch.nn.CrossEntropyLoss()

    def odds(self, batch):
        inputs, lower, upper, _ = batch
        hidden = torch.relu(self.first(torch.sparse.mm(lower, self.rows(inputs))))
        return self.last(torch.sparse.mm(upper, hidden))

    def epoch(self, batches):
        def steps():
            for batch in batches:
                self.optimizer.zero_grad(set_to_none=True)
                self.loss(self.odds(batch), batch[3]).backward()
                self.optimizer.step()
        return processor(steps)

    def accuracy(self, batches):
        with torch.no_grad():
            right = sum(int((self.odds(batch).argmax(1) == batch[3]).sum()) for batch in batches)
        return right / sum(len(batch[3]) for batch in batches)


def torch_graph(graph, epochs):
    """The least seconds of an epoch, and the accuracy behind the last."""
    torch.manual_seed(1)
    draw, model = np.random.default_rng(1), Convolution(graph)
    order = draw.permutation(graph.nodes)
    train, test = order[:int(0.6 * graph.nodes)], order[int(0.8 * graph.nodes):]

    def batches(nodes):
        return [graph.batch(nodes[at:at + GRAPH_BATCH], draw) for at in range(0, len(nodes), GRAPH_BATCH)]
    seconds = [model.epoch(batches(draw.permutation(train))) for _ in range(epochs)]
    return min(seconds), f"test {model.accuracy(batches(test)):.4f}"


def pages(options):
    files = [f"{options.data}/facebook/{part}.txt" for part in ("edges", "labels")]
    command, graph = [f"{options.programs}/locus-gnn", "--data", files[0], "--labels", files[1]], Graph(*files)
    compare("Facebook pages", command, 3, int(0.6 * graph.nodes),
            lambda lines: f"test {[line['accuracy'] for line in lines if 'accuracy' in line][-1]:.4f}",
            lambda: torch_graph(graph, 3), options.turns)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=("ctr", "gnn"))
    parser.add_argument("programs")
    parser.add_argument("data")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--examples", type=int, default=100_000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    (clicks if options.task == "ctr" else pages)(options)


if __name__ == "__main__":
    main()
