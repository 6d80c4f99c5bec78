# SPDX-License-Identifier: Apache-2.0
"""Rows of two names and a number: ratings for mf, similarities of words for wv; and wv's text."""
import argparse
from typing import Iterator, List, Sequence

from . import TABLES
from .files import Part, Refused, Source, convert, counted, need, refuse_idle, strictly
from .sparse import Matrix, is_matrix
from .tables import Table


def mf(told: argparse.Namespace, inputs: Sequence[str], output: str) -> None:
    """`row TAB column TAB value`."""
    sources = [Source(path) for path in inputs]
    if len(sources) > 1 and any(map(is_matrix, sources)):
        raise Refused("one file of MatrixMarket at a time: the rows of another may be others")
    if is_matrix(sources[0]):
        refuse_idle(told, TABLES, "on MatrixMarket")
        matrix = Matrix(sources[0]).look()
        convert([(output, lambda: (f"{i + 1}\t{j + 1}\t{value}" for i, j, value in matrix.entries()), lambda count:
                  f"{sources[0].name}: {counted(count, 'rating')}, {matrix.about()}; names are numbers from 1")])
    else:
        _convert_triples(told, sources, output, ("row", "column", "value"))


def wv(told: argparse.Namespace, inputs: Sequence[str], output: str) -> None:
    """Text; or `word TAB word TAB rating`."""
    def part(source: Source) -> Part:
        return output, lambda: _text(source), lambda count: f"{source.name}: {counted(count, 'line')} of text{source.left()}"
    if told.similarity:
        _convert_triples(told, [Source(path) for path in inputs], output, ("word1", "word2", "rating"))
    else:
        refuse_idle(told, TABLES, "without --similarity")
        convert([part(Source(path)) for path in inputs])


@strictly("no carriage return within: tr '\\r' '\\n' makes it a line end")
def _text(source: Source) -> Iterator[str]:
    for line in source.words():
        need("\r" not in line)
        yield line


class _Triples:
    """A table of two names and a number, which may be missing in a row, and then the row is left out, or in all, and then is 1."""

    def __init__(self, source: Source, told: argparse.Namespace, wanted: Sequence[str]) -> None:
        self.table, self.wanted, self.missing = Table(source, told, wanted), wanted[2], 0
        self.at = self.table.choose(optional=1)
        self.titles = [self.table.title(i) for i in self.at]

    def read(self) -> Iterator[str]:
        self.missing, table = 0, self.table
        for row, (first, second) in table.named(self.at[:2]):
            value = table.value(row, self.at[2]) if len(self.at) == 3 else "1"
            self.missing += value is None
            if value is not None:
                yield f"{first}\t{second}\t{value}"

    def about(self, count: int) -> str:
        return (f"{self.table.source.name}: {counted(count + self.missing + self.table.unnamed, 'row')}, {self.table.about(self.at)}"
                + (f"; no {self.wanted}: each is 1" if len(self.at) == 2 else "")
                + (f"; {counted(self.missing, 'row')} without a {self.wanted} left out" if self.missing else ""))


def _convert_triples(told: argparse.Namespace, sources: Sequence[Source], output: str, wanted: Sequence[str]) -> None:
    tables: List[_Triples] = [_Triples(source, told, wanted) for source in sources]
    for each in tables:
        if each.titles != tables[0].titles:
            raise Refused(f"{each.table.source.name} has other columns than {sources[0].name}")
    convert([(output, each.read, each.about) for each in tables], least=int(len(tables[0].at) == 3))
