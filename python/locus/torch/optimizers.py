# SPDX-License-Identifier: Apache-2.0
"""Optimizers of embeddings. A row holds its values and, behind them, its optimizer state; a step pushes what is to be
added to both, once for each key.

Each does what torch.optim's does on one node, and is one of torch's for who asks: schedulers, GradScaler, clipping. On
several nodes, their steps add up, as those of asynchronous SGD; dense parameters are torch's own optimizers' business.
"""
import math
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from .._c import number
from ..errors import ArgumentError
from .devices import to_memory
from .embedding import _Rows


class _Weight(torch.nn.Parameter):
    """What stands for an embedding in param_groups. Its gradient is that of the rows with one, (n, embedding_dim):
    its norm is that of the whole, and changes in place count."""

    of: _Rows

    @property
    def grad(self) -> Optional[torch.Tensor]:
        total = self.of.gradients.sum()
        return None if total is None else total.values

    @grad.setter
    def grad(self, gradient: None) -> None:
        if gradient is not None:
            raise ArgumentError("the gradient of an embedding comes from backward passes: change it in place, or set None")
        self.of.gradients.clear(True)


class Optimizer(torch.optim.Optimizer):
    """All embeddings of `model` (a torch.nn.Module, or a list of some): their tables get the modules' names.

    One of your own has state_length() and update(). `state_adds_up` says that its state is a sum, to which each node
    adds its part; without that it trains on one node alone.
    """

    state_adds_up = False

    def __init__(self, model: Any, lr: float) -> None:
        number("lr", lr)
        self.embeddings = _embeddings_of(model)
        weights = []
        for each in self.embeddings:
            weight = _Weight(torch.empty(0))
            weight.of = each
            weights.append(weight)
        super().__init__(weights, {"lr": lr})

    @property
    def lr(self) -> float:
        """The learning rate now: that of param_groups, where torch's schedulers change it."""
        return float(self.param_groups[0]["lr"])

    @lr.setter
    def lr(self, lr: float) -> None:
        self.param_groups[0]["lr"] = lr

    def state_length(self, dimension: int) -> int:
        """Floats of state behind a row of this dimension."""
        raise NotImplementedError

    def update(self, table: str, gradient: torch.Tensor, values: torch.Tensor, state: torch.Tensor) -> None:
        """Writes to `values` what is to be added to them, and to `state`, which is that of the rows, what is to be
        added to it. Leaves `gradient` as it is."""
        raise NotImplementedError

    @torch.no_grad()
    def step(self, closure: Optional[Callable[[], Any]] = None) -> Any:
        """Changes the rows by the gradients since zero_grad(), which stay. Waits for other nodes only where a backward
        pass belongs to a forward pass before an earlier step, and its rows have left. `closure` computes the loss and
        its gradients before, and the loss is returned."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        totals = [(each, each.gradients.sum()) for each in self.embeddings]
        ready = [(each, total) for each, total in totals if total is not None]
        gradients = to_memory([total.values for _, total in ready])
        for (embedding, total), gradient in zip(ready, gradients):
            keys, dimension = embedding.keys_of(total.of.indices), embedding.embedding_dim
            rows = embedding.take_rows(keys)
            # In place: the rows are in the processor's caches, and nobody wants them any more.
            self.update(embedding.table, gradient, rows[:, :dimension], rows[:, dimension:])
            embedding.worker.push_async(keys, rows)
            embedding.changes.add(total.of.indices)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients. Those of forward passes that are followed back later come all the same."""
        for embedding in self.embeddings:
            embedding.gradients.clear(set_to_none)

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
        if not isinstance(module, torch.nn.Module):
            raise ArgumentError(f"`model` holds a {type(module).__name__}: must be a torch.nn.Module, or a list of some; "
                                "write locus.torch.Adagrad(model), not its parameters()")
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

    state_adds_up = True

    def state_length(self, dimension: int) -> int:
        return 0

    def update(self, table: str, gradient: torch.Tensor, values: torch.Tensor, state: torch.Tensor) -> None:
        torch.mul(gradient, -self.lr, out=values)


class Adagrad(Optimizer):
    """torch.optim.Adagrad: a sum of squares for each float."""

    state_adds_up = True

    def __init__(self, model: Any, lr: float = 0.01, initial_accumulator_value: float = 0.0,
                 eps: float = 1e-10) -> None:
        super().__init__(model, lr)
        self.initial_accumulator_value = number("initial_accumulator_value", initial_accumulator_value)
        self.eps = number("eps", eps)

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
    """torch.optim.SparseAdam: both moments of a row change when it has a gradient. For one node: a moment is not a sum,
    and the steps of several, each from the moment that it saw, would not add up."""

    def __init__(self, model: Any, lr: float = 0.001, betas: Tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8) -> None:
        super().__init__(model, lr)
        if not isinstance(betas, (tuple, list)) or len(betas) != 2:
            raise ArgumentError(f"betas is {betas!r}: must be two numbers")
        self.betas, self.eps = [number("a beta", beta, 1) for beta in betas], number("eps", eps)
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
