# SPDX-License-Identifier: Apache-2.0
"""Facts for kge: folders and files of other tools, and WordNet's own files."""
import argparse
import collections
import os
import random
from typing import Dict, Iterator, List, Optional, Sequence, Set, Tuple

from .files import Refused, Source, convert, counted, need, refuse_idle, say, strictly, whole, within, write
from .tables import Table

Fact = Tuple[str, str, str]
# Splits, and what numbers stand for, of entities and relations: our own and DGL-KE's, LibKGE's, PyKEEN's, OpenKE's.
FOLDERS = [tuple(names.split()) for names in (
    "train.txt valid.txt test.txt entities.dict relations.dict", "train.tsv valid.tsv test.tsv entities.tsv relations.tsv",
    "train.csv valid.csv test.csv", "train.del valid.del test.del entity_ids.del relation_ids.del",
    "training/numeric_triples.tsv.gz validation/numeric_triples.tsv.gz testing/numeric_triples.tsv.gz"
    " training/entity_to_id.tsv.gz training/relation_to_id.tsv.gz",
    "train2id.txt valid2id.txt test2id.txt entity2id.txt relation2id.txt")]
SPLITS = ("train.txt", "valid.txt", "test.txt")
PART = 33  # of one file one fact in so many is to validate with, and as many to test with


def kge(told: argparse.Namespace, inputs: Sequence[str], output: str) -> None:
    """A folder with train.txt, valid.txt and test.txt: `head TAB relation TAB tail`. On stdout facts and questions, one for each row."""
    paths, ids, is_openke = list(inputs), [], False  # type: List[str], List[Dict[str, str]], bool
    if output == "-":
        refuse_idle(told, "seed", "on stdout, where nothing is divided")
        convert([(output, split.read, split.about) for split in (_Split(Source(path), told, [], asks=True) for path in inputs)], least=0)
        return
    if len(inputs) == 1 and os.path.isdir(inputs[0]):
        if os.path.exists(os.path.join(inputs[0], "data.noun")):
            given = list(wordnet(inputs[0]))
            say(f"{inputs[0]}: WordNet, {counted(len(given), 'fact')}")
            _divide(given, told.seed, output)
            return
        there = [folder for folder in FOLDERS if _in(inputs[0], folder[0])]
        if not there:
            raise Refused(f"{inputs[0]} has none of {', '.join(folder[0] for folder in FOLDERS)}, and data.noun of WordNet")
        found = [_in(inputs[0], name) for name in there[0]]
        paths = [path or os.path.join(inputs[0], name) for path, name in zip(found[:3], there[0])]
        ids = [_dictionary(Source(path)) for path in found[3:] if path]
        is_openke = there[0] == FOLDERS[-1]
        if len(ids) == 1:
            raise Refused(f"{inputs[0]} has one of {' and '.join(there[0][3:])}: numbers of both are needed, or neither")
    splits = [_Split(Source(path), told, ids, is_openke) for path in paths]
    if len(splits) not in (1, 3):
        raise Refused("kge takes a folder, or three files, train, valid and test, or one that is divided")
    if len(splits) == 3:
        refuse_idle(told, "seed", "on three files, which are not divided")
        convert([(path, split.read, split.about) for path, split in zip(within(output, *SPLITS), splits)])
        return
    given = list(splits[0].facts())
    say(splits[0].about(len(given)))
    _divide(list(dict.fromkeys(given)), told.seed, output)


def _in(folder: str, name: str) -> Optional[str]:
    paths = (os.path.join(folder, name + end) for end in ("", ".gz", ".xz"))
    return next((path for path in paths if os.path.exists(path)), None)


def _dictionary(source: Source) -> Dict[str, str]:
    """Names by their numbers; in either order, with a heading, or with their count first."""
    rows = [line.split("\t") if "\t" in line else line.split() for line in source.words()]
    for at, first in ((1, 0), (1, 1), (0, 0), (0, 1)):
        named = {row[at]: row[1 - at] for row in rows[first:] if len(row) == 2}
        if named and set(named) == set(map(str, range(len(rows) - first))) and len(set(named.values())) == len(named) and (
                len(rows[0]) == 2 or rows[0] == [str(len(named))]):
            return named
    raise Refused(f"{source.name}: expected a name and its number, from 0, in each line, each once, and perhaps their count first")


@strictly("a line with the number of facts, then head, tail, relation (OpenKE)")
def _openke(source: Source) -> Iterator[Sequence[str]]:
    lines = source.words()
    wanted, count = whole(next(lines)), 0
    for count, line in enumerate(lines, 1):
        head, tail, relation = line.split()
        yield head, relation, tail
    need(count == wanted, f"{wanted}; found {count}")


class _Split:
    def __init__(self, source: Source, told: argparse.Namespace, ids: Sequence[Dict[str, str]], is_openke: bool = False, asks: bool = False) -> None:
        self.source, self.ids = source, ids
        self.table = None if is_openke else Table(source, told, ("head", "relation", "tail"), 2 if asks else 3, asks=asks)
        self.at = self.table.choose() if self.table else []

    def facts(self) -> Iterator[Fact]:
        """Numbers have their names; where all are names already they stay."""
        named = [set(of.values()) for of in self.ids]
        for head, relation, tail in (names for _, names in self.table.named(self.at)) if self.table else _openke(self.source):
            if named and not (head in named[0] and relation in named[1] and tail in named[0]):
                if head not in self.ids[0] or relation not in self.ids[1] or tail not in self.ids[0]:
                    raise Refused(f"{self.source.name}:{self.source.at}: {head}, {relation}, {tail}: one is not in the lists of names "
                                  "and numbers")
                head, relation, tail = self.ids[0][head], self.ids[1][relation], self.ids[0][tail]
            yield head, relation, tail

    def read(self) -> Iterator[str]:
        return map("\t".join, self.facts())

    def about(self, count: int) -> str:
        return (f"{self.source.name}: {counted(count, 'fact')}, {self.table.about(self.at) if self.table else 'OpenKE'}"
                + ("; numbers have the names beside them" if self.ids else ""))


def _divide(facts: Sequence[Fact], seed: int, output: str) -> None:
    """Leaves at least one training fact to each entity and relation."""
    keys = [((0, head), (0, tail), (1, relation)) for head, relation, tail in facts]
    uses = collections.Counter(key for each in keys for key in each)
    parts: Dict[str, List[int]] = {name: [] for name in SPLITS}
    for i in random.Random(seed).sample(range(len(facts)), len(facts)):
        split = next((name for name in ("test.txt", "valid.txt") if len(parts[name]) < len(facts) // PART), "train.txt")
        if split != "train.txt" and any(uses[key] < 2 for key in keys[i]):
            split = "train.txt"
        parts[split].append(i)
        uses.subtract(keys[i] if split != "train.txt" else ())
    if not all(parts.values()):
        raise Refused(f"{counted(len(facts), 'different fact')}: too few to be divided: give three files, train, valid and test")
    say(f"{counted(len(facts), 'different fact')}: {len(parts['valid.txt'])} to validate with and {len(parts['test.txt'])} to test with, "
        f"drawn by --seed {seed}")
    write(*((path, map("\t".join, [facts[i] for i in sorted(parts[name])]), len(parts[name]), "facts")
            for name, path in zip(SPLITS, within(output, *SPLITS))))


# ---- WordNet: synsets are called as in NLTK, dog.n.01 ----

SPEECH = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
# Kinds of pointers: of two inverse ones one is left out; those behind & are in both directions, and come once.
KINDS = dict(zip("@ @i %m %s %p ;c ;r ;u * > \\ < & = ! + ^ $".split(), (
    "hypernym instance_hypernym member_meronym substance_meronym part_meronym domain_topic domain_region domain_usage entailment"
    " cause pertainym participle_of similar_to attribute antonym derivationally_related_form also_see verb_group").split()))
INVERSE = {"~", "~i", "#m", "#s", "#p", "-c", "-r", "-u"}


def wordnet(folder: str) -> Iterator[Fact]:
    """Sorted, each once."""
    names: Dict[Tuple[int, int], str] = {}
    kinds, found = list(KINDS), set()  # type: List[str], Set[Tuple[int, Tuple[int, int], Tuple[int, int]]]
    for part, ending in enumerate(SPEECH.values()):
        senses = dict(_senses(Source(os.path.join(folder, "index." + ending))))
        found.update(_pointers(Source(os.path.join(folder, "data." + ending)), part, senses, names))
    for kind, subject, target in sorted(found):
        if target not in names or subject not in names:
            raise Refused(f"{folder}: a pointer leads from {subject} to {target}, where no synset is")
        yield names[subject], KINDS[kinds[kind]], names[target]


@strictly("an entry of WordNet's index files")
def _senses(source: Source) -> Iterator[Tuple[str, List[int]]]:
    for line in source.words():
        words = line.split()
        if line[0] != " ":  # the licence
            yield words[0], [int(each) for each in words[-int(words[2]):]]


@strictly("an entry of WordNet's data files")
def _pointers(source: Source, part: int, senses: Dict[str, List[int]], names: Dict[Tuple[int, int], str]) -> Iterator[
        Tuple[int, Tuple[int, int], Tuple[int, int]]]:
    letters, kinds = "".join(SPEECH), list(KINDS)
    for line in source.words():
        if line[0] == " ":
            continue
        words = line.split(" ")
        here, lemma = (part, int(words[0])), words[4].partition("(")[0].lower()
        known = senses.get(lemma, [])
        names[here] = f"{lemma}.{letters[part]}." + (f"{known.index(here[1]) + 1:02}" if here[1] in known else f"{here[1]:08}")
        pointers = words[4 + 2 * int(words[3], 16):]
        for i in range(1, 1 + 4 * int(pointers[0]), 4):
            there = letters.index(pointers[i + 2].replace("s", "a")), int(pointers[i + 1])
            if pointers[i] not in INVERSE and there != here:
                kind = kinds.index(pointers[i])
                yield (kind, min(here, there), max(here, there)) if kind >= kinds.index("&") else (kind, here, there)
