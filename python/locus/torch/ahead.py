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

from ..worker import Worker
from .batch import FLOATS, distinct
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
        self._shared: List[Tuple[torch.Tensor, torch.Tensor]] = []  # indices, and the places here of those among them

    def share(self, before: "Ahead") -> None:
        """Looks ahead of time which rows a step with that batch will change."""
        self._shared.append((before.indices, _among(self.indices, before.indices)))

    def pull(self) -> None:
        """From any thread, while the worker is lent."""
        worker: Worker = self.embedding.worker
        count = self.embedding.changes.count
        rows = torch.empty(len(self.keys), self.embedding.embedding_dim, **FLOATS)
        for ticket in list(map(worker.pull_async, torch.split(self.keys, _KEYS_AT_ONCE), torch.split(rows, _KEYS_AT_ONCE))):
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
        if changed:
            old = torch.cat([self._places_of(each) for each in changed])
        if changed and len(old):
            pulled = self.embedding._values(self.indices[old], self.embedding.worker.pull(self.keys[old]))
            values.index_copy_(0, to_device(old, values.device), to_device(pulled, values.device))
        return Found(self.indices, self.places, values)

    def _places_of(self, changed: torch.Tensor) -> torch.Tensor:
        known = [places for indices, places in self._shared if indices is changed]
        return known[0] if known else _among(self.indices, changed)


def _among(indices: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    """The places of those that changed; all are different."""
    places = distinct(torch.cat([changed, indices]), 1 << 62)[1]
    return torch.nonzero(places[len(changed):] < len(changed)).view(-1)
