"""A recommender: factors of users and items from ratings.

    locus run -n 4 -- python3 recommender.py [epochs]
"""
import sys

import locus.torch
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

USERS, ITEMS, FACTORS, BATCH = 3000, 1000, 16, 512


def ratings(count=200_000, seed=0):
    """Planted: a user's rating of an item is the product of their factors, and noise; popular items come often."""
    random = torch.Generator().manual_seed(seed)
    users = torch.randint(0, USERS, (count,), generator=random)
    items = (torch.rand(count, generator=random) ** 3 * ITEMS).long()
    of_user, of_item = (torch.randn(n, 4, generator=random) / 2 for n in (USERS, ITEMS))
    noise = 0.1 * torch.randn(count, generator=random)
    return TensorDataset(users, items, (of_user[users] * of_item[items]).sum(1) + noise)


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.users = locus.torch.Embedding(USERS, FACTORS)
        self.items = locus.torch.Embedding(ITEMS, FACTORS)

    def forward(self, users, items):
        return (self.users(users) * self.items(items)).mean(1)


def evaluate(model, data):
    with torch.no_grad():
        errors = [(model(users, items) - rating).square().mean() for users, items, rating in data]
    return torch.stack(errors).mean().sqrt().item()


def main(epochs):
    torch.manual_seed(0)
    data = ratings()
    test = DataLoader(torch.utils.data.Subset(data, range(20_000)), 4096)
    train = torch.utils.data.Subset(data, range(20_000, len(data)))
    model = Recommender()
    optimizer = locus.torch.Adagrad(model, lr=0.5)
    job = locus.torch.open(optimizer)
    loader = DataLoader(torch.utils.data.Subset(train, range(job.rank, len(train), job.size)), BATCH, shuffle=True)
    loader, test = (locus.torch.Prefetch(each, keys=lambda batch: {model.users: batch[0], model.items: batch[1]})
                    for each in (loader, test))
    for epoch in range(epochs):
        for users, items, rating in loader:
            optimizer.zero_grad()
            (model(users, items) - rating).square().mean().backward()
            optimizer.step()
        job.quiesce()
        print(f"epoch {epoch + 1} rmse {evaluate(model, test):.4f}", flush=True)
    job.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
