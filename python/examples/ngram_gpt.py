"""A small GPT beside a memory of n-grams, whose rows lie in locus: its loss with and without the memory, after the same
steps. On a GPU where there is one; the rows stay in the hosts' memory. The text is planted: two tokens predict the next.

    torchrun --redirects 1 --tee 1 --nproc_per_node 2 ngram_gpt.py [epochs]
"""
import os
import sys

import locus.torch
import torch
from torch import nn
from torch.utils.data import DataLoader

VOCABULARY, LENGTH, WIDTH, BATCH = 50, 32, 32, 32
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def text(count=1400, seed=0):
    """Lines of tokens, of which four of five follow from the two before."""
    random = torch.Generator().manual_seed(seed)
    follows = torch.randint(VOCABULARY, (VOCABULARY, VOCABULARY), generator=random)
    lines = torch.randint(VOCABULARY, (count, LENGTH + 1), generator=random)
    known = torch.rand(count, LENGTH + 1, generator=random) < 0.8
    for at in range(2, LENGTH + 1):
        lines[:, at] = torch.where(known[:, at], follows[lines[:, at - 2], lines[:, at - 1]], lines[:, at])
    return lines


class Gpt(nn.Module):
    def __init__(self, remembered):
        super().__init__()
        self.mix = nn.Linear(remembered, WIDTH, bias=False)
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Parameter(torch.zeros(LENGTH, WIDTH))
        self.layer = nn.TransformerEncoderLayer(WIDTH, 2, 4 * WIDTH, 0.0, "gelu", batch_first=True, norm_first=True)
        self.out = nn.Linear(WIDTH, VOCABULARY)
        self.register_buffer("later", torch.full((LENGTH, LENGTH), float("-inf")).triu(1))

    def forward(self, tokens, remembered):
        return self.out(self.layer(self.tokens(tokens) + self.places + self.mix(remembered), self.later))


class WithMemory(nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = locus.torch.NgramTable(1 << 20, 16, orders=(2, 3), heads=2, dtype=torch.bfloat16)
        self.gpt = Gpt(self.memory.width)

    def forward(self, tokens, remembers):
        remembered = self.memory(tokens) if remembers else torch.zeros(*tokens.shape, self.memory.width, device=DEVICE)
        return self.gpt(tokens.to(DEVICE), remembered)


def train(remembers, epochs, lines, test):
    torch.manual_seed(0)
    model = WithMemory().to(DEVICE)
    table = model.memory.table
    rows, dense = locus.torch.RowAdagrad(model, lr=0.3), torch.optim.Adam(model.parameters(), 3e-3)
    loss_of = lambda lines: nn.functional.cross_entropy(
        model(lines[:, :-1], remembers).flatten(0, 1), lines[:, 1:].flatten().to(DEVICE))
    with locus.torch.open(rows) as job:
        if job.size > 1:
            model.gpt = nn.parallel.DistributedDataParallel(model.gpt)
        loader = DataLoader(lines[job.rank::job.size], BATCH, drop_last=True)
        for epoch in range(epochs):
            for some in locus.torch.Prefetch(loader, lambda lines: {table: model.memory.indices(lines[:, :-1])}):
                dense.zero_grad()
                rows.zero_grad()
                loss_of(some).backward()
                dense.step()
                rows.step()
            with torch.no_grad():
                print(f"epoch {epoch + 1} loss {'with' if remembers else 'without'} {loss_of(test).item():.4f}", flush=True)


if __name__ == "__main__":
    if "MASTER_ADDR" in os.environ:
        torch.distributed.init_process_group("gloo")
    lines = text()
    for remembers in (False, True):
        train(remembers, int(sys.argv[1]) if len(sys.argv) > 1 else 1, lines[:1280], lines[1280:])
