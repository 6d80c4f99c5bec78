# SPDX-License-Identifier: Apache-2.0
"""A model as a program saved it, in safetensors: what its notes say, its tensors where they are in the file, and the names
of their rows."""
import json
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from ._command import Problem

Array = Any
KINDS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "U8": "u1"}
# The tensors whose rows may have names, those that are wanted most first; and where the names are.
NAMED = {"entities": "entity_names", "relations": "relation_names", "inputs": "word_names", "outputs": "word_names",
         "rows": "row_names", "columns": "column_names", "row_biases": "row_names", "column_biases": "column_names",
         "vectors": "features", "wide": "features", "embeddings": "nodes", "layer1.weight": "features",
         "word_topics": "words", "coefficients": "columns"}


class Saved:
    def __init__(self, path: str) -> None:
        self.path = path
        try:
            data = np.memmap(path, np.uint8, "r")
            begin = 8 + int.from_bytes(data[:8].tobytes(), "little")
            header = json.loads(data[8:begin].tobytes() if begin <= len(data) else b"{}")
            self.notes: Dict[str, str] = header.pop("__metadata__", {})
            self.tensors = {name: _tensor(data[begin:], **about) for name, about in header.items()}
        except (AttributeError, KeyError, TypeError, ValueError):
            self.tensors = {}
        if not self.tensors:
            raise self.problem("is no model in safetensors, or is cut off or damaged: MODEL is named first")

    def problem(self, what: str) -> Problem:
        return Problem(f"{self.path}: {what}")

    def note(self, name: str) -> str:
        if name not in self.notes:
            raise self.problem(f'says nothing of "{name}": save the model by this version')
        return self.notes[name]

    def take(self, name: str, *shape: Optional[int]) -> Array:
        """A tensor, which must have that shape; None: any length."""
        if name not in self.tensors:
            raise self.problem(f'has no tensor "{name}"')
        found = self.tensors[name]
        if len(found.shape) != len(shape) or any(wanted not in (None, is_) for wanted, is_ in zip(shape, found.shape)):
            raise self.problem(f'its tensor "{name}" has the shape {list(found.shape)}, which does not fit the others')
        return found

    def names(self, name: str, rows: int, first: int = 0) -> "Names":
        listed = bytes(self.tensors[name]).split(b"\n") if name in self.tensors else None
        if listed is not None and (listed.pop() or len(listed) != rows):
            raise self.problem(f'its "{name}" are not the names of {rows} rows, a line each')
        return Names(listed, rows, first)

    def table(self, name: Optional[str]) -> "Tuple[str, Array, Names]":
        """A tensor of numbers, the first that may have names unless it is told, and its rows' names. Of reciprocal
        relations these are the names of the first half."""
        name = str(name or next((each for each in NAMED if each in self.tensors), ""))
        if name not in self.tensors or self.tensors[name].dtype.kind != "f":
            tables = ", ".join(each for each, tensor in self.tensors.items() if tensor.dtype.kind == "f")
            raise self.problem(f'has no table of numbers "{name}": it has {tables}')
        found, listed = self.tensors[name], NAMED.get(name, "")
        names = bytes(self.tensors[listed]).count(b"\n") if listed in self.tensors else len(found)
        if len(found) not in (names, 2 * names):
            raise self.problem(f'"{listed}" are not the names of "{name}"')
        return name, found, self.names(listed, names, int(listed in ("row_names", "column_names", "columns")))


def _tensor(data: Array, dtype: str, shape: List[int], data_offsets: List[int]) -> Array:
    first, last = data_offsets
    if not 0 <= first <= last <= len(data):
        raise ValueError
    found = data[first:last].view(KINDS[dtype]).reshape(shape)
    return (found.astype("<u4") << 16).view("<f4") if dtype == "BF16" else found


class Names:
    """The rows of a table by their names; or, where it has none, by their numbers from `first` on."""

    def __init__(self, listed: Optional[List[bytes]], rows: int, first: int) -> None:
        self.listed, self.rows, self.first = listed, rows, first
        self.places = {each: i for i, each in enumerate(listed or ())}

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, row: int) -> bytes:
        return self.listed[row] if self.listed is not None else b"%d" % (row + self.first)

    def find(self, name: bytes) -> int:
        """The row of that name; -1: there is none."""
        if self.listed is not None:
            return self.places.get(name, -1)
        row = int(name) - self.first if name.isdigit() and len(name) < 12 else -1
        return row if row < self.rows else -1

    def find_numbers(self, numbers: Array) -> Array:
        """The same of many names that are numbers."""
        different, places = np.unique(numbers, return_inverse=True)
        return np.array([self.find(b"%d" % each) for each in different.tolist()], np.int64)[places]
