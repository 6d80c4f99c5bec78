# SPDX-License-Identifier: Apache-2.0
"""Values of a batch that are pulled before it comes, by Prefetch, and what has changed since.

What this process changed since is pulled again when they are looked up, so that on one node they are what a pull would give
then. What other nodes changed since may be missing.
"""
import collections
import threading
import time
from typing import Any, Deque, List, NamedTuple, Optional, Tuple

import torch

from .batch import FLOATS, INTEGERS, distinct
from .devices import Moving, to_device

_CHANGES_MAX = 16  # the last steps; values that are older are pulled anew
_KEYS_AT_ONCE = 4096  # other calls of the worker wait for so many at most
_LOOK_S = 1e-4


class Changes:
    """Which rows of an embedding this process has changed."""

    _guard = threading.RLock()  # any thread's worker may write

    def __init__(self) -> None:
        self.count = 0  # a change is in `_last` before it counts
        self._last: Deque[Tuple[int, Optional[torch.Tensor]]] = collections.deque(maxlen=_CHANGES_MAX)

    def add(self, indices: Optional[torch.Tensor]) -> None:
        """After they were changed; None: any may have been."""
        with self._guard:
            self._last.append((self.count, indices))
            self.count += 1

    def since(self, count: int) -> Optional[List[torch.Tensor]]:
        """Those changed after it was `count`; None: any may have been."""
        with self._guard:
            changed = [indices for number, indices in self._last if number >= count]
            each = [indices for indices in changed if indices is not None]
            return each if len(each) == self.count - count else None

    def has(self, indices: torch.Tensor) -> bool:
        """Did a step change the rows of this tensor, lately?"""
        with self._guard:
            return any(each is indices for _, each in self._last)


class Found(NamedTuple):
    """What a batch looks up."""

    indices: torch.Tensor  # (n,), different
    places: torch.Tensor  # of each index of the batch among them
    values: torch.Tensor  # (n, embedding_dim)


class Ahead:
    """The indices of a batch and an embedding, and their values once somebody has pulled them."""

    def __init__(self, embedding: Any, wanted: torch.Tensor) -> None:
        self.embedding = embedding
        self.flat = wanted.reshape(-1).clone()  # the training loop may change its batch
        self.indices, self.places = embedding.different(self.flat)
        self.keys: torch.Tensor = self.indices + embedding._first
        self.pulled: Optional[Tuple[int, Moving]] = None  # and not looked up; None, too, once they are old
        self._here = len(self.keys)  # rows that pull() pulls: the first ones
        self._put_off: List[torch.Tensor] = []  # the indices of batches whose steps change the others

    def pull(self, *before: "Ahead") -> None:
        """From any thread, while the worker is lent. Rows that steps with the batches before it will change are put off until
        take(): if one of those was changed by its step, so will be the ones behind it."""
        worker, changes = self.embedding.worker, self.embedding.changes
        count, over = changes.count, [n for n, each in enumerate(before, 1) if changes.has(each.indices)]
        self._put_off = [each.indices for each in before[over[-1]:]] if over else []
        if self._put_off:
            is_late = torch.zeros(len(self.keys), dtype=torch.bool, device="cpu")
            is_late[_among(self.indices, self._put_off)] = True
            order = torch.cat([torch.nonzero(~is_late), torch.nonzero(is_late)]).view(-1)
            place_of = torch.empty_like(order).scatter_(0, order, torch.arange(len(order), **INTEGERS))
            self.indices, self.keys, self.places = self.indices[order], self.keys[order], place_of[self.places]
            self._here = len(order) - int(is_late.sum())
        rows = torch.empty(len(self.keys), self.embedding.embedding_dim, **FLOATS)
        rows[self._here:] = 0
        parts = (torch.split(each[:self._here], _KEYS_AT_ONCE) for each in (self.keys, rows))
        for ticket in list(map(worker.pull_async, *parts)):
            while not ticket.done():
                time.sleep(_LOOK_S)
        self.pulled = count, Moving(self.embedding._values(self.indices, rows), self.embedding.device)

    def take(self, flat: torch.Tensor) -> Optional[Found]:
        """For these indices, once; None: they are others, or not here."""
        if self.pulled is None or not torch.equal(flat, self.flat):
            return None
        (count, moving), self.pulled = self.pulled, None
        changed = self.embedding.changes.since(count)
        values = moving.arrived()
        if changed is None or values.device.type not in ("cpu", self.embedding.device.type):
            return None
        if self._put_off:
            values[self._here:] += to_device(self.embedding.worker.pull(self.keys[self._here:]), values.device)
            changed = [each for each in changed if not any(each is known for known in self._put_off)]
        if changed:
            old = _among(self.indices, changed)
            pulled = self.embedding._values(self.indices[old], self.embedding.worker.pull(self.keys[old]))
            values.index_copy_(0, to_device(old, values.device), to_device(pulled, values.device))
        return Found(self.indices, self.places, values)


def _among(indices: torch.Tensor, changed: List[torch.Tensor]) -> torch.Tensor:
    """The places of those that changed, which may repeat; indices are all different."""
    places = distinct(torch.cat([indices, *changed]), 1 << 62)[1][len(indices):]
    return places[places < len(indices)]
