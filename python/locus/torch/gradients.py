# SPDX-License-Identifier: Apache-2.0
"""What backward passes bring to an embedding, as torch has it in `weight.grad`: it adds up until zero_grad(), and step()
leaves it.

A forward pass's values are the result of a function whose backward pass puts the gradient here. So passes that nobody
follows back leave nothing, whatever was called between.
"""
import warnings
from typing import Any, List, NamedTuple, Optional

import torch

_PASSES_MAX = 256  # without a step: who adds up gradients on purpose does it over fewer
_GATHERED_MAX = 32  # passes; more are added up, so that memory is bounded by the table


class Gradient(NamedTuple):
    """Of a pass, or the sum of several."""

    indices: torch.Tensor  # (n,), different
    values: torch.Tensor  # (n, embedding_dim), on the model's device


class Gradients:
    """Those of one embedding since zero_grad()."""

    def __init__(self, dimension: int, table: str = "") -> None:
        self.dimension, self.table = dimension, table
        self._gathered: List[Gradient] = []
        self.passes = 0  # since a step

    def add(self, indices: torch.Tensor, values: torch.Tensor) -> None:
        self.passes += 1
        if self.passes == _PASSES_MAX:
            warnings.warn(f"the embedding {self.table!r} got gradients {_PASSES_MAX} times, and no step changed its rows: torch's "
                          "optimizers do not, call step() of that of locus.torch, too")
        self._gathered.append(Gradient(indices, values))
        if len(self._gathered) > _GATHERED_MAX:
            self.sum()

    def clear(self, set_to_none: bool) -> None:
        """As torch does: if not to none, there is a gradient of no rows, with which Adam counts a step."""
        if set_to_none:
            self._gathered = []
        elif self._gathered:
            first = self._gathered[0]
            self._gathered = [Gradient(first.indices[:0], first.values[:0])]

    def sum(self) -> Optional[Gradient]:
        """The one that all add up to, each index once; None: there is none. It stays, and may be changed in place."""
        if len(self._gathered) > 1:
            different, places = torch.unique(torch.cat([each.indices for each in self._gathered]), return_inverse=True)
            device = self._gathered[-1].values.device
            values = torch.cat([each.values.to(device) for each in self._gathered])
            sums = values.new_zeros(len(different), self.dimension).index_add_(0, places.to(device), values)
            self._gathered = [Gradient(different, sums)]
        return self._gathered[0] if self._gathered else None


class _Watched(torch.autograd.Function):
    """The values of different indices."""

    @staticmethod
    def forward(ctx: Any, *passed: Any, **named: Any) -> torch.Tensor:
        values: torch.Tensor
        _, values, ctx.gradients, ctx.of = passed
        return values

    @staticmethod
    def backward(ctx: Any, *gradient: torch.Tensor) -> Any:
        ctx.gradients.add(ctx.of, gradient[0].detach())
        return (None,) * 4


def watched(values: torch.Tensor, gradients: Optional[Gradients], of: torch.Tensor) -> torch.Tensor:
    """The values of different indices, whose gradients will come to `gradients`; none, if that is None, or torch records
    nothing now."""
    if gradients is None or not torch.is_grad_enabled():
        return values
    asks = torch.empty(0, device="cpu", requires_grad=True)
    result: torch.Tensor = _Watched.apply(asks, values, gradients, of)
    return result
