# SPDX-License-Identifier: Apache-2.0
"""Loaders, distributions, and samples that are drawn from them."""
import time
from ctypes import byref, c_uint64, c_void_p
from typing import TYPE_CHECKING, Any, Callable, Optional, Tuple

import numpy as np

from . import _arrays, _c
from ._waiting import Guard
from .errors import ArgumentError, UsageError

if TYPE_CHECKING:
    from .node import Node, Table
    from .worker import Worker

_lib, _quick = _c.lib, _c.quick
_LOOK_S = 20e-6


def checked_sample(n: Any, start: Any, end: Any) -> Tuple[int, int, int]:
    return _c.integer("n", n, 0, (1 << 63) - 1), _c.clock("start", start), _c.clock("end", end)


class Loader:
    """Signals intent for a worker, from the thread that prepares its batches. Worker.loader() opens it."""

    def __init__(self, worker: "Worker") -> None:
        self.worker = worker
        self._handle = c_void_p()  # until it is open
        self._guard = Guard()
        self._closed = False

    def _call(self, call: Callable[..., int], *arguments: Any) -> None:
        me = object()
        try:
            if not self._guard.claim(me):
                raise UsageError("this loader is in a call of another thread: open one for each with Worker.loader()")
            self.worker.node._refuse_unusable()
            if self._closed:
                raise UsageError("this loader is closed: open one with Worker.loader()")
            _c.check(call(self._handle, *arguments))
        finally:
            self._guard.pop(me, None)

    def intent(self, keys: Any, start: int, end: int) -> None:
        """As Worker.intent()."""
        at, n = _arrays.keys(keys)
        start, end = _c.clock("start", start), _c.clock("end", end)
        self._call(_lib.locus_loader_intent, at, n, start, end)

    def prepare_sample(self, distribution: "Distribution", n: int, start: int, end: int) -> "Sample":
        """As Worker.prepare_sample(). The sample is the worker's."""
        n, start, end = checked_sample(n, start, end)
        sample = c_uint64()
        self._call(_lib.locus_loader_prepare_sample, distribution._use(self.worker.node), n, start, end, byref(sample))
        return Sample(self.worker, distribution.length, n, sample.value)

    def close(self) -> None:
        """Waits for a call of another thread. Again, or in a forked child: does nothing."""
        if self._closed or self.worker.node._is_of_another_process():
            return
        me = object()
        try:
            while not self._guard.claim(me):  # its calls never wait
                time.sleep(_LOOK_S)
            if not self._closed:
                self.worker.node._refuse_unusable()
                self._closed = True
                rc = _lib.locus_loader_close(self._handle) if self._handle else 0
                self.worker._loaders.remove(self)
                _c.check(rc)
        finally:
            self._guard.pop(me, None)

    def __enter__(self) -> "Loader":
        return self

    def __exit__(self, *fault: Any) -> None:
        self.close()


class Distribution:
    """Keys of a range, equally likely or by weight: Node.distribution() registers it."""

    def __init__(self, node: "Node", of: int, table: "Table", weights: Any, conformity: str, replace: bool,
                 seed: Optional[int]) -> None:
        self.node = node
        self.length = table.length
        first, count = table.first, table.rows
        self._handle: Optional[int] = None
        if seed is not None:
            seed = _c.integer("seed", seed, 0, (1 << 64) - 1)
        level, flags, out = _c.one_of("conformity", conformity, _c.CONFORMITIES), 0 if replace else 1, c_uint64()
        if weights is None:
            _c.check(_lib.locus_distribution_uniform(of, first, count, level, flags, byref(out)))
        else:
            values = np.ascontiguousarray(weights, np.float64)
            if values.shape != (count,):
                raise ArgumentError(f"`weights` has shape {values.shape}: must be ({count},), one for each key")
            _c.check(_lib.locus_distribution_weighted(of, first, values.__array_interface__["data"][0],
                                                      count, level, flags, byref(out)))
        self._handle = out.value
        if seed is not None:
            _c.check(_quick.locus_distribution_seed(self._handle, seed))

    def _use(self, node: "Node") -> int:
        node._refuse_unusable()
        if self._handle is None:
            raise UsageError("this distribution was freed: register one with Node.distribution()")
        return self._handle

    def free(self) -> None:
        """No sample of it may be prepared or pulled any more. Node.close() does it, too. Again: does nothing."""
        if self._handle is not None and not self.node._is_of_another_process():
            handle, self._handle = self._handle, None
            self.node._distributions.remove(self)
            _lib.locus_distribution_free(handle)


class Sample:
    """Keys drawn at random, whose rows the manager brings in time. Worker.prepare_sample() makes it."""

    def __init__(self, worker: "Worker", length: int, n: int, handle: int) -> None:
        self.worker = worker
        self.length = length
        self.left = n  # keys that were not yet pulled
        self._handle = handle
        self._open = n > 0

    def pull(self, n: Optional[int] = None) -> Tuple["np.ndarray[Any, Any]", "np.ndarray[Any, Any]"]:
        """The next n keys, all that are left unless told, and their rows: int64 of shape (n,), float32 (n, length)."""
        n = self._checked(n)
        keys, rows = np.empty(n, np.int64), np.empty((n, self.length), np.float32)
        if n > 0:
            self.worker._wait_in(_lib.locus_pull_sample, self._handle, n, keys.__array_interface__["data"][0],
                                 rows.__array_interface__["data"][0], keeps=(keys, rows))
            self.left -= n
        return keys, rows

    def keys(self, n: Optional[int] = None) -> "np.ndarray[Any, Any]":
        """The next n keys without their rows, which the caller pulls: int64 of shape (n,). Never waits."""
        n = self._checked(n)
        keys = np.empty(n, np.int64)
        if n > 0:
            self.worker._at_once(_lib.locus_pull_sample, self._handle, n, keys.__array_interface__["data"][0], None)
            self.left -= n
        return keys

    def finish(self) -> None:
        """Ends it, pulled to its end or not. Again, after its worker, or in a forked child: does nothing. Never waits."""
        if self._open and not self.worker._closed and not self.worker.node._is_of_another_process():
            self._open = False
            self.worker._at_once(_lib.locus_finish_sample, self._handle)

    def _checked(self, n: Optional[int]) -> int:
        n = self.left if n is None else _c.clock("n", n)
        if not 0 <= n <= self.left:
            raise ArgumentError(f"n is {n}: must be 0 to {self.left}, the keys that are left")
        return n

    def __enter__(self) -> "Sample":
        return self

    def __exit__(self, *fault: Any) -> None:
        self.finish()
