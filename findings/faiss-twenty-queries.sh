#!/usr/bin/env bash
# The same query against an exact index of faiss, alone and among others.
#
# Package   python3-faiss 1.7.3-2+b1 (Debian 12)
# Guess     IndexFlatL2 is exact, so an answer does not depend on how many queries come in one call.
# In truth  From 20 queries in a call on, distances are computed as |x|^2 + |y|^2 - 2xy by a matrix product, in float32. For rows
#           far from the origin nothing is left: rows are not their own nearest neighbour, others are at distance 0. With 19
#           queries every row finds itself.
# Matters   to serving: recall measured in one batch is not that of single requests, and the "exact" reference is the wrong
#           one. Rows that share a large common part, as embeddings that were never centred do, are where it shows.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
dpkg-query -W python3-numpy libblas3 liblapack3 2> /dev/null ||
    apt-get install -qq -y --no-install-recommends python3-numpy libblas3 liblapack3 > /dev/null
apt-get download -qq -o APT::Sandbox::User=root python3-faiss=1.7.3-2+b1
dpkg -x python3-faiss_*.deb tree

PYTHONPATH=tree/usr/lib/python3/dist-packages /usr/bin/python3 - << 'PYTHON'
import sys
import faiss, numpy
print("faiss", faiss.__version__)
rows = (1000 + numpy.random.default_rng(0).random((1000, 16))).astype("float32")
index = faiss.IndexFlatL2(16)
index.add(rows)
found = {}
for queries in 1, 19, 20, 200:
    distances, ids = index.search(rows[:queries], 2)
    found[queries] = float((ids[:, 0] == numpy.arange(queries)).mean())
    print(f"{queries} queries: {found[queries]:.2f} find themselves; row 0 gets ids {ids[0].tolist()} at {distances[0].tolist()}")
sys.exit(not (found[1] == 1 and found[19] == 1 and found[20] < 0.9 and found[200] < 0.9))
PYTHON
