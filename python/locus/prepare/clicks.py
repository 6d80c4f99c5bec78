# SPDX-License-Identifier: Apache-2.0
"""Examples with a label, for ctr: of tables and Criteo's format LIBFFM is made, a field a column; LIBSVM and LIBFFM are cleaned."""
import argparse
import itertools
import json
import math
import os
import re
import zlib
from array import array
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set, Tuple

import numpy as np

from .files import Part, Refused, Source, convert, counted, number, refuse_idle, say, write
from .sparse import SparseLines, is_sparse
from .tables import Table, is_missing

CRITEO_NUMBERS, CRITEO_FIELDS = 13, 40
LEAST_PARTS, EXAMPLES_OF_PART = 16, 32
SAMPLE, SLOTS = 1 << 20, 1 << 22
NAMED_ID = re.compile(r"(.*[_ .-])?(id|ids|zip|zipcode|code|key|hash)\d*|.*[a-z](Id|ID)|C\d+", re.I).fullmatch


def ctr(told: argparse.Namespace, inputs: Sequence[str], output: str) -> None:
    """LIBSVM, or LIBFFM: `label field:index:value ...`."""
    sources = [Source(path) for path in inputs]
    if told.format != "table" and any(map(is_sparse, sources)):
        refuse_idle(told, "separator heading quotes comments decimal label weight categorical with_ without bins like",
                    "on LIBSVM and LIBFFM")
        _clean([SparseLines(source) for source in sources], _Labels(told.positive), output)
    elif told.like:
        refuse_idle(told, "label weight categorical with_ without bins", "with --like, which says it")
        _alike(told, [Table(source, told, ("label",), 1) for source in sources], output)
    else:
        _learn(told, [Table(source, told, ("label",)) for source in sources], output)


class _Labels:
    """1, 0 or -1 for what a file calls them."""

    def __init__(self, positive: Optional[str]) -> None:
        self.positive, self.counts, self.kinds = positive, {}, set()  # type: Optional[str], Dict[str, int], Set[str]

    def value(self, source: Source, text: str) -> str:
        text = text.strip()
        plain = {"true": "1", "false": "0"}.get(text.lower(), number(text) or text)
        plain = f"{float(plain):.15g}" if number(plain) else plain
        if self.positive is not None and text:
            plain = str(int(self.positive in (text, text.rstrip("."), plain)))
        if plain not in ("1", "0", "-1"):
            raise Refused(f"{source.name}:{source.at}: its label \"{text[:40]}\" is not 1, 0 or -1: --positive says which label is a click, --label "
                          "which column has it")
        self.counts[plain] = self.counts.get(plain, 0) + 1
        return plain

    def about(self, name: str) -> str:
        """Of a file; the next one begins."""
        text = f"{counted(sum(self.counts.values()), 'example')}, {self.counts.get('1', 0)} of them clicks"
        self.kinds.update(self.counts)
        self.counts = {}
        if len(self.kinds) == 3 or (self.positive is not None and "1" not in self.kinds):
            raise Refused(f"{name}: labels are {', '.join(sorted(self.kinds))}: --positive says which label is a click")
        return text


def _clean(files: Sequence[SparseLines], labels: _Labels, output: str) -> None:
    def part(given: SparseLines) -> Part:
        def read() -> Iterator[str]:
            given.has_fields = files[0].has_fields  # all are of one kind
            return (f"{labels.value(given.source, label)} {pairs}".rstrip(" ") for label, pairs in given.lines())
        return output, read, lambda _: f"{given.source.name}: {labels.about(given.source.name)}, {given.about()}"
    convert([part(given) for given in files])


class _Column:
    """What is known of a column of features: `kind` is words, numbers (cut into parts, if there are cuts), criteo or none."""

    def __init__(self, at: int, name: str) -> None:
        self.at, self.name, self.kind = at, name, "words"
        self.cuts, self.words, self.extra = [], {}, 0  # type: List[float], Dict[str, int], int
        self._values, self._stride, self._is_whole = array("d"), 1, True
        self._numbers = self._words = self._rows = 0
        self._slots = bytearray()

    def look(self, cell: str) -> None:
        """A sample of numbers is kept; different cells are counted nearly, in little memory."""
        self._slots = self._slots or bytearray(SLOTS)
        self._slots[zlib.crc32(cell.encode("utf-8", "surrogateescape")) % SLOTS] = 1
        text = number(cell)
        if text is not None:
            self._is_whole = self._is_whole and text.lstrip("-").isdigit()
            if self._numbers % self._stride == 0:
                self._values.append(float(text))
            if len(self._values) == SAMPLE:
                self._values, self._stride = self._values[::2], 2 * self._stride
        self._rows, self._numbers = self._rows + 1, self._numbers + (text is not None)
        self._words += text is None and not is_missing(cell)

    def settle(self, bins: int, told: argparse.Namespace) -> None:
        """Words, numbers, or nothing to learn from: words, or numbers called ids, of which nearly every row has another."""
        different = -SLOTS * math.log(max(self._slots.count(0), 1) / SLOTS)
        is_id = self._is_whole and bool(NAMED_ID(self.name))
        if self._numbers > 9 * self._words and not is_id and self.name not in told.categorical:
            self.kind = "numbers"
            self.cuts = cuts_of(np.array(self._values), min(bins, max(LEAST_PARTS, self._numbers // EXAMPLES_OF_PART)))
        elif self._rows >= 20 and different > 0.8 * self._rows and self.name not in {*told.categorical, *told.with_}:
            self.kind = "none"
        self._slots, self._values = bytearray(), array("d")

    def word(self, cell: str) -> str:
        """What has a number of its own: a word, a part of the numbers, ? for what is missing."""
        if self.kind == "words":
            return cell or "?"
        text = number(cell)
        if text is None:
            return "?" if is_missing(cell) else cell
        value = float(text)
        if self.kind == "criteo":
            return f"l{math.floor(math.log(value) ** 2)}" if value > 2 else f"{value:.0f}"
        if self.cuts:
            return f"part {np.searchsorted(self.cuts, value, side='right')}"
        is_exact = value.is_integer() and abs(value) < 1e15
        return str(int(value)) if is_exact else str(int(text)) if text.lstrip("-").isdigit() else repr(value)


def cuts_of(values: Any, bins: int) -> List[float]:
    """Where parts of about as many examples begin; a value that would fill one has its own. None where few values differ."""
    distinct, counts = np.unique(values, return_counts=True)
    alone = np.zeros(len(distinct), bool)
    if len(distinct) <= bins:
        return []
    while alone.sum() < bins - 1 and (more := ~alone & (counts >= counts[~alone].sum() / (bins - alone.sum()))).any():
        alone |= more
    others = np.where(alone, 0, counts)
    part = np.floor((np.cumsum(others) - others / 2) / others.sum() * max(bins - alone.sum(), 1))
    begins = alone[1:] | alone[:-1] | (part[1:] != part[:-1])
    return [float(value) for value in distinct[1:][begins]]


def _weight(table: Table, row: List[str], place: int) -> str:
    """As how many the example counts, as ctr's --weights reads it."""
    text = number(row[place])
    if text is None or not (float(text) == 0 or 1e-9 <= float(text) <= 1e9):
        raise table.refuse(f"its weight \"{row[place][:40]}\" is neither 0 nor a number from 1e-9 to 1e9")
    return text


def _pairs(columns: Sequence[_Column], places: Sequence[int], row: List[str], grow: Optional[List[int]]) -> str:
    """New words get the next number, where numbers grow; else they are left out."""
    pairs = []
    for field, (column, at) in enumerate(zip(columns, places)):
        word = column.word(row[at])
        if word == "?" and (column.kind == "criteo" or column.extra):
            continue
        if grow and word not in column.words:
            column.words[word] = grow[0]
            grow[0] += 1
        if word in column.words:
            pairs.append(f" {field}:{column.words[word]}:1")
    return "".join(pairs)


def _find_label(table: Table, told: argparse.Namespace) -> int:
    usual = table.place(told.label, "--label") if told.label else table.usual("label")
    cells = [{row[i].strip().rstrip(".").lower() for row in itertools.islice(table.rows(), 1000)} for i in (table.hidden, table.width - 1)]
    ends = [i for i, found in zip((table.hidden, table.width - 1), cells) if (
        told.positive.lower() in found if told.positive else found <= {"0", "1", "0.0", "1.0", "-1", "true", "false"})]
    if usual < 0 and len(ends) != 1:
        raise Refused(f"{table.source.name}: which column has the label{', ' + ' or '.join(map(table.title, ends)) if ends else ''}? "
                      "--label says it, --positive which label is a click, if it is not 1")
    return usual if usual >= 0 else ends[0]


def _is_criteo(table: Table) -> bool:
    is_hash = re.compile("([0-9a-f]{8})?").fullmatch
    return table.width == CRITEO_FIELDS and not table.names and table.separator == "\t" and all(
        row[0] in ("0", "1") and all(map(is_hash, row[CRITEO_NUMBERS + 1:])) for row in itertools.islice(table.rows(), 100))


def _learn(told: argparse.Namespace, tables: Sequence[Table], output: str) -> None:
    first, labels, out, texts = tables[0], _Labels(told.positive), 0, []  # type: Table, _Labels, int, List[str]
    if any((table.names, table.width) != (first.names, first.width) for table in tables):
        raise Refused("the files have different columns, or headings")
    names = first.names or [str(i + 1) for i in range(first.width)]
    for option in ("categorical", "with_", "without"):
        setattr(told, option, {names[first.place(each, "--" + option.rstrip("_"))] for each in getattr(told, option).split(",") if each})
    is_criteo = _is_criteo(first)
    if is_criteo:
        refuse_idle(told, "label categorical with_ bins decimal", "on Criteo's format")
    label = 0 if is_criteo else _find_label(first, told)
    weight = first.place(told.weight, "--weight") if told.weight else -1
    if weight >= 0 and output == "-":
        raise Refused("--weight needs an OUTPUT that is a file: the weights are written to OUTPUT.weights")
    columns = [_Column(i, names[i]) for i in range(first.hidden, first.width) if i not in (label, weight)
               and names[i] not in told.without]
    for table in tables:
        for row in table.rows():
            labels.value(table.source, row[label])
            out += 1
            if weight >= 0:
                _weight(table, row, weight)
            for column in columns if not is_criteo else ():
                column.look(row[column.at])
        texts.append(labels.about(table.source.name))
    for column in columns:
        column.settle(told.bins, told) if not is_criteo else None
        column.kind, column.extra = "criteo" if is_criteo and column.at <= CRITEO_NUMBERS else column.kind, int(is_criteo)
    used = [column for column in columns if column.kind != "none"]
    if not used:
        raise Refused(f"{first.source.name}: nearly every row has another word in all columns: no column is left (--with)")
    said: Dict[str, List[str]] = {}
    for column in columns:
        kind = f"numbers in about {told.bins} parts (--categorical if they are ids)" if column.cuts else {
            "words": "words", "none": "left out, since nearly every row has another (--with)"}.get(column.kind, "numbers, each a word")
        said.setdefault(kind, []).append(column.name)
    said["left out"] = sorted(told.without)
    for table, text in zip(tables, texts):
        say(f"{table.source.name}: {text}, "
            + (f"Criteo's: 13 numbers, those above 2 by their squared logarithm; 26 words{table.source.left()}" if is_criteo else
               table.about(range(table.width)).replace("; label is " + table.title(0), f"; the label is {table.title(label)}")
               + (f"; the weight, for --weights, is {table.title(weight)}" if weight >= 0 else "")
               + "".join(f"; {text}: {', '.join(each)}" for text, each in said.items() if each)))
    places, grow = [column.at for column in used], [0]
    write((output, (labels.value(table.source, row[label]) + _pairs(used, places, row, grow)
                    for table in tables for row in table.rows()), out, "examples"))
    if weight >= 0:
        write((output + ".weights", (_weight(table, row, weight) for table in tables for row in table.rows()), out, "weights"))
    if output != "-":
        kept = [{each: getattr(column, each) for each in ("at", "name", "kind", "cuts", "words", "extra")} for column in used]
        write((output + ".columns.json", [json.dumps({"names": first.names, "width": first.width, "label": label,
                                                      "positive": told.positive, "columns": kept})], 1, "lines"))


def _alike(told: argparse.Namespace, tables: Sequence[Table], output: str) -> None:
    """As the training data: the label may be missing; words that those have not are left out."""
    path = told.like + ".columns.json"
    if not os.path.exists(path):
        raise Refused(f"{path} is not there: prepare writes it beside what it makes of a table (--like)")
    with open(path, encoding="utf-8") as file:
        kept = json.load(file)
    columns = []
    for each in kept["columns"]:
        columns.append(_Column(each["at"], each["name"]))
        vars(columns[-1]).update(each)
    labels = _Labels(told.positive or kept["positive"])
    labels.kinds.update("1")
    convert([_part(table, labels, columns, *_places(table, kept, columns), output) for table in tables])


def _part(table: Table, labels: _Labels, columns: Sequence[_Column], label: int, at: Sequence[int], output: str) -> Part:
    unknown = [0]

    def read() -> Iterator[str]:
        unknown[0] = 0
        for row in table.rows():
            pairs = _pairs(columns, at, row, None)
            unknown[0] += sum(column.word(row[i]) not in column.words for column, i in zip(columns, at))
            yield labels.value(table.source, row[label]) + pairs if label >= 0 else pairs[1:]
    return output, read, lambda count: (
        f"{table.source.name}: {labels.about(table.source.name) if label >= 0 else counted(count, 'example') + ' without labels'}; "
        f"{unknown[0]} of {count * len(columns)} words are not in the training data, and are left out")


def _places(table: Table, kept: Dict[str, Any], columns: Sequence[_Column]) -> Tuple[int, List[int]]:
    """Of the label, -1 if there is none, and of the columns: by name, or without a heading by place."""
    if kept["names"]:
        name = kept["names"][kept["label"]]
        return (table.names or [name]).index(name) if name in (table.names or []) else -1, [
            table.place(column.name, "--like") for column in columns]
    lacks = kept["width"] - table.width
    if table.names or lacks not in (0, 1):
        raise Refused(f"{table.source.name} must have {kept['width']} columns, or the label left out of them, and no heading")
    return -1 if lacks else kept["label"], [column.at - (lacks and column.at > kept["label"]) for column in columns]
