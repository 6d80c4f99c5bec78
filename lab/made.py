#!/usr/bin/python3
"""Data that is made up, with a truth in it that can be learned: files in the one form that a program reads.

    made.py kge ENTITIESxRELATIONSxFACTS FOLDER     train.txt, valid.txt, test.txt
    made.py mf ROWSxCOLUMNSxCELLS FILE              [--exponent 1.1] [--rank 10] [--noise 0.1]
    made.py ctr FIELDSxCATEGORIESxEXAMPLES FILE     [--exponent 1.1]; prints how good the planted model is itself
    made.py gnn NODESxDEGREExCLASSES FOLDER         edges.txt, labels.txt; [--exponent 2.5] [--same 0.6]
    made.py lda DOCUMENTSxWORDSxTOKENSxTOPICS FILE  so many tokens a document
    made.py lasso ROWSxCOLUMNSxVALUES FILE          so many values a column

--seed N makes others. In Python, options("mf", "1000x100x20000", rank=3) makes them once, in build/made, and returns the
program's options that name them; what is to be said of them is in a file beside, .said. How: see each function."""
import argparse
import hashlib
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
except ImportError:  # what was made before is there
    np = None

# Of options(): other versions of this file have others.
FOLDER = Path(__file__).resolve().parents[1] / "build" / "made" / hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]
DRAWS = 64  # what is frequent is soon all there: after so many draws in vain draw evenly, so that making ends


def ranks(rng, count, exponent, n):
    """n ranks below count, of which r is as frequent as (r + 1)^-exponent, about: the inverse of the integral. The count
    may be one of each."""
    x, power = rng.random(n), 1 - exponent
    with np.errstate(over="ignore"):
        rank = (count + 1.0) ** x - 1 if abs(power) < 1e-9 else (1 + x * ((count + 1.0) ** power - 1)) ** (1 / power) - 1
    return np.minimum(rank.astype(np.int64), count - 1)


def different(n, draw, evenly):
    """n numbers that differ, in the order in which they were drawn."""
    kept, turn = np.empty(0, np.int64), 0
    while len(kept) < n:
        more = (draw if turn < DRAWS else evenly)(max(n - len(kept), 1000))
        kept, turn = np.concatenate([kept, more]), turn + 1
        kept = kept[np.sort(np.unique(kept, return_index=True)[1])]
    return kept[:n]


def write(path, lines):
    with open(path, "w", encoding="ascii") as file:
        file.writelines(line + "\n" for line in lines)


def limit(name, value, least, most):
    if not least <= value <= most:
        sys.exit(f"made.py: {name}: {value} must be from {least} to {most}")


def kge(rng, path, entities, relations, facts):
    """An entity has a type, and is in one of the type's four groups. A relation leads from one type to one type, and from
    each group of the one to a certain group of the other. Relations, and subjects and objects within a group, are drawn
    by Zipf's law (exponent 1); one fact in ten has any object instead. No fact comes twice. One in 33 each is held back
    to validate and to test with, at most 1500. t3.g1.e0 is the most frequent entity of group 1 of type 3."""
    limit("entities", entities, 80, 10 ** 7)
    limit("facts", facts, 100, entities * relations * entities // 10)
    types = min(entities // 40, 25)
    groups = 4 * types
    begin, end, step = rng.integers(types, size=relations), rng.integers(types, size=relations), rng.integers(4, size=relations)

    def in_group(kind, group):
        """Groups take turns by rank: each has frequent entities and rare ones."""
        first = kind * 4 + group % 4
        return ranks(rng, (entities - first + groups - 1) // groups, 1, len(kind)) * groups + first

    def draw(n):
        relation, group = ranks(rng, relations, 1, n), rng.integers(4, size=n)
        subject = in_group(begin[relation], group)
        object_ = np.where(rng.integers(10, size=n) == 0, ranks(rng, entities, 1, n),
                           in_group(end[relation], group + step[relation]))
        return (subject * relations + relation) * entities + object_

    fact = different(facts, draw, lambda n: rng.integers(entities * relations * entities, size=n))
    name = [f"t{r % groups // 4}.g{r % groups % 4}.e{r // groups}" for r in range(entities)]
    lines = [f"{name[f // entities // relations]}\tr{f // entities % relations}\t{name[f % entities]}" for f in fact.tolist()]
    held_back = min(facts // 33, 1500)
    os.mkdir(path)
    for part, of in (("valid", lines[:held_back]), ("test", lines[held_back:2 * held_back]), ("train", lines[2 * held_back:])):
        write(os.path.join(path, part + ".txt"), of)


def mf(rng, path, rows, columns, cells, exponent=1.1, rank=10, noise=.1):
    """Rows and columns of cells are drawn by Zipf's law, as the papers' synthetic data are (NuPS, Section 5.1); frequent
    ones lie anywhere. A cell, at most half of all, is the product of its row's and its column's planted factor, of
    variance 1, and noise of that deviation."""
    limit("cells", cells, 1, (rows * columns + 1) // 2)

    def law(count):
        """The sums of the weights, and which number has which rank."""
        return np.cumsum(np.arange(1, count + 1) ** -float(exponent)), rng.permutation(count)
    laws = law(rows), law(columns)

    def draw(n):
        row, column = (order[np.searchsorted(sums, rng.random(n) * sums[-1], "right").clip(0, len(order) - 1)]
                       for sums, order in laws)
        return row * columns + column
    cell = different(cells, draw, lambda n: rng.integers(rows * columns, size=n))
    factors = [rng.normal(0, rank ** -.25, (count, rank)) for count in (rows, columns)]
    row, column = cell // columns, cell % columns
    value = np.concatenate([np.einsum("ij,ij->i", factors[0][row[i:i + 10 ** 5]], factors[1][column[i:i + 10 ** 5]])
                            for i in range(0, cells, 10 ** 5)]) + noise * rng.normal(size=cells)
    write(path, map("%d\t%d\t%.8g".__mod__, zip(row.tolist(), column.tolist(), value.tolist())))


def ctr(rng, path, fields, categories, examples, exponent=1.1):
    """The shape of click logs. Each field has one category, by Zipf's law. The first field has half of all categories, the
    second a quarter, and so on, at least four each; frequent ones lie anywhere. The logit is a constant, a weight of
    each category, and what eight rectified units make of short vectors of the categories of three fields each; what a
    category adds becomes less as it becomes rarer: the one of rank 200 adds half of the variance. An example is a click
    with the probability that the logit says: no model can do better."""
    limit("fields", fields, 1, 64)
    limit("categories", categories, 8 * fields, 1 << 30)
    counts = [max(categories >> (f + 1), 4) for f in range(fields)]
    counts[0] = categories - sum(counts[1:])
    first = np.append(0, np.cumsum(counts[:0:-1]))[::-1]  # the last field's come first
    weights, seen = rng.uniform(-3 ** .5, 3 ** .5, (categories, 5)), rng.integers(fields, size=(8, 3))
    units, signs = rng.normal(0, 12 ** -.5, (8, 3, 4)), np.resize([1, -1], 8) * (8 * .34) ** -.5
    logits, clicks = [], []
    with open(path, "w", encoding="ascii") as file:
        for begin in range(0, examples, 10000):
            n = min(10000, examples - begin)
            rank = np.stack([ranks(rng, count, exponent, n) for count in counts], 1)
            feature = first + (rank * 2654435761 + 17) % np.array(counts)  # a prime above all counts
            of = weights[feature] / np.sqrt(1 + rank / 200.)[:, :, None]
            sums = np.einsum("nusj,usj->nu", of[:, seen, :4], units)
            logits.append(-1.2 + of[:, :, 4].sum(1) / fields ** .5 + np.maximum(sums, 0) @ signs)
            clicks.append(rng.random(n) * (1 + np.exp(-logits[-1])) < 1)
            for click, features in zip(clicks[-1].tolist(), feature.tolist()):
                file.write(f"{int(click)} " + " ".join(f"{f}:{index}:1" for f, index in enumerate(features)) + "\n")
    logit, click = np.concatenate(logits), np.concatenate(clicks)
    place = np.empty(examples)
    place[np.argsort(logit, kind="stable")] = np.arange(1, examples + 1)
    pairs = max(int(click.sum()) * int((~click).sum()), 1)
    return (f"the planted model: log loss {np.mean(np.logaddexp(0, np.where(click, -logit, logit))):.5f}, "
            f"AUC {(place[click].sum() - click.sum() * (click.sum() + 1) / 2) / pairs:.5f}")


def gnn(rng, path, nodes, degree, classes, exponent=2.5, same=.6):
    """A graph whose degrees follow a power law of that exponent; the degree is the mean, before edges that are double are
    taken out. Each edge's first end is drawn by the law, and its second one likewise, with probability `same` within
    the first one's class, else in all. Classes take turns by rank; frequent nodes have any number."""
    limit("classes", classes, 2, nodes // 10)
    limit("the mean degree", degree, 1, min(1000, nodes // 2))
    slope, number, edges = 1 / (exponent - 1), rng.permutation(nodes), nodes * degree // 2
    begin = ranks(rng, nodes, slope, edges)
    kind = begin % classes
    end = np.where(rng.random(edges) < same,
                   ranks(rng, (nodes - kind + classes - 1) // classes, slope, edges) * classes + kind,
                   ranks(rng, nodes, slope, edges))
    os.mkdir(path)
    write(os.path.join(path, "edges.txt"), map("%d\t%d".__mod__, zip(number[begin].tolist(), number[end].tolist())))
    of = np.empty(nodes, np.int64)
    of[number] = np.arange(nodes) % classes
    write(os.path.join(path, "labels.txt"), map("%d\t%d".__mod__, enumerate(of.tolist())))


def text(path, words):
    """So many words, by Zipf's law, with topics, so that there is something to learn."""
    draw = random.Random(1)
    weights = [1 / (i + 1) for i in range(2000)]
    with open(path, "w", encoding="ascii") as f:
        for _ in range(words // 20):
            topic = draw.randrange(50)
            f.write(" ".join(f"t{topic}w{w}" if w % 2 else f"w{w}" for w in draw.choices(range(2000), weights, k=20)) + "\n")


def lda(rng, path, documents, words, tokens, topics):
    """Each document has three topics, drawn evenly, and each token is of one of them. A topic has the words w with w %
    topics = topic, and its first ones are the likelier."""
    limit("topics", topics, 1, words)

    def lines():
        for _ in range(documents):
            topic = rng.integers(topics, size=3)[rng.integers(3, size=tokens)]
            count = (words - topic + topics - 1) // topics
            word, times = np.unique((rng.random(tokens) * rng.random(tokens) * count).astype(np.int64) * topics + topic,
                                    return_counts=True)
            yield f"{len(word)} " + " ".join(map("%d:%d".__mod__, zip(word.tolist(), times.tolist())))
    write(path, lines())


def lasso(rng, path, rows, columns, values):
    """STRADS' correlated columns: a column is fresh, with that many values from 0 to 1 in rows that differ, or, one in ten,
    nine tenths of the one before it and one of fresh values. One column in a hundred has an effect, a normal; the
    response is their sum and noise of deviation 0.1."""
    limit("values", values, 1, rows)
    response, of_row = np.zeros(rows), [[] for _ in range(rows)]
    row, value = np.zeros(values, np.int64), np.zeros(values)
    for column in range(columns):
        fresh = rng.random(values)
        if column > 0 and rng.random() < .1:
            value = .9 * value + .1 * fresh
        else:
            row, value = different(values, lambda n: rng.integers(rows, size=n), lambda n: rng.permutation(rows)), fresh
        response[row] += (rng.normal() if rng.random() < .01 else 0) * value
        for r, v in zip(row.tolist(), value.tolist()):
            of_row[r].append(f"{column + 1}:{v:.9g}")
    response += .1 * rng.normal(size=rows)
    write(path, (" ".join([f"{y:.9g}", *cells]) for y, cells in zip(response.tolist(), of_row)))


MAKERS = {"kge": (kge, 3), "mf": (mf, 3), "ctr": (ctr, 3), "gnn": (gnn, 3), "lda": (lda, 4), "lasso": (lasso, 3)}


def make(program, sizes, path, seed=1, **more):
    """Nothing that is there is written over. Returns what is to be said of it, or None."""
    maker, count = MAKERS[program]
    numbers = sizes.split("x")
    if len(numbers) != count or not all(n.isascii() and n.isdigit() and int(n) > 0 for n in numbers):
        sys.exit(f"made.py: {program} takes {count} sizes, as in 1000x100x20000, not \"{sizes}\"")
    if os.path.lexists(path):
        sys.exit(f"made.py: {path} is there already")
    if np is None:
        sys.exit("made.py: there is no NumPy: install python3-numpy (Debian) or numpy (PyPI)")
    return maker(np.random.default_rng(seed), str(path), *map(int, numbers), **more)


def options(program, sizes, seed=1, **more):
    """The program's options, of data that is made where it is not there; several may make it at once."""
    told = "".join(f"-{name}{value}" for name, value in sorted(more.items()))
    path = FOLDER / (f"{program}-{sizes}{told}" + (f"-seed{seed}" if seed != 1 else ""))
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(dir=FOLDER))
        try:
            said = make(program, sizes, partial / "data", seed, **more)
            if said:
                Path(f"{path}.said").write_text(said + "\n", encoding="ascii")
            os.rename(partial / "data", path)
        except OSError:
            if not path.exists():
                raise
        finally:
            shutil.rmtree(partial)
    return f"--data {path}/edges.txt --labels {path}/labels.txt" if program == "gnn" else f"--data {path}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", choices=MAKERS)
    parser.add_argument("sizes")
    parser.add_argument("path")
    parser.add_argument("--seed", type=int, default=1)
    for name, kind in (("exponent", float), ("rank", int), ("noise", float), ("same", float)):
        parser.add_argument(f"--{name}", type=kind, default=argparse.SUPPRESS)
    told = vars(parser.parse_args())
    program, sizes, path = told.pop("program"), told.pop("sizes"), told.pop("path")
    known = MAKERS[program][0].__code__.co_varnames[:MAKERS[program][0].__code__.co_argcount]
    for name in told:
        if name not in ("seed", *known):
            parser.error(f"{program} has no --{name}")
    said = make(program, sizes, path, **told)
    if said:
        print(said)


if __name__ == "__main__":
    main()
