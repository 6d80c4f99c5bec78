# SPDX-License-Identifier: Apache-2.0
"""Negative samples: indices drawn at random, whose rows the manager brings in time, or chooses among those it has."""
import threading
from typing import Any, Optional

import numpy as np
import torch

from ..errors import ArgumentError, UsageError
from ..sampling import Distribution, Loader, Sample
from ..worker import Worker
from .embedding import _Rows


class Negatives:
    """Draws indices of `embedding`: equally likely, or by `weights`, of shape (num_embeddings,).

    Prefetch prepares them for each batch, for which its `keys` says how many: {negatives: count}. take() gives them.
    All processes make the same ones, in the same order. `conformity` and `replace` are those of Node.distribution():
    conform draws as the weights say; bounded uses each draw several times; long_term puts off rows that are not here;
    non_conform takes rows that are here. The same `seed`, rank and batches: the same indices, but for the last two.
    """

    def __init__(self, embedding: _Rows, weights: Any = None, conformity: str = "conform", replace: bool = True,
                 seed: Optional[int] = None) -> None:
        if weights is not None and len(weights) != embedding.num_embeddings:
            raise ArgumentError(f"`weights` has {len(weights)} numbers: must have {embedding.num_embeddings}, one for "
                                "each row of the embedding")
        self.embedding = embedding
        self._weights = None if weights is None else torch.as_tensor(weights).detach().to(
            "cpu", torch.float64, copy=True).numpy()
        self._conformity, self._replace, self._seed = conformity, replace, seed
        self._distribution: Optional[Distribution] = None
        self._guard = threading.Lock()  # Prefetch's thread, or the training loop, registers it
        self._sample: Optional[Sample] = None  # the batch's

    def take(self, *shape: int) -> torch.Tensor:
        """The next of those that were prepared for this batch: int64 of that shape. Without Prefetch they are drawn
        at once. UsageError when fewer are left. Never waits."""
        count, sample = int(np.prod(shape)), self._sample
        if sample is not None and not sample.worker._is_over():
            if count > sample.left:
                raise UsageError(f"{count} indices are asked for, but {sample.left} are left of those that were "
                                 "prepared for this batch: `keys` of Prefetch says how many it takes")
            return self._indices(sample, shape)
        worker = self.embedding.worker
        with worker.prepare_sample(self._of(worker), count, worker.clock, worker.clock + 1) as drawn:
            return self._indices(drawn, shape)

    def _indices(self, sample: Sample, shape: Any) -> torch.Tensor:
        keys = sample.keys(int(np.prod(shape)))
        keys -= self.embedding._first
        return torch.from_numpy(keys).view(shape)

    def _of(self, worker: Worker) -> Distribution:
        worker.node._refuse_unusable()  # a forked child, before it waits for a thread that it has not
        with self._guard:
            made = self._distribution
            if made is None or made.node is not worker.node:
                made = worker.node.distribution(self.embedding.table, self._weights, self._conformity, self._replace,
                                                self._seed)
                self._distribution = made
            return made

    def prepare(self, loader: Loader, count: int, clock: int) -> Sample:
        """For Prefetch: draws what the batch of that clock takes."""
        return loader.prepare_sample(self._of(loader.worker), count, clock, clock + 1)

    def give(self, sample: Optional[Sample]) -> None:
        """For Prefetch: take() takes from this one from now on."""
        before, self._sample = self._sample, sample
        if before is not None:
            before.finish()
