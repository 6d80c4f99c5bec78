"""Wide & Deep: embeddings of features in locus, the dense layers in torch's DistributedDataParallel over gloo, in the
same processes. On planted clicks.

    torchrun --redirects 1 --tee 1 --nproc_per_node 2 wide_and_deep.py [epochs]
"""
import os
import sys

import locus.torch
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset


def clicks(count=60_000, test=10_000, fields=8, each=2000):
    """Planted: each feature has a weight, and some pairs of the first fields count besides. Those of the test last."""
    random = torch.Generator().manual_seed(0)
    features = (torch.rand(count, fields, generator=random) ** 4 * each).long()
    weight = torch.randn(fields, each, generator=random)
    score = sum(weight[f][features[:, f]] for f in range(fields))
    score += 2 * torch.sign(weight[0][features[:, 1]]) * torch.sign(weight[1][features[:, 0]])
    label = (torch.rand(count, generator=random) < score.sigmoid()).float()
    return features + each * torch.arange(fields), label, test


class WideAndDeep(nn.Module):
    def __init__(self, features, fields, dimension=8):
        super().__init__()
        self.wide = locus.torch.EmbeddingBag(features, 1, mode="sum", initial=locus.torch.Zeros())
        self.deep = locus.torch.Embedding(features, dimension, initial=locus.torch.Normal(0.1))
        self.layers = nn.Sequential(nn.Linear(fields * dimension, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, features):
        return (self.wide(features) + self.layers(self.deep(features).flatten(1))).squeeze(1)


@torch.no_grad()
def area_under_curve(model, features, label):
    ranks = model(features).argsort().argsort().double() + 1
    ones = label.sum().double()
    return ((ranks[label == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(label) - ones))).item()


def main(epochs, features, label, test):
    torch.manual_seed(0)
    model = WideAndDeep(int(features.max()) + 1, features.shape[1])
    rows = locus.torch.Adagrad(model, lr=0.05)
    with locus.torch.open(rows) as job:
        if "MASTER_ADDR" in os.environ:
            torch.distributed.init_process_group("gloo")
            model.layers = nn.parallel.DistributedDataParallel(model.layers)
        dense = torch.optim.Adagrad(model.parameters(), lr=0.05)
        share = range(job.rank, (len(label) - test) // job.size * job.size, job.size)
        loader = DataLoader(Subset(TensorDataset(features, label), share), 128, shuffle=True)
        batches = locus.torch.Prefetch(loader, keys=lambda batch: {model.wide: batch[0], model.deep: batch[0]})
        for epoch in range(epochs):
            for some, clicked in batches:
                dense.zero_grad()
                rows.zero_grad()
                nn.functional.binary_cross_entropy_with_logits(model(some), clicked).backward()
                dense.step()
                rows.step()
            job.quiesce()
            if job.rank == 0:
                print(f"epoch {epoch + 1} auc {area_under_curve(model, features[-test:], label[-test:]):.4f}", flush=True)
            job.barrier()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2, *clicks())
