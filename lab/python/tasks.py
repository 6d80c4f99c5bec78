#!/usr/bin/env python3
"""ctr and gnn on plain arrays beside PyTorch, the same model, batch and number of threads, in one run; and beside
scikit-learn's logistic regression.

    tasks.py ctr PROGRAM FOLDER [--turns 3] [--examples 100000]
    tasks.py gnn PROGRAM FOLDER [--turns 3]

PROGRAM is bin/locus-ctr or bin/locus-gnn. FOLDER has, at any depth, census_148d_train.libsvm and census_148d_test.libsvm; for gnn
edges.txt and labels.txt, which `locus prepare gnn` makes of facebook_edges.csv and facebook_target.csv. Of ctr there is
generated data, too: 26 fields, 100,000 categories by Zipf.

Times are of the processor, all threads of the process, so that a busy machine changes them less. Those of the programs are
the difference of a long run and a short one: training alone, with the loader. Those of PyTorch are of its steps (forward,
backward, AdaGrad; its batches are made before), on one thread. They take turns; each figure is the least of its turns.
Needs python3-torch and python3-sklearn; who is not there is left out.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402

DIMENSION, HIDDEN, BATCH, RATE = 8, (64, 32), 128, 0.02
FIELDS, CATEGORIES, ZIPF = 26, 100_000, 1.1
GRAPH_DIMENSION, GRAPH_HIDDEN, GRAPH_BATCH, NEIGHBOURS = 64, 64, 32, 16


def find(folder, name):
    for path, _, files in sorted(os.walk(folder, followlinks=True)):
        if name in files:
            return os.path.join(path, name)
    return None


# ---- the programs ----

def run(command):
    """The processor's seconds, and the lines of JSON."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, [json.loads(line) for line in text.splitlines()]


def epoch_of(command, more):
    """The processor's seconds of an epoch: what `more` further ones take."""
    common = [*command, "--json", "--eval-every", "0"]
    short, _ = run([*common, "--epochs", "1"])
    long, _ = run([*common, "--epochs", str(1 + more)])
    return (long - short) / more


def processor(call):
    began = time.process_time()
    call()
    return time.process_time() - began


def show(who, seconds, examples, quality):
    print(f"{who:<34} {seconds:8.3f} s an epoch {seconds / examples * 1e6:9.2f} us an example   {quality}", flush=True)


# ---- click-through rates ----

def read_libsvm(path):
    """Labels, and the numbers of each example's features, of which all have the same number; their values are 1."""
    labels, features = [], []
    with open(path) as lines:
        for line in lines:
            words = line.split()
            labels.append(float(words[0]) > 0)
            features.append([int(word.split(":")[0]) for word in words[1:]])
    return np.array(labels, np.float32), np.array(features, np.int64)


def make_zipf(count, files):
    """Examples to train with and a tenth as many to test with, as read_libsvm has them; the files are LIBFFM's."""
    draw, each = np.random.default_rng(1), CATEGORIES // FIELDS
    weights = 1 / np.arange(1, each + 1) ** ZIPF
    strength, parts = draw.normal(size=FIELDS * each), []
    for path, examples in zip(files, (count, count // 10)):
        drawn = draw.choice(each, (examples, FIELDS), p=weights / weights.sum())
        features = drawn + np.arange(FIELDS) * each
        odds = np.exp(1 - strength[features].sum(1) / 3)
        labels = (draw.random(examples) * (1 + odds) < 1).astype(np.float32)
        with open(path, "w") as file:
            for label, row in zip(labels, features):
                file.write(f"{int(label)} " + " ".join(f"{field}:{key}:1" for field, key in enumerate(row)) + "\n")
        parts.append((labels, features))
    return parts


def quality_of(logits, labels):
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
        import torch
        self.torch = torch
        torch.set_num_threads(1)
        torch.manual_seed(1)
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
        order = self.torch.randperm(len(labels))
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
        with self.torch.no_grad():
            return quality_of(self.logits(self.torch.from_numpy(features)).numpy().astype(float), labels)


def torch_clicks(train, test, count, epochs, is_sparse):
    """The least seconds of an epoch, and how well the last one did."""
    import torch
    model, rate = WideDeep(count, train[1].shape[1], RATE, is_sparse), RATE
    labels, features = (torch.from_numpy(array) for array in train)
    seconds, step = [], 0.9 * rate / epochs
    for epoch in range(epochs):
        seconds.append(model.epoch(labels, features, rate - epoch * step, rate - (epoch + 1) * step))
    return min(seconds), model.judge(*test)


def logistic(train, test, count):
    from scipy.sparse import csr_matrix
    from sklearn.linear_model import LogisticRegression

    def matrix(features):
        examples, each = features.shape
        return csr_matrix((np.ones(features.size), features.ravel(), np.arange(0, features.size + 1, each)), (examples, count))
    model = LogisticRegression(max_iter=1000)
    seconds = processor(lambda: model.fit(matrix(train[1]), train[0]))
    return seconds, quality_of(model.decision_function(matrix(test[1])), test[0])


def compare_clicks(options, files, train, test, epochs, is_dense):
    count = int(max(train[1].max(), test[1].max())) + 1
    command = [options.program, *files, "--baseline", "--lr", str(RATE), "--reg", "0", "--validate", "0"]
    examples = len(train[0])
    _, lines = run([*command, "--json", "--epochs", str(epochs)])
    last = [line for line in lines if line.get("split") == "test"][-1]
    ours, theirs, quality = [], [], None
    for _ in range(options.turns):
        ours.append(epoch_of(command, epochs))
        try:
            seconds, quality = torch_clicks(train, test, count, epochs, not is_dense)
            theirs.append(seconds)
        except ImportError as problem:
            print(f"left out: {problem}")
            break
    show("ctr --baseline, with its loader", min(ours), examples, f"AUC {last['auc']:.4f}, log loss {last['log_loss']:.4f}")
    if theirs:
        show("PyTorch", min(theirs), examples, quality)
        print(f"PyTorch takes {min(theirs) / min(ours):.1f} times the processor's time")
    try:
        seconds, quality = logistic(train, test, count)
        print(f"scikit-learn, logistic regression  {seconds:8.3f} s in all{'':28} {quality}\n")
    except ImportError as problem:
        print(f"left out: {problem}\n")


def clicks(options):
    paths = [find(options.folder, f"census_148d_{part}.libsvm") for part in ("train", "test")]
    if all(paths):
        train, test = (read_libsvm(path) for path in paths)
        print("census, 148 features in 13 fields")
        compare_clicks(options, ["--data", paths[0], "--test", paths[1]], train, test, 8, True)
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, part) for part in ("train.ffm", "test.ffm")]
        train, test = make_zipf(options.examples, files)
        print(f"generated, {options.examples} examples of {FIELDS} fields, {CATEGORIES} categories")
        compare_clicks(options, ["--data", files[0], "--test", files[1]], train, test, 2, False)


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
        import torch
        matrix = torch.sparse_coo_tensor(np.stack((rows, columns)), np.array(weights, np.float32), (len(nodes), len(different)))
        return different, matrix.coalesce()

    def batch(self, nodes, draw):
        import torch
        middle, upper = self.around(nodes, draw)
        inputs, lower = self.around(middle, draw)
        return torch.from_numpy(inputs), lower, upper, torch.from_numpy(self.class_of[nodes])


class Convolution:
    """apps/gnn with PyTorch."""

    def __init__(self, graph):
        import torch
        self.torch = torch
        torch.set_num_threads(1)
        torch.manual_seed(1)
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
        hidden = self.torch.relu(self.first(self.torch.sparse.mm(lower, self.rows(inputs))))
        return self.last(self.torch.sparse.mm(upper, hidden))

    def epoch(self, batches):
        def steps():
            for batch in batches:
                self.optimizer.zero_grad(set_to_none=True)
                self.loss(self.odds(batch), batch[3]).backward()
                self.optimizer.step()
        return processor(steps)

    def accuracy(self, batches):
        with self.torch.no_grad():
            right = sum(int((self.odds(batch).argmax(1) == batch[3]).sum()) for batch in batches)
        return right / sum(len(batch[3]) for batch in batches)


def torch_graph(graph, epochs):
    """The least seconds of an epoch, and the accuracy behind the last."""
    draw, model = np.random.default_rng(1), Convolution(graph)
    order = draw.permutation(graph.nodes)
    train, test = order[:int(0.6 * graph.nodes)], order[int(0.8 * graph.nodes):]

    def batches(nodes):
        return [graph.batch(nodes[at:at + GRAPH_BATCH], draw) for at in range(0, len(nodes), GRAPH_BATCH)]
    seconds = [model.epoch(batches(draw.permutation(train))) for _ in range(epochs)]
    return min(seconds), model.accuracy(batches(test))


def graph(options):
    edges, classes = (find(options.folder, f"{part}.txt") for part in ("edges", "labels"))
    if not edges or not classes:
        sys.exit("passed over: there is no edges.txt and labels.txt, as `locus prepare gnn` makes them")
    command = [options.program, "--data", edges, "--labels", classes, "--baseline"]
    _, lines = run([*command, "--json", "--epochs", "3"])
    accuracy = [line["accuracy"] for line in lines if "accuracy" in line][-1]
    pages, ours, theirs, quality = Graph(edges, classes), [], [], 0
    nodes = int(0.6 * pages.nodes)
    print(f"Facebook pages, {nodes} nodes to train with")
    for _ in range(options.turns):
        ours.append(epoch_of(command, 4))
        try:
            seconds, quality = torch_graph(pages, 3)
            theirs.append(seconds)
        except ImportError as problem:
            print(f"left out: {problem}")
            break
    show("gnn --baseline, with its loader", min(ours), nodes, f"test {accuracy:.4f}")
    if theirs:
        show("PyTorch", min(theirs), nodes, f"test {quality:.4f}")
        print(f"PyTorch takes {min(theirs) / min(ours):.1f} times the processor's time\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=("ctr", "gnn"))
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--examples", type=int, default=100_000)
    options = parser.parse_args()
    (clicks if options.task == "ctr" else graph)(options)


if __name__ == "__main__":
    sys.exit(main())
