# SPDX-License-Identifier: Apache-2.0
"""Nodes: the processes of a training job, which share the rows of all tables."""
import atexit
import os
import threading
from ctypes import (POINTER, Structure, byref, c_char_p, c_double, c_int, c_size_t, c_uint, c_uint64, c_void_p,
                    sizeof)
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Callable, Dict, List, Optional, Sequence, TypeVar

import numpy as np

from . import _c
from ._waiting import Guard, Waiting
from .errors import ArgumentError, BusyError, UsageError
from .sampling import Distribution
from .worker import Worker

_lib, _quick = _c.lib, _c.quick
_Result = TypeVar("_Result")
_OWNED_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class Table:
    """A range of `rows` keys, each with a row of `length` floats."""

    name: str
    rows: int
    length: int
    first: int = 0  # its first key; open() fills it in
    optimizer: str = ""  # sgd, momentum, adagrad, row_adagrad, adam or adamw: what is pushed is a gradient
    rule: Dict[str, float] = field(default_factory=dict, hash=False)  # as struct locus_rule; usual unless said
    element: str = "f32"  # or bf16: values take two bytes, here, in messages and in checkpoints; calls have floats
    encoded: bool = False  # rows that mean something to this program alone: `locus checkpoint export` refuses them

    @property
    def keys(self) -> range:
        return range(self.first, self.first + self.rows)


@dataclass(frozen=True)
class Histogram:
    """count[i]: what lasted from 2^i to 2^(i+1) ns, or took i hops; sum: of the nanoseconds or hops."""

    count: "np.ndarray[Any, Any]"
    sum: int


class Node:
    """This process' part of the cluster. open() makes it; the process alone uses it, a forked child cannot."""

    def __init__(self, handle: int, tables: List[Table], workers: int, technique: str) -> None:
        self._handle = handle
        self.workers = workers  # that may be open
        self.rank = int(_quick.locus_rank(handle))
        self.size = int(_quick.locus_size(handle))
        self.keys = int(_quick.locus_keys(handle))  # of all tables: valid keys are below it
        self.technique = technique
        self.tables: Dict[str, Table] = {table.name: table for table in tables}
        self._ends = np.cumsum([table.rows for table in tables], dtype=np.uint64)
        self._lengths = np.array([table.length for table in tables], np.int64)
        self._one_length = tables[0].length if (self._lengths == self._lengths[0]).all() else 0
        self._workers: List[Worker] = []
        self._distributions: List[Distribution] = []
        self._on_write: List[Callable[[Any], None]] = []  # who keeps values of rows, and is to know that they are old
        self._waiting = Waiting("the node")
        self._guard = threading.RLock()
        self._calls: Dict[object, None] = {}  # that are under way, in any thread; no more begin once it is closing
        self._closing: Optional[object] = None  # the call that does it
        self._state = "open"
        _open_nodes.append(self)

    def worker(self) -> Worker:
        """Opens a worker, for one thread at a time. BusyError when `workers` are open."""
        handle, made = c_void_p(), []

        def worker_open(node: int) -> int:  # by a thread of ours: Ctrl-C leaves no worker that nobody closes
            rc = int(_lib.locus_worker_open(node, byref(handle)))
            if rc == 0:
                made.append(Worker(self, handle.value or 0))
                self._workers.append(made[0])
            return rc
        self._call(lambda node: self._waiting.call(worker_open, node))
        return made[0]

    def length(self, key: int) -> int:
        """Floats in that key's row."""
        key = _c.integer("the key", key, 0, self.keys - 1)
        return int(self._call(_quick.locus_length, key))

    def set_rate(self, table: str, rate: float) -> None:
        """The learning rate of this node's steps with a table that has an optimizer, from now on."""
        _c.check(self._call(_quick.locus_table_rate, self._number_of(table), rate))

    def set_steps(self, table: str, steps: int) -> None:
        """As if this node had made so many steps with a table that has an optimizer: Adam's bias correction goes on."""
        steps = _c.integer("steps", steps, 0, 2**63 - 1)
        _c.check(self._call(_quick.locus_table_steps, self._number_of(table), steps))

    def _number_of(self, table: str) -> int:
        return _c.one_of("the table", table, list(self.tables))

    def owned(self) -> "np.ndarray[Any, Any]":
        """The keys whose main copy is here, ascending: int64. A moment's view."""
        parts: List["np.ndarray[Any, Any]"] = []
        first, room = 0, np.empty(_OWNED_AT_ONCE, np.int64)
        while True:
            n = self._call(_lib.locus_owned, first, room.__array_interface__["data"][0], len(room))
            parts.append(room[:n].copy())
            if n < len(room):
                return np.concatenate(parts)
            first = int(room[-1]) + 1

    def stats(self) -> Dict[str, float]:
        """Counters since open(), by the names of struct locus_stats."""
        stats = _c.CStats()
        _c.check(self._call(_quick.locus_stats_read_sized, byref(stats), sizeof(stats)))
        return {name: getattr(stats, name) for name, _ in _c.CStats._fields_}

    def losses(self) -> Dict[str, float]:
        """How the cluster's members have changed since open(), by the names of struct locus_losses."""
        losses = _c.CLosses()
        _c.check(self._call(_quick.locus_losses_read_sized, byref(losses), sizeof(losses)))
        return {name: getattr(losses, name) for name, _ in _c.CLosses._fields_}

    def report_value(self, curve: str, value: float) -> None:
        """A point of a curve of your own, such as a loss, in the run's report (LOCUS_REPORT); nothing without one."""
        _c.check(self._call(_quick.locus_report_value, curve.encode(), value))

    def histogram(self, kind: str) -> Histogram:
        """kind: relocation_time, parked_time, blocked_time, hops, or staleness, of replicas: milliseconds of each by
        the time since the owner's last frame."""
        which, histogram = _c.one_of("kind", kind, _c.HISTOGRAMS), _c.CHistogram()
        _c.check(self._call(_quick.locus_histogram_read, which, byref(histogram)))
        return Histogram(np.array(histogram.count, np.uint64), int(histogram.sum))

    def distribution(self, table: str, weights: Any = None, conformity: str = "conform", replace: bool = True,
                     seed: Optional[int] = None) -> Distribution:
        """Registers a distribution over a table's keys: equally likely, or by weights of shape (rows,). Every node
        registers the same ones. conformity: conform, bounded, long_term or non_conform, the fastest last."""
        place = list(self.tables.values())[self._number_of(table)]

        def made(node: int) -> Distribution:
            self._distributions.append(Distribution(self, node, place, weights, conformity, replace, seed))
            return self._distributions[-1]
        return self._call(made)

    def close(self) -> None:
        """Collective: closes what is still open here, loaders and workers first, and leaves the cluster. Again, or
        in a forked child: does nothing. BusyError while another thread is in a call: nothing changes."""
        self._close(_lib.locus_close)

    def leave(self) -> None:
        """Instead of close(), in a running job with survives=True, not for rank 0: this node leaves alone, and the
        others go on with its rows; nothing is lost. UsageError where that cannot be: nothing changes."""
        is_open = self._state == "open" and self.size > 1
        if is_open and (self.rank == 0 or not self.losses()["survives"]):
            raise UsageError("only a node but rank 0 of a job that survives (survives=True) can leave alone")
        self._close(_lib.locus_leave)

    def _close(self, how: Callable[..., int]) -> None:
        me = object()
        try:
            with self._guard:
                if self._state != "open":
                    return
                if self._closing:
                    raise BusyError("another thread is closing the node")
                self._refuse_busy()
                self._closing = me
            self._refuse_busy()
            self._waiting.call(partial(self._leave, how))
        finally:
            if self._closing is me:
                self._closing = None

    def _refuse_busy(self) -> None:
        self._waiting.refuse_while_left()
        for worker in self._workers:
            worker._waiting.refuse_while_left()
            if worker._guard and not worker._lent:
                raise BusyError(f"worker {worker.id} is in a call of another thread: join that thread first")
        if self._calls:
            raise BusyError("another thread is in a call of the node: join that thread first")

    def _leave(self, how: Callable[..., int]) -> int:
        fault: Optional[Exception] = None
        for worker in list(self._workers):
            try:
                worker.close()
            except Exception as failed:  # it is closed all the same; a lost peer must not keep the node open
                fault = failed
        for distribution in list(self._distributions):
            distribution.free()
        self._state = "closed"
        self._on_write.clear()
        _open_nodes.remove(self)
        rc = int(how(self._handle))
        if fault and rc >= 0:
            raise fault
        return rc

    def __enter__(self) -> "Node":
        return self

    def __exit__(self, kind: Any, fault: Any, trace: Any) -> None:
        if kind is None or self.size == 1:
            self.close()
        elif self._state == "open":
            # Closing is collective: it would wait for nodes that wait for us. They learn it when this process ends.
            self._state = "left after an exception"

    def _call(self, call: Callable[..., _Result], *arguments: Any) -> _Result:
        """A call with the node, during which close() refuses."""
        me = object()
        try:
            self._calls[me] = None
            self._refuse_unusable()
            if self._closing:
                raise UsageError("the node is being closed: open one with locus.open()")
            return call(self._handle, *arguments)
        finally:
            self._calls.pop(me, None)

    def _tell(self, keys: Any = None) -> None:
        """The rows of these keys were written; None: what others wrote to any has come."""
        for each in self._on_write:
            each(keys)

    def _is_of_another_process(self) -> bool:
        return self._state.startswith("another")

    def _refuse_unusable(self) -> None:
        if self._state != "open":
            raise UsageError(f"the node is {self._state}" + (
                ": the process that opened it uses it alone; prepare batches in DataLoader's processes, and rows and "
                "intents (locus.torch.Prefetch) in this one's parent" if self._is_of_another_process() else
                ": open one with locus.open()"))


_open_nodes: List[Node] = []
_ever_opened = _forked = False


def _in_child() -> None:
    global _forked
    _forked = _ever_opened
    for node in _open_nodes:
        node._state = "another process'"
        node._guard = threading.RLock()
        for worker in node._workers:
            worker._unusable = True
            worker._guard, worker._shared = Guard(), {}
            for loader in worker._loaders:
                loader._guard = Guard()
    _open_nodes.clear()


def _at_exit() -> None:
    """A cluster of one is closed. Leaving a larger one would wait for nodes that may wait for us: the end of the process
    tells them."""
    for node in list(_open_nodes):
        if node.size == 1:
            try:
                node.close()
            except Exception:  # a thread is still in a call: the end of the process ends it
                pass


os.register_at_fork(after_in_child=_in_child)
atexit.register(_at_exit)


def _placed(tables: Sequence[Table]) -> List[Table]:
    """With their first keys. What a table may be, the library checks."""
    placed: List[Table] = []
    first = 0
    for table in tables:
        if not isinstance(table, Table):
            raise ArgumentError(f"`tables` has a {type(table).__name__}: must hold locus.Tables alone")
        rows = _c.integer(f"`rows` of table {table.name!r}", table.rows, 0, (1 << 64) - 1)
        length = _c.integer(f"`length` of table {table.name!r}", table.length, 0, (1 << 32) - 1)
        placed.append(replace(table, first=first, rows=rows, length=length))
        first += rows
    return placed


def _table_as_c(table: Table) -> _c.CTable:
    of = f"of table {table.name!r}"
    for name in table.rule:
        _c.one_of(f"a constant of `rule` {of}", name, [each for each, _ in _c.CRule._fields_])
    return _c.CTable(_c.text("a table's name", table.name), table.rows, table.length, int(table.encoded),
                     _c.one_of(f"`optimizer` {of}", table.optimizer, _c.OPTIMIZERS), _c.CRule(**table.rule),
                     _c.one_of(f"`element` {of}", table.element, _c.ELEMENTS))


class CConfig(Structure):
    """As locus.h declares it; each field is an argument of open(), seconds without "_s"."""
    _fields_ = [("tables", POINTER(_c.CTable)), ("table_count", c_size_t), ("workers", c_uint), ("shards", c_uint),
                ("technique", c_int), ("peer_timeout_s", c_double), ("join_timeout_s", c_double), ("rank", c_int), ("size", c_int),
                ("rendezvous", c_char_p), ("listen", c_char_p), ("fingerprint", c_uint64),
                ("survives", c_uint)]


def _as_c(name: str, kind: Any, value: Any) -> Any:
    if kind is c_char_p:
        return _c.text(name, value) if value else None
    if kind not in (c_int, c_uint, c_uint64):
        return value
    most = (1 << 8 * sizeof(kind) - (kind is c_int)) - 1
    return _c.integer(name, value, -most - 1 if kind is c_int else 0, most)


def open(tables: Sequence[Table], *, workers: int = 1, shards: int = 0, technique: str = "adaptive",
         peer_timeout: float = 0.0,
         join_timeout: float = 0.0, rank: int = 0, size: int = 0, rendezvous: Optional[str] = None,
         listen: Optional[str] = None, fingerprint: int = 0, survives: bool = False) -> Node:
    """Joins the cluster; returns when all nodes have. Rank, size and rendezvous come from what started the process
    (locus run, torchrun, srun, mpirun), unless `size` is given; alone it is a cluster of one. See struct locus_config
    for the rest; times are in seconds.  `fingerprint`: 64 bits of what else must be equal on all nodes; one that has others is refused.
    `survives`: a node but rank 0 may be lost, and the others go on (losses()); False: as LOCUS_SURVIVES says.

    ArgumentError for a configuration that cannot be; JoinError when the cluster does not form, SystemFailure or
    FullError when the system refuses a resource.
    """
    said = dict(locals())
    placed = _placed(tables)
    if _forked:
        raise UsageError("this process was forked from one that has opened a node: start it anew "
                         "(multiprocessing's \"spawn\"), for it has nothing of the parent's links")
    c_tables = (_c.CTable * len(placed))(*map(_table_as_c, placed))
    said.update(tables=c_tables, table_count=len(placed), technique=_c.one_of("technique", technique, _c.TECHNIQUES))
    config = CConfig()
    _quick.locus_config_init_sized(byref(config), sizeof(config))
    for name, kind in CConfig._fields_:
        value = said[name[:-2] if name.endswith("_s") else name]
        setattr(config, name, _as_c(name, kind, value))
    handle = c_void_p()
    global _ever_opened
    _ever_opened = True
    made: List[Node] = []

    def join() -> int:
        rc = int(_lib.locus_open(byref(config), byref(handle)))
        if rc == 0:
            made.append(Node(handle.value or 0, placed, workers, technique))
        return rc
    Waiting("the process").call(join, keeps=c_tables)
    return made[0]
