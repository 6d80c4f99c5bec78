"""A recommender: factors of users and items from ratings. This one is torch's alone; recommender.py is its distributed
version.

    python3 recommender_torch.py [epochs]
"""
import sys

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
        self.users = nn.Embedding(USERS, FACTORS)
        self.items = nn.Embedding(ITEMS, FACTORS)

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
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.5)
    loader = DataLoader(train, BATCH, shuffle=True)
    for epoch in range(epochs):
        for users, items, rating in loader:
            optimizer.zero_grad()
            (model(users, items) - rating).square().mean().backward()
            optimizer.step()
        print(f"epoch {epoch + 1} rmse {evaluate(model, test):.4f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
