# SPDX-License-Identifier: Apache-2.0
"""The errors of locus: what the library says, as exceptions.

Every exception is a locus.Error. Its text is a full sentence; `errno` is the value behind it, as errno.EINVAL, or 0 for
a fault that the binding found itself, before any call.
"""
import errno as _errno


class Error(Exception):
    """Any error of locus."""

    def __init__(self, sentence: str, errno: int = 0) -> None:
        super().__init__(sentence)
        self.errno = errno


class ArgumentError(Error, ValueError):
    """A wrong argument; nothing was read or written."""


class UsageError(Error, RuntimeError):
    """A node, worker, loader or sample that cannot be used here: closed, another thread's, or a forked child's."""


class LostError(Error, ConnectionError):
    """A node of the cluster was lost; the sentence names it."""


class JoinError(Error, ConnectionError):
    """The cluster did not form: who is missing, or why this node may not join."""


class BusyError(Error, RuntimeError):
    """Something is still open, or all workers are; nothing changed."""


class FullError(Error, MemoryError):
    """No memory, or a limit of locus is reached."""


class AbsentError(Error, LookupError):
    """The row is not at this node, or there is no such file."""


class UnsupportedError(Error, NotImplementedError):
    """What this release of the library does not have yet, or this kernel does not."""


class SystemFailure(Error, OSError):
    """A resource of the system was refused."""


_CLASSES = {
    _errno.EINVAL: ArgumentError,
    _errno.EDEADLK: UsageError,
    _errno.ECONNRESET: LostError,
    _errno.ETIMEDOUT: JoinError,
    _errno.EADDRINUSE: JoinError,
    _errno.EPROTO: JoinError,
    _errno.EACCES: JoinError,
    _errno.EBUSY: BusyError,
    _errno.ENOMEM: FullError,
    _errno.ENOBUFS: FullError,
    _errno.EAGAIN: AbsentError,
    _errno.ENOENT: AbsentError,
    _errno.ENOSYS: UnsupportedError,
}


def of_result(rc: int, sentence: str) -> Error:
    """The exception for a negative result."""
    error: Error = _CLASSES.get(-rc, SystemFailure)(sentence)
    error.errno = -rc
    return error
