# SPDX-License-Identifier: Apache-2.0
"""Batches ahead of time: a thread takes them from a data loader and says which rows they will need; another pulls the
values of the next ones."""
import collections
import os
import threading
import time
import weakref
from enum import Enum
from typing import Any, Callable, Deque, Dict, Iterable, Iterator, List, Mapping, Optional, Set, Tuple, Union

import numpy as np

from ..errors import ArgumentError, Error, UsageError
from ..sampling import Loader, Sample
from ..worker import Worker
from .ahead import Ahead
from .embedding import _Rows, integers
from .negatives import Negatives

_LOOK_S = 1e-3
_ARRIVAL_MAX_S = 0.5  # a round takes milliseconds; who waits longer than this would better ask for the rows
_LOOKED_AT_MAX = 64  # of the rows of a batch and an embedding: those that are late are many
_MANAGED = ("adaptive", "replicate")  # the techniques where what is intended comes
_DEPTH_MAX = 2  # batches whose values are pulled before they come


class _Changed(threading.Condition):
    """Who leaves it does not hold it, wherever Ctrl-C came."""

    def __exit__(self, *fault: Any) -> None:
        while self._is_owned():  # type: ignore[attr-defined]
            self.release()


class _Pull(Enum):
    """Of a batch's values."""

    WANTED, BEGUN, OVER = range(3)


class _Item:
    """A batch that was intended."""

    def __init__(self, number: int, batch: Any, worker: Optional[Worker], clock: int, ahead: List[Ahead],
                 samples: List[Tuple[Negatives, Sample]]) -> None:
        self.number, self.clock = number, clock  # the clock that it was intended for
        self.batch = batch
        self.worker = worker  # whose clock it has; None: no batch so far had indices
        self.ahead = ahead
        self.samples = samples  # what was drawn for it
        self.pull = _Pull.WANTED if ahead else _Pull.OVER


class _Line:
    """Batches on their way from the thread that prepares them to the training loop: one, and at most `ahead` behind it.

    One is given when at least half of `ahead` are behind it, the first when all are, and the last ones as they come. So
    it has been intended for as long as those behind it took, even when the loader is slower than the training.
    """

    def __init__(self, ahead: int) -> None:
        self.ahead, self.least = ahead, ahead  # the least that are behind one that is given
        self.first: Dict[Worker, int] = {}  # the clock of batch 0
        self.given: List[Ahead] = []
        self.useless: Set[Any] = set()  # embeddings that did not look up what was pulled for them
        self.depth = 1  # batches whose values are pulled; more once a batch came before its values
        self.items: Deque[_Item] = collections.deque()
        self.changed = _Changed()
        self.over = self.ended = False  # nobody takes any more; nobody puts any more
        self.fault: Optional[BaseException] = None
        _lines.add(self)

    def put(self, item: _Item) -> bool:
        """Waits for room. False: nobody takes it any more."""
        with self.changed:
            self.changed.wait_for(lambda: self.over or len(self.items) <= self.ahead)
            self.items.append(item)
            self.changed.notify_all()
            return not self.over

    def _is_early(self) -> bool:
        """May the next one be? It is the first, or the loader has ended."""
        return self.ended or self.least == self.ahead

    def take(self) -> Optional[Tuple[_Item, bool]]:
        """Waits for the next one; says whether its rows are still to be waited for. None after the last; raises why the
        loader ended before its time, after what it gave."""
        with self.changed:
            self.changed.wait_for(lambda: self.ended or len(self.items) > self.least)
            early = self._is_early()
            self.least = self.ahead // 2
            self.changed.notify_all()
            if self.items:
                item = self.items.popleft()
                if item.pull != _Pull.OVER:
                    self.depth = _DEPTH_MAX
                early = early and item.pull == _Pull.WANTED
                self.changed.wait_for(lambda: item.pull != _Pull.BEGUN)
                item.pull = _Pull.OVER
                return item, early
            if self.fault is not None:
                raise self.fault
            return None

    def end(self, fault: Optional[BaseException]) -> None:
        with self.changed:
            self.ended, self.fault = True, fault
            self.changed.notify_all()

    def leave(self) -> None:
        try:
            with self.changed:
                self.over = True
                self.changed.notify_all()
        finally:
            self.changed.__exit__()  # Ctrl-C may have come where it was entered, here or before

    def next_to_pull(self) -> Optional[Tuple[_Item, bool]]:
        """Waits for a batch among the next ones whose values are wanted, and whether its rows are to be waited for. None:
        there are no more."""
        def wanted() -> List[_Item]:
            return [item for item in list(self.items)[:self.depth] if item.pull == _Pull.WANTED]
        with self.changed:
            self.changed.wait_for(lambda: self.over or wanted() or (self.ended and not self.items))
            if self.over or not self.items:
                return None
            item = wanted()[0]
            item.pull = _Pull.BEGUN
            return item, self._is_early()

    def give(self, item: Optional[_Item]) -> None:
        """To the embeddings: what was pulled for this batch, and no longer for the one before."""
        before, self.given = self.given, item.ahead if item else []
        for ahead in before:
            if ahead.embedding.ahead is ahead:  # and not that of a Prefetch within this one
                if ahead.pulled is not None:
                    self.useless.add(ahead.embedding)
                ahead.embedding.ahead = None
        for ahead in self.given:
            ahead.embedding.ahead = ahead

    def keep_time(self, item: _Item, clock: int) -> None:
        """The clock of an item that was taken is this. If others have advanced it, as a Prefetch within this one does, the
        intents of those on their way are over, and their values old."""
        if item.clock == clock or item.worker is None:
            return
        with self.changed:
            first = self.first[item.worker] = clock - item.number
            late = [each for each in (item, *self.items) if each.worker is item.worker and each.clock < first + each.number]
        for each in late:
            each.clock = first + each.number
            for ahead in each.ahead:
                item.worker.intent(ahead.keys, each.clock, each.clock + 1)
                ahead.pulled = None

    def pulled(self, item: _Item) -> None:
        with self.changed:
            item.pull = _Pull.OVER
            self.changed.notify_all()


_lines: "weakref.WeakSet[_Line]" = weakref.WeakSet()


def _in_child() -> None:
    """The threads that fill them are the parent's."""
    for line in list(_lines):
        line.changed = _Changed()
        line.items.clear()
        line.ended, line.fault = True, UsageError("this Prefetch is another process': iterate over it where it began")


os.register_at_fork(after_in_child=_in_child)


class Prefetch:
    """Iterates over `loader`; batch b is in use while the worker's clock is that of b, and its rows come before that.

    `keys` takes a batch and returns {embedding: indices}, of all embeddings that the batch looks up, and {negatives:
    how many} of what it draws at random (negatives.py). `ahead`: batches that are taken from the loader, and intended,
    before they are needed, at most; at least half as many, but for the last. The first one is given when all are, and
    its rows are here. The worker's clock is advanced here, and nowhere else.

    The values of the next one or two batches are pulled while the model computes: for embeddings that look up what `keys`
    said, all of it at once; a batch that the training changes in place is pulled anew. Rows that this process changes
    meanwhile, by whichever call, are pulled again. So on one node nothing is old; of other nodes' changes, values may lack
    those of the last two batches, but none from before a quiesce() or bound(). The other calls of the worker wait for such
    a pull.

    The loader may have worker processes (num_workers): they prepare batches, and do not touch the node.
    """

    def __init__(self, loader: Iterable[Any], keys: Callable[[Any], Mapping[Union[_Rows, Negatives], Any]],
                 ahead: int = 32) -> None:
        if ahead < 1:
            raise ArgumentError(f"ahead is {ahead}: must be at least 1")
        self.loader, self.keys, self.ahead = loader, keys, ahead

    def __len__(self) -> int:
        return len(self.loader)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        line = _Line(self.ahead)
        thread = threading.Thread(target=self._prepare, args=(line,), name="locus prefetch", daemon=True)
        puller = threading.Thread(target=_pull_values, args=(line,), name="locus values", daemon=True)
        given: List[Tuple[Negatives, Sample]] = []
        try:
            thread.start()
            puller.start()
            while True:
                taken = line.take()
                if taken is None:
                    return
                item, early = taken
                if item.worker is not None:
                    if early:
                        _await_arrival(item)
                    line.keep_time(item, item.worker.advance_clock())
                line.give(item)
                given = item.samples
                for negatives, sample in given:
                    negatives.give(sample)
                yield item.batch
        finally:
            try:
                line.leave()
            finally:
                line.leave()  # should Ctrl-C have come within it
            for each in (thread, puller):
                if each.is_alive():
                    each.join()
            line.give(None)
            _finish(given, line.items)

    def _prepare(self, line: _Line) -> None:
        loaders: Dict[Worker, Loader] = {}
        fault: Optional[BaseException] = None
        try:
            for number, batch in enumerate(self.loader):
                if not line.put(self._intend(number, batch, loaders, line.first)):
                    break
        except BaseException as caught:  # the training loop's to see
            fault = caught
        for loader in loaders.values():
            try:
                loader.close()
            except Error as caught:  # the node was closed meanwhile
                fault = fault or caught
        line.end(fault)

    def _intend(self, number: int, batch: Any, loaders: Dict[Worker, Loader], firsts: Dict[Worker, int]) -> _Item:
        worker, aheads, samples = next(iter(loaders), None), [], []
        clock = firsts[worker] + number if worker else 0
        for source, wanted in self.keys(batch).items():
            worker = source.embedding.worker if isinstance(source, Negatives) else source.worker
            if worker not in loaders:
                # Batches without indices, before, do not advance the clock.
                loaders[worker], firsts[worker] = worker.loader(), worker.clock + 1 - number
            loader, clock = loaders[worker], firsts[worker] + number
            if isinstance(source, Negatives):
                samples.append((source, source.prepare(loader, wanted, clock)))
                continue
            aheads.append(Ahead(source, integers("indices", wanted)))
            loader.intent(aheads[-1].keys, clock, clock + 1)
        return _Item(number, batch, worker, clock, aheads, samples)


def _pull_values(line: _Line) -> None:
    """Of the next batches, until there are no more. Not of embeddings that did not look up what they had."""
    lent: Set[Worker] = set()
    before: Dict[_Rows, Deque[Ahead]] = collections.defaultdict(lambda: collections.deque(maxlen=_DEPTH_MAX + 1))
    for item, early in iter(line.next_to_pull, None):
        try:
            for worker in {ahead.embedding.worker for ahead in item.ahead} - lent:
                worker._lend(1)
                lent.add(worker)
            if early:
                _await_arrival(item)
            for ahead in item.ahead:
                if ahead.embedding in line.useless:
                    continue
                ahead.pull(*before[ahead.embedding])
                before[ahead.embedding].append(ahead)
        except Exception:  # the training loop's to see, which does it then
            pass
        line.pulled(item)
    for worker in lent:
        worker._lend(-1)


def _finish(given: List[Tuple[Negatives, Sample]], items: Iterable[_Item]) -> None:
    """What was drawn for batches that nobody takes any more."""
    try:
        for negatives, _ in given:
            negatives.give(None)
        for item in items:
            for _, sample in item.samples:
                sample.finish()
    except Error:  # the node was closed, and with it they ended; or it was lost
        pass


def _await_arrival(item: _Item) -> None:
    """Until its rows are here. The first batches of an epoch were intended a moment ago; the last ones are given faster
    than those before them, where the loader is slower than the training, and the manager, which acts in time for the
    pace that it saw, is late for a while."""
    worker = item.worker
    if worker is None or worker.node.size == 1 or worker.node.technique not in _MANAGED:
        return
    deadline = time.monotonic() + _ARRIVAL_MAX_S
    for ahead in item.ahead:
        # At random, since every n-th one may have its home at one node; not by torch's generator, which is the user's.
        some = np.random.default_rng(1).choice(ahead.keys.numpy(), min(len(ahead.keys), _LOOKED_AT_MAX), replace=False)
        for key in some.tolist():
            while worker.pull_local(key) is None:
                if time.monotonic() >= deadline:
                    return
                time.sleep(_LOOK_S)
