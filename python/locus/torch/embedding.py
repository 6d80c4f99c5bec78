# SPDX-License-Identifier: Apache-2.0
"""Embeddings whose rows lie in a table of locus.

A forward pass pulls the row of each different index once; the backward pass adds up the gradients of an index that
repeats. The optimizer finds rows and gradients here (gradients.py).
"""
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np
import torch
import torch.nn.functional

from ..errors import ArgumentError, UsageError
from ..worker import Worker
from .devices import to_device
from .export import ranges
from .gradients import Gradients, Pass, watched
from .initial import Normal

Initial = Callable[[torch.Tensor, int], torch.Tensor]
_STATE_DICT_FLOATS_MAX = 1 << 28
_PLACES_MAX = 1 << 24


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
        self.gradients = Gradients(embedding_dim)
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
        values = to_device(self._values(different, rows), self.device)
        values = watched(values, self.gradients, Pass(different, rows, self.gradients.age))
        return values, to_device(places.view(indices.shape), self.device)

    def take_rows(self, of: Pass) -> torch.Tensor:
        """The rows of a pass, as they are now, for a step that will change them: the caller's from now on."""
        rows = of.rows
        if of.age != self.gradients.age:
            self.worker.pull(of.indices + self._first, rows)
        self.rows_have_changed()
        return rows

    def rows_have_changed(self) -> None:
        """What was pulled before is old."""
        self.gradients.age += 1

    def bind(self, worker: Worker) -> None:
        self._worker, self._first = worker, worker.node.tables[self.table].first
        self.gradients = Gradients(self.embedding_dim)

    def weight_of(self, indices: torch.Tensor) -> torch.Tensor:
        """The values of different indices, outside of autograd: float32 of shape (n, embedding_dim)."""
        return self._values(indices, self.worker.pull(self.keys_of(indices)))

    def set_weight(self, indices: torch.Tensor, values: torch.Tensor) -> None:
        """Overwrites the rows of different indices; their optimizer state begins anew."""
        rows = torch.zeros(len(indices), self.worker.node.tables[self.table].length)
        rows[:, :self.embedding_dim] = values - self.initial(indices, self.embedding_dim)
        self.rows_have_changed()
        self.worker.set(self.keys_of(indices), rows)

    def _ranges(self) -> List[torch.Tensor]:
        if self.num_embeddings * self.embedding_dim > _STATE_DICT_FLOATS_MAX:
            raise UsageError(f"the table {self.table!r} is too large for a state_dict ({self.num_embeddings} x "
                             f"{self.embedding_dim}): use Job.checkpoint()")
        return list(ranges(self.num_embeddings, self.embedding_dim))

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
        values, places = self._look_up(input)
        return torch.nn.functional.embedding(places, values)


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
        values, places = self._look_up(input)
        if offsets is not None:
            offsets = to_device(offsets, self.device)
        if per_sample_weights is not None:
            per_sample_weights = to_device(per_sample_weights, self.device)
        return torch.nn.functional.embedding_bag(places, values, offsets, mode=self.mode,
                                                 per_sample_weights=per_sample_weights)
