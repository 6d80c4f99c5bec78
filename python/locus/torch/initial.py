# SPDX-License-Identifier: Apache-2.0
"""First values of rows, as functions of their index: nothing is written for them. A table holds the difference to them.

An initial function takes indices, int64 of shape (n,), and the dimension; it returns float32 of shape (n, dimension), the
same for an index whenever and wherever it is asked.
"""
import copy
import math
import zlib
from typing import Any, Dict, Optional

import numpy as np
import torch
import torch.nn.functional

from .._c import integer, number
from .batch import FLOATS

_BITS, _PARTS = 11, 3
_ODD = (0x9E3779B97F4A7C15 - (1 << 64), 0xBF58476D1CE4E5B9 - (1 << 64))  # as int64
_SHIFTS = 20 + _BITS * np.arange(_PARTS)[:, None]
_FIRSTS = np.arange(_PARTS)[:, None] << _BITS


class Own:
    """Those of this module: what they return is the caller's."""


class Zeros(Own):
    def __call__(self, indices: torch.Tensor, dimension: int) -> torch.Tensor:
        return torch.zeros(len(indices), dimension, **FLOATS)


class Given(Own):
    """The rows of a tensor, of shape (indices, dimension)."""

    def __init__(self, values: torch.Tensor) -> None:
        self.values = values.detach().to("cpu", torch.float32, copy=True)

    def __call__(self, indices: torch.Tensor, dimension: int) -> torch.Tensor:
        return self.values[indices]


class ZeroAt(Own):
    """Those of another function, but zeros at one index."""

    def __init__(self, index: int, others: Any) -> None:
        self.index, self.others = index, others

    def __call__(self, indices: torch.Tensor, dimension: int) -> torch.Tensor:
        values: torch.Tensor = self.others(indices, dimension)
        return values.masked_fill((indices == self.index)[:, None], 0)


class _Mixed(Own):
    """The sum of three rows of a small random table, one of each third, chosen by a hash of the index: eight thousand
    million different ones, in one pass. Without a seed it is that of the table's name, so that tables differ."""

    def __init__(self, seed: Optional[int], name: str, size: float) -> None:
        number(name, size)
        self.is_by_name = seed is None
        self.seed = 0 if seed is None else integer("seed", seed, -(1 << 63), (1 << 63) - 1)
        self._tables: Dict[int, torch.Tensor] = {}

    def _draw(self, shape: Any, generator: torch.Generator) -> torch.Tensor:
        raise NotImplementedError

    def _table(self, dimension: int) -> torch.Tensor:
        if dimension not in self._tables:
            generator = torch.Generator().manual_seed(self.seed)
            self._tables[dimension] = self._draw((_PARTS << _BITS, dimension), generator)
        return self._tables[dimension]

    def __call__(self, indices: torch.Tensor, dimension: int) -> torch.Tensor:
        if len(indices) == 0:
            return torch.zeros(0, dimension, **FLOATS)
        return torch.nn.functional.embedding_bag(self._chosen(indices), self._table(dimension), mode="sum")

    def _chosen(self, indices: torch.Tensor) -> torch.Tensor:
        hashed = (indices.numpy() + self.seed) * _ODD[0]
        hashed ^= hashed >> 31
        hashed *= _ODD[1]
        chosen = hashed >> _SHIFTS  # part by part, which takes half the time of row by row
        chosen &= (1 << _BITS) - 1
        chosen += _FIRSTS
        return torch.from_numpy(np.ascontiguousarray(chosen.T))


def of_table(initial: Any, name: str) -> Any:
    """The same function for the table of that name."""
    if isinstance(initial, ZeroAt):
        return ZeroAt(initial.index, of_table(initial.others, name))
    if not isinstance(initial, _Mixed) or not initial.is_by_name:
        return initial
    its = copy.copy(initial)
    its.seed, its.is_by_name, its._tables = zlib.crc32(name.encode()), False, {}
    return its


class Normal(_Mixed):
    """Normally distributed with mean 0, as in torch.nn.Embedding."""

    def __init__(self, std: float = 1.0, seed: Optional[int] = None) -> None:
        super().__init__(seed, "std", std)
        self.std = std

    def _draw(self, shape: Any, generator: torch.Generator) -> torch.Tensor:
        return torch.randn(shape, generator=generator, **FLOATS) * (self.std / math.sqrt(_PARTS))


class Uniform(_Mixed):
    """Uniformly distributed from -bound to bound."""

    def __init__(self, bound: float, seed: Optional[int] = None) -> None:
        super().__init__(seed, "bound", bound)
        self.bound = bound

    def _draw(self, shape: Any, generator: torch.Generator) -> torch.Tensor:
        return torch.rand(shape, generator=generator, **FLOATS)

    def __call__(self, indices: torch.Tensor, dimension: int) -> torch.Tensor:
        # The fraction of a sum of uniform numbers is uniform.
        return super().__call__(indices, dimension).frac_().mul_(2 * self.bound).sub_(self.bound)
