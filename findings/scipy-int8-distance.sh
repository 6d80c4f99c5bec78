#!/usr/bin/env bash
# The distance of two int8 vectors by scipy.spatial.distance, one pair at a time and by cdist.
#
# Package   python3-scipy 1.10.1-2 (Debian 12)
# Guess     euclidean(u, v) and cdist([u], [v]) are the same, in double. If int8 were a trouble, it would be one in both.
# In truth  cdist converts first. The functions of one pair subtract and multiply in int8, where 100 - -100 is -56: euclidean
#           and cityblock say 56 for 200, cosine may say "not a number". sqeuclidean, of the same module, converts.
# Matters   to whoever checks an index of quantized embeddings against exact distances: the reference is wrong, and ranks
#           other rows nearest.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
dpkg-query -W python3-scipy 2> /dev/null ||
    apt-get install -qq -y --no-install-recommends python3-scipy=1.10.1-2 > /dev/null

/usr/bin/python3 -W ignore - << 'PYTHON'
import sys
import numpy, scipy
from scipy.spatial import distance
print("scipy", scipy.__version__)
u, v = numpy.array([100, 100], "int8"), numpy.array([-100, 100], "int8")
pair = float(distance.euclidean(u, v))
all_pairs = float(distance.cdist([u], [v])[0, 0])
print(f"euclidean {pair}, cdist {all_pairs}, square root of sqeuclidean {distance.sqeuclidean(u, v) ** 0.5}")
table = numpy.random.default_rng(1).integers(-127, 128, (1000, 64)).astype("int8")
by_pair = numpy.argsort([distance.cosine(table[0], row) for row in table])[:5].tolist()
by_cdist = numpy.argsort(distance.cdist(table[:1], table, "cosine")[0])[:5].tolist()
print("nearest to row 0 by cosine:", by_pair, "by cdist:", by_cdist)
sys.exit(not (pair == 56 and all_pairs == 200 and by_cdist[0] == 0 and by_pair[0] != 0))
PYTHON
