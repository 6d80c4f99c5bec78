# SPDX-License-Identifier: Apache-2.0
"""Optimizers of embeddings, whose tables take the steps: one pushes a gradient a row, and the state lives with the rows.

Each does what torch.optim's does on one node, and is one of torch's for who asks: schedulers, GradScaler, clipping. On
several nodes, their steps add up, as those of asynchronous SGD; dense parameters are torch's own optimizers' business.
"""
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch

from .._c import number
from ..errors import ArgumentError, UsageError
from .batch import FLOATS
from .devices import to_memory
from .embedding import _STATE_DICT_FLOATS_MAX, _Rows


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


_NO_CONSTANTS = ("lr", "foreach", "fused", "capturable", "differentiable")  # the rate, and how torch computes
_LEAST = 1e-38  # a constant of 0 would be the usual one


class Optimizer(torch.optim.Optimizer):
    """All embeddings of `model` (a torch.nn.Module, or a list of some): their tables get the modules' names, and take the
    steps of `optimizer`. They are one group of parameters, of which schedulers change the rate: momentum and betas are
    those of the tables, from open() on."""

    optimizer = ""
    state_names: Tuple[str, ...] = ()  # torch's, of the state behind the values, in that order
    first_state = 0.0  # what the state of a row begins with
    decays = False  # values fade

    def __init__(self, model: Any, peer: Callable[..., torch.optim.Optimizer], rule: Dict[str, float],
                 **constants: Any) -> None:
        """`peer`: torch's, with the same constants; `rule`: those of the tables, without the rate."""
        self.rule = {name: max(value, _LEAST) for name, value in rule.items()}
        self.embeddings = _embeddings_of(model)
        weights = []
        for each in self.embeddings:
            weight = _Weight(torch.empty(0))
            weight.of = each
            weights.append(weight)
        self.begin()
        super().__init__(weights, peer([torch.nn.Parameter(torch.empty(0))], **constants).defaults)

    def holds_values(self, embedding: _Rows) -> bool:
        """Do rows hold values, and not differences to first ones? These do not fade; and of two bytes, they would have the
        precision of the first value."""
        return self.decays or embedding.element == "bf16"

    def add_param_group(self, param_group: Dict[str, Any]) -> None:
        if self.param_groups:
            raise ArgumentError("an optimizer of embeddings has one group: make another one, and give both to "
                                "locus.torch.open()")
        super().add_param_group(param_group)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise UsageError("an optimizer of locus.torch is neither copied nor saved, since its state is in tables of the cluster: "
                         "make another one with the same arguments, and give it this one's state_dict() after open()")

    def begin(self) -> None:
        """Tables are new: none has counted a step, or been told a rate."""
        self.steps: Dict[str, int] = {}  # of each table
        self._counted: Dict[str, int] = {}
        self._rates: Dict[str, float] = {}

    def news(self) -> List[float]:
        """What a process that joins a running job has to know: the rate, and the steps of each table."""
        return [self.lr, *(float(self.steps.get(each.table, -1)) for each in self.embeddings)]

    def take(self, news: Sequence[float]) -> None:
        self.lr = news[0]
        self.steps = {each.table: int(steps) for each, steps in zip(self.embeddings, news[1:]) if steps >= 0}

    def _refuse_other(self, group: Dict[str, Any]) -> None:
        """Of constants but the rate, which are those of the tables."""
        for name, constant in self.defaults.items():
            if name not in _NO_CONSTANTS and group.get(name, constant) != constant:
                raise ArgumentError(f"{name} of the embeddings' optimizer is to be {group[name]!r}: it stays {constant!r}, since "
                                    "its tables have it; give it when the optimizer is made, and schedulers that change it "
                                    "cycle_momentum=False")

    @property
    def lr(self) -> float:
        """The learning rate now: that of param_groups, where torch's schedulers change it."""
        return float(self.param_groups[0]["lr"])

    @lr.setter
    def lr(self, lr: float) -> None:
        self.param_groups[0]["lr"] = lr

    @torch.no_grad()
    def step(self, closure: Optional[Callable[[], Any]] = None) -> Any:
        """Changes the rows by the gradients since zero_grad(), which stay. Waits for no other node. `closure` computes the
        loss and its gradients before, and the loss is returned."""
        self._refuse_other(self.param_groups[0])
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for each in self.embeddings:
            each.gradients.passes = 0
        totals = [(each, each.gradients.sum()) for each in self.embeddings]
        ready = [(each, total) for each, total in totals if total is not None]
        gradients = to_memory([total.values for _, total in ready])
        for (embedding, total), gradient in zip(ready, gradients):
            self._begin_step(embedding, len(total.indices))
            # Gradients stay, and may be changed in place while they are on their way.
            if embedding.worker.node.size > 1 and gradient is total.values:
                gradient = gradient.clone(memory_format=torch.contiguous_format)
            embedding.worker._push_async(total.indices + embedding._first, gradient.contiguous(), False)
            embedding.changes.add(total.indices)
        return loss

    def _begin_step(self, embedding: _Rows, rows: int) -> None:
        """Counts a step. Torch does so without rows, too, but the table does not; nor those before load_state_dict()."""
        table, node, rate = embedding.table, embedding.worker.node, self.lr
        before = self.steps.get(table, 0)
        self.steps[table] = before + 1
        if rows > 0:
            if self._counted.get(table, 0) != before:
                node.set_steps(table, before)
            self._counted[table] = before + 1
        if self._rates.get(table) != rate:
            node.set_rate(table, rate)
            self._rates[table] = rate

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients. Those of forward passes that are followed back later come all the same."""
        for embedding in self.embeddings:
            embedding.gradients.clear(set_to_none)

    def state_dict(self) -> Dict[str, Any]:
        """That of torch's optimizer, for its load_state_dict() or ours; of tables above 2^28 floats without what is in the
        rows, which Job.checkpoint() writes."""
        made: Dict[str, Any] = super().state_dict()
        made["state"] = {i: self._state_of(each) for i, each in enumerate(self.embeddings) if each.table in self.steps}
        return made

    def _parts_of(self, embedding: _Rows) -> List[torch.Tensor]:
        is_large = embedding.num_embeddings * embedding.embedding_dim > _STATE_DICT_FLOATS_MAX
        return [] if is_large or not self.state_names else embedding._ranges()

    def _state_of(self, embedding: _Rows) -> Dict[str, Any]:
        state: Dict[str, Any] = {"step": torch.tensor(float(self.steps[embedding.table]), **FLOATS)}
        parts = [embedding.worker.pull_state(embedding.keys_of(part))[:, embedding.embedding_dim:]
                 for part in self._parts_of(embedding)]
        if parts:
            arrays = torch.cat(parts).chunk(len(self.state_names), 1)
            state.update((name, array.clone()) for name, array in zip(self.state_names, arrays))
        return state

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """What state_dict() gave, here or in torch: what is not in it begins anew. Every process calls it, and none trains
        meanwhile."""
        group = state["param_groups"][0]
        if len(group["params"]) != len(self.embeddings):
            raise ArgumentError(f"the state is of {len(group['params'])} embeddings: this optimizer has "
                                f"{len(self.embeddings)}")
        self._refuse_other(group)
        self.param_groups[0].update((name, group[name]) for name in ("lr", "initial_lr") if name in group)
        for i, embedding in enumerate(self.embeddings):
            given = state["state"].get(i, {})
            if self.state_names:
                embedding.worker.node._refuse_unusable()  # the next job begins anew
            self.steps.pop(embedding.table, None)
            if given:
                self.steps[embedding.table] = int(given.get("step", 0))
            arrays = [given[name] for name in self.state_names if given.get(name) is not None]
            for part in self._parts_of(embedding):
                keys = embedding.keys_of(part)
                rows = embedding.worker.pull_state(keys)
                behind = rows[:, embedding.embedding_dim:]
                shapes, rows_of = [tuple(each.shape) for each in arrays], embedding.num_embeddings
                if arrays and (any(shape[0] != rows_of for shape in shapes) or
                               sum(shape[1] for shape in shapes) != behind.shape[1]):
                    raise ArgumentError(f"the state of {embedding.table!r} has shapes {shapes}: must be of {rows_of} rows, "
                                        f"together of {behind.shape[1]} floats")
                new = torch.cat([array[part] for array in arrays], 1) if arrays else torch.full_like(behind, self.first_state)
                # A restored row has it already; to write it would go on with the chance that rounds bfloat16.
                differs = (behind != new).any(1)
                behind[:] = new
                embedding.worker.set_state(keys[differs], rows[differs])


def _embeddings_of(model: Any) -> List[_Rows]:
    modules = [model] if isinstance(model, torch.nn.Module) else list(model)
    found: List[Tuple[str, _Rows]] = []
    for number, module in enumerate(modules):
        if not isinstance(module, torch.nn.Module):
            raise ArgumentError(f"`model` holds a {type(module).__name__}: must be a torch.nn.Module, or a list of some; "
                                "write locus.torch.Adagrad(model), not its parameters()")
        before = f"{number}." if len(modules) > 1 else ""
        found += [((before + name).rstrip(".") or "embedding", each) for name, each in module.named_modules()
                  if isinstance(each, _Rows)]
    if not found:
        raise ArgumentError("the model has no embedding of locus.torch: nothing to optimize")
    for name, each in found:
        each.table = name
    return [each for _, each in found]


class SGD(Optimizer):
    """torch.optim.SGD, without dampening."""

    def __init__(self, model: Any, lr: float = 0.001, momentum: float = 0.0) -> None:
        number("momentum", momentum, 1)
        self.optimizer, self.state_names = ("momentum", ("momentum_buffer",)) if momentum else ("sgd", ())
        super().__init__(model, torch.optim.SGD, {"momentum": momentum} if momentum else {}, lr=number("lr", lr),
                         momentum=momentum)


class Adagrad(Optimizer):
    """torch.optim.Adagrad: a sum of squares for each float."""

    optimizer = "adagrad"
    state_names = ("sum",)

    def __init__(self, model: Any, lr: float = 0.01, initial_accumulator_value: float = 0.0,
                 eps: float = 1e-10) -> None:
        self.first_state = number("initial_accumulator_value", initial_accumulator_value)
        super().__init__(model, torch.optim.Adagrad, {"epsilon": number("eps", eps)}, lr=number("lr", lr), eps=eps,
                         initial_accumulator_value=initial_accumulator_value)


class RowAdagrad(Adagrad):
    """The same with one sum for each row, of its gradients' mean squares: half of the memory and the traffic."""

    optimizer = "row_adagrad"


class _Moments(Optimizer):
    state_names = ("exp_avg", "exp_avg_sq")

    def __init__(self, model: Any, lr: float, betas: Tuple[float, float], eps: float, **decay: float) -> None:
        if not isinstance(betas, (tuple, list)) or len(betas) != 2:
            raise ArgumentError(f"betas is {betas!r}: must be two numbers")
        for beta in betas:
            number("a beta", beta, 1)
        rule = {"beta1": betas[0], "beta2": betas[1], "epsilon": number("eps", eps)}
        super().__init__(model, torch.optim.AdamW if decay else torch.optim.SparseAdam,
                         dict(rule, decay=decay["weight_decay"]) if decay else rule, lr=max(number("lr", lr), _LEAST),
                         betas=tuple(betas), eps=max(eps, _LEAST), **decay)
        self.lr = lr


class Adam(_Moments):
    """torch.optim.SparseAdam: both moments of a row change when it has a gradient."""

    optimizer = "adam"

    def __init__(self, model: Any, lr: float = 0.001, betas: Tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8) -> None:
        super().__init__(model, lr, betas, eps)


class AdamW(_Moments):
    """The same, and the values of a row fade when it has a gradient: by lr * weight_decay. First values are written when
    the tables are opened, since they fade, too."""

    optimizer = "adamw"
    decays = True

    def __init__(self, model: Any, lr: float = 0.001, betas: Tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0.01) -> None:
        super().__init__(model, lr, betas, eps, weight_decay=number("weight_decay", weight_decay))
