#!/usr/bin/env bash
# The log loss of the same predictions as float64 and as float32, by scikit-learn.
#
# Package   python3-sklearn 1.2.1+dfsg-1 (Debian 12)
# Guess     1e-10 is well within float32, so the loss is the same to seven digits.
# In truth  Predictions are first kept off 0 and 1 by the step of their type at 1: 1.2e-7 in float32. A click that was
#           predicted with 1e-10 costs 22.9 as float64, and 15.9 as float32.
# Matters   to whoever compares click models by log loss: the one that hands out float32 looks better on its worst misses, and
#           a figure changes when a column's type does.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
dpkg-query -W python3-scipy 2> /dev/null ||
    apt-get install -qq -y --no-install-recommends python3-scipy=1.10.1-2 > /dev/null
apt-get download -qq -o APT::Sandbox::User=root python3-sklearn=1.2.1+dfsg-1 \
    python3-sklearn-lib=1.2.1+dfsg-1 python3-joblib python3-threadpoolctl
for package in *.deb; do dpkg -x "$package" tree; done

PYTHONPATH=tree/usr/lib/python3/dist-packages /usr/bin/python3 - << 'PYTHON'
import sys
import numpy, sklearn
from sklearn.metrics import log_loss
print("scikit-learn", sklearn.__version__)
predicted = numpy.array([2.0 ** -33, 0.5])  # exact in float32 as well
loss = {kind: float(log_loss([1, 0], predicted.astype(kind))) * 2 - numpy.log(2) for kind in ("float64", "float32")}
for kind, value in loss.items():
    print(f"{kind}: a click predicted with {predicted.astype(kind)[0]:.4g} costs {value:.2f}")
sys.exit(not (abs(loss["float64"] - 33 * numpy.log(2)) < 0.01 and 15 < loss["float32"] < 17))
PYTHON
