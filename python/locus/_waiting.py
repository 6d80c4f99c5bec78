# SPDX-License-Identifier: Apache-2.0
"""Calls that wait for other nodes, so that Ctrl-C ends the wait.

Python looks at signals between its own instructions, on the main thread; a C call that waits does not come back to it.
So on the main thread a call that may wait for others is made by a thread of ours, and the main thread waits for that
thread, which Ctrl-C ends. The call itself goes on: what it belongs to is of no use until it has returned, and says so.
"""
import _thread
import threading
from typing import Any, Callable, Dict, Optional

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
        self.over = True  # whether or not anybody still waits
        self.ended.release()


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
        job = Job(call, arguments, keeps)
        self.left = job
        try:
            _thread.start_new_thread(job.run, ())  # Ctrl-C may come within Thread.start(), and leave its locks taken
        except RuntimeError:  # there are too many threads
            self.left = None
            raise
        while not job.over:
            job.ended.acquire(True, 1)  # a signal that another thread got does not wake this one
        self.left = None
        if job.fault:
            raise job.fault
        if job.rc < 0:
            raise errors.of_result(job.rc, job.sentence)
