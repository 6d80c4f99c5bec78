#!/usr/bin/env bash
# The standard deviation of a float32 column in pandas, with python3-bottleneck beside it (which Debian recommends with pandas).
#
# Packages  python3-pandas 1.5.3+dfsg-2, python3-bottleneck 1.3.5+ds1-2+b1 (Debian 12)
# Guess     pandas adds up in double precision, so both mean() and std() are right to seven digits.
# In truth  mean() and sum() do, std() and var() are handed to bottleneck, which adds up one float32 after the other: ten
#           million values around 10 with a deviation of 0.01 have std() 0.68. NumPy, and pandas without bottleneck, say 0.01.
# Matters   to whoever normalizes a feature, or judges the spread of losses or of an embedding's entries, by a column's std().
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
dpkg-query -W python3-pandas 2> /dev/null ||
    apt-get install -qq -y --no-install-recommends python3-pandas=1.5.3+dfsg-2 > /dev/null
apt-get download -qq -o APT::Sandbox::User=root python3-bottleneck=1.3.5+ds1-2+b1
dpkg -x python3-bottleneck_*.deb tree

PYTHONPATH=tree/usr/lib/python3/dist-packages /usr/bin/python3 - << 'PYTHON'
import sys
import bottleneck, numpy, pandas
print("pandas", pandas.__version__, "bottleneck", bottleneck.__version__)
column = pandas.Series(numpy.random.default_rng(0).normal(10, 0.01, 10_000_000).astype("float32"))
mean, with_it = float(column.mean()), float(column.std())
pandas.set_option("use_bottleneck", False)
without = float(column.std())
print(f"mean {mean:.4f}, std {with_it:.4f}, std without bottleneck {without:.4f}, of NumPy {column.to_numpy().std():.4f}")
sys.exit(not (abs(mean - 10) < 1e-4 and with_it > 0.1 and abs(without - 0.01) < 1e-4))
PYTHON
