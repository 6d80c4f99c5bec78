# SPDX-License-Identifier: Apache-2.0
"""Calls that wait for other nodes, so that Ctrl-C ends the wait.

Python looks at signals between its own instructions, on the main thread; a C call that waits does not come back to it.
So on the main thread a call that may wait for others is made by a thread of ours, and the main thread waits for that
thread, which Ctrl-C ends. The call itself goes on: what it belongs to is of no use until it has returned, and says so.
"""
import os
import queue
import threading
from typing import Any, Callable, Dict, List, Optional

from . import _c, errors


class Guard(Dict[object, None]):
    """Of calls that are made one at a time: each makes a claim, and the first one holds. No lock: Ctrl-C may come between
    any two instructions, and leave that taken. A claim is withdrawn by one instruction, whether it was made or not:

        me = object()
        try:
            if not guard.claim(me): ...
        finally:
            guard.pop(me, None)
    """

    __slots__ = ()

    def claim(self, me: object) -> bool:
        """Does it hold? Else it is withdrawn."""
        self[me] = None
        if len(self) == 1 or list(self)[0] is me:
            return True
        del self[me]
        return False


class Job:
    """A call that a thread of ours makes."""

    def __init__(self, call: Callable[..., int], arguments: Any, keeps: Any) -> None:
        self.call = call
        self.arguments = arguments
        self.keeps = keeps  # what the call may use until it returns
        self.rc = 0
        self.sentence = ""
        self.fault: Optional[BaseException] = None
        self.over = False
        self.ended = threading.Lock()  # free once it is over; an Event's may stay taken where Ctrl-C ends the wait for it
        self.ended.acquire()

    def run(self) -> None:
        try:
            self.rc = self.call(*self.arguments)
            if self.rc < 0:
                self.sentence = _c.sentence(self.rc)
        except BaseException as fault:  # ctypes' about an argument: whoever waits raises it
            self.fault = fault


class _Helper:
    """A thread that makes one call after another. One for each call would have malloc keep memory for each."""

    def __init__(self) -> None:
        self.jobs: "queue.SimpleQueue[Job]" = queue.SimpleQueue()
        threading.Thread(target=self._run, name="locus helper", daemon=True).start()

    def _run(self) -> None:
        while True:
            job = self.jobs.get()
            job.run()
            _idle.append(self)  # whether or not anybody still waits
            job.over = True
            job.ended.release()
            del job  # and what it keeps


_idle: List[_Helper] = []


def _forget_threads() -> None:
    _idle.clear()


os.register_at_fork(after_in_child=_forget_threads)


class Waiting:
    """Makes the waiting calls of one node or worker, one at a time."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.left: Optional[Job] = None  # a wait that Ctrl-C has ended, while its call goes on

    def refuse_while_left(self) -> None:
        if self.left is None:
            return
        if not self.left.over:
            raise errors.UsageError(f"{self.name} still waits in {self.left.call.__name__.lstrip('_')}, whose wait was "
                                    "interrupted: end the process, or let the others arrive")
        self.left = None

    def call(self, call: Callable[..., int], *arguments: Any, keeps: Any = None) -> None:
        """Raises what the call returns, or KeyboardInterrupt. `keeps` lives until the call has returned."""
        if not _c.on_main_thread():
            _c.check(call(*arguments))
            return
        helper = _idle.pop() if _idle else _Helper()
        job = Job(call, arguments, keeps)
        self.left = job
        helper.jobs.put(job)
        while not job.over:
            job.ended.acquire(True, 1)  # a signal that another thread got does not wake this one
        self.left = None
        if job.fault:
            raise job.fault
        if job.rc < 0:
            raise errors.of_result(job.rc, job.sentence)
