"""word2vec: skip-grams with negative samples, on a text of groups of words that come together.

    locus run -n 2 -- python3 word2vec.py [epochs]
"""
import sys

import locus.torch
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

GROUPS, WORDS, WINDOW, NEGATIVES, DIMENSION = 20, 400, 3, 5, 32


def text(count, seed):
    """Sentences of ten words, of which most are of one group."""
    random = torch.Generator().manual_seed(seed)
    group = torch.randint(0, GROUPS, (count, 1), generator=random)
    words = group * (WORDS // GROUPS) + torch.randint(0, WORDS // GROUPS, (count, 10), generator=random)
    strange = torch.rand(count, 10, generator=random) < 0.2
    return torch.where(strange, torch.randint(0, WORDS, (count, 10), generator=random), words)


class SkipGrams(IterableDataset):
    """Word and its neighbour."""

    def __init__(self, sentences):
        self.sentences = sentences

    def __iter__(self):
        for sentence in self.sentences:
            for at in range(len(sentence)):
                for near in range(max(0, at - WINDOW), min(len(sentence), at + WINDOW + 1)):
                    if near != at:
                        yield sentence[at], sentence[near]


class Word2vec(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = locus.torch.Embedding(WORDS, DIMENSION, initial=locus.torch.Uniform(0.5 / DIMENSION))
        self.contexts = locus.torch.Embedding(WORDS, DIMENSION, initial=locus.torch.Zeros())

    def forward(self, words, contexts):
        return (self.words(words).unsqueeze(1) * self.contexts(contexts)).sum(2)


def same_group(model):
    """How often a word's nearest one is of its group."""
    vectors = nn.functional.normalize(model.words.weight_of(torch.arange(WORDS)))
    nearest = (vectors @ vectors.t()).fill_diagonal_(-1).argmax(1)
    return (nearest // (WORDS // GROUPS) == torch.arange(WORDS) // (WORDS // GROUPS)).float().mean().item()


def main(epochs):
    model = Word2vec()
    optimizer = locus.torch.Adagrad(model, lr=0.2)
    with locus.torch.open(optimizer) as job:
        loader = DataLoader(SkipGrams(text(600, seed=0)[job.rank::job.size]), 256)
        negatives = locus.torch.Negatives(model.contexts, conformity="bounded", seed=0)  # its neighbours seldom
        batches = locus.torch.Prefetch(loader, keys=lambda batch: {
            model.words: batch[0], model.contexts: batch[1], negatives: NEGATIVES * len(batch[0])})
        for epoch in range(epochs):
            for words, neighbours in batches:
                optimizer.zero_grad()
                strange = negatives.take(len(words), NEGATIVES)
                scores = model(words, torch.cat([neighbours[:, None], strange], 1))
                labels = torch.zeros_like(scores)
                labels[:, 0] = 1
                nn.functional.binary_cross_entropy_with_logits(scores, labels, reduction="sum").backward()
                optimizer.step()
            job.quiesce()
            if job.rank == 0:
                print(f"epoch {epoch + 1} same group {same_group(model):.4f}", flush=True)
            job.barrier()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
