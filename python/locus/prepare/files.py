# SPDX-License-Identifier: Apache-2.0
"""Files as lines, read as often as needed; and results that are there whole or not at all."""
import argparse
import bz2
import functools
import gzip
import itertools
import lzma
import os
import re
import shutil
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from typing import BinaryIO, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, TypeVar, cast

from .._command import Problem

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?"
STRICT = r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
INDEX_MAX = 1073741823
ZERO = "has a zero byte. If it is UTF-16, iconv -f UTF-16 -t UTF-8 makes it readable; if it is packed, unpack it"
BINARY = {b"PAR1": "is Parquet: pandas reads it (read_parquet), and to_csv writes a table", b"\x80": "is a pickle: who wrote it can load it, "
          "and pandas' to_csv writes a table", b"PK\x03\x04": "is packed by zip: unzip -p unpacks it; if it is Excel's, read_excel of pandas "
          "reads it, and to_csv writes a table", b"\x28\xb5\x2f\xfd": "is packed by zstd: zstd -dc unpacks it"}
T = TypeVar("T")
_strict, _number = re.compile(STRICT, re.A).fullmatch, re.compile(NUMBER, re.A).fullmatch


class Refused(Problem):
    """What cannot be read for certain: file, line, and the remedy."""


def say(text: str) -> None:
    print(f"locus prepare: {text}", file=sys.stderr, flush=True)


def number(text: str) -> Optional[str]:
    """As the strict forms write it: as it stands where it can, so that no digit is lost. None: it is none, or not finite."""
    text = text.strip(" ")
    if not _strict(text):
        if not _number(text):
            return None
        text = repr(float(text.translate({68: "e", 100: "e"})))  # Fortran's D
    return text if (len(text) < 99 and "e" not in text and "E" not in text) or abs(float(text)) < float("inf") else None


def whole(text: str) -> int:
    if not re.fullmatch(r"\d+(\.0*)?", text, re.A):
        raise ValueError(f"\"{text[:40]}\" is no whole number")
    return int(text.partition(".")[0])


def need(fits: object, text: str = "") -> None:
    if not fits:
        raise ValueError(text)


def refuse_idle(told: argparse.Namespace, options: str, why: str) -> None:
    """Options that would be heeded by nothing."""
    idle = sorted(told.given & {*options.split()})
    if idle:
        raise Refused(f"--{idle[0].strip('_').replace('_', '-')} has no effect {why}")


Reader = Callable[..., Iterator[T]]


def strictly(expected: str) -> Callable[[Reader[T]], Reader[T]]:
    """Of a generator that reads a source: what it cannot read is refused, with the line."""
    def around(reader: Reader[T]) -> Reader[T]:
        @functools.wraps(reader)
        def read(source: "Source", *more: object) -> Iterator[T]:
            try:
                yield from reader(source, *more)
            except (ValueError, LookupError) as fault:
                said = f": {fault}" if isinstance(fault, ValueError) and str(fault) else ""
                raise Refused(f"{source.name}:{source.at}: expected {expected}{said}") from None
        return read
    return around


def counted(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")


def listed(names: Sequence[str]) -> str:
    return ", ".join(names[:15]) + (f", ... ({len(names)} in all)" if len(names) > 15 else "")


class Source:
    """A file, or stdin; each call of lines() reads it from its beginning."""

    def __init__(self, path: str) -> None:
        self.path = self.name = path
        self.skipped = self.at = 0
        if path == "-":
            self._kept = tempfile.NamedTemporaryFile(prefix="locus-prepare-")
            shutil.copyfileobj(sys.stdin.buffer, self._kept)
            self._kept.flush()
            self.path, self.name = self._kept.name, "stdin"
        elif os.path.isdir(path):
            raise Refused(f"{path} is a folder: name a file in it")
        elif not os.path.isfile(path):
            raise Refused(f"{path} is no file: what a pipe or a device gives is read as stdin, by -" if os.path.exists(path) else
                          f"{path} is not there")

    def open(self) -> BinaryIO:
        self.skipped = 0
        with open(self.path, "rb") as file:
            start = file.read(3)
        packed = {b"\x1f\x8b\x08": gzip.open, b"BZh": bz2.open, b"\xfd7z": lzma.open}
        return cast(BinaryIO, packed[start](self.path)) if start in packed else open(self.path, "rb")  # type: ignore

    def lines(self) -> Iterator[str]:
        """Without their ends, blank ones, too; `at` is the number of the current one."""
        with self.open() as file:
            for self.at, raw in enumerate(file, 1):
                line = raw.decode("utf-8-sig" if self.at == 1 else "utf-8", "surrogateescape").rstrip("\n")
                if b"\0" in raw or (self.at == 1 and raw.startswith(tuple(BINARY))):
                    raise Refused(f"{self.name}:{self.at}: " + next((text for start, text in BINARY.items() if raw.startswith(start)), ZERO))
                yield line[:-1] if line.endswith("\r") else line

    def words(self, marks: Sequence[str] = "") -> Iterator[str]:
        """The same without blank lines and without comments, which are counted."""
        for line in self.lines():
            if not line.strip(" \t") or (marks and line.lstrip(" \t").startswith(tuple(marks))):
                self.skipped += 1
            else:
                yield line

    def first(self, count: int = 1000) -> List[str]:
        return list(itertools.islice(self.words(), count))

    def bound(self, count: int) -> int:
        """What a head says may cost memory, if there is as much of a file behind it."""
        size = os.path.getsize(self.path)
        if count > 1000000 + 100 * size:
            raise Refused(f"{self.name}: its head says {count}, and it has {size} bytes: is its head right?")
        return count

    def left(self) -> str:
        return f"; {counted(self.skipped, 'blank line or comment')} left out" if self.skipped else ""


class Result:
    """Lines of a file that is written."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.count = file, 0

    def line(self, text: str) -> None:
        self.count += 1
        self.file.write(text.encode("utf-8", "surrogateescape") + b"\n")

    def expect(self, count: int, what: str) -> None:
        if self.count != count:
            raise Refused(f"{count} {what} were read, and {self.count} written: has a file changed meanwhile?")


@contextmanager
def writing(path: str) -> Iterator[Result]:
    """A file, which is there when all of it is; - is stdout."""
    if path == "-":
        yield Result(sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    draft = f"{path}.draft-{os.getpid()}" if os.path.isfile(path) or not os.path.exists(path) else None
    try:
        with open(draft or path, "wb") as file:
            yield Result(file)
        if draft:
            os.replace(draft, path)
    finally:
        if draft and os.path.exists(draft):
            os.unlink(draft)


def write(*files: Tuple[str, Iterable[str], int, str]) -> None:
    """Of each file its path, its lines, how many they were, and of what. Lines of one path are one file."""
    with ExitStack() as stack:
        results: Dict[str, Result] = {}
        for path, lines, count, what in files:
            result = results[path] = results.get(path) or stack.enter_context(writing(path))
            before = result.count
            for line in lines:
                result.line(line)
            result.expect(before + count, what)


Part = Tuple[str, Callable[[], Iterable[str]], Callable[[int], str]]  # of a file: its lines, and what is said of so many


def convert(parts: Sequence[Part], least: int = 1) -> None:
    """Reads all once, to see that it can be read; says what was taken; then writes, and as many lines must come again.
    Of questions there may be none: `least` is 0."""
    counts: List[int] = []
    for _, read, about in parts:
        counts.append(sum(1 for _ in read()))
        said = about(counts[-1])
        if counts[-1] < least:
            raise Refused(f"has nothing that could be written: {said}")
        say(said)
    write(*((path, read(), count, "lines") for (path, read, _), count in zip(parts, counts)))


def within(folder: str, *names: str) -> List[str]:
    """Paths of files in a folder that is written."""
    if folder == "-" or os.path.isfile(folder):
        raise Refused(f"{'several files are' if folder == '-' else folder + ' is no folder, and several files are'} written: "
                      "OUTPUT must be a folder")
    return [os.path.join(folder, name) for name in names]
