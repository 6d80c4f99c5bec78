# SPDX-License-Identifier: Apache-2.0
"""Embeddings whose rows lie in a table of locus.

A forward pass pulls the row of each different index once; the backward pass adds up the gradients of an index that
repeats. The optimizer finds rows and gradients here (gradients.py).
"""
import functools
import itertools
from typing import Any, Callable, Dict, List, Optional, Tuple, Type, TypeVar

import numpy as np
import torch
import torch.nn.functional

from .._c import LENGTH_MAX, integer
from ..errors import ArgumentError, UsageError
from ..worker import Worker
from .ahead import Ahead, Changes, Found
from .batch import FLOATS, distinct, ranges
from .devices import to_device, uncompiled
from .gradients import Gradients, watched
from .initial import Given, Normal, Own, ZeroAt, Zeros, of_table

_Any = TypeVar("_Any", bound="_Rows")
Initial = Callable[[torch.Tensor, int], torch.Tensor]
_STATE_DICT_FLOATS_MAX = 1 << 28
_FEW_CHANGES = 1 << 16  # indices of a write that are kept, to pull only these again
_ELEMENTS = {None: "f32", torch.float32: "f32", torch.bfloat16: "bf16"}
_INDICES = (torch.int64, torch.int32, torch.int16, torch.uint8, torch.int8)  # a mask of bool is none


def integers(name: str, indices: Any) -> torch.Tensor:
    """As int64."""
    if not isinstance(indices, torch.Tensor):
        raise ArgumentError(f"`{name}` is a {type(indices).__name__}: must be a tensor of integers; write "
                            f"torch.as_tensor({name})")
    if indices.dtype not in _INDICES or indices.device.type != "cpu":
        raise ArgumentError(f"`{name}` is {indices.dtype} on {indices.device}: must be integers on the CPU; write "
                            f"{name}.cpu().long(), or do not move it: values are returned on the model's device")
    return indices.long()


def _checked_padding(padding_idx: Any, rows: int) -> Optional[int]:
    """As torch counts: from the end, if negative."""
    if padding_idx is None:
        return None
    if not isinstance(padding_idx, int) or not -rows <= padding_idx < rows:
        raise ArgumentError(f"padding_idx is {padding_idx!r}: must be one of the {rows} indices; first values are given by "
                            "name, initial=")
    return padding_idx % rows


class _Rows(torch.nn.Module):
    """What Embedding and EmbeddingBag share."""

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: Optional[int], initial: Optional[Initial],
                 dtype: Optional[torch.dtype], device: Any, unknown: Dict[str, Any]) -> None:
        super().__init__()
        num_embeddings = integer("num_embeddings", num_embeddings, 1, 1 << 40)
        embedding_dim = integer("embedding_dim", embedding_dim, 1, LENGTH_MAX)
        for name, value in unknown.items():
            if value:
                raise ArgumentError(f"{name} is {value!r}: locus.torch has nothing like it, leave it out")
        if not (initial is None or callable(initial)):
            raise ArgumentError(f"initial is {initial!r}: must be a function of indices and the dimension, as "
                                "locus.torch.Normal()")
        if dtype not in _ELEMENTS:
            raise ArgumentError(f"dtype is {dtype!r}: must be torch.float32 or torch.bfloat16")
        self.element = _ELEMENTS[dtype]
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = _checked_padding(padding_idx, num_embeddings)
        self.initial: Initial = initial or Normal()
        if self.padding_idx is not None and not isinstance(self.initial, Zeros):
            self.initial = ZeroAt(self.padding_idx, self.initial)
        self.is_frozen = False
        self._written: Optional[Initial] = None  # first values that are in the rows
        self.table = ""  # its name, once an optimizer has it
        self._worker: Optional[Worker] = None
        self._first = 0
        self.gradients = Gradients(embedding_dim)
        self.changes = Changes()
        self.ahead: Optional[Ahead] = None  # of the batch that Prefetch gave last
        # Where values are returned; rows and indices are in memory. A model that is made on "meta" has its rows all the same.
        is_told = device is not None and torch.device(device).type != "meta"
        self.device = torch.empty(0, device=device if is_told else "cpu").device

    @classmethod
    def from_pretrained(cls: Type[_Any], embeddings: torch.Tensor, freeze: bool = True, *more: Any, **named: Any) -> _Any:
        """Its first values are those of `embeddings`, of shape (num_embeddings, embedding_dim), which each process
        keeps. No step changes them, unless freeze=False. What else is told is told to the constructor."""
        if not isinstance(embeddings, torch.Tensor) or embeddings.dim() != 2:
            raise ArgumentError("`embeddings` must be a tensor of shape (num_embeddings, embedding_dim)")
        made = cls(*embeddings.shape, *more, **named)
        made.initial = Given(embeddings)  # the row of padding_idx, too, as torch has it
        made.is_frozen, made.element = freeze, _ELEMENTS.get(embeddings.dtype, "f32")
        return made

    def _apply(self, fn: Any, *arguments: Any, **more: Any) -> Any:
        """model.to(device), model.cuda(): there is no parameter that would move, but values are returned there."""
        self.device = fn(torch.empty(0, device=self.device)).device
        move: Callable[..., Any] = super()._apply
        return move(fn, *arguments, **more)

    def __getattr__(self, name: str) -> Any:
        if name == "weight":
            raise AttributeError("the rows of an embedding of locus.torch lie in a table: read weight_of(indices), write "
                                 "set_weight(indices, values); first values are given by initial=")
        find: Callable[[str], Any] = super().__getattr__
        return find(name)

    @property
    def worker(self) -> Worker:
        if self._worker is None:
            raise UsageError("this embedding has no rows yet: give its model to an optimizer of locus.torch, and "
                             "that to locus.torch.open()")
        return self._worker

    def keys_of(self, indices: torch.Tensor) -> torch.Tensor:
        """The keys of indices, which are checked: int64 of shape (n,)."""
        indices = integers("indices", indices)
        self._check(indices)
        return indices + self._first

    def _check(self, indices: torch.Tensor) -> None:
        each = indices.numpy()
        if len(each) and not (0 <= each.min() and each.max() < self.num_embeddings):
            raise ArgumentError(f"indices of {self.table or 'an embedding'} are {each.min()} to {each.max()}: must be 0 "
                                f"to {self.num_embeddings - 1}")

    def _values(self, indices: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        first = self.initial(indices, self.embedding_dim)
        if first.shape != rows.shape or first.dtype != rows.dtype:
            raise ArgumentError(f"`initial` of {self.table!r} gave {first.dtype} of shape {tuple(first.shape)}: must be "
                                f"torch.float32 of shape {tuple(rows.shape)}")
        return first.add_(rows) if isinstance(self.initial, Own) else first + rows

    def requires_grad_(self, requires_grad: bool = True) -> "_Rows":
        """Whether steps change its rows. torch's model.requires_grad_() does not come here: it asks for parameters."""
        self.is_frozen = not requires_grad
        return self

    def _look_up(self, indices: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The values of the different indices; for each index which it is; and the different ones."""
        flat = integers("input", indices).reshape(-1)
        found = self.ahead.take(flat) if self.ahead is not None and not self.worker._is_over() else None
        if found is None:
            different, places = self.different(flat)
            found = Found(different, places, self._values(different, self._pull(different)))
        return found.values, found.places.view(indices.shape), found.indices

    def _pull(self, indices: torch.Tensor) -> torch.Tensor:
        """Rows of indices that are checked, (0, embedding_dim) of none."""
        rows: torch.Tensor = self.worker.pull(indices + self._first, torch.empty(len(indices), self.embedding_dim, **FLOATS))
        return rows

    def different(self, flat: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        """The different ones among indices of one dimension, which are checked; for each which of them it is."""
        try:
            return distinct(flat, self.num_embeddings)
        except ArgumentError:
            self._check(flat)
            raise

    def _padding_among(self, different: torch.Tensor) -> Optional[int]:
        if self.padding_idx is None:
            return None
        at = torch.nonzero(different == self.padding_idx)
        return int(at[0]) if len(at) else None

    def _followed(self, values: torch.Tensor, of: torch.Tensor) -> torch.Tensor:
        """The values of different indices on the model's device, whose gradients come back."""
        return watched(to_device(values, self.device), None if self.is_frozen else self.gradients, of)

    def _were_written(self, keys: Any) -> None:
        """What was pulled of them before is old."""
        if keys is None or len(keys) > _FEW_CHANGES:
            self.changes.add(None)
            return
        keys = keys if isinstance(keys, torch.Tensor) else torch.from_numpy(keys.astype(np.int64))
        indices = keys[(self._first <= keys) & (keys < self._first + self.num_embeddings)] - self._first
        if len(indices):
            self.changes.add(distinct(indices, self.num_embeddings)[0])

    def refuse_bound(self) -> None:
        """Its rows would be those of another job, and what was trained be gone."""
        if self._worker is not None and not self._worker._is_over():
            raise UsageError(f"the embedding {self.table!r} has its rows in a job that is open: close that before")

    def bind(self, worker: Worker) -> None:
        self._worker, self._first = worker, worker.node.tables[self.table].first
        self.initial = of_table(self.initial, self.table)
        self.gradients, self.changes, self.ahead = Gradients(self.embedding_dim, self.table), Changes(), None
        self.initial, self._written = self._written or self.initial, None
        worker.node._on_write.append(self._were_written)

    def write_first(self, values: bool, state: float, is_newcomer: bool) -> bool:
        """This process' part of what rows begin with: first values, or else differences of 0; and the state of all. False:
        they are all 0, which they are. A newcomer's job has them."""
        values = values and not isinstance(self.initial, Zeros)
        if not values and not state:
            return False
        node = self.worker.node
        parts = [] if is_newcomer else ranges(self.num_embeddings, self.embedding_dim)
        for part in itertools.islice(parts, node.rank, None, node.size):
            first = self.initial(part, self.embedding_dim)
            self.worker.set(keys := self.keys_of(part), self._as_held(first) if values else torch.zeros_like(first))
            if state:
                full = self.worker.pull_state(keys)
                full[:, self.embedding_dim:] = state
                self.worker.set_state(keys, full)
        if values:
            self._written, self.initial = self.initial, Zeros()
        return True

    def _as_held(self, rows: torch.Tensor) -> torch.Tensor:
        """What the table's type has that is nearest. A table rounds by chance, which is for steps."""
        return rows.bfloat16().float() if self.element == "bf16" else rows.float()

    def weight_of(self, indices: torch.Tensor) -> torch.Tensor:
        """The values of different indices, outside of autograd: float32 of shape (n, embedding_dim)."""
        indices = integers("indices", indices)
        self._check(indices)
        return self._values(indices, self._pull(indices))

    def set_weight(self, indices: torch.Tensor, values: torch.Tensor) -> None:
        """Overwrites the values of different indices. Their optimizer's state stays, as in torch."""
        keys = self.keys_of(indices)
        rows = self._as_held(values - self.initial(indices, self.embedding_dim))
        if self.worker._state_length(keys) <= self.embedding_dim:
            self.worker.set(keys, rows)
            return
        full = self.worker.pull_state(keys)
        full[:, :self.embedding_dim] = rows
        self.worker.set_state(keys, full)

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

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Once it has rows, which are the cluster's, copy.deepcopy() and torch.save() make torch's own module of it, with
        the values of now."""
        if self._worker is None:
            return super().__reduce_ex__(protocol)
        weight = torch.cat([self.weight_of(part) for part in self._ranges()]).to(self.device)
        make, options = self._plain()
        return functools.partial(make, **options), (weight, self.is_frozen), {"training": self.training}

    def _plain(self) -> Tuple[Callable[..., torch.nn.Module], Dict[str, Any]]:
        """What makes torch's of a weight, and with which options."""
        raise NotImplementedError

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}"


class Embedding(_Rows):
    """torch.nn.Embedding, its rows in the cluster: indices of any shape to float32 of shape (*, embedding_dim).

    `initial`: the first values (initial.py); normally distributed unless told, as torch's. The row of `padding_idx` is
    zero, and no step changes it. `sparse` is accepted: gradients are those of the rows in use anyway. `dtype`: of the rows;
    with torch.bfloat16 they, messages and checkpoints take half as much, values are float32 all the same, and first ones
    other than Zeros are written when the tables are opened. `device`: where values are returned. ArgumentError for an index
    out of range, before anything is pulled.
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: Optional[int] = None,
                 max_norm: Optional[float] = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
                 sparse: bool = False, *, initial: Optional[Initial] = None, device: Any = None,
                 dtype: Optional[torch.dtype] = None) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx, initial, dtype, device,
                         {"max_norm": max_norm, "scale_grad_by_freq": scale_grad_by_freq})

    @uncompiled
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        values, places, of = self._look_up(input)
        return torch.nn.functional.embedding(to_device(places, self.device), self._followed(values, of), self._padding_among(of))

    def _plain(self) -> Tuple[Callable[..., torch.nn.Module], Dict[str, Any]]:
        return torch.nn.Embedding.from_pretrained, {"padding_idx": self.padding_idx}


class EmbeddingBag(_Rows):
    """torch.nn.EmbeddingBag, its rows in the cluster: bags of indices, of shape (bags, n), or of one dimension with
    `offsets`, to float32 of shape (bags, embedding_dim). mode: sum or mean; per_sample_weights with sum. Indices of
    `padding_idx` do not count. Else as Embedding."""

    def __init__(self, num_embeddings: int, embedding_dim: int, max_norm: Optional[float] = None,
                 norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
                 *, include_last_offset: bool = False, padding_idx: Optional[int] = None,
                 initial: Optional[Initial] = None, device: Any = None, dtype: Optional[torch.dtype] = None) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx, initial, dtype, device,
                         {"max_norm": max_norm, "scale_grad_by_freq": scale_grad_by_freq})
        if mode not in ("sum", "mean"):
            raise ArgumentError(f"mode is {mode!r}: must be sum or mean")
        self.mode, self.include_last_offset = mode, include_last_offset

    @uncompiled
    def forward(self, input: torch.Tensor, offsets: Optional[torch.Tensor] = None,
                per_sample_weights: Optional[torch.Tensor] = None) -> torch.Tensor:
        values, places, of = self._look_up(input)
        if offsets is not None:
            offsets = to_device(offsets, self.device)
        if per_sample_weights is not None:
            per_sample_weights = to_device(per_sample_weights, self.device)
        return torch.nn.functional.embedding_bag(
            to_device(places, self.device), self._followed(values, of), offsets, mode=self.mode, per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset, padding_idx=self._padding_among(of))

    def _plain(self) -> Tuple[Callable[..., torch.nn.Module], Dict[str, Any]]:
        return torch.nn.EmbeddingBag.from_pretrained, {
            "mode": self.mode, "include_last_offset": self.include_last_offset, "padding_idx": self.padding_idx}
