# SPDX-License-Identifier: Apache-2.0
"""Tables as safetensors, a format that others read: a header of JSON, then the values."""
import json
import os
from pathlib import Path
from typing import Iterable, Iterator, Tuple

import torch

from .batch import INTEGERS

_FLOATS_AT_ONCE = 1 << 22
_ALIGNMENT = 64


def ranges(rows: int, length: int) -> Iterator[torch.Tensor]:
    """All indices of a table, so many at once that their values take little memory."""
    step = max(1, _FLOATS_AT_ONCE // length)
    return (torch.arange(first, min(first + step, rows), **INTEGERS) for first in range(0, rows, step))


def write(path: Path, name: str, element: str, shape: Tuple[int, int], parts: Iterable[torch.Tensor]) -> None:
    """A file with one tensor, whose values come in parts. It appears when it is whole."""
    size = 2 if element == "bf16" else 4
    about = {name: {"dtype": element.upper(), "shape": shape, "data_offsets": (0, size * shape[0] * shape[1])}}
    header = json.dumps(about).encode()
    header += b" " * (-(8 + len(header)) % _ALIGNMENT)
    unfinished = path.with_name(path.name + ".part")
    with open(unfinished, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for part in parts:
            (part.bfloat16().view(torch.int16) if size == 2 else part).numpy().tofile(file)
    os.replace(unfinished, path)
