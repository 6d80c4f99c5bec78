# SPDX-License-Identifier: Apache-2.0
"""LIBSVM and LIBFFM, and MatrixMarket."""
import re
from array import array
from typing import Any, Dict, Iterator, List, Optional, Tuple

import numpy as np

from .files import INDEX_MAX, NUMBER, STRICT, Refused, Source, counted, need, number, strictly, whole

PAIRS = re.compile(rf"(?:(?:\d+:)?\d+:{STRICT}(?: |$))*", re.A).fullmatch
PAIR = re.compile(rf"(?:\d+:)?\d+:(?:{NUMBER})", re.A).fullmatch
Entry = Tuple[int, int, str]  # of a matrix, from 0


class SparseLines:
    """Of each line its label, and its pairs with one blank between."""

    def __init__(self, source: Source) -> None:
        self.source, self.comments, self.least, self.count = source, 0, INDEX_MAX, 0
        self.has_fields: Optional[bool] = None

    def lines(self) -> Iterator[Tuple[str, str]]:
        self.comments = self.count = 0
        return _lines(self.source, self)

    def about(self) -> str:
        return (f"LIB{'FFM' if self.has_fields else 'SVM'}" + (f"; {counted(self.comments, 'comment')} after # left out" if self.comments else "")
                + self.source.left())


@strictly("a label and index:value or field:index:value, one of them in all lines; qid: by sed 's/ qid:[0-9]*//' it is left out")
def _lines(source: Source, found: SparseLines) -> Iterator[Tuple[str, str]]:
    for line in source.words("#"):
        line, mark, _ = line.partition("#")
        label, *words = line.split()
        pairs = " ".join(words)
        if not PAIRS(pairs):
            bad = [word for word in words if not PAIR(word) or number(word.rpartition(":")[2]) is None]
            need(not bad, f"found \"{''.join(bad[:1])[:40]}\"")
            pairs = " ".join(f"{word.rpartition(':')[0]}:{number(word.rpartition(':')[2])}" for word in words)
        indices = [int(each) for each in re.findall(r"(\d+):[^: ]+(?: |$)", pairs)]
        if indices:
            found.has_fields = words[0].count(":") == 2 if found.has_fields is None else found.has_fields
            need(pairs.count(":") == (2 if found.has_fields else 1) * len(indices), "features with and without a field")
            need(max(indices) <= INDEX_MAX, f"an index above {INDEX_MAX}")
            found.least = min(found.least, *indices)
        found.comments, found.count = found.comments + bool(mark), found.count + 1
        yield label, pairs


def is_sparse(source: Source) -> bool:
    """LIBSVM or LIBFFM, as far as its first lines tell."""
    lines = [line.partition("#")[0].split() for line in source.first()]
    return any(len(words) > 1 for words in lines) and all(":" not in words[0] and all(PAIR(word) or word.startswith("qid:")
                                                                                      for word in words[1:]) for words in lines if words)


class Matrix:
    """MatrixMarket, as its head says: coordinate or array; real, integer, unsigned-integer or pattern; all symmetries."""

    def __init__(self, source: Source) -> None:
        self.source, self.doubled, self.total, self.note = source, np.empty(0, np.int64), 0, ""  # type: Source, Any, int, str
        words = next(source.words()).lower().split()
        kinds = ("coordinate array", "real double integer unsigned-integer pattern", "general symmetric skew-symmetric")
        if len(words) != 5 or not all(word in of.split() for word, of in zip(words[2:], kinds)):
            raise Refused(f"{source.name}:1: expected %%MatrixMarket matrix and a word each of {'; '.join(kinds)}")
        self.is_array, self.is_pattern, self.symmetry = words[2] == "array", words[3] == "pattern", words[4]
        size: List[int] = next(([int(word) if word.isdigit() else -1 for word in line.split()] for line in source.words("%")), [])
        if len(size) != (2 if self.is_array else 3) or -1 in size or (
                self.symmetry != "general" and size[0] != size[1]):
            raise Refused(f"{source.name}:{source.at}: expected the matrix's size; of a {self.symmetry} one as many rows as columns")
        self.rows, self.columns = size[:2]
        below = {"general": 2 * self.columns, "symmetric": self.rows + 1}.get(self.symmetry, self.rows - 1)
        self.count = self.rows * below // 2 if self.is_array else size[2]

    def places(self) -> Iterator[Tuple[int, int]]:
        """Of an array: column by column; of a symmetric one from the diagonal on."""
        return ((i, j) for j in range(self.columns) for i in range(
            0 if self.symmetry == "general" else j + (self.symmetry != "symmetric"), self.rows))

    def look(self, both: bool = True) -> "Matrix":
        """The whole of it; which places stand twice: 8 bytes an entry."""
        places, last, ascends = array("q"), (-1, -1), [True, True]
        for i, j, _ in _stored(self.source, self):
            keys = (i * self.columns + j, j * self.rows + i)
            ascends, last = [up and key > before for up, key, before in zip(ascends, keys, last)], keys
            places.append(keys[0])
        found: Any = np.array(places, np.int64)
        if not any(ascends):
            found, counts = np.unique(found, return_counts=True)
            self.doubled = found[counts > 1]
            self.note = f"; {len(self.doubled)} cells that stand more than once are added up" if len(self.doubled) else ""
        self.total = len(found)
        if both and self.symmetry != "general":
            self.total += int(np.count_nonzero(found // self.columns != found % self.columns))
        return self

    def entries(self, both: bool = True) -> Iterator[Entry]:
        """After look(): each place once; of a symmetric matrix both halves, or the one that is there."""
        sums: Dict[int, float] = {int(key): 0.0 for key in self.doubled}
        for i, j, value in _stored(self.source, self):
            key = i * self.columns + j
            if key in sums:
                sums[key] = 1.0 if self.is_pattern else sums[key] + float(value)
            else:
                yield from self._both(i, j, value, both)
        for key, total in sums.items():
            yield from self._both(*divmod(key, self.columns), repr(total), both)

    def _both(self, i: int, j: int, value: str, both: bool) -> Iterator[Entry]:
        yield i, j, value
        if both and self.symmetry != "general" and i != j:
            yield j, i, value if self.symmetry == "symmetric" else value[1:] if value[0] == "-" else "-" + value

    def about(self) -> str:
        return (f"MatrixMarket, {'array' if self.is_array else 'coordinate'}, {self.symmetry}, {self.rows} x {self.columns}, "
                f"{self.count} {'entry' if self.count == 1 else 'entries'}{self.note}")


@strictly("as many entries as the head says, within the matrix")
def _stored(source: Source, matrix: Matrix) -> Iterator[Entry]:
    places, count, lines = matrix.places(), 0, source.words("%")
    next(lines)  # the size
    for count, line in enumerate(lines, 1):
        words = line.split()
        need(count <= matrix.count and len(words) == (1 if matrix.is_array else 2 if matrix.is_pattern else 3), f"found \"{line[:40]}\"")
        i, j = next(places) if matrix.is_array else (whole(words[0]) - 1, whole(words[1]) - 1)
        value = "1" if matrix.is_pattern else number(words[-1])
        need(0 <= i < matrix.rows and 0 <= j < matrix.columns and value is not None, f"found \"{line[:40]}\"")
        yield i, j, str(value)
    need(count == matrix.count, f"it has {count}, and the head says {matrix.count}")


def is_matrix(source: Source) -> bool:
    return (source.first(1) or [""])[0].lower().startswith("%%matrixmarket")


def by_rows(entries: Iterator[Entry], rows: int) -> Iterator[List[Tuple[int, str]]]:
    """All rows in their order, with columns and values: 24 bytes an entry."""
    at, columns, values = array("q"), array("q"), array("d")
    for i, j, value in entries:
        at.append(i)
        columns.append(j)
        values.append(float(value))
    order = np.lexsort((np.array(columns), np.array(at)))
    starts = np.searchsorted(np.array(at)[order], np.arange(rows + 1))
    for first, end in zip(starts, starts[1:]):
        yield [(columns[k], repr(values[k])) for k in order[first:end]]
