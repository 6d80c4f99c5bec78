#!/usr/bin/env bash
# An embedding bag of torch in mode "max" whose rows hold "not a number".
#
# Package   python3-torch 1.13.1+dfsg-4 (Debian 12)
# Guess     As torch.max over the same rows, which is "not a number" wherever one row is; or else always the largest number.
# In truth  It depends on the order of the bag: "not a number" stays if it is in the bag's first row, and is passed over in all
#           others. The same three rows give nan, 5 or 2, 5 or 2, nan.
# Matters   where a broken row is looked for in the outputs: whether it shows depends on the order of a user's items, and the
#           gradient of a bag that looks right goes to other rows.
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
nan = float("nan")
rows = torch.tensor([[nan, 1.0], [2.0, nan], [1.0, 5.0]])
seen = []
for bag in [0, 1, 2], [1, 0, 2], [2, 0, 1]:
    by_bag = torch.nn.functional.embedding_bag(torch.tensor(bag), rows, torch.tensor([0]), mode="max")[0].tolist()
    by_max = rows[bag].max(0).values.tolist()
    print(f"rows {bag}: embedding_bag {by_bag}, max {by_max}")
    seen.append(by_bag)
sys.exit(str(seen) != "[[nan, 5.0], [2.0, nan], [2.0, 5.0]]")
PYTHON
