# SPDX-License-Identifier: Apache-2.0
"""Documents for lda, rows for lasso, and vectors of words."""
import argparse
import itertools
import json
import os
import re
import struct
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np

from .files import INDEX_MAX, NUMBER, Refused, Source, convert, counted, need, number, refuse_idle, say, strictly, whole, within, write, writing
from .sparse import Entry, Matrix, SparseLines, by_rows, is_matrix

Document = Dict[int, int]  # words' numbers and counts
BAGS = ("text", "gibbs", "ldac", "docword", "cluto", "matrix")


class _Bags:
    """Documents in one of the formats. `names`: of words, which grow unless they are given; None where words are numbers."""

    def __init__(self, source: Source, kind: str, marks: str) -> None:
        self.source, self.kind, self.marks = source, kind, marks
        self.names: Optional[Dict[str, int]] = {} if kind in ("text", "gibbs") else None
        self.grows, self.unknown, self.words = True, 0, -1  # words: as the head says

    def read(self) -> Iterator[Document]:
        self.unknown = 0
        return {"ldac": _ldac, "cluto": _cluto, "docword": _matrix, "matrix": _matrix}.get(self.kind, _texts)(self.source, self)


@strictly("a text; of GibbsLDA++ first the number of documents")
def _texts(source: Source, bags: _Bags) -> Iterator[Document]:
    lines, names, count = source.lines() if bags.kind == "gibbs" else source.words(bags.marks), bags.names or {}, 0
    wanted = whole(next(lines, "").strip()) if bags.kind == "gibbs" else -1
    bags.names = names
    for line in lines:
        document: Document = {}
        if count != wanted or line.strip():
            count += 1
            for word in line.split():
                found = names.setdefault(word, len(names)) if bags.grows else names.get(word, -1)
                bags.unknown += found < 0
                document[found] = document.get(found, 0) + 1
            document.pop(-1, None)
            yield document
    need(wanted in (-1, count), f"{wanted}; found {count}")


@strictly("a number of different words and as many word:count (LDA-C)")
def _ldac(source: Source, bags: _Bags) -> Iterator[Document]:
    for line in source.words("#%"):
        count, *words = line.split()
        document = {whole(each.partition(":")[0]): whole(each.partition(":")[2]) for each in words}
        need(whole(count) == len(document) == len(words) and max(document, default=0) <= INDEX_MAX)
        yield document


@strictly("rows, columns, entries, then a line a row of columns from 1 and counts (CLUTO); an empty row is an empty line, which R's "
          "slam leaves out")
def _cluto(source: Source, bags: _Bags) -> Iterator[Document]:
    lines, rows, entries = source.lines(), 0, 0
    head = [whole(word) for word in next(lines, "").split()]
    bags.words = head[1]
    for line in lines:
        words = line.split()
        if rows < head[0] or words:
            document = {whole(place) - 1: whole(times) for place, times in zip(words[::2], words[1::2])}
            need(2 * len(document) == len(words) and all(0 <= place < head[1] for place in document))
            rows, entries = rows + 1, entries + len(document)
            yield {place: times for place, times in document.items() if times}
    need((rows, entries) == (head[0], head[2]), f"{head[0]} rows, {head[2]} entries; found {rows}, {entries}")


@strictly("counts of words, which are whole numbers")
def _matrix(source: Source, bags: _Bags) -> Iterator[Document]:
    if bags.kind == "matrix":
        matrix = Matrix(source).look()
        rows, bags.words, entries = source.bound(matrix.rows), matrix.columns, matrix.entries()
    else:
        head = [whole(line.strip()) for line in itertools.islice(source.words(), 3)]
        rows, bags.words, entries = source.bound(head[0]), head[1], _docword(source, head)
    for pairs in by_rows(entries, rows):
        document: Document = {}
        for word, times in pairs:
            document[word] = document.get(word, 0) + whole(times)
        yield {word: times for word, times in document.items() if times}


@strictly("three lines of a number: documents, words, entries; then document, word and count, from 1, as many as they say")
def _docword(source: Source, head: Sequence[int]) -> Iterator[Entry]:
    count = 0
    for count, line in enumerate(itertools.islice(source.words(), 3, None), 1):
        document, word, times = map(whole, line.split())
        need(1 <= document <= head[0] and 1 <= word <= head[1])
        yield document - 1, word - 1, str(times)
    need(count == head[2], f"{head[2]}; found {count}")


def _bag_kind(source: Source, told: argparse.Namespace) -> str:
    """What only one format can be; text where there are words, and nothing else."""
    lines = source.first()
    data = [line.split() for line in lines if line[0] not in "#%"] or [[""]]
    pair = re.compile(r"\d+:\d+(\.0*)?", re.A).fullmatch
    all_pairs = [all(map(pair, words[1:])) and words[0] == str(len(words) - 1) for words in data]
    digits = not re.search(r"[^\d.\s]", re.sub(r"\de\+\d", "", "".join(lines)))  # R's 1e+05 is one
    for kind, fits in ((told.format, told.format), ("matrix", is_matrix(source)), ("ldac", all(all_pairs)), ("docword", digits and [
            len(words) for words in data[:4]] == [1, 1, 1, 3]), ("cluto", digits and len(data[0]) == 3)):
        if fits:
            return str(kind)
    tabs = {line.count("\t") for line in lines}
    is_count = lines[:1] != [] and lines[0].strip().isdigit() and int(lines[0]) + 1 in (
        sum(1 for _ in source.words()), sum(1 for _ in source.lines()))
    for doubt, fits in (("looks like LDA-C, and not in all lines: --format ldac says where it is wrong, --format text takes it for "
                         "words", any(all_pairs) or all(map(pair, data[-1][1:])) and len(data[-1]) > 1),
                        ("has no words: --format text, if its numbers are words", not re.search(r"[^\W\d_]", "".join(lines))),
                        ("looks like XML, SGML or JSON: write the text of each document into one line; or --format text, if its "
                         "marks are words", re.match(r"\s*[<{\[].*[>}\],]\s*$", "".join(lines[:1]))),
                        ("begins with the number of lines that follow: --format gibbs, if that is its head; --format text, if it is a "
                         "document", is_count),
                        ("has as many tabs in each line: cut -f3- leaves a name and a label before the words out, as Mallet has them; "
                         "--format text, if all are words", len(tabs) == 1 and tabs != {0}),
                        ("has lines that begin with # or %: --comments none, if they are documents; --comments '#%', if not",
                         told.comments is None and any(line[0] in "#%" for line in lines))):
        if fits:
            raise Refused(f"{source.name}: {doubt}")
    return "text"


def lda(told: argparse.Namespace, inputs: Sequence[str], output: str) -> None:
    """documents.txt: `count word:count ...`; vocabulary.txt: a word a line."""
    if len(inputs) > 1:
        raise Refused("lda takes one file of documents")
    source = Source(inputs[0])
    refuse_idle(told, "like" if told.vocabulary else "", "with --vocabulary")
    bags = _Bags(source, _bag_kind(source, told), "" if told.comments in (None, "none") else told.comments)
    refuse_idle(told, "comments" if bags.kind != "text" else "", f"on a file of the form {bags.kind}")
    names = _vocabulary(told, bags)
    documents, tokens, used = 0, 0, {}  # type: int, int, Dict[int, None]
    for document in bags.read():
        documents, tokens = documents + 1, tokens + sum(document.values())
        used.update(dict.fromkeys(document))
    if not documents:
        raise Refused(f"{source.name} has no documents")
    count, numbers = max(bags.words, max(used, default=-1) + 1), {}  # type: int, Dict[int, int]
    if names is None and bags.names is None:  # numbers with gaps are counted anew
        base = 0 if bags.kind == "ldac" else 1
        numbers = {old: new for new, old in enumerate(sorted(used))} if count > 2 * len(used) + 65536 else {}
        names = [str(old + base) for old in numbers or range(count)]
    names = names or list(bags.names or [])
    if count > len(names) and not numbers:
        raise Refused(f"{source.name}: has {count} words, and the vocabulary {len(names)}")
    say(f"{source.name}: {bags.kind}, {counted(documents, 'document')}, {counted(tokens, 'token')} of {counted(len(used), 'word')}; "
        f"{len(names)} in the vocabulary" + ("; numbers of words have gaps, and are counted anew" if numbers else "")
        + (f"; {counted(bags.unknown, 'token')} of unknown words left out" if not bags.grows else "")
        + (source.left() if bags.kind != "matrix" else ""))

    def lines() -> Iterator[str]:
        left = tokens
        for document in bags.read():
            left -= sum(document.values())
            yield " ".join([str(len(document)), *(f"{numbers.get(word, word)}:{document[word]}" for word in document)])
        if left:
            raise Refused(f"{tokens} tokens were read, and {tokens - left} written: has a file changed meanwhile?")
    into, vocabulary = within(output, "documents.txt", "vocabulary.txt")
    write((into, lines(), documents, "documents"), (vocabulary, names, len(names), "words"))


def _vocabulary(told: argparse.Namespace, bags: _Bags) -> Optional[List[str]]:
    """Of --vocabulary, of --like, or of what slam and gensim write beside the file."""
    beside = [bags.source.path + end for end in (".clabel", ".vocab") if bags.names is None and os.path.exists(bags.source.path + end)]
    path = told.vocabulary or (os.path.join(told.like, "vocabulary.txt") if told.like else "".join(beside[:1]))
    if not path:
        return None
    words = [line.strip() for line in Source(path).words()]
    if len(set(words)) < len(words) or any(len(word.split()) != 1 for word in words):
        raise Refused(f"{path}: a word stands twice, or a line has more than a word: expected a word a line, in their numbers' order")
    bags.grows = False
    bags.names = None if bags.names is None else {word: i for i, word in enumerate(words)}
    say(f"{path}: a vocabulary of {counted(len(words), 'word')}")
    return words


# ---- lasso ----

def lasso(told: argparse.Namespace, inputs: Sequence[str], output: str) -> None:
    """LIBSVM: `response index:value ...`, from 1."""
    source = Source(inputs[0])
    if len(inputs) > 1:
        raise Refused("lasso takes one file; --response names that of a matrix's responses")
    refuse_idle(told, "first" if is_matrix(source) else "response", f"on {'MatrixMarket' if is_matrix(source) else 'LIBSVM'}")
    if is_matrix(source):
        _rows_of_matrix(told, source, output)
        return
    given, by = SparseLines(source), 1 - (told.first or 0)

    def about(count: int) -> str:
        if (told.first is None and given.least > 0) or (told.first == 1 and given.least == 0):
            raise Refused(f"{source.name}: its least index is {given.least}: are columns counted from 1 or 0? --first says it")
        return f"{source.name}: {counted(count, 'row')}, columns from {1 - by}, {given.about()}"
    convert([(output, lambda: _rows(source, given, by), about)])


@strictly("response index:value ..., each index once. sklearn.datasets.dump_svmlight_file(X, y, \"x.svm\", zero_based=False) makes it of a "
          "table")
def _rows(source: Source, given: SparseLines, by: int) -> Iterator[str]:
    for response, pairs in given.lines():
        cells = dict(sorted((int(pair.partition(":")[0]) + by, pair.partition(":")[2]) for pair in pairs.split()))
        need(number(response) and not given.has_fields and len(cells) == len(pairs.split()), f"found \"{response[:20]} {pairs[:40]}\"")
        yield " ".join([str(number(response)), *(f"{index}:{value}" for index, value in cells.items())])


def _rows_of_matrix(told: argparse.Namespace, source: Source, output: str) -> None:
    if not told.response:
        raise Refused(f"{source.name} is MatrixMarket: --response names the file of the responses, MatrixMarket or a number a line")
    matrix, about = Matrix(source).look(), Source(told.response)
    responses: List[Optional[str]] = [number(line) for line in about.words("#%")]
    if is_matrix(about):
        column = Matrix(about).look()
        if min(column.rows, column.columns) != 1:
            raise Refused(f"{told.response}: has {column.rows} rows and {column.columns} columns: of responses one of them must be 1")
        found = {max(i, j): value for i, j, value in column.entries()}
        responses = [found.get(i, "0") for i in range(about.bound(max(column.rows, column.columns)))]
    if len(responses) != matrix.rows or None in responses:
        raise Refused(f"{told.response}: has {counted(len(responses), 'response')}, and {source.name} {counted(matrix.rows, 'row')}; each must "
                      "be a number")
    convert([(output, lambda: (" ".join([str(response), *(f"{column + 1}:{value}" for column, value in pairs)]) for response, pairs in zip(
        responses, by_rows(matrix.entries(), matrix.rows))), lambda count: f"{source.name}: {counted(count, 'row')}, {matrix.about()}; "
        f"responses of {told.response}")])


# ---- vectors ----

def vectors(told: argparse.Namespace, inputs: Sequence[str], output: str) -> None:
    """A safetensors with `inputs` and `word_names`."""
    if len(inputs) > 1:
        raise Refused("one file of vectors at a time")
    source = Source(inputs[0])
    with source.open() as file:
        start = file.read(1 << 16)
    for magic, remedy in ((b"\x80", "a pickle of gensim, which runs what it says: model.wv.save_word2vec_format(\"x.vec\") writes what is "
                           "read here"), (b"\xba\x16\x4f\x2f", "a model of fastText: it wrote the vectors beside it, as .vec")):
        if start.startswith(magic):
            raise Refused(f"{source.name} is {remedy}")
    head = re.match(rb"(?:\xef\xbb\xbf)?\s*(\d+)[ \t]+(\d+)[ \t\r]*\n", start)
    count, dim, begin = (int(head[1]), int(head[2]), head.end()) if head else (-1, 0, 0)
    source.bound(dim)
    line = start[begin:].partition(b"\n")[0].decode("latin-1").split()
    is_binary = bool(head) and not (len(line) > dim and all(re.fullmatch(NUMBER, word) for word in line[-dim:]))
    if not dim:
        widths = [len(each.split()) - 1 for each in source.first(100)]
        dim = max(set(widths), key=widths.count) if widths else 0

    def read() -> Iterator[Tuple[bytes, Any]]:
        return _binary(source, begin, count, dim) if is_binary else _text(source, bool(head), dim)
    names: Dict[bytes, None] = {}
    rows = 0
    for word, _ in read():
        rows += 1
        names[word] = None
    if rows < 1 or dim < 1 or rows != (count if head else rows):
        raise Refused(f"{source.name}: has {counted(rows, 'vector')}" + (f", and its head says {count}" if head else ""))
    twice = f"; {rows - len(names)} of words that stand twice left out: the first counts" if rows > len(names) else ""
    say(f"{source.name}: {'word2vec, binary' if is_binary else 'word2vec, text' if head else 'text without a head (GloVe)'}, "
        f"{counted(rows, 'vector')} of {counted(dim, 'number')}{twice}")
    split, size = len(names) * dim * 4, sum(len(name) + 1 for name in names)
    header = json.dumps({"__metadata__": {"model": "skip-gram"}, "inputs": {"dtype": "F32", "shape": [len(names), dim], "data_offsets": [
        0, split]}, "word_names": {"dtype": "U8", "shape": [size], "data_offsets": [split, split + size]}}).encode()
    header += b" " * (-len(header) % 8)
    with writing(output) as result:
        result.file.write(struct.pack("<Q", len(header)) + header)
        waiting = dict(names)
        for word, values in read():
            if word in waiting:
                del waiting[word]
                result.count += 1
                result.file.write(np.asarray(values, "<f4").tobytes())
        result.expect(len(names), "vectors")
        result.file.write(b"".join(name + b"\n" for name in names))


@strictly("a word and numbers, as many in each line, or as the first line says; the last are the numbers, a word may have blanks")
def _text(source: Source, has_head: bool, dim: int) -> Iterator[Tuple[bytes, Any]]:
    for line in itertools.islice(source.words(), int(has_head), None):
        words = [word for word in line.replace("\t", " ").split(" ") if word]
        name, values = words[:-dim], [number(word) for word in words[-dim:]]
        need(name and None not in values and not (len(name) > 1 and all(map(number, name[1:]))), f"{dim}; found \"{line[:40]}\"")
        with np.errstate(over="ignore"):
            array = np.array(values, np.float32)
        need(np.isfinite(array).all(), "found one that no float holds")
        yield " ".join(name).encode("utf-8", "surrogateescape"), array


def _binary(source: Source, begin: int, count: int, dim: int) -> Iterator[Tuple[bytes, Any]]:
    with source.open() as file:
        file.read(begin)
        for i in range(count):
            name = b""
            while not name.endswith(b" ") and len(name) < 4096:
                name += file.read(1) or b" "
            raw = file.read(4 * dim)
            values = np.frombuffer(raw, "<f4") if len(raw) == 4 * dim else np.array([np.nan])
            if not np.isfinite(values).all() or not name.strip(b"\n ") or b"\n" in name[1:]:
                raise Refused(f"{source.name}: word {i + 1} of {count} has not {dim} finite numbers: is its head right?")
            yield name[:-1].lstrip(b"\n"), values
        if file.read(2).strip(b"\n"):
            raise Refused(f"{source.name}: goes on after the {count} words that its head says")
