# SPDX-License-Identifier: Apache-2.0
"""Workers: training threads that access rows and say what they intend to access."""
import os
import threading
import time
from ctypes import byref, c_size_t, c_uint64, create_string_buffer
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple, TypeVar

import numpy as np

from . import _arrays, _c
from ._waiting import Guard, Waiting
from .errors import AbsentError, ArgumentError, UsageError, of_result
from .sampling import Distribution, Loader, Sample, checked_sample

if TYPE_CHECKING:
    from .node import Node

_Result = TypeVar("_Result")
FOREVER = 2**63 - 1  # as the end of an intent: it never ends

_lib, _quick = _c.lib, _c.quick
_keys_of, _rows_of = _arrays.keys, _arrays.rows
# A call with more keys may use up the worker's room for requests, and wait for it inside the library.
_FEW_KEYS = 4096
_LOOKS, _SHORTEST_S, _LONGEST_S = 64, 20e-6, 1e-3
_PULL, _PUSH = (_lib.locus_pull, _lib.locus_pull_async), (_lib.locus_push, _lib.locus_push_async)
_SET = (_lib.locus_set, _lib.locus_set_async)


class Ticket:
    """An asynchronous operation. It holds its arrays until it is done, whether or not anybody holds it."""

    __slots__ = ("_worker", "_id", "_keeps", "out", "_error")

    def __init__(self, worker: "Worker", keeps: Any, out: Any) -> None:
        self._worker = worker
        self._id = c_uint64()
        self._keeps = keeps
        self._error: Optional[Exception] = None
        self.out = out  # a pull's rows, valid once it is done; else None

    def done(self) -> bool:
        """Is it complete? Never waits. Raises what failed."""
        if self._keeps is not None:
            self._worker._look_after(self)
        if self._error:
            raise self._error
        return self._keeps is None

    def wait(self) -> Any:
        """Waits, and returns a pull's rows. Raises what failed. Ctrl-C ends the wait; the operation goes on."""
        if self._keeps is not None:
            self._worker._wait_for(self)
        if self._error:
            raise self._error
        return self.out


class Worker:
    """A training thread of a node; Node.worker() opens it. One thread at a time uses it.

    Keys are contiguous arrays of one dimension, NumPy's int64 or uint64 or torch's int64, and of the whole key space:
    those of a table are Node.tables[name].first + row. Rows are contiguous float32, of shape (n, length) when the rows
    of all keys have one length, else one after the other in one dimension. Nothing is copied on the way. Results are
    of the kind that the keys are, unless `out` is given.

    Every call raises ArgumentError for wrong arguments, before anything was done; LostError when a node of the cluster
    was lost; UsageError when the worker is closed, in another thread's call, or a forked child's.
    """

    def __init__(self, node: "Node", handle: int) -> None:
        self.node = node
        self.id = _quick.locus_worker_id(handle)
        self._handle = handle
        self._guard = Guard()  # of the one thread's calls
        self._shared: Dict[object, None] = {}  # calls that any thread may make: close() waits for them
        self._lending = threading.Lock()
        self._lent = 0  # Prefetches that use it, too, a short call at a time: calls wait for each other
        self._unusable = False
        self._closed = False
        self._waiting = Waiting(f"worker {self.id}")
        self._alone = node.size == 1
        self._length = node._one_length
        self._tickets: Dict[int, Ticket] = {}
        self._loaders: List[Loader] = []

    # ---- access -------------------------------------------------------------------------------------------------

    def pull(self, keys: Any, out: Any = None) -> Any:
        """The rows of these keys, into `out` if given. Keys may repeat."""
        return self._access(_PULL, keys, out, "out")

    def push(self, keys: Any, updates: Any) -> None:
        """Adds `updates` to the rows. Updates of a key that repeats add up."""
        self._access(_PUSH, keys, updates, "updates")

    def set(self, keys: Any, values: Any) -> None:
        """Overwrites the rows."""
        self._access(_SET, keys, values, "values")

    def _access(self, calls: Any, keys: Any, rows: Any, name: str) -> Any:
        guard, me = self._guard, object()
        try:
            guard[me] = None
            if len(guard) > 1 or self._unusable:
                self._take_turn(me)
            at, n, rows, rows_at = self._places(calls, keys, rows, name)
            try:
                if self._alone:
                    rc = calls[0](self._handle, at, n, rows_at)
                    if rc:
                        _c.check(rc)
                else:
                    self._access_others(calls, at, n, rows_at, (keys, rows))
            finally:
                if calls is not _PULL:
                    self.node._tell(keys)
            return rows
        finally:
            guard.pop(me, None)

    def _places(self, calls: Any, keys: Any, rows: Any, name: str) -> Tuple[int, int, Any, int]:
        """Where the keys are, and how many; the rows, which a pull makes unless they are given, and where."""
        at, n = _keys_of(keys)
        length, floats = self._length, n * self._length
        if not length:
            lengths = self._lengths(keys)
            floats, length = int(lengths.sum()), int(lengths[0]) if n and (lengths == lengths[0]).all() else 0
        if rows is None and calls is _PULL:
            rows = _arrays.empty_like_keys(keys, (n, length) if length else (floats,))
        return at, n, rows, _rows_of(rows, name, n, floats, calls is _PULL)

    def pull_state(self, keys: Any) -> Any:
        """The rows of these keys, of one table, with the state of its optimizer behind the values."""
        at, n = _keys_of(keys)
        out = _arrays.empty_like_keys(keys, (n, self._state_length(keys)))
        self._wait_in(_lib.locus_pull_state, at, n, _rows_of(out, "out", n, n * out.shape[1], True), keeps=(keys, out))
        return out

    def set_state(self, keys: Any, rows: Any) -> None:
        """Overwrites rows and their state, of one table, as pull_state() gives them."""
        at, n = _keys_of(keys)
        rows_at = _rows_of(rows, "rows", n, n * self._state_length(keys), False)
        try:
            self._wait_in(_lib.locus_set_state, at, n, rows_at, keeps=(keys, rows))
        finally:
            self.node._tell(keys)

    def _state_length(self, keys: Any) -> int:
        return int(self.node._call(_quick.locus_state_length, int(keys[0]))) if len(keys) else 0

    def pull_async(self, keys: Any, out: Any = None) -> Ticket:
        """The same as pull(), without waiting: Ticket.wait() returns the rows."""
        at, n, out, to = self._places(_PULL, keys, out, "out")
        return self._begin(_PULL[1], at, n, to, keeps=(keys, out), out=out)

    def push_async(self, keys: Any, updates: Any) -> Ticket:
        """The same as push(), without waiting. The arrays must not change until the ticket is done."""
        return self._push_async(keys, updates, True)

    def _push_async(self, keys: Any, updates: Any, tell: bool) -> Ticket:
        at, n, _, updates_at = self._places(_PUSH, keys, updates, "updates")
        return self._begin(_PUSH[1], at, n, updates_at, keeps=(keys, updates), tell=tell)

    def set_async(self, keys: Any, values: Any) -> Ticket:
        """The same as set(), without waiting. The arrays must not change until the ticket is done."""
        at, n, _, values_at = self._places(_SET, keys, values, "values")
        return self._begin(_SET[1], at, n, values_at, keeps=(keys, values), tell=True)

    def pull_local(self, key: int, out: Any = None) -> Optional[Any]:
        """One row, if it can be read without the network; else None."""
        length = self.node.length(key)
        if out is None:
            out = np.empty(length, np.float32)
        to = _rows_of(out, "out", 1, length, True)
        try:
            self._at_once(_quick.locus_pull_local, key, to)
        except AbsentError:
            return None
        return out

    def wait_all(self) -> None:
        """Waits for all asynchronous operations of this worker; raises the first failure."""
        if self._unusable:
            self._refuse()
        for ticket in list(self._tickets.values()):
            ticket.wait()

    def use_threads(self, threads: int) -> None:
        """From now on so many threads do calls with many keys: the caller's, and helpers of the library; 1 at first."""
        self._at_once(_lib.locus_use_threads, _c.integer("threads", threads, 1, _c.THREADS_MAX))

    # ---- management ---------------------------------------------------------------------------------------------

    def intent(self, keys: Any, start: int, end: int) -> None:
        """Says that this worker will access the keys while its clock is in [start, end); FOREVER as
        the end keeps a replica for good. Never waits."""
        at, n = _keys_of(keys)
        start, end = _c.clock("start", start), _c.clock("end", end)
        self._at_once(_lib.locus_intent, at, n, start, end)

    def unintend(self, keys: Any) -> None:
        """Takes back what was intended to the clock FOREVER about these keys. Never waits."""
        at, n = _keys_of(keys)
        self._at_once(_lib.locus_unintend, at, n)

    def advance_clock(self) -> int:
        """The clock goes on by one; returns it. Clocks start at 0."""
        return int(self._in_turn(_quick.locus_advance_clock, self._handle))

    @property
    def clock(self) -> int:
        """The clock now; any thread may ask."""
        return int(self._beside(_quick.locus_current_clock, self._handle))

    def localize(self, keys: Any) -> None:
        """Brings the rows to this node, where the technique allows it, and waits until they are here."""
        self.localize_async(keys).wait()

    def localize_async(self, keys: Any) -> Ticket:
        at, n = _keys_of(keys)
        return self._begin(_lib.locus_localize_async, at, n, keeps=(keys,))

    def loader(self) -> Loader:
        """Opens a loader: a thread that prepares batches ahead uses it to signal intent for this worker. Any thread
        may call this."""
        def opened() -> Loader:
            loader = Loader(self)
            self._loaders.append(loader)
            try:
                _c.check(_lib.locus_loader_open(self._handle, byref(loader._handle)))
            except Exception:
                self._loaders.remove(loader)
                raise
            return loader
        return self._beside(opened)

    def prepare_sample(self, distribution: Distribution, n: int, start: int, end: int) -> Sample:
        """Prepares n keys drawn from the distribution, for accesses while the clock is in [start, end)."""
        n, start, end = checked_sample(n, start, end)
        sample = c_uint64()
        self._at_once(_lib.locus_prepare_sample, distribution._use(self.node), n, start, end, byref(sample))
        return Sample(self, distribution.length, n, sample.value)

    # ---- collectives --------------------------------------------------------------------------------------------

    def barrier(self) -> None:
        """Waits until all workers of all nodes call it. Ctrl-C ends the wait, and makes this worker unusable."""
        self._wait_in(_lib.locus_barrier)

    def quiesce(self) -> None:
        """A barrier after which every copy of every row holds every update made before it."""
        self._wait_in(_lib.locus_quiesce)
        self.node._tell()

    def bound(self, staleness: int) -> None:
        """Waits until the copies of rows here hold all that any worker began before its clock came to ours less
        `staleness`. Ctrl-C ends the wait, and makes this worker unusable."""
        self._wait_in(_lib.locus_bound, _c.clock("staleness", staleness))
        self.node._tell()

    def sum(self, values: Any) -> "np.ndarray[Any, Any]":
        """Collective: the sums of these numbers, at most 64, over all workers, as float64."""
        sums = np.array(values, np.float64)
        self._wait_in(_lib.locus_sum, sums.__array_interface__["data"][0], sums.size, keeps=sums)
        return sums

    def meet(self, values: Any = ()) -> "np.ndarray[Any, Any]":
        """Collective: as sum(), also of no values; and nodes that have joined the running job are let in here, whose
        first collective it must be."""
        sums = np.array(values, np.float64)
        self._wait_in(_lib.locus_meet, sums.__array_interface__["data"][0], sums.size, keeps=sums)
        return sums

    def checkpoint(self, directory: _c.Path, note: bytes = b"") -> None:
        """Collective: writes all rows to a directory that all nodes see, and rank 0's note."""
        if not isinstance(note, bytes):
            raise ArgumentError(f"`note` is a {type(note).__name__}: must be bytes; write "
                                "json.dumps(note).encode()")
        self._wait_in(_lib.locus_checkpoint_with, _c.text("directory", os.fspath(directory)), note, len(note))

    def restore(self, directory: _c.Path) -> bytes:
        """Collective: all rows become what the checkpoint holds. Returns its note."""
        note = create_string_buffer(_c.NOTE_MAX)
        size = c_size_t(_c.NOTE_MAX)
        try:
            self._wait_in(_lib.locus_restore_with, _c.text("directory", os.fspath(directory)), note, byref(size),
                          keeps=(note, size))
        finally:
            self.node._tell()
        return note.raw[:size.value]

    def close(self) -> None:
        """Waits for the worker's operations and closes it, its loaders before. Again, or in a forked child: does
        nothing."""
        if self._closed or self.node._is_of_another_process():
            return
        self._in_turn(self._waiting.call, self._close)

    def _close(self) -> int:
        self._closed = self._unusable = True
        while self._shared:  # quick ones; none begins any more
            time.sleep(_SHORTEST_S)
        for loader in list(self._loaders):
            loader.close()
        self.node._workers.remove(self)
        try:
            return int(_lib.locus_worker_close(self._handle))
        finally:
            for ticket in self._tickets.values():
                ticket._keeps = None
            self._tickets = {}

    def _is_over(self) -> bool:
        """Is it of no use any more: closed, or its node, or another process's?"""
        return self._closed or self.node._state != "open"

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, kind: Any, fault: Any, trace: Any) -> None:
        # Closed, it would count as arrived wherever the others wait, and they would go on without it.
        if kind is None or self._alone:
            self.close()

    # ---- within -------------------------------------------------------------------------------------------------

    def _take_turn(self, me: object) -> None:
        """Makes a claim that holds, for the length of a call."""
        pause = _SHORTEST_S
        while not self._guard.claim(me):
            if self._lent <= 0:
                raise UsageError(f"worker {self.id} is in a call of another thread: a worker is used by one thread at a "
                                 "time; open one for each thread with Node.worker()")
            time.sleep(pause)
            pause = min(1.1 * pause, _LONGEST_S)
        if self._unusable:
            self._refuse()

    def _in_turn(self, call: Callable[..., _Result], *arguments: Any) -> _Result:
        me = object()
        try:
            self._take_turn(me)
            return call(*arguments)
        finally:
            self._guard.pop(me, None)

    def _beside(self, call: Callable[..., _Result], *arguments: Any) -> _Result:
        """Of any thread, beside others' calls."""
        me = object()
        try:
            self._shared[me] = None
            if self._unusable:
                self._refuse()
            return call(*arguments)
        finally:
            self._shared.pop(me, None)

    def _lend(self, more: int) -> None:
        with self._lending:
            self._lent += more

    def _refuse(self) -> None:
        self.node._refuse_unusable()
        if self._closed:
            raise UsageError(f"worker {self.id} is closed: open one with Node.worker()")
        self._waiting.refuse_while_left()
        self._unusable = False

    def _wait_in(self, call: Callable[..., int], *arguments: Any, keeps: Any = None) -> None:
        if self._alone and self.node.workers == 1:
            self._at_once(call, *arguments)  # there is nobody to wait for
        else:
            self._in_turn(self._wait_for_call, call, keeps, self._handle, *arguments)

    def _at_once(self, call: Callable[..., int], *arguments: Any) -> None:
        self._in_turn(lambda: _c.check(call(self._handle, *arguments)))

    def _wait_for_call(self, call: Callable[..., int], keeps: Any, *arguments: Any) -> None:
        self._unusable = True  # should Ctrl-C end the wait
        try:
            self._waiting.call(call, *arguments, keeps=keeps)
        finally:
            self._unusable = self._waiting.left is not None

    def _access_others(self, calls: Any, at: int, n: int, values: int, keeps: Any) -> None:
        """With other nodes: may wait for them."""
        if not _c.on_main_thread():
            _c.check(calls[0](self._handle, at, n, values))
        elif n > _FEW_KEYS:
            self._wait_for_call(calls[0], keeps, self._handle, at, n, values)
        else:
            ticket = self._begun(calls[1], at, n, values, keeps=keeps)
            if ticket._keeps is not None:
                self._poll(ticket)
                if ticket._error:
                    raise ticket._error

    def _begin(self, call: Callable[..., int], *arguments: Any, keeps: Any, out: Any = None, tell: bool = False) -> Ticket:
        def begun() -> Ticket:
            try:
                return self._begun(call, *arguments, keeps=keeps, out=out)
            finally:
                if tell:  # what this worker reads from now on has the change
                    self.node._tell(keeps[0])
        return self._in_turn(begun)

    def _begun(self, call: Callable[..., int], *arguments: Any, keeps: Any, out: Any = None) -> Ticket:
        """Its ticket holds its arrays from before the call. Makes room first, where the library would wait."""
        for waiting in list(self._tickets.values()):
            if len(self._tickets) < _c.OPERATIONS_MAX - 1:
                break
            self._poll(waiting)
        ticket = Ticket(self, keeps, out)
        self._tickets[id(ticket)] = ticket
        rc = call(self._handle, *arguments, byref(ticket._id))
        if rc or ticket._id.value == 0:
            self._drop(ticket)
            _c.check(rc)
        return ticket

    def _drop(self, ticket: Ticket) -> None:
        ticket._keeps = None
        self._tickets.pop(id(ticket), None)

    def _finish(self, ticket: Ticket) -> None:
        """Of an operation that is complete: its result."""
        rc = _lib.locus_wait(self._handle, ticket._id.value)
        if rc and not ticket._error:
            ticket._error = of_result(rc, _c.sentence(rc))
        self._drop(ticket)

    def _look_after(self, ticket: Ticket) -> None:
        def look() -> None:
            if ticket._keeps is not None and _quick.locus_done(self._handle, ticket._id.value):
                self._finish(ticket)
        self._in_turn(look)

    def _wait_for(self, ticket: Ticket) -> None:
        self._in_turn(lambda: self._poll(ticket) if ticket._keeps is not None else None)

    def _poll(self, ticket: Ticket) -> None:
        """Looks again and again, so that Ctrl-C ends the wait: often at first, as answers come within microseconds."""
        handle, number, done = self._handle, ticket._id.value, _quick.locus_done
        if _c.on_main_thread():
            looks, pause = _LOOKS, _SHORTEST_S
            while not done(handle, number):
                if looks > 0:
                    looks -= 1
                    continue
                time.sleep(pause)
                pause = min(1.5 * pause, _LONGEST_S)
        self._finish(ticket)

    def _lengths(self, keys: Any) -> "np.ndarray[Any, Any]":
        array = keys if isinstance(keys, np.ndarray) else keys.numpy()
        of_table = np.searchsorted(self.node._ends, array.view(np.uint64), side="right")
        # A key out of range is refused by the library, before it looks at the rows.
        lengths: "np.ndarray[Any, Any]" = self.node._lengths[np.minimum(of_table, len(self.node._lengths) - 1)]
        return lengths
