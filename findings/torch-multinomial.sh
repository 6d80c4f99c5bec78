#!/usr/bin/env bash
# Which rows torch.multinomial draws when the weights are those of words: 1 / rank, in float32.
#
# Package   python3-torch 1.13.1+dfsg-4 (Debian 12)
# Guess     Each row is drawn with its share. A float32 has seven digits, so shares are off in the seventh.
# In truth  The weights are added up in float32 from the first on. Past rank 2^21 a weight is less than half the last digit of
#           the sum, and the sum stands still: no row from there on is ever drawn with replacement, and those before it get
#           less than their share. The same weights in double, or without replacement, reach all rows.
# Matters   for negative samples and for sampling of users or items: the rare half of a table is never a negative, and no
#           error or warning says so.
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
torch.manual_seed(1)
rows, half = 5_000_000, 2 ** 21
weights = 1 / torch.arange(1, rows + 1, dtype=torch.float64)
share = (weights[half:].sum() / weights.sum()).item()
drawn = {}
for kind in torch.float32, torch.float64:
    sample = torch.multinomial(weights.to(kind), 2_000_000, replacement=True)
    drawn[kind] = (sample >= half).double().mean().item()
    print(f"{kind}: last row drawn {sample.max().item()}, past 2^21 {drawn[kind]:.4f} of the draws, by the weights {share:.4f}")
sys.exit(not (drawn[torch.float32] == 0 and abs(drawn[torch.float64] - share) < 0.002))
PYTHON
