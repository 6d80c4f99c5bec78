# SPDX-License-Identifier: Apache-2.0
"""Optimizers of embeddings. A row holds its values and, behind them, its optimizer state; a step pushes what is to be
added to both, once for each key.

Each does what torch.optim's does on one node. On several, each node's steps add up, as those of asynchronous SGD; dense
parameters are torch's own optimizers' business.
"""
import math
from typing import Any, Dict, List, Tuple

import torch

from ..errors import ArgumentError
from .embedding import _Rows


class Optimizer:
    """All embeddings of `model` (a torch.nn.Module, or a list of some): their tables get the modules' names."""

    def __init__(self, model: Any, lr: float) -> None:
        if not lr >= 0:
            raise ArgumentError(f"lr is {lr}: must be at least 0")
        self.lr = lr
        self.embeddings = _embeddings_of(model)

    def state_length(self, dimension: int) -> int:
        """Floats of state behind a row of this dimension."""
        raise NotImplementedError

    def update(self, table: str, gradient: torch.Tensor, values: torch.Tensor, state: torch.Tensor) -> None:
        """Writes to `values` what is to be added to them, and to `state`, which is that of the rows, what is to be
        added to it."""
        raise NotImplementedError

    @torch.no_grad()
    def step(self) -> None:
        """Changes the rows by the gradients of all forward passes since the last step. Never waits for other nodes."""
        for embedding in self.embeddings:
            taken = embedding.take_gradients()
            if taken is not None:
                keys, rows, gradient = taken
                dimension = embedding.embedding_dim
                # In place: the rows are in the processor's caches, and nobody wants them any more.
                self.update(embedding.table, gradient, rows[:, :dimension], rows[:, dimension:])
                embedding.worker.push_async(keys, rows)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the forward passes since the last step."""
        for embedding in self.embeddings:
            embedding.forget_passes()

    def state_dict(self) -> Dict[str, Any]:
        """What is not in the rows."""
        return {"lr": self.lr}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        for name in self.state_dict():
            setattr(self, name, state[name])


def _embeddings_of(model: Any) -> List[_Rows]:
    modules = [model] if isinstance(model, torch.nn.Module) else list(model)
    found: List[Tuple[str, _Rows]] = []
    for number, module in enumerate(modules):
        before = f"{number}." if len(modules) > 1 else ""
        found += [(before + name or "embedding", each) for name, each in module.named_modules()
                  if isinstance(each, _Rows)]
    if not found:
        raise ArgumentError("the model has no embedding of locus.torch: nothing to optimize")
    for name, each in found:
        each.table = name
    return [each for _, each in found]


class SGD(Optimizer):
    """torch.optim.SGD, without momentum."""

    def state_length(self, dimension: int) -> int:
        return 0

    def update(self, table: str, gradient: torch.Tensor, values: torch.Tensor, state: torch.Tensor) -> None:
        torch.mul(gradient, -self.lr, out=values)


class Adagrad(Optimizer):
    """torch.optim.Adagrad: a sum of squares for each float."""

    def __init__(self, model: Any, lr: float = 0.01, initial_accumulator_value: float = 0.0,
                 eps: float = 1e-10) -> None:
        super().__init__(model, lr)
        self.initial_accumulator_value, self.eps = initial_accumulator_value, eps

    def state_length(self, dimension: int) -> int:
        return dimension

    def update(self, table: str, gradient: torch.Tensor, values: torch.Tensor, state: torch.Tensor) -> None:
        sums = torch.addcmul(state, gradient, gradient)
        torch.mul(gradient, gradient, out=state)
        if self.initial_accumulator_value:
            sums += self.initial_accumulator_value
        torch.div(gradient, sums.sqrt_().add_(self.eps), out=values)
        values.mul_(-self.lr)


class RowAdagrad(Adagrad):
    """The same with one sum for each row, of its gradients' mean squares: half of the memory and the traffic."""

    def state_length(self, dimension: int) -> int:
        return 1

    def update(self, table: str, gradient: torch.Tensor, values: torch.Tensor, state: torch.Tensor) -> None:
        squares = (gradient * gradient).mean(1, keepdim=True)
        sums = state + squares + self.initial_accumulator_value
        state.copy_(squares)
        torch.div(gradient, sums.sqrt_().add_(self.eps), out=values)
        values.mul_(-self.lr)


class Adam(Optimizer):
    """torch.optim.SparseAdam: both moments of a row change when it has a gradient. Steps are counted by each node."""

    def __init__(self, model: Any, lr: float = 0.001, betas: Tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8) -> None:
        super().__init__(model, lr)
        self.betas, self.eps = betas, eps
        self.steps: Dict[str, int] = {}

    def state_length(self, dimension: int) -> int:
        return 2 * dimension

    def update(self, table: str, gradient: torch.Tensor, values: torch.Tensor, state: torch.Tensor) -> None:
        step = self.steps[table] = self.steps.get(table, 0) + 1
        dimension = gradient.shape[1]
        first, second = state[:, :dimension], state[:, dimension:]
        # Each line is a pass over memory, which is what it costs: few of them, and the results in arrays without gaps.
        mean = torch.mul(first, self.betas[0]).add_(gradient, alpha=1 - self.betas[0])
        square = torch.mul(second, self.betas[1]).addcmul_(gradient, gradient, value=1 - self.betas[1])
        torch.sub(mean, first, out=first)
        torch.sub(square, second, out=second)
        size = self.lr * math.sqrt(1 - self.betas[1] ** step) / (1 - self.betas[0] ** step)
        torch.mul(mean.div_(square.sqrt_().add_(self.eps)), -size, out=values)

    def state_dict(self) -> Dict[str, Any]:
        return {"lr": self.lr, "steps": dict(self.steps)}
