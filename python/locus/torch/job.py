# SPDX-License-Identifier: Apache-2.0
"""This process' part of a training job: a node with the embeddings' tables, and its worker."""
from typing import Any, List

from ..node import Node, Table
from ..node import open as open_node
from ..worker import Worker
from .optimizers import Optimizer


class Job:
    """What open() gives: a context manager. Its embeddings have rows until it ends."""

    def __init__(self, node: Node, worker: Worker) -> None:
        self.node = node
        self.worker = worker
        self.rank, self.size = node.rank, node.size

    def barrier(self) -> None:
        """Collective: waits for all processes."""
        self.worker.barrier()

    def quiesce(self) -> None:
        """Collective: afterwards every process sees every update made before it."""
        self.worker.quiesce()

    def checkpoint(self, directory: str) -> None:
        """Collective: as Worker.checkpoint(). Optimizer state in rows is in it, Optimizer.state_dict() is not."""
        self.worker.checkpoint(directory)

    def restore(self, directory: str) -> None:
        """Collective: as Worker.restore(). Initial functions must be those that trained."""
        self.worker.restore(directory)

    def close(self) -> None:
        self.node.close()

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, *fault: Any) -> None:
        self.node.__exit__(*fault)


def open(*optimizers: Optimizer, tables: List[Table] = [], **config: Any) -> Job:
    """Opens a node with a table for each embedding of the optimizers, and those of `tables` beside them; config is that
    of locus.open(). Rank and size come from torchrun, locus run, srun or mpirun."""
    made = [Table(each.table, each.num_embeddings, each.embedding_dim + optimizer.state_length(each.embedding_dim))
            for optimizer in optimizers for each in optimizer.embeddings]
    node = open_node(made + tables, **config)
    worker = node.worker()
    for optimizer in optimizers:
        for each in optimizer.embeddings:
            each.bind(worker)
    return Job(node, worker)
