"""Wide & Deep: embeddings of features in locus, the dense layers in torch's DistributedDataParallel over gloo, in the same
processes.

    python3 -m torch.distributed.run --standalone --nproc_per_node 2 wide_and_deep.py [epochs]
"""
import os
import sys

import locus.torch
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

FIELDS, FEATURES, DIMENSION = 8, 2000, 8


def clicks(count=60_000, seed=0):
    """Planted: each feature has a weight, and some pairs of the first fields count besides."""
    random = torch.Generator().manual_seed(seed)
    features = (torch.rand(count, FIELDS, generator=random) ** 4 * FEATURES).long()
    weight = torch.randn(FIELDS, FEATURES, generator=random)
    score = sum(weight[f][features[:, f]] for f in range(FIELDS)) + 2 * torch.sign(weight[0][features[:, 1]]) * torch.sign(
        weight[1][features[:, 0]])
    label = (torch.rand(count, generator=random) < score.sigmoid()).float()
    return TensorDataset(features + FEATURES * torch.arange(FIELDS), label)


class WideAndDeep(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = locus.torch.EmbeddingBag(FIELDS * FEATURES, 1, mode="sum", initial=locus.torch.Zeros())
        self.deep = locus.torch.Embedding(FIELDS * FEATURES, DIMENSION, initial=locus.torch.Normal(0.1))
        self.layers = nn.Sequential(nn.Linear(FIELDS * DIMENSION, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, features):
        return (self.wide(features) + self.layers(self.deep(features).flatten(1))).squeeze(1)


def area_under_curve(model, data):
    with torch.no_grad():
        features, label = data[:]
        ranks = model(features).argsort().argsort().float() + 1
    ones = label.sum()
    return ((ranks[label == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(label) - ones))).item()


def main(epochs):
    torch.manual_seed(0)
    data = clicks()
    model = WideAndDeep()
    rows = locus.torch.Adagrad(model, lr=0.05)
    with locus.torch.open(rows) as job:
        if "MASTER_ADDR" in os.environ:
            torch.distributed.init_process_group("gloo")
            model.layers = nn.parallel.DistributedDataParallel(model.layers)
        dense = torch.optim.Adagrad(model.parameters(), lr=0.05)
        train = Subset(data, range(10_000 + job.rank, len(data) // job.size * job.size, job.size))
        loader = DataLoader(train, 128, shuffle=True)
        batches = locus.torch.Prefetch(loader, keys=lambda batch: {model.wide: batch[0], model.deep: batch[0]})
        for epoch in range(epochs):
            for features, label in batches:
                dense.zero_grad()
                nn.functional.binary_cross_entropy_with_logits(model(features), label).backward()
                dense.step()
                rows.step()
            job.quiesce()
            if job.rank == 0:
                print(f"epoch {epoch + 1} auc {area_under_curve(model, Subset(data, range(10_000))):.4f}", flush=True)
            job.barrier()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
