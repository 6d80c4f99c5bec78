# SPDX-License-Identifier: Apache-2.0
"""Embeddings whose rows lie in a table of locus.

A forward pass pulls the row of each different index once. What it pulled is a leaf of autograd: the backward pass adds up
the gradients of an index that repeats. The optimizer takes leaves and gradients from here (optimizers.py).
"""
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import numpy as np
import torch
import torch.nn.functional

from ..errors import ArgumentError, UsageError
from ..worker import Worker
from .devices import to_device, to_memory
from .initial import Normal

Initial = Callable[[torch.Tensor, int], torch.Tensor]
_PASSES_MAX = 1024  # forward passes before a step
_ROWS_AT_ONCE = 65536
_STATE_DICT_FLOATS_MAX = 1 << 28
_PLACES_MAX = 1 << 24


class Pass(NamedTuple):
    """What one forward pass pulled."""

    indices: torch.Tensor  # (n,), different
    rows: torch.Tensor  # (n, length of the table's rows)
    leaf: torch.Tensor  # (n, embedding_dim), on the model's device


class _Distinct:
    """Finds the different ones among indices below `limit`: in one pass over a scratch array, which has 4 bytes for each
    index that there is; by sorting where that is too much. A quarter of the time, at 8192 indices of a million."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.place: Optional["np.ndarray[Any, Any]"] = None

    def find(self, indices: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        """Of indices that were checked, of one dimension: the different ones, and for each which of them it is."""
        if self.limit > _PLACES_MAX:
            different, places = torch.unique(indices, return_inverse=True)
            return different, places
        if self.place is None:
            self.place = np.empty(self.limit, np.int32)  # never cleared: what is read was written just before
        each, numbers = indices.numpy(), np.arange(len(indices), dtype=np.int32)
        self.place[each] = numbers
        speaker = self.place[each]  # of those that are equal, one
        speaks = speaker == numbers
        place_of = np.cumsum(speaks) - 1
        return torch.from_numpy(each[speaks]), torch.from_numpy(place_of[speaker])


class _Rows(torch.nn.Module):
    """What Embedding and EmbeddingBag share."""

    def __init__(self, num_embeddings: int, embedding_dim: int, initial: Optional[Initial]) -> None:
        super().__init__()
        if num_embeddings < 1 or embedding_dim < 1:
            raise ArgumentError(f"the table is {num_embeddings} x {embedding_dim}: both must be at least 1")
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.initial: Initial = initial or Normal()
        self.table = ""  # its name, once an optimizer has it
        self._worker: Optional[Worker] = None
        self._first = 0
        self._passes: List[Pass] = []
        self._distinct = _Distinct(num_embeddings)
        self.device = torch.device("cpu")  # where values are returned; rows and indices are in memory

    def _apply(self, fn: Any, *arguments: Any, **more: Any) -> Any:
        """model.to(device), model.cuda(): there is no parameter that would move, but values are returned there."""
        self.device = fn(torch.empty(0)).device
        move: Callable[..., Any] = super()._apply
        return move(fn, *arguments, **more)

    @property
    def worker(self) -> Worker:
        if self._worker is None:
            raise UsageError("this embedding has no rows yet: give its model to an optimizer of locus.torch, and "
                             "that to locus.torch.open()")
        return self._worker

    def keys_of(self, indices: torch.Tensor) -> torch.Tensor:
        """The keys of indices, which are checked: int64 of shape (n,)."""
        self._check(indices)
        return indices + self._first

    def _check(self, indices: torch.Tensor) -> None:
        each = indices.numpy()
        if len(each) and not (0 <= each.min() and each.max() < self.num_embeddings):
            raise ArgumentError(f"indices of {self.table or 'an embedding'} are {each.min()} to {each.max()}: must be 0 "
                                f"to {self.num_embeddings - 1}")

    def _values(self, indices: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        return self.initial(indices, self.embedding_dim).add_(rows[:, :self.embedding_dim])

    def _look_up(self, indices: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        """The values of the different indices, and for each index which it is."""
        if indices.is_floating_point() or indices.device.type != "cpu":
            raise ArgumentError(f"`input` is {indices.dtype} on {indices.device}: must be integers on the CPU; write "
                                "input.cpu().long(), or do not move it: values are returned on the model's device")
        flat = indices.reshape(-1).long()
        self._check(flat)
        different, places = self._distinct.find(flat)
        rows = self.worker.pull(different + self._first)
        leaf = to_device(self._values(different, rows), self.device)
        if torch.is_grad_enabled():
            if len(self._passes) >= _PASSES_MAX:
                raise UsageError(f"{_PASSES_MAX} forward passes without a step: call step() or zero_grad(), or "
                                 "evaluate under torch.no_grad()")
            leaf.requires_grad_(True)
            self._passes.append(Pass(different, rows, leaf))
        return leaf, to_device(places.view(indices.shape), self.device)

    def take_gradients(self) -> Optional[Tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
        """Keys, their rows as the forward passes saw them, and gradients, of all passes since the last call."""
        passes = [each for each in self._passes if each.leaf.grad is not None]
        self._passes = []
        if not passes:
            return None
        gradients = to_memory([each.leaf.grad for each in passes if each.leaf.grad is not None])
        if len(passes) == 1:
            return passes[0].indices + self._first, passes[0].rows, gradients[0]
        different, places = torch.unique(torch.cat([each.indices for each in passes]), return_inverse=True)
        rows = passes[0].rows.new_empty(len(different), passes[0].rows.shape[1])
        rows[places] = torch.cat([each.rows for each in passes])
        sums = rows.new_zeros(len(different), self.embedding_dim).index_add_(0, places, torch.cat(gradients))
        return different + self._first, rows, sums

    def forget_passes(self) -> None:
        self._passes = []

    def bind(self, worker: Worker) -> None:
        self._worker, self._first = worker, worker.node.tables[self.table].first

    def weight_of(self, indices: torch.Tensor) -> torch.Tensor:
        """The values of different indices, outside of autograd: float32 of shape (n, embedding_dim)."""
        return self._values(indices, self.worker.pull(self.keys_of(indices)))

    def set_weight(self, indices: torch.Tensor, values: torch.Tensor) -> None:
        """Overwrites the rows of different indices; their optimizer state begins anew."""
        rows = torch.zeros(len(indices), self.worker.node.tables[self.table].length)
        rows[:, :self.embedding_dim] = values - self.initial(indices, self.embedding_dim)
        self.worker.set(self.keys_of(indices), rows)

    def _ranges(self) -> List[torch.Tensor]:
        if self.num_embeddings * self.embedding_dim > _STATE_DICT_FLOATS_MAX:
            raise UsageError(f"the table {self.table!r} is too large for a state_dict ({self.num_embeddings} x "
                             f"{self.embedding_dim}): use Job.checkpoint()")
        return [torch.arange(first, min(first + _ROWS_AT_ONCE, self.num_embeddings))
                for first in range(0, self.num_embeddings, _ROWS_AT_ONCE)]

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        if self._worker is not None:
            destination[prefix + "weight"] = torch.cat([self.weight_of(part) for part in self._ranges()])

    def _load_from_state_dict(self, state_dict: Dict[str, Any], prefix: str, local_metadata: Any, strict: bool,
                              missing_keys: List[str], unexpected_keys: List[str], error_msgs: List[str]) -> None:
        weight = state_dict.get(prefix + "weight")
        if weight is None:
            missing_keys.append(prefix + "weight")
        elif weight.shape != (self.num_embeddings, self.embedding_dim):
            error_msgs.append(f"{prefix}weight has shape {tuple(weight.shape)}: must be ({self.num_embeddings}, "
                              f"{self.embedding_dim})")
        else:
            for part in self._ranges():
                self.set_weight(part, weight[part])

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}"


class Embedding(_Rows):
    """torch.nn.Embedding, its rows in the cluster: indices of any shape to float32 of shape (*, embedding_dim).

    `initial`: the first values (initial.py); normally distributed unless told, as torch's. ArgumentError for an index out
    of range, before anything is pulled.
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, initial: Optional[Initial] = None) -> None:
        super().__init__(num_embeddings, embedding_dim, initial)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        leaf, places = self._look_up(input)
        return torch.nn.functional.embedding(places, leaf)


class EmbeddingBag(_Rows):
    """torch.nn.EmbeddingBag, its rows in the cluster: bags of indices, of shape (bags, n), or of one dimension with
    `offsets`, to float32 of shape (bags, embedding_dim). mode: sum or mean; per_sample_weights with sum."""

    def __init__(self, num_embeddings: int, embedding_dim: int, mode: str = "mean",
                 initial: Optional[Initial] = None) -> None:
        super().__init__(num_embeddings, embedding_dim, initial)
        if mode not in ("sum", "mean"):
            raise ArgumentError(f"mode is {mode!r}: must be sum or mean")
        self.mode = mode

    def forward(self, input: torch.Tensor, offsets: Optional[torch.Tensor] = None,
                per_sample_weights: Optional[torch.Tensor] = None) -> torch.Tensor:
        leaf, places = self._look_up(input)
        if offsets is not None:
            offsets = to_device(offsets, self.device)
        if per_sample_weights is not None:
            per_sample_weights = to_device(per_sample_weights, self.device)
        return torch.nn.functional.embedding_bag(places, leaf, offsets, mode=self.mode,
                                                 per_sample_weights=per_sample_weights)
