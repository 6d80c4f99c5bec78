#!/usr/bin/env bash
# An HNSW index of faiss in which most rows are equal.
#
# Package   python3-faiss 1.7.3-2+b1 (Debian 12)
# Guess     Copies cost space only. A search with efSearch above the number of rows visits all of them and is exact.
# In truth  2,000 equal rows link to each other only, and the five other rows are cut off: a search for exactly one of these
#           five returns a copy of the others, whatever efSearch is and whether the five came first or last. With a millionth
#           of noise in the equal rows, all five are found.
# Matters   for tables in which rows that no data ever touched still have one initial value, zero above all: the trained rows
#           among them cannot be found.
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
faiss.omp_set_num_threads(1)
trained = (numpy.ones((5, 16)) * numpy.arange(1, 6)[:, None]).astype("float32")
equal = numpy.zeros((2000, 16), "float32")
noise = numpy.random.default_rng(0).normal(0, 1e-6, equal.shape).astype("float32")


def found(first, second):
    index = faiss.IndexHNSWFlat(16, 16)
    index.add(numpy.concatenate([first, second]))
    index.hnsw.efSearch = 10000
    return int((index.search(trained, 1)[0][:, 0] == 0).sum())


counts = [found(equal, trained), found(trained, equal), found(equal + noise, trained)]
print("found of 5: added last", counts[0], "- added first", counts[1], "- with noise", counts[2])
sys.exit(counts != [0, 0, 5])
PYTHON
