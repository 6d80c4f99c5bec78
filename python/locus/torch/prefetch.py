# SPDX-License-Identifier: Apache-2.0
"""Batches ahead of time: a thread takes them from a data loader and says which rows they will need."""
import queue
import threading
from typing import Any, Callable, Iterable, Iterator, Mapping

import torch

from ..errors import ArgumentError
from .embedding import _Rows

_LOOK_S = 0.05
_END = object()


class _Failed:
    def __init__(self, fault: BaseException) -> None:
        self.fault = fault


class Prefetch:
    """Iterates over `loader`; batch b is in use while the worker's clock is that of b, and its rows come before that.

    `keys` takes a batch and returns {embedding: indices}, of all embeddings that the batch looks up. `ahead`: batches that
    are taken from the loader, and intended, before they are needed. The first one is given when so many are. The worker's
    clock is advanced here, and nowhere else.

    The loader may have worker processes (num_workers): they prepare batches, and do not touch the node.
    """

    def __init__(self, loader: Iterable[Any], keys: Callable[[Any], Mapping[_Rows, torch.Tensor]],
                 ahead: int = 32) -> None:
        if ahead < 1:
            raise ArgumentError(f"ahead is {ahead}: must be at least 1")
        self.loader, self.keys, self.ahead = loader, keys, ahead

    def __len__(self) -> int:
        return len(self.loader)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        taken: "queue.Queue[Any]" = queue.Queue(self.ahead)
        over, full = threading.Event(), threading.Event()
        thread = threading.Thread(target=self._prepare, args=(taken, over, full), name="locus prefetch", daemon=True)
        thread.start()
        try:
            full.wait()
            while True:
                item = taken.get()
                if item is _END:
                    return
                if isinstance(item, _Failed):
                    raise item.fault
                worker, batch = item
                if worker is not None:
                    worker.advance_clock()
                yield batch
        finally:
            over.set()
            thread.join()

    def _prepare(self, taken: "queue.Queue[Any]", over: threading.Event, full: threading.Event) -> None:
        loaders: Any = {}
        try:
            for number, batch in enumerate(self.loader):
                worker = self._intend(number, batch, loaders)
                if taken.full():
                    full.set()
                if not _put(taken, over, (worker, batch)):
                    return
            last: Any = _END
        except BaseException as fault:  # the training loop's to see
            last = _Failed(fault)
        finally:
            for loader, _ in loaders.values():
                loader.close()
        full.set()
        _put(taken, over, last)

    def _intend(self, number: int, batch: Any, loaders: Any) -> Any:
        worker = None
        for embedding, indices in self.keys(batch).items():
            worker = embedding.worker
            if worker not in loaders:
                # Batches without indices, before, do not advance the clock.
                loaders[worker] = worker.loader(), worker.clock + 1 - number
            loader, first = loaders[worker]
            different = torch.unique(indices.reshape(-1).long())
            loader.intent(embedding.keys_of(different), first + number, first + number + 1)
        return worker or next(iter(loaders), None)


def _put(taken: "queue.Queue[Any]", over: threading.Event, item: Any) -> bool:
    """False: nobody takes it any more."""
    while not over.is_set():
        try:
            taken.put(item, timeout=_LOOK_S)
            return True
        except queue.Full:
            continue
    return False
