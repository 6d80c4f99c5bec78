# SPDX-License-Identifier: Apache-2.0
"""locus: an adaptive parameter manager for distributed machine learning.

    with locus.open([locus.Table("entities", 1_000_000, 128)]) as node, node.worker() as worker:
        rows = worker.pull(numpy.array([7, 42]))

docs/reference/python.md is the guide; locus.torch is for those who train in PyTorch.
"""
from .errors import (AbsentError, ArgumentError, BusyError, Error, FullError, JoinError, LostError, SystemFailure,
                     UnsupportedError, UsageError)
from .node import Histogram, Node, Table, open
from .sampling import Distribution, Loader, Sample
from .worker import FOREVER, Ticket, Worker

__version__ = "0.1.0"
__all__ = ["AbsentError", "ArgumentError", "BusyError", "Distribution", "Error", "FullError", "Histogram", "JoinError",
           "Loader", "FOREVER", "LostError", "Node", "Sample", "SystemFailure", "Table", "Ticket",
           "UnsupportedError", "UsageError", "Worker", "open"]
