# SPDX-License-Identifier: Apache-2.0
"""The indices of a batch, and of a table part by part. Arrays are torch's, on the CPU."""
from ctypes import byref, c_size_t
from typing import Any, Dict, Iterator, Tuple

import torch

from .. import _c

_lib = _c.lib
# Of what the library reads and writes, whatever torch's defaults are.
INTEGERS: Dict[str, Any] = {"dtype": torch.int64, "device": "cpu"}
FLOATS: Dict[str, Any] = {"dtype": torch.float32, "device": "cpu"}
_FLOATS_AT_ONCE = 1 << 22


def ranges(rows: int, length: int) -> Iterator[torch.Tensor]:
    """All indices of a table, so many at once that their values take little memory."""
    step = max(1, _FLOATS_AT_ONCE // length)
    return (torch.arange(first, min(first + step, rows), **INTEGERS) for first in range(0, rows, step))


def distinct(indices: torch.Tensor, bound: int) -> Tuple[torch.Tensor, torch.Tensor]:
    """The different ones among indices of one dimension, in their order; and for each which of them it is."""
    indices, count = indices.contiguous(), c_size_t()
    n = len(indices)
    different, places = torch.empty(n, **INTEGERS), torch.empty(n, **INTEGERS)
    _c.check(_lib.locus_distinct(indices.data_ptr(), n, bound, different.data_ptr(), places.data_ptr(), byref(count)))
    return different[:count.value], places
