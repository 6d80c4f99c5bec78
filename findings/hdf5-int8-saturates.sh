#!/usr/bin/env bash
# Numbers out of range on their way into and out of an int8 dataset of h5py, beside NumPy's own conversion.
#
# Packages  python3-h5py 3.7.0-8, libhdf5-103-1 1.10.8+repack1-1 (Debian 12)
# Guess     h5py hands arrays to NumPy, so data[:] = x stores what x.astype("int8") gives: 300 becomes 44; or it is an error.
# In truth  HDF5 converts, and by other rules: 300 becomes 127, infinity 127, "not a number" 0, and what is between is cut off
#           towards zero. So does reading: data.astype("int8")[:] and data[:].astype("int8") are different arrays.
# Matters   where embeddings are quantized on the way into a file: code that was moved from NumPy or Zarr, which wrap, to h5py
#           gives other rows, and a row of "not a number" comes back as zeros that nobody finds.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
dpkg-query -W python3-numpy 2> /dev/null ||
    apt-get install -qq -y --no-install-recommends python3-numpy > /dev/null
apt-get download -qq -o APT::Sandbox::User=root python3-h5py=3.7.0-8 python3-h5py-serial=3.7.0-8 \
    libhdf5-103-1=1.10.8+repack1-1 libhdf5-hl-100=1.10.8+repack1-1 libaec0 libsz2 liblzf1
for package in *.deb; do dpkg -x "$package" tree; done
LD_LIBRARY_PATH=$(echo "$place"/tree/usr/lib/*-linux-gnu)
export LD_LIBRARY_PATH

PYTHONPATH=tree/usr/lib/python3/dist-packages /usr/bin/python3 -W ignore - << 'PYTHON'
import sys
import h5py, numpy
print("h5py", h5py.__version__, "HDF5", h5py.version.hdf5_version)
numbers = numpy.array([300, -200, 1.9, -1.9, numpy.nan, numpy.inf], "float32")
with h5py.File("numbers.h5", "w") as file:
    stored = file.create_dataset("small", (6,), "int8")
    stored[:] = numbers
    wide = file.create_dataset("wide", data=numpy.array([300, -200, 2 ** 40]))
    seen = [stored[:].tolist(), wide.astype("int8")[:].tolist()]
    by_numpy = wide[:].astype("int8").tolist()
print("stored", numbers.tolist(), "as", seen[0])
print("read [300, -200, 2^40] as int8: by h5py", seen[1], "by NumPy after reading", by_numpy)
sys.exit(seen != [[127, -128, 1, -1, 0, 127], [127, -128, 127]] or by_numpy != [44, 56, 0])
PYTHON
