# SPDX-License-Identifier: Apache-2.0
"""locus: an adaptive parameter manager for distributed machine learning.

    with locus.open([locus.Table("entities", 1_000_000, 128)]) as node, node.worker() as worker:
        rows = worker.pull(numpy.array([7, 42]))

docs/reference/python.md is the guide; locus.torch is for those who train in PyTorch.
"""
import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from .errors import (AbsentError, ArgumentError, BusyError, Error, FullError, JoinError, LostError, SystemFailure,
                         UnsupportedError, UsageError)
    from .node import Histogram, Node, Table, open
    from .sampling import Distribution, Loader, Sample
    from .worker import FOREVER, Ticket, Worker

__version__ = "0.2.0"
__all__ = ["AbsentError", "ArgumentError", "BusyError", "Distribution", "Error", "FullError", "Histogram", "JoinError",
           "Loader", "FOREVER", "LostError", "Node", "Sample", "SystemFailure", "Table", "Ticket",
           "UnsupportedError", "UsageError", "Worker", "open"]
_MODULES = ("_c", "errors", "node", "sampling", "worker")

if not _typing.TYPE_CHECKING:
    def __getattr__(name):
        """The library is loaded when it is first asked for something: the commands do without, and --help without NumPy."""
        for module in _MODULES if name in __all__ else (name,) if name in _MODULES else ():
            found = _importlib.import_module("." + module, __name__)
            globals().update((each, getattr(found, each)) for each in __all__ if hasattr(found, each))
            if name in globals():
                return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
