# SPDX-License-Identifier: Apache-2.0
"""What backward passes bring to an embedding, as torch has it in `weight.grad`: it adds up until zero_grad(), and step()
leaves it.

A forward pass's values are the result of a function whose backward pass puts the gradient here. So passes that nobody
follows back leave nothing, whatever was called between.
"""
from typing import Any, List, NamedTuple, Optional

import torch

from ..worker import Worker
from .batch import gather, scatter_add

_GATHERED_MAX = 32  # passes; more are added up, so that memory is bounded by the table


class Pass(NamedTuple):
    """What one forward pass pulled."""

    indices: torch.Tensor  # (n,), different
    rows: Optional[torch.Tensor]  # (n, length of the table's rows); None: changed since
    age: int  # the steps of its embedding that came before


class Gradient(NamedTuple):
    """Of a pass, or the sum of several."""

    of: Pass
    values: torch.Tensor  # (n, embedding_dim), on the model's device


class Gradients:
    """Those of one embedding since zero_grad()."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.age = 0  # how often its rows were changed here: what was pulled before is old
        self._gathered: List[Gradient] = []

    def add(self, of: Pass, values: torch.Tensor) -> None:
        self._gathered.append(Gradient(of, values))
        if len(self._gathered) > _GATHERED_MAX:
            self.sum()

    def clear(self, set_to_none: bool) -> None:
        """As torch does: if not to none, there is a gradient of no rows, with which Adam counts a step."""
        if set_to_none:
            self._gathered = []
        elif self._gathered:
            first = self._gathered[0]
            nothing = Pass(first.of.indices[:0], None, first.of.age)
            self._gathered = [Gradient(nothing, first.values[:0])]

    def sum(self) -> Optional[Gradient]:
        """The one that all add up to, each index once; None: there is none. It stays, and may be changed in place."""
        if len(self._gathered) > 1:
            self._gathered = [self._added()]
        return self._gathered[0] if self._gathered else None

    def take_rows(self) -> Optional[torch.Tensor]:
        """Those of the sum, for a step that changes them; None: they are old."""
        (indices, rows, age), values = self._gathered[0]
        is_old, self.age = age != self.age, self.age + 1
        self._gathered = [Gradient(Pass(indices, None, age), values)]
        return None if is_old else rows

    def _added(self) -> Gradient:
        passes = [each.of for each in self._gathered]
        different, places = torch.unique(torch.cat([each.indices for each in passes]), return_inverse=True)
        pulled = [each.rows for each in passes if each.rows is not None and each.age == self.age]
        rows = None
        if len(pulled) == len(passes):
            rows = pulled[0].new_empty(len(different), pulled[0].shape[1])
            rows[places] = torch.cat(pulled)
        device = self._gathered[-1].values.device
        values = torch.cat([each.values.to(device) for each in self._gathered])
        sums = values.new_zeros(len(different), self.dimension).index_add_(0, places.to(device), values)
        return Gradient(Pass(different, rows, self.age), sums)


class _Arrive(torch.autograd.Function):
    """The values themselves; going back, it hands the gradient over."""

    @staticmethod
    def forward(ctx: Any, *passed: Any, **named: Any) -> torch.Tensor:
        values: torch.Tensor
        _, values, ctx.gradients, ctx.of = passed
        return values

    @staticmethod
    def backward(ctx: Any, *gradient: torch.Tensor) -> Any:
        ctx.gradients.add(ctx.of, gradient[0].detach())
        return None, None, None, None


def watched(values: torch.Tensor, gradients: Gradients, of: Pass) -> torch.Tensor:
    """The values of a pass, whose gradient will come to `gradients`, unless torch records nothing now."""
    if not torch.is_grad_enabled():
        return values
    result: torch.Tensor = _Arrive.apply(torch.empty(0, requires_grad=True), values, gradients, of)
    return result


class _Spread(torch.autograd.Function):
    """The value of each index of a batch; going back, the gradients of an index that repeats are added up."""

    @staticmethod
    def forward(ctx: Any, *passed: Any, **named: Any) -> torch.Tensor:
        _, values, ctx.worker, ctx.places, ctx.padding, ctx.gradients, ctx.of = passed
        return gather(ctx.worker, values, ctx.places)

    @staticmethod
    def backward(ctx: Any, *gradient: torch.Tensor) -> Any:
        sums = scatter_add(ctx.worker, gradient[0].detach().contiguous(), ctx.places, len(ctx.of.indices))
        if ctx.padding is not None:
            sums[ctx.padding] = 0
        ctx.gradients.add(ctx.of, sums)
        return (None,) * 7


def spread(worker: Worker, values: torch.Tensor, places: torch.Tensor, padding: Optional[int],
           gradients: Optional[Gradients], of: Pass) -> torch.Tensor:
    """values[places] on the CPU; what comes back goes to `gradients`, if any, but not for `padding`."""
    if gradients is None or not torch.is_grad_enabled():
        return gather(worker, values, places)
    result: torch.Tensor = _Spread.apply(torch.empty(0, requires_grad=True), values, worker, places, padding, gradients, of)
    return result
