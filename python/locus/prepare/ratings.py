# SPDX-License-Identifier: Apache-2.0
"""Rows of two names and a number: ratings for mf, similarities of words for wv; and wv's text."""
import argparse
import itertools
from typing import Sequence

from .files import Refused, Source, counted, say, writing
from .sparse import Matrix, is_matrix, refuse_headless
from .tables import Table


def mf(told: argparse.Namespace, inputs: Sequence[str], output: str) -> None:
    """`row TAB column TAB value`."""
    sources = [Source(path) for path in inputs]
    if not any(map(is_matrix, sources)):
        _triples(told, sources, output, ("row", "column", "value"))
        return
    if len(sources) > 1:
        raise Refused("one file of MatrixMarket at a time: the rows of another may be others")
    matrix = Matrix(sources[0]).look()
    say(f"{sources[0].name}: {counted(matrix.total, 'rating')}, {matrix.about()}; names are numbers from 1")
    with writing(output) as result:
        for i, j, value in matrix.entries():
            result.line(f"{i + 1}\t{j + 1}\t{value}")
        result.expect(matrix.total, "ratings")


def wv(told: argparse.Namespace, inputs: Sequence[str], output: str) -> None:
    """Text; or `word TAB word TAB rating`."""
    sources = [Source(path) for path in inputs]
    if told.similarity:
        _triples(told, sources, output, ("word1", "word2", "rating"))
        return
    lines = 0
    for source in sources:
        if any("\r" in line for line in source.words()):
            raise Refused(f"{source.name}:{source.at}: has a carriage return within: tr '\\r' '\\n' makes it a line end")
        count = sum(1 for _ in source.words())
        lines += count
        say(f"{source.name}: {counted(count, 'line')} of text{source.left()}")
    with writing(output) as result:
        for line in itertools.chain.from_iterable(source.words() for source in sources):
            result.line(line)
        result.expect(lines, "lines")


def _triples(told: argparse.Namespace, sources: Sequence[Source], output: str, wanted: Sequence[str]) -> None:
    tables = [Table(source, told, wanted) for source in sources]
    places, kept = [table.choose(optional=1) for table in tables], 0
    for table, at in zip(tables, places):
        if [table.title(i) for i in at] != [tables[0].title(i) for i in places[0]]:
            raise Refused(f"{table.source.name} has other columns than {sources[0].name}")
        if len(at) == 3 and not table.names and table.separator == " ":
            refuse_headless(table.source, list(itertools.islice(table.rows(), 1000)))
        rows = missing = 0
        for row in table.rows():
            table.name(row, at[0]), table.name(row, at[1])
            rows, missing = rows + 1, missing + (len(at) == 3 and table.value(row, at[2]) is None)
        kept += rows - missing
        say(f"{table.source.name}: {counted(rows, 'row')}, {table.about(at)}"
            + (f"; no {wanted[2]}: each is 1" if len(at) == 2 else "")
            + (f"; {counted(missing, 'row')} without a {wanted[2]} left out" if missing else ""))
    if not kept:
        raise Refused(f"{sources[0].name}: no row has a {wanted[2]}")
    with writing(output) as result:
        for table, at in zip(tables, places):
            for row in table.rows():
                value = table.value(row, at[2]) if len(at) == 3 else "1"
                if value is not None:
                    result.line(f"{row[at[0]].strip(' ')}\t{row[at[1]].strip(' ')}\t{value}")
        result.expect(kept, "rows")
