#!/usr/bin/env python3
"""Word vectors by locus' wv and by gensim, in turn on the same text: words of the text a second, in training alone.

    words.py WV TEXT [--threads 1,2] [--subsample 1e-4] [--rounds 5] [--epochs 1]

WV is the program, TEXT words with white space between them. Skip-gram with 100 floats, a window of 5, 5 negatives, words
that occur 5 times or more, a rate of 0.025, of both. Needs gensim. Each figure is the median of the rounds, and in brackets
the least and the largest. wv tells its seconds itself; gensim's are those of train(), with the text as a file of lines of
at most 1000 words (`corpus_file`, which it reads without the interpreter).
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

from gensim.models import Word2Vec  # noqa: E402


def write_lines(text, path):
    """The text with lines that gensim does not cut off; returns how many words it has."""
    words = 0
    with open(text, encoding="utf-8", errors="replace") as source, open(path, "w", encoding="utf-8") as out:
        for line in source:
            line = line.split()
            words += len(line)
            for first in range(0, len(line), 1000):
                out.write(" ".join(line[first:first + 1000]) + "\n")
    return words


def train_gensim(path, words, threads, options):
    model = Word2Vec(vector_size=100, window=5, negative=5, sg=1, hs=0, min_count=5, sample=options.subsample,
                     alpha=0.025, workers=threads, seed=1)
    model.build_vocab(corpus_file=path)
    began = time.time()
    model.train(corpus_file=path, total_words=model.corpus_total_words, total_examples=model.corpus_count,
                epochs=options.epochs)
    return words * options.epochs / (time.time() - began)


def train_wv(path, words, threads, options):
    command = [options.wv, "--data", path, "--workers", str(threads), "--subsample", str(options.subsample),
               "--epochs", str(options.epochs), "--json"]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    events = [json.loads(line) for line in output.splitlines()]
    seconds = sum(event["seconds"] for event in events if event["event"] == "epoch")
    return words * options.epochs / seconds


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("wv")
    arguments.add_argument("text")
    arguments.add_argument("--threads", default="1,2")
    arguments.add_argument("--subsample", type=float, default=1e-4)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--epochs", type=int, default=1)
    options = arguments.parse_args()
    speeds = {}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "text")
        words = write_lines(options.text, path)
        for _ in range(options.rounds):
            for threads in map(int, options.threads.split(",")):
                for who, train in (("gensim", train_gensim), ("wv", train_wv)):
                    speeds.setdefault((threads, who), []).append(train(path, words, threads, options))
    print(f"{words} words, subsample {options.subsample:g}, {options.rounds} rounds")
    for (threads, who), all_of_them in speeds.items():
        median = statistics.median(all_of_them)
        beside = f", {median / statistics.median(speeds[threads, 'gensim']):.2f} of gensim's" if who == "wv" else ""
        print(f"{threads} threads, {who}: {median / 1e3:.0f} thousand words/s "
              f"({min(all_of_them) / 1e3:.0f} to {max(all_of_them) / 1e3:.0f}){beside}")


if __name__ == "__main__":
    main()
