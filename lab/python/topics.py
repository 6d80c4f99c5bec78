#!/usr/bin/env python3
"""Topics of the AP corpus by lda, scikit-learn and gensim, in one run: how well they foretell new documents, in how much
processor time.

    topics.py LDA FOLDER [--topics 100] [--seed 1]

LDA is the program, FOLDER has ap.dat and vocab.txt (github.com/blei-lab/lda-c). Each tenth document is tested with. All
are judged alike, here: half of a test document's tokens give its shares of the topics by expectation and maximization,
the other half is foretold. Needs python3-sklearn and python3-gensim; who is not there is left out.
"""

import argparse
import json
import os
import resource
import struct
import subprocess
import tempfile
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402

ALPHA, BETA = 0.1, 0.01


def read_documents(path):
    documents = []
    with open(path) as lines:
        for line in lines:
            pairs = [pair.split(":") for pair in line.split()[1:]]
            documents.append([(int(word), int(count)) for word, count in pairs])
    return documents


def halves(documents, seed):
    """Of each document: the words of the tokens that are given, and of those that are foretold."""
    draw = np.random.default_rng(seed)
    result = []
    for document in documents:
        tokens = np.array([word for word, count in document for _ in range(count)])
        given = draw.random(len(tokens)) < 0.5
        result.append((tokens[given], tokens[~given]))
    return result


def perplexity(phi, test):
    """phi[topic, word] sums up to 1 over words."""
    topics, logarithms, count = len(phi), 0.0, 0
    for given, foretold in test:
        theta = np.full(topics, 1 / topics)
        words = phi[:, given]
        for _ in range(100):
            shares = theta[:, None] * words
            new = (ALPHA + (shares / shares.sum(0)).sum(1)) / (len(given) + topics * ALPHA)
            moved = np.abs(new - theta).sum()
            theta = new
            if moved < 1e-6:
                break
        logarithms += np.log(theta @ phi[:, foretold]).sum()
        count += len(foretold)
    return float(np.exp(-logarithms / count))


def processor_time():
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def show(who, effort, phi, test, began):
    cpu, wall = processor_time() - began[0], time.time() - began[1]
    print(f"{who:<14} {effort:<12} {cpu:8.1f} s {wall:8.1f} s {perplexity(phi, test):8.0f}", flush=True)


def start():
    return processor_time(), time.time()


def read_phi(path):
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8:8 + size])["word_topics"]
    first, end = head["data_offsets"]
    counts = np.frombuffer(data[8 + size + first:8 + size + end], "<f4").reshape(head["shape"]).astype(float).T
    return (counts + BETA) / (counts + BETA).sum(1, keepdims=True)


def run_lda(options, train, test, folder):
    data = os.path.join(folder, "train.dat")
    with open(data, "w") as file:
        for document in train:
            pairs = " ".join(f"{word}:{count}" for word, count in document)
            file.write(f"{len(document)} {pairs}\n")
    for sweeps in (10, 20, 50, 100, 200, 400):
        out, began = os.path.join(folder, "model"), start()
        command = [options.lda, "--data", data, "--vocabulary", os.path.join(options.folder, "vocab.txt"),
                   "--topics", str(options.topics), "--alpha", str(ALPHA), "--beta", str(BETA), "--hold-back", "0",
                   "--epochs", str(sweeps), "--seed", str(options.seed), "--out", out, "--json"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        show("lda", f"{sweeps} sweeps", read_phi(out), test, began)


def run_sklearn(options, train, test, words):
    from scipy.sparse import csr_matrix
    from sklearn.decomposition import LatentDirichletAllocation
    entries = [(d, word, count) for d, document in enumerate(train) for word, count in document]
    rows, columns, counts = zip(*entries)
    matrix = csr_matrix((counts, (rows, columns)), shape=(len(train), words))
    for passes in (5, 10, 20):
        began = start()
        model = LatentDirichletAllocation(options.topics, doc_topic_prior=ALPHA, topic_word_prior=BETA,
                                          max_iter=passes, learning_method="batch", random_state=options.seed)
        model.fit(matrix)
        phi = model.components_ / model.components_.sum(1, keepdims=True)
        show("scikit-learn", f"{passes} passes", phi, test, began)


def run_gensim(options, train, test, words):
    from gensim.models.ldamodel import LdaModel
    for passes in (1, 3, 10):
        began = start()
        model = LdaModel(train, options.topics, id2word={w: str(w) for w in range(words)}, alpha=[ALPHA] * options.topics,
                         eta=BETA, passes=passes, eval_every=None, random_state=options.seed)
        show("gensim", f"{passes} passes", model.get_topics().astype(float), test, began)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("lda")
    arguments.add_argument("folder")
    arguments.add_argument("--topics", type=int, default=100)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    documents = read_documents(os.path.join(options.folder, "ap.dat"))
    train = [document for i, document in enumerate(documents) if i % 10 != 9]
    test = halves([document for i, document in enumerate(documents) if i % 10 == 9], options.seed)
    with open(os.path.join(options.folder, "vocab.txt")) as lines:
        words = sum(1 for _ in lines)
    print(f"{len(train)} documents to train with, {len(test)} to test with, {words} words, {options.topics} topics")
    print(f"{'':<27} {'processor':>10} {'clock':>10} {'perplexity':>10}")
    with tempfile.TemporaryDirectory() as folder:
        run_lda(options, train, test, folder)
    for run in (run_gensim, run_sklearn):
        try:
            run(options, train, test, words)
        except ImportError as problem:
            print(f"left out: {problem}")


if __name__ == "__main__":
    main()
