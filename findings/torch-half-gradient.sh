#!/usr/bin/env bash
# The gradient of an embedding's row that a batch uses many times, in float16 and bfloat16, on the processor.
#
# Package   python3-torch 1.13.1+dfsg-4 (Debian 12)
# Guess     torch adds 16-bit numbers up in float32 and rounds once at the end, as its sum() does and as embedding_bag's forward
#           does: 5,000 uses of a row, each with gradient 1, give about 5,000.
# In truth  The backward pass adds in the type itself: the sum stands still at 256 in bfloat16 and at 2,048 in float16, with
#           dense gradients, with sparse ones, and in coalesce().
# Matters   to whoever trains a table in 16 bits: the rows used most, of frequent words or items, get a tenth or less of
#           their gradient, while the same layer's outputs are right.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
dpkg-query -W python3-torch 2> /dev/null ||
    apt-get install -qq -y --no-install-recommends python3-torch=1.13.1+dfsg-4 > /dev/null

/usr/bin/python3 - << 'PYTHON'
import sys
import torch
print("torch", torch.__version__)
uses = torch.zeros(5000, dtype=torch.long)


def gradient(kind, sparse):
    table = torch.zeros(2, 1, dtype=kind, requires_grad=True)
    torch.nn.functional.embedding(uses, table, sparse=sparse).sum().backward()
    return (table.grad.coalesce().values() if sparse else table.grad)[0].item()


as_said = True
for kind, stop in (torch.bfloat16, 256), (torch.float16, 2048), (torch.float32, 5000):
    dense, sparse, total = gradient(kind, False), gradient(kind, True), torch.ones(5000, dtype=kind).sum().item()
    print(f"{kind}: gradient of 5,000 uses dense {dense:.0f}, sparse {sparse:.0f}; sum() of 5,000 ones {total:.0f}")
    as_said = as_said and dense == sparse == stop and abs(total - 5000) < 20
bag = torch.nn.functional.embedding_bag(uses, torch.ones(1, 8, dtype=torch.float16), torch.tensor([0]), mode="sum")
print(f"embedding_bag of 5,000 rows of ones, float16: {bag[0, 0].item():.0f}")
sys.exit(not (as_said and bag[0, 0].item() == 5000))
PYTHON
