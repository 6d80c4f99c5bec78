# SPDX-License-Identifier: Apache-2.0
"""Examples with a label, for ctr: of tables and Criteo's format LIBFFM is made, a field a column; LIBSVM and LIBFFM are cleaned."""
import argparse
import glob
import itertools
import json
import math
import os
import re
import zlib
from array import array
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple

import numpy as np

from .files import Part, Refused, Source, convert, counted, listed, number, refuse_idle, say, write
from .sparse import SparseLines, is_sparse
from .tables import Table, is_missing

CRITEO_NUMBERS, CRITEO_FIELDS = 13, 40
LEAST_PARTS, EXAMPLES_OF_PART = 16, 32
SAMPLE, SLOTS = 1 << 20, 1 << 22
CLICKS = {"label", "click", "clicked", "is_click"}
ALMOST = re.compile(r" *[$€£]? ?-?\d+(,\d+)*(\.\d+)? ?[%€]? *").fullmatch  # a number, with what other countries and sheets write
NAMED_ID = re.compile(r"(.*[_ .-])?(id|ids|zip|zipcode|code|key|hash)\d*|.*[a-z](Id|ID)|C\d+", re.I).fullmatch


def ctr(told: argparse.Namespace, inputs: Sequence[str], output: str) -> None:
    """LIBSVM, or LIBFFM: `label field:index:value ...`."""
    sources = [Source(path) for path in inputs]
    if told.format != "table" and any(map(is_sparse, sources)):
        refuse_idle(told, " ".join(told.given - {"positive"}), "on LIBSVM and LIBFFM")
        _clean([SparseLines(source) for source in sources], _Labels(told.positive), output)
    elif told.like:
        refuse_idle(told, "label weight categorical with_ without bins", "with --like, which says it")
        _alike(told, sources, output)
    else:
        _learn(told, [Table(source, told, ("label",)) for source in sources], output)


class _Labels:
    """1, 0 or -1 for what a file calls them."""

    def __init__(self, positive: Optional[str]) -> None:
        self.positive, self.counts, self.kinds = positive, {}, set()  # type: Optional[str], Dict[str, int], Set[str]
        self.seen: Set[str] = set()  # some, as they are written
        self.missing = 0

    def are_in(self, table: Table, at: int) -> Iterator[List[str]]:
        """The rows that have one."""
        self.missing = 0
        for row in table.rows():
            is_there = row[at].strip() and (self.positive is not None or not is_missing(row[at]))
            self.missing += not is_there
            if is_there:
                yield row

    def value(self, source: Source, text: str) -> str:
        text = text.strip()
        self.seen.update([text[:40]] if len(self.seen) < 5 else [])
        plain = {"true": "1", "false": "0"}.get(text.lower(), number(text) or text)
        plain = f"{float(plain):.15g}" if number(plain) else plain
        if self.positive is not None and text:
            plain = str(int(self.positive in (text, text.rstrip("."), plain)))
        if plain not in ("1", "0", "-1"):
            raise Refused(f"{source.name}:{source.at}: its label \"{text[:40]}\" is not 1, 0 or -1: --positive says which label is a click, --label "
                          "which column has it; of questions no row has one")
        self.counts[plain] = self.counts.get(plain, 0) + 1
        return plain

    def about(self, name: str) -> str:
        """Of a file; the next one begins."""
        text = f"{counted(sum(self.counts.values()), 'example')}, {self.counts.get('1', 0)} of them clicks" + (
            f"; {counted(self.missing, 'row')} without a label left out" if self.missing else "")
        self.kinds.update(self.counts)
        self.counts = {}
        if len(self.kinds) == 3 or (self.positive is not None and "1" not in self.kinds):
            raise Refused(f"{name}: labels are {', '.join(sorted(self.seen))}: --positive says which label is a click")
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

    def __init__(self, at: int, name: str, number_of: Callable[[str], Optional[str]]) -> None:
        self.at, self.name, self.kind, self.number = at, name, "words", number_of
        self.cuts, self.words, self.extra = [], {}, 0  # type: List[float], Dict[str, int], int
        self._values, self._stride, self._is_whole = array("d"), 1, True
        self._numbers = self._words = self._almost = self._rows = 0
        self._odd = self._next = ""  # the first word; what the next row has, where rows are counted
        self._slots = bytearray()

    def look(self, cell: str, source: Source) -> None:
        """A sample of numbers is kept; different cells are counted nearly, in little memory."""
        self._slots = self._slots or bytearray(SLOTS)
        self._slots[zlib.crc32(cell.encode("utf-8", "surrogateescape")) % SLOTS] = 1
        text = self.number(cell)
        counts = text is not None and text.isdigit() and (self._next == text or not self._rows)
        self._next = str(int(text) + 1) if counts and text else ""
        if text is not None:
            self._is_whole = self._is_whole and text.removesuffix(".0").lstrip("-").isdigit()
            if self._numbers % self._stride == 0:
                self._values.append(float(text))
            if len(self._values) == SAMPLE:
                self._values, self._stride = self._values[::2], 2 * self._stride
        self._rows, self._numbers = self._rows + 1, self._numbers + (text is not None)
        if text is None and not is_missing(cell):
            self._words, self._almost = self._words + 1, self._almost + bool(ALMOST(cell))
            self._odd = self._odd or f"{source.name}:{source.at}: {self.name} has \"{cell[:40]}\""

    def settle(self, bins: int, told: argparse.Namespace) -> None:
        """Words, numbers, or nothing to learn from: words, or numbers called ids, of which nearly every row has another."""
        different = -SLOTS * math.log(max(self._slots.count(0), 1) / SLOTS)
        is_id = self._is_whole and bool(NAMED_ID(self.name))
        is_number = self._numbers > 9 * self._words and not is_id and self.name not in told.categorical
        if self._words and not is_id and self.name not in told.categorical and (self._almost or not is_number) and (
                2 * (self._numbers + self._almost) > self._numbers + self._words):
            share = 100 * self._numbers // (self._numbers + self._words)
            raise Refused(f"{self._odd}, and {share} % of this column are numbers: --categorical {self.name} takes all for words, --without "
                          f"{self.name} leaves it out" + "; --decimal , if commas are before fractions" * ("," in self._odd))
        if is_number and not (self._next and self._rows >= 20 and self.name not in told.with_):
            self.kind = "numbers"
            self.cuts = cuts_of(np.array(self._values), min(bins, max(LEAST_PARTS, self._numbers // EXAMPLES_OF_PART)))
        elif self._rows >= 20 and different > 0.8 * self._rows and self.name not in {*told.categorical, *told.with_}:
            self.kind = "none"
        self._slots, self._values = bytearray(), array("d")

    def word(self, cell: str) -> str:
        """What has a number of its own: a word, a part of the numbers, ? for what is missing."""
        if self.kind == "words":  # 7.0 is what pandas makes of 7 beside a missing value
            return cell[:-2] if cell.endswith(".0") and cell[:-2].isdigit() else cell or "?"
        text = self.number(cell)
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
    text = table.number(row[place])
    if text is None or not (float(text) == 0 or 1e-9 <= float(text) <= 1e9):
        raise table.refuse(f"its weight \"{row[place][:40]}\" is neither 0 nor a number from 1e-9 to 1e9")
    return text


def _pairs(columns: Sequence[_Column], places: Sequence[int], row: List[str], grow: List[int], unknown: Dict[str, List[Any]]) -> str:
    """New words get the next number, where numbers grow; else they are left out, and counted by column."""
    pairs = []
    for field, (column, at) in enumerate(zip(columns, places)):
        word = column.word(row[at])
        if word == "?" and (column.kind == "criteo" or column.extra):
            continue
        if grow and word not in column.words:
            column.words[word] = grow[0]
            grow[0] += 1
        if word not in column.words:
            unknown.setdefault(column.name, [0, row[at][:40]])[0] += 1
        else:
            pairs.append(f" {field}:{column.words[word]}:1")
    return "".join(pairs)


def _find_label(table: Table, told: argparse.Namespace) -> int:
    usual = table.place(told.label, "--label") if told.label else table.usual("label")
    cells = [{row[i].strip().rstrip(".").lower() for row in itertools.islice(table.rows(), 1000)} for i in (table.hidden, table.width - 1)]
    ends = [i for i, found in zip((table.hidden, table.width - 1), cells) if (
        told.positive.lower() in found if told.positive else found <= {"0", "1", "0.0", "1.0", "-1", "true", "false"})]
    if usual < 0 and len(ends) != 1:
        raise Refused(f"{table.source.name}: which column has the label{', ' + ' or '.join(map(table.title, ends)) if ends else ''}? "
                      "--label says it, --positive which label is a click, if it is not 1; for questions --like names what was trained with")
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
    if output == "-":
        raise Refused("OUTPUT must be a file: without OUTPUT.columns.json, which is written beside it, no model of it can be asked")
    columns = [_Column(i, names[i], first.number) for i in range(first.hidden, first.width) if i not in (label, weight)
               and names[i] not in told.without]
    for column in columns:
        if column.name.lower() in CLICKS and column.name not in {*told.with_, *told.categorical}:
            raise Refused(f"{first.source.name}: which column has the label, {first.title(label)} or \"{column.name}\"? --label says it; "
                          "--without leaves the other one out, --with learns from it")
    for table in tables:
        for row in labels.are_in(table, label):
            labels.value(table.source, row[label])
            out += 1
            if weight >= 0:
                _weight(table, row, weight)
            for column in columns if not is_criteo else ():
                column.look(row[column.at], table.source)
        texts.append(labels.about(table.source.name))
    if not out:
        raise Refused(f"{first.source.name}: no row has a label")
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
               + "".join(f"; {text}: {listed(each)}" for text, each in said.items() if each)))
    places, grow = [column.at for column in used], [0]
    write((output, (labels.value(table.source, row[label]) + _pairs(used, places, row, grow, {})
                    for table in tables for row in labels.are_in(table, label)), out, "examples"))
    if weight >= 0:
        write((output + ".weights", (_weight(table, row, weight) for table in tables for row in labels.are_in(table, label)), out,
               "weights"))
    kept = [{each: getattr(column, each) for each in ("at", "name", "kind", "cuts", "words", "extra")} for column in used]
    write((output + ".columns.json", [json.dumps({"names": first.names, "width": first.width, "label": label,
                                                  "positive": told.positive, "columns": kept})], 1, "lines"))
    begin = json.dumps({"names": first.names, "width": first.width})[:-1]
    for path in sorted(glob.glob(os.path.join(glob.escape(os.path.dirname(output)), "*.columns.json"))):
        with open(path, encoding="utf-8") as file:
            if path != output + ".columns.json" and file.read(len(begin)) == begin:
                say(f"{output} counts features by itself: to test or to ask a model of {path[:-13]} it must be made with --like {path[:-13]}")


def _alike(told: argparse.Namespace, sources: Sequence[Source], output: str) -> None:
    """As the training data: the label may be missing; words that those have not are left out."""
    path = told.like.removesuffix(".columns.json") + ".columns.json"
    if not os.path.exists(path):
        raise Refused(f"{path} is not there: prepare writes it beside what it makes of a table (--like)")
    with open(path, encoding="utf-8") as file:
        kept = json.load(file)
    told.asked = [column["name"] for column in kept["columns"]] if kept["names"] else []
    tables = [Table(source, told, ("label",), 1) for source in sources]
    columns = []
    for each in kept["columns"]:
        columns.append(_Column(each["at"], each["name"], tables[0].number))
        vars(columns[-1]).update(each)
    labels = _Labels(told.positive or kept["positive"])
    labels.kinds.update("1")
    convert([_part(table, labels, columns, *_places(table, kept, columns), output) for table in tables], least=0)


def _part(table: Table, labels: _Labels, columns: Sequence[_Column], label: int, at: Sequence[int], output: str) -> Part:
    unknown: Dict[str, List[Any]] = {}  # of a column how many, and the first
    if label >= 0 and next(labels.are_in(table, label), None) is None:
        label = -1
    labels.missing = 0

    def read() -> Iterator[str]:
        unknown.clear()
        for row in labels.are_in(table, label) if label >= 0 else table.rows():
            pairs = _pairs(columns, at, row, [], unknown)
            yield labels.value(table.source, row[label]) + pairs if label >= 0 else pairs[1:]

    def about(count: int) -> str:
        left = ", ".join(f"{'all' if times == count else times} of {name} (\"{cell}\")" for name, (times, cell) in sorted(
            unknown.items(), key=lambda item: -int(item[1][0]))[:5])
        return (f"{table.source.name}: {labels.about(table.source.name) if label >= 0 else counted(count, 'example') + ' without labels'}; "
                f"{sum(times for times, _ in unknown.values())} of {count * len(columns)} words are not in the training data, and are left out"
                + f": {left}" * bool(left))
    return output, read, about


def _places(table: Table, kept: Dict[str, Any], columns: Sequence[_Column]) -> Tuple[int, List[int]]:
    """Of the label, -1 if there is none, and of the columns: by name, or without a heading by place."""
    if kept["names"]:
        if not table.names:
            raise Refused(f"{table.source.name} has no heading, and the training data had one: (head -n 1 TRAINING.csv; cat FILE) gives it "
                          "that, read from -, if its columns are the same")
        name = kept["names"][kept["label"]]
        return table.names.index(name) if name in table.names else -1, [
            table.place(column.name, "--like") for column in columns]
    lacks = kept["width"] - table.width
    if table.names or lacks not in (0, 1):
        raise Refused(f"{table.source.name} must have {kept['width']} columns, or the label left out of them, and no heading")
    return -1 if lacks else kept["label"], [column.at - (lacks and column.at > kept["label"]) for column in columns]
