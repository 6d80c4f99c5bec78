# SPDX-License-Identifier: Apache-2.0
"""What training scripts use of dgl.distributed for embeddings of nodes: DistEmbedding and its optimizers.

    from locus.torch.dgl import DistEmbedding, optim           # instead of dgl.distributed's
    emb = DistEmbedding(graph.num_nodes(), 64, "emb")
    optimizer = optim.SparseAdagrad([emb], lr=0.1)
    ...
        loss_of(emb(input_nodes)).backward()                   # or emb(batch.n_id), of PyTorch Geometric's loaders
        optimizer.step()                                       # and forgets the gradients

The cluster is joined at the first lookup, with the embeddings that have an optimizer then; by every process, started by
locus run or torchrun. It is left by exit_client(), which a script that ends without an exception calls by itself. Graphs,
features and sampling stay those of DGL or PyTorch Geometric; `part_policy` changes nothing: the manager places rows.
"""
import atexit
import itertools
import sys
from typing import Any, Callable, List, Optional, Sequence, Tuple

import torch

from ..errors import UsageError
from ..worker import Worker
from . import optimizers
from .batch import INTEGERS
from .devices import uncompiled
from .embedding import Embedding
from .initial import Filled
from .job import Job, open

_numbers = itertools.count()  # of those without a name, the same in all processes
_waiting: List[optimizers.Optimizer] = []  # for the first lookup
_job: Optional[Job] = None


def job() -> Job:
    """The job, to which the first call opens it."""
    global _job
    if _job is None or _job.worker._is_over():
        if not _waiting:
            raise UsageError("no DistEmbedding has an optimizer yet: make optim.SparseAdagrad([emb], lr=...) first")
        _job = open(*_waiting)
        _waiting.clear()
    return _job


def exit_client() -> None:
    """Collective: leaves the cluster."""
    if _job is not None:
        _job.close()


def _at_exit() -> None:
    if not hasattr(sys, "last_type"):
        exit_client()


atexit.register(_at_exit)


class DistEmbedding(Embedding):
    """Ids of any shape to float32 of shape (*, embedding_dim), on `device`. init_func(shape, dtype) makes first values, of
    which those of a row are drawn; zeros are theirs if there is none."""

    def __init__(self, num_embeddings: int, embedding_dim: int, name: Optional[str] = None,
                 init_func: Optional[Callable[[Any, torch.dtype], torch.Tensor]] = None, part_policy: Any = None) -> None:
        super().__init__(num_embeddings, embedding_dim, initial=Filled(init_func or torch.zeros))
        self.name = name or f"embedding{next(_numbers)}"

    @uncompiled
    def forward(self, ids: torch.Tensor, device: Any = None) -> torch.Tensor:
        if device is not None:
            self.device = torch.device(device)
        return super().forward(ids.cpu())

    @property
    def worker(self) -> Worker:
        if self._worker is None:
            job()
        if self._worker is None:
            raise UsageError(f"DistEmbedding {self.name!r} got its optimizer after the first lookup, when the cluster was "
                             "joined: make all optimizers before")
        return super().worker

    @property
    def weight(self) -> "_Weight":
        return _Weight(self)


class _Weight:
    """emb.weight[ids], or of a slice or mask: the values of now. What else a tensor has, that of all values has."""

    def __init__(self, of: DistEmbedding) -> None:
        self.of, self.shape = of, (of.num_embeddings, of.embedding_dim)

    def __getitem__(self, ids: Any) -> torch.Tensor:
        ids = torch.arange(*ids.indices(self.shape[0]), **INTEGERS) if isinstance(ids, slice) else torch.as_tensor(ids)
        if ids.dtype == torch.bool:
            ids = torch.arange(self.shape[0], device=ids.device)[ids]  # which refuses a mask of another length
        return self.of.weight_of(ids.reshape(-1)).view(*ids.shape, self.shape[1])

    def __getattr__(self, name: str) -> Any:
        if "of" not in vars(self):  # a copy, before it is filled
            raise AttributeError(name)
        return getattr(self[:], name)


class _Consumes(optimizers.Optimizer):
    """Its steps forget the gradients, and its tables have the embeddings' names."""

    def __init__(self, *told: Any, **named: Any) -> None:
        super().__init__(*told, **named)
        for each in self.embeddings:
            each.table = getattr(each, "name", each.table)
        _waiting.append(self)

    def step(self, closure: Optional[Callable[[], Any]] = None) -> Any:
        loss = super().step(closure)
        self.zero_grad()
        return loss


class optim:
    """dgl.distributed.optim."""

    class SparseAdagrad(_Consumes, optimizers.Adagrad):
        def __init__(self, params: Sequence[DistEmbedding], lr: float, eps: float = 1e-10) -> None:
            super().__init__(params, lr=lr, eps=eps)

    class SparseAdam(_Consumes, optimizers.Adam):
        def __init__(self, params: Sequence[DistEmbedding], lr: float, betas: Tuple[float, float] = (0.9, 0.999),
                     eps: float = 1e-8) -> None:
            super().__init__(params, lr=lr, betas=betas, eps=eps)
