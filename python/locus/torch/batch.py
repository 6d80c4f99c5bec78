# SPDX-License-Identifier: Apache-2.0
"""What a step does around its accesses, in the library, while Python's other threads run: distinct indices, rows gathered,
gradients added up. Arrays are torch's, contiguous and on the CPU. `worker` is one whose threads help; None: none does."""
from ctypes import byref, c_size_t
from typing import Any, Callable, Dict, Iterator, Optional, Tuple

import torch

from .. import _c
from ..worker import Worker

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


def gather(worker: Optional[Worker], rows: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """rows[places], for places of one dimension."""
    values = torch.empty(len(places), rows.shape[1], **FLOATS)
    _helped(worker, _lib.locus_gather, rows.data_ptr(), len(rows), rows.shape[1], places.data_ptr(), len(places), 1,
            values.data_ptr())
    return values


def scatter_add(worker: Optional[Worker], values: torch.Tensor, places: torch.Tensor, count: int) -> torch.Tensor:
    """`count` rows, of which row d is the sum of values[places == d]."""
    sums = torch.empty(count, values.shape[1], **FLOATS)
    _helped(worker, _lib.locus_scatter_add, values.data_ptr(), len(values), values.shape[1], places.data_ptr(), count,
            sums.data_ptr())
    return sums


def _helped(worker: Optional[Worker], call: Callable[..., int], *arguments: Any) -> None:
    """The call, with the threads of the worker; with none where there is none, or another thread uses it."""
    me = object()
    guard = None if worker is None or worker._is_over() else worker._guard
    try:
        is_ours = guard is not None and guard.claim(me)
        _c.check(call(worker._handle if worker is not None and is_ours else None, *arguments))
    finally:
        if guard is not None:
            guard.pop(me, None)
