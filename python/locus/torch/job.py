# SPDX-License-Identifier: Apache-2.0
"""This process' part of a training job: a node with the embeddings' tables, and its worker."""
import json
import os
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

import numpy as np
import torch

from .._c import THREADS_MAX, integer
from .._c import Path as AnyPath
from ..errors import ArgumentError
from ..node import Node, Table
from ..node import open as open_node
from ..worker import Worker
from .batch import ranges
from .embedding import _Rows
from .optimizers import Optimizer


_ALIGNMENT = 64  # of a safetensors' values


class Job:
    """What open() gives: a context manager. Its embeddings have rows until it ends."""

    def __init__(self, node: Node, worker: Worker, optimizers: Sequence[Optimizer]) -> None:
        self.node = node
        self.worker = worker
        self.optimizers = optimizers
        self.embeddings = [each for optimizer in optimizers for each in optimizer.embeddings]
        self.rank, self.size = node.rank, node.size
        self._is_outside = _is_newcomer(node)

    def stats(self) -> Dict[str, float]:
        """As Node.stats(): counters of this process since open()."""
        return self.node.stats()

    def barrier(self) -> None:
        """Collective: waits for all processes."""
        self.worker.barrier()

    def quiesce(self) -> None:
        """Collective: afterwards every process sees every update made before it."""
        self.worker.quiesce()

    def meet(self, *values: float) -> Optional[List[float]]:
        """Collective, before each epoch: returns process 0's `values`. A process that has joined a running job calls it first
        of all collectives, and is let in with the rates and counts of steps that process 0's optimizers have. None: all
        others have left before."""
        news = [each for optimizer in self.optimizers for each in optimizer.news()]
        said = np.array([1.0, *values, *news])
        if self.rank != 0:
            said[:] = 0.0  # also where it is no number, or without an end
        met: List[float] = self.worker.meet(said).tolist()
        if met[0] == 0:
            return None
        rest = met[1 + len(values):]
        for optimizer in self.optimizers if self._is_outside else []:
            optimizer.take(rest[:1 + len(optimizer.embeddings)])
            del rest[:1 + len(optimizer.embeddings)]
        self._is_outside = False
        return met[1:1 + len(values)]

    def checkpoint(self, directory: AnyPath, note: bytes = b"") -> None:
        """Collective: as Worker.checkpoint(). Optimizer state in rows is in it, Optimizer.state_dict() is not."""
        self.worker.checkpoint(directory, note)

    def restore(self, directory: AnyPath) -> bytes:
        """Collective: as Worker.restore(). Initial functions must be those that trained."""
        return self.worker.restore(directory)

    def export(self, directory: AnyPath) -> None:
        """Writes the values of all tables, without optimizer state, as safetensors that others read: one file a table,
        directory/TABLE.safetensors with the tensor TABLE, of the type of its rows. One process calls it, after a quiesce()."""
        for name in self.node.tables:
            if "/" in name or name.startswith("."):
                raise ArgumentError(f"table {name!r} cannot be the name of a file")
        folder = Path(directory)
        folder.mkdir(exist_ok=True)
        embeddings = {each.table: each for each in self.embeddings}
        for name, table in self.node.tables.items():
            embedding = embeddings.get(name)
            length = embedding.embedding_dim if embedding else table.length
            values = embedding.weight_of if embedding else self._rows_of(table)
            _write(folder / f"{name}.safetensors", name, table.element, (table.rows, length),
                  map(values, ranges(table.rows, table.length)))

    def _rows_of(self, table: Table) -> Callable[[torch.Tensor], torch.Tensor]:
        return lambda indices: self.worker.pull(indices + table.first)  # type: ignore[no-any-return]

    def close(self) -> None:
        self.node.close()

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, *fault: Any) -> None:
        self.node.__exit__(*fault)


def _is_newcomer(node: Node) -> bool:
    return bool(node.losses()["is_newcomer"])


def _write(path: Path, name: str, element: str, shape: Tuple[int, int], parts: Iterable[torch.Tensor]) -> None:
    """A safetensors with one tensor, whose values come in parts. It appears when it is whole."""
    size = 2 if element == "bf16" else 4
    about = {name: {"dtype": element.upper(), "shape": shape, "data_offsets": (0, size * shape[0] * shape[1])}}
    header = json.dumps(about).encode()
    header += b" " * (-(8 + len(header)) % _ALIGNMENT)
    unfinished = path.with_name(path.name + ".part")
    with unfinished.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for part in parts:
            (part.bfloat16().view(torch.int16) if size == 2 else part).numpy().tofile(file)
    os.replace(unfinished, path)


def open(*optimizers: Optimizer, tables: List[Table] = [], threads: Optional[int] = None, **config: Any) -> Job:
    """Opens a node with a table for each embedding of the optimizers, and those of `tables` beside them; config is that
    of locus.open(). Rank and size come from torchrun, locus run, srun or mpirun. `threads` read and write the rows of
    a batch: as many as torch.get_num_threads() unless told."""
    threads = min(torch.get_num_threads(), THREADS_MAX) if threads is None else integer("threads", threads, 1, THREADS_MAX)
    for optimizer in optimizers:
        if not isinstance(optimizer, Optimizer):
            raise ArgumentError(f"an argument is a {type(optimizer).__name__}: must be optimizers of locus.torch; write "
                                "locus.torch.open(locus.torch.Adagrad(model, lr=0.1))")
        for each in optimizer.embeddings:
            each.refuse_bound()
    made = [Table(each.table, each.num_embeddings, each.embedding_dim, optimizer=optimizer.optimizer, rule=optimizer.rule,
                  element=each.element, encoded=not optimizer.holds_values(each))
            for optimizer in optimizers for each in optimizer.embeddings]
    node = open_node(made + tables, **config)
    worker = node.worker()
    worker.use_threads(threads)
    is_written = False
    for optimizer in optimizers:
        optimizer.begin()
        for each in optimizer.embeddings:
            each.bind(worker)
            is_written |= each.write_first(optimizer.holds_values(each), optimizer.first_state, _is_newcomer(node))
    job = Job(node, worker, optimizers)
    if is_written and not _is_newcomer(node):
        job.quiesce()
    return job
