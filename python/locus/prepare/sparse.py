# SPDX-License-Identifier: Apache-2.0
"""LIBSVM and LIBFFM, and MatrixMarket."""
import re
from array import array
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np

from .files import INDEX_MAX, NUMBER, STRICT, Refused, Source, number

PAIRS = re.compile(rf"(?:(?:\d+:)?\d+:{STRICT}(?: |$))*", re.A).fullmatch
Entry = Tuple[int, int, str]  # of a matrix, from 0


class SparseLines:
    """Of each line its number, its label, and its pairs with one blank between."""

    def __init__(self, source: Source) -> None:
        self.source, self.comments, self.qids, self.least, self.count = source, 0, 0, INDEX_MAX, 0
        self.has_fields: Optional[bool] = None

    def lines(self) -> Iterator[Tuple[int, str, str]]:
        self.comments = self.qids = self.count = 0
        for at, line in self.source.words("#"):
            line, mark, _ = line.partition("#")
            label, *words = line.split()
            if words and words[0].startswith("qid:"):
                self.qids += 1
                del words[0]
            pairs = " ".join(words)
            if not PAIRS(pairs):
                pairs = " ".join(self._pair(at, word) for word in words)
            numbers = [int(each) for each in re.findall(r"(\d+):[^: ]+(?: |$)", pairs)]
            if numbers:
                self.has_fields = ":" in words[0].partition(":")[2] if self.has_fields is None else self.has_fields
                if pairs.count(":") != (2 if self.has_fields else 1) * len(numbers) or max(numbers) > INDEX_MAX:
                    raise Refused(f"{self.source.name}:{at}: has features with and without a field, or an index above {INDEX_MAX}")
                self.least = min(self.least, *numbers)
            self.comments, self.count = self.comments + bool(mark), self.count + 1
            yield at, label, pairs
        if 0 < self.qids < self.count:
            raise Refused(f"{self.source.name}: {self.qids} of {self.count} lines have a qid, the others none")

    def _pair(self, at: int, word: str) -> str:
        front, _, value = word.rpartition(":")
        text = number(value)
        if text is None or not re.fullmatch(r"(\d+:)?\d+", front, re.A):
            raise Refused(f"{self.source.name}:{at}: expected index:value, found \"{word[:40]}\"")
        return f"{front}:{text}"

    def about(self) -> str:
        left = [f"{count} {what}" for count, what in ((self.comments, "comments behind #"), (self.qids, "qids")) if count]
        return (f"LIB{'FFM' if self.has_fields else 'SVM'}" + (f"; {', '.join(left)} left out" if left else "")
                + self.source.left())


def is_sparse(source: Source) -> bool:
    """LIBSVM or LIBFFM, as far as its first lines tell."""
    lines = [line.partition("#")[0].split() for line in source.first()]
    pair = re.compile(rf"(?:\d+:)?\d+:(?:{NUMBER})|qid:\d+").fullmatch
    return any(len(words) > 1 for words in lines) and all(
        ":" not in words[0] and all(map(pair, words[1:])) for words in lines if words)


class Matrix:
    """MatrixMarket, as its head says: coordinate or array; real, integer, unsigned-integer or pattern; all symmetries."""

    def __init__(self, source: Source) -> None:
        self.source, self.doubled, self.total, self.note = source, np.empty(0, np.int64), 0, ""  # type: Source, Any, int, str
        lines = source.lines()
        words = next(lines)[1].lower().split()
        kinds = ("coordinate array", "real double integer unsigned-integer pattern", "general symmetric skew-symmetric")
        if len(words) != 5 or not all(word in of.split() for word, of in zip(words[2:], kinds)):
            raise Refused(f"{source.name}:1: expected %%MatrixMarket matrix and a word each of {'; '.join(kinds)}")
        self.is_array, self.is_pattern, self.symmetry = words[2] == "array", words[3] == "pattern", words[4]
        self._begin, size = next(((at, line.split()) for at, line in lines if line.strip() and line[0] != "%"), (0, [""]))
        if len(size) != (2 if self.is_array else 3) or not all(map(str.isdigit, size)):
            raise Refused(f"{source.name}:{self._begin}: expected the matrix's size")
        self.rows, self.columns = int(size[0]), int(size[1])
        if self.symmetry != "general" and self.rows != self.columns:
            raise Refused(f"{source.name}:{self._begin}: is {self.symmetry}, and has not as many rows as columns")
        cells = self.rows * self.columns if self.symmetry == "general" else self.rows * (
            self.rows + (1 if self.symmetry == "symmetric" else -1)) // 2
        self.count = cells if self.is_array else int(size[2])
        self.is_half = self.symmetry != "general"

    def _stored(self) -> Iterator[Entry]:
        places = ((i, j) for j in range(self.columns) for i in range(
            j + (self.symmetry == "skew-symmetric") if self.is_half else 0, self.rows))  # of an array
        count = 0
        for at, line in self.source.words("%"):
            if at <= self._begin:
                continue
            words, count = line.split(), count + 1
            value = "1" if self.is_pattern else number(words[-1])
            i, j = (0, 0) if self.is_array or not all(map(str.isdigit, words[:2])) else (int(words[0]), int(words[1]))
            if count > self.count or len(words) != (1 if self.is_array else 2 if self.is_pattern else 3) or value is None or not (
                    self.is_array or (1 <= i <= self.rows and 1 <= j <= self.columns)):
                raise Refused(f"{self.source.name}:{at}: expected {self.count} entries of {'a value' if self.is_array else 'row, column'}"
                              f"{'' if self.is_array or self.is_pattern else ' and value'}, within {self.rows} x {self.columns}, found "
                              f"\"{line[:40]}\"")
            yield (*(next(places) if self.is_array else (i - 1, j - 1)), value)
        if count < self.count:
            raise Refused(f"{self.source.name} has {count} entries, and its head says {self.count}: it is cut off")

    def look(self, both: bool = True) -> "Matrix":
        """The whole of it; which places stand twice: 8 bytes an entry."""
        places, last, ascends = array("q"), (-1, -1), [True, True]
        for i, j, _ in self._stored():
            keys = (i * self.columns + j, j * self.rows + i)
            ascends, last = [up and key > before for up, key, before in zip(ascends, keys, last)], keys
            places.append(keys[0])
        found: Any = np.frombuffer(places, np.int64) if places else np.empty(0, np.int64)
        if not any(ascends):
            found, counts = np.unique(found, return_counts=True)
            self.doubled = found[counts > 1]
            self.note = f"; {len(self.doubled)} cells that stand more than once are added up" if len(self.doubled) else ""
        self.total = len(found)
        if both and self.is_half:
            self.total += int(np.count_nonzero(found // self.columns != found % self.columns))
        return self

    def entries(self, both: bool = True) -> Iterator[Entry]:
        """After look(): each place once; of a symmetric matrix both halves, or the one that is there."""
        sums: Dict[int, float] = {int(key): 0.0 for key in self.doubled}
        once = ((i, j, value) for i, j, value in self._stored() if not sums or self._is_single(sums, i, j, value))
        for i, j, value in once:
            yield from self._both(i, j, value, both)
        for key, total in sums.items():
            yield from self._both(*divmod(key, self.columns), repr(total), both)

    def _is_single(self, sums: Dict[int, float], i: int, j: int, value: str) -> bool:
        key = i * self.columns + j
        if key in sums:
            sums[key] = 1.0 if self.is_pattern else sums[key] + float(value)
        return key not in sums

    def _both(self, i: int, j: int, value: str, both: bool) -> Iterator[Entry]:
        yield i, j, value
        if both and self.is_half and i != j:
            yield j, i, value if self.symmetry == "symmetric" else value[1:] if value[0] == "-" else "-" + value

    def about(self) -> str:
        return (f"MatrixMarket, {'array' if self.is_array else 'coordinate'}, {self.symmetry}, {self.rows} x {self.columns}, "
                f"{self.count} entries{self.note}")


def is_matrix(source: Source) -> bool:
    return (source.first(1) or [""])[0].lower().startswith("%%matrixmarket")


def refuse_headless(source: Source, rows: Sequence[Sequence[str]]) -> None:
    """Rows of numbers, of which the first is the size of the matrix that the others make."""
    if re.search(r"\.(mtx|mm)$", source.name) or (len(rows[0]) == 3 and all(map(str.isdigit, rows[0]))
                                                  and int(rows[0][2]) == len(rows) - 1):
        raise Refused(f"{source.name} seems to be MatrixMarket without its first line: write \"%%MatrixMarket matrix coordinate real "
                      "general\" above it (or call it .txt, if it is not)")


def by_rows(entries: Iterator[Entry], rows: int) -> Iterator[List[Tuple[int, str]]]:
    """All rows in their order, with columns and values: 24 bytes an entry."""
    at, columns, values = array("q"), array("q"), array("d")
    for i, j, value in entries:
        at.append(i)
        columns.append(j)
        values.append(float(value))
    i_s, j_s = np.array(at), np.array(columns)
    order = np.lexsort((j_s, i_s))
    starts = np.searchsorted(i_s[order], np.arange(rows + 1))
    for first, end in zip(starts, starts[1:]):
        yield [(columns[k], repr(values[k])) for k in order[first:end]]
