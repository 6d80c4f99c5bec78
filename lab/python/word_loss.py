#!/usr/bin/env python3
"""The loss of word vectors that wv has written (--out), with negative samples from the distribution itself.

    word_loss.py TEXT MODEL.safetensors... [--pairs 60000] [--subsample 1e-3] [--seed 1]

The loss that wv prints is that of its own samples. With `--sampling non-conform` they are drawn from the rows that are at
a node, and a model that has adapted to them has a low loss: it cannot be compared with the loss of another sampling. This
one can: the same pairs of the text, thinned out as in training, each with the same 5 words drawn by their frequency to the
power of 3/4, for all models. Needs numpy.
"""

import argparse
import json
import os
import sys

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402

WINDOW, NEGATIVES = 5, 5


def read_model(path):
    """The rows of words as neighbours, those of words in the middle, and the words."""
    with open(path, "rb") as source:
        length = int.from_bytes(source.read(8), "little")
        if length > os.path.getsize(path):
            sys.exit(f"word_loss.py: {path} is no safetensors file")
        header = json.loads(source.read(length))
        data = source.read()
    if not {"inputs", "outputs", "word_names"} <= header.keys():
        sys.exit(f"word_loss.py: {path} is no model of wv")

    def tensor(name, kind):
        first, end = header[name]["data_offsets"]
        return np.frombuffer(data[first:end], kind).reshape(header[name]["shape"])

    separated = tensor("word_names", np.uint8).tobytes().replace(b"\0", b"\n").decode(errors="replace")
    return tensor("inputs", np.float32), tensor("outputs", np.float32), separated.split()


def draw_pairs(text, words, options):
    """Pairs of the text's sentences in random order, and negatives for each."""
    index = {word: i for i, word in enumerate(words)}
    with open(text, encoding="utf-8", errors="replace") as source:
        sentences = [[index[word] for word in line.split() if word in index] for line in source]
    if sum(map(len, sentences)) < 2:
        sys.exit(f"word_loss.py: {text} has no words of the model")
    count = np.bincount([word for sentence in sentences for word in sentence], minlength=len(words))
    part = np.maximum(count, 1) / count.sum()
    kept = np.sqrt(options.subsample / part) + options.subsample / part if options.subsample else np.ones(len(words))
    random = np.random.default_rng(options.seed)
    pairs = []
    for at in random.permutation(len(sentences)):
        sentence = [word for word in sentences[at] if random.random() < kept[word]]
        for i, word in enumerate(sentence):
            reach = random.integers(1, WINDOW + 1)
            near = sentence[max(0, i - reach):i] + sentence[i + 1:i + reach + 1]
            pairs.extend((word, other) for other in near)
        if len(pairs) >= options.pairs:
            break
    chance = np.cumsum(count ** 0.75)
    if not pairs:
        sys.exit(f"word_loss.py: {text} has no two words of the model in one line")
    drawn = np.searchsorted(chance, random.random((options.pairs, NEGATIVES)) * chance[-1], side="right")
    pairs = np.array(pairs[:options.pairs])
    return pairs, drawn[:len(pairs)]


def loss_of(inputs, outputs, pairs, negatives):
    middle = inputs[pairs[:, 1]]  # as in training: the context word's row meets the middle word and the negatives

    def minus_log_sigmoid(sign, words):
        return np.logaddexp(0, -sign * (middle * outputs[words]).sum(axis=1)).mean()

    return minus_log_sigmoid(1, pairs[:, 0]) + sum(minus_log_sigmoid(-1, negatives[:, k]) for k in range(NEGATIVES))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("text")
    arguments.add_argument("model", nargs="+")
    arguments.add_argument("--pairs", type=int, default=60000)
    arguments.add_argument("--subsample", type=float, default=1e-3)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    if options.pairs < 1 or options.subsample < 0:
        arguments.error("--pairs must be 1 or more, --subsample 0 or more")
    print("| model | loss | 1 / loss |\n|---|---|---|")
    for path in options.model:
        try:
            inputs, outputs, words = read_model(path)
            pairs, negatives = draw_pairs(options.text, words, options)
        except OSError as error:
            sys.exit(f"word_loss.py: {error.filename}: {error.strerror}")
        except ValueError as error:
            sys.exit(f"word_loss.py: {path} is no safetensors file: {error}")
        loss = loss_of(inputs, outputs, pairs, negatives)
        print(f"| {os.path.basename(path)} | {loss:.4f} | {1 / loss:.4f} |", flush=True)


main()
