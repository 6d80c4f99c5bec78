"""What tests of locus.torch share: torch itself, without which they are skipped, and steps as scripts make them."""
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("there is no torch here (python3-torch)")

import locus.torch as lt


def weights(module):
    return module.weight_of(torch.arange(module.num_embeddings))


def step(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
