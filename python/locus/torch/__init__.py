# SPDX-License-Identifier: Apache-2.0
"""locus for PyTorch: embeddings whose rows lie in the cluster's tables, and optimizers whose state lies beside them.

    model.words = locus.torch.Embedding(1_000_000, 64)         # was torch.nn.Embedding
    optimizer = locus.torch.Adagrad(model, lr=0.1)
    with locus.torch.open(optimizer):
        for batch in locus.torch.Prefetch(loader, keys=lambda batch: {model.words: batch}):
            optimizer.zero_grad()
            loss(model(batch)).backward()
            optimizer.step()
"""
from .embedding import Embedding, EmbeddingBag
from .initial import Normal, Uniform, Zeros
from .job import Job, open
from .negatives import Negatives
from .ngrams import NgramTable
from .optimizers import SGD, Adagrad, Adam, AdamW, Optimizer, RowAdagrad
from .prefetch import Prefetch

__all__ = ["Adagrad", "Adam", "AdamW", "Embedding", "EmbeddingBag", "Job", "Negatives", "NgramTable", "Normal",
           "Optimizer", "Prefetch", "RowAdagrad", "SGD", "Uniform", "Zeros", "open"]
