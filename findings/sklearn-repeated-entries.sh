#!/usr/bin/env bash
# scikit-learn on a sparse matrix of SciPy in which a place stands twice, as rows of words have it when they are made one word
# after the other. SciPy's own operations take the sum of the two for the value.
#
# Packages  python3-sklearn 1.2.1+dfsg-1, python3-scipy 1.10.1-2 (Debian 12)
# Guess     scikit-learn does as SciPy does, or adds up repeated entries when it checks its input.
# In truth  It takes the stored numbers one by one: normalize() gives rows whose length is not 1, Binarizer() gives 2,
#           and StandardScaler() finds a variance of -0.75. No error; after sum_duplicates() all are right.
# Matters   for cosine similarity and for nearest rows: rows with repeated words have lengths above 1, and come first.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
dpkg-query -W python3-scipy 2> /dev/null ||
    apt-get install -qq -y --no-install-recommends python3-scipy=1.10.1-2 > /dev/null
apt-get download -qq -o APT::Sandbox::User=root python3-sklearn=1.2.1+dfsg-1 \
    python3-sklearn-lib=1.2.1+dfsg-1 python3-joblib python3-threadpoolctl
for package in *.deb; do dpkg -x "$package" tree; done

PYTHONPATH=tree/usr/lib/python3/dist-packages /usr/bin/python3 -W ignore - << 'PYTHON'
import sys
import numpy, scipy, scipy.sparse.linalg, sklearn
from sklearn.preprocessing import Binarizer, StandardScaler, normalize
print("scikit-learn", sklearn.__version__, "scipy", scipy.__version__)


def rows(add_up):  # the words 0, 0, 1 and the word 0
    matrix = scipy.sparse.csr_matrix((numpy.ones(4), [0, 0, 1, 0], [0, 3, 4]), shape=(2, 2))
    if add_up:
        matrix.sum_duplicates()
    return matrix


seen = {}
for add_up in False, True:
    lengths = numpy.linalg.norm(normalize(rows(add_up)).toarray(), axis=1)
    largest = Binarizer().transform(rows(add_up)).toarray().max()
    variance = StandardScaler(with_mean=False).fit(rows(add_up)).var_[0]
    length = scipy.sparse.linalg.norm(rows(add_up)[0])
    seen[add_up] = [round(float(x), 4) for x in (lengths[0], largest, variance, length)]
    print("added up before:" if add_up else "as they are:", "length after normalize(), Binarizer's largest, variance of",
          "column 0, length by SciPy:", seen[add_up])
sys.exit(not (seen[True] == [1, 1, 0.25, 2.2361] and seen[False][3] == 2.2361 and seen[False][0] > 1.2
              and seen[False][1] == 2 and seen[False][2] < 0))
PYTHON
