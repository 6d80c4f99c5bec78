#!/usr/bin/env bash
# Reading a fresh mapping that nobody has written to: private, shared, and of a file without contents in memory.
#
# Tool      Linux (seen with 6.18), python3
# Guess     What was never written has no memory behind it: all reads see the one page of zeros, and cost nothing.
# In truth  This holds for private memory only. In a shared mapping, and in one of a memfd or of a file in /dev/shm, a read of
#           one byte gives its page memory of its own, which counts as used and stays. read() of the same file costs nothing.
# Matters   where workers share a table of embeddings: a pass that only looks, as a sum, a checkpoint or a comparison does, makes
#           a table that is mostly untouched as large as it is long, and containers are killed by their limit.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
uname -sr | cut -d . -f 1,2
dpkg-query -W python3 2> /dev/null || apt-get install -qq -y --no-install-recommends python3 > /dev/null

/usr/bin/python3 - << 'PYTHON'
import mmap, os, sys
LENGTH = 64 << 20


def blocks(file):
    return os.fstat(file).st_blocks * 512 >> 20


def resident():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1]) >> 10


def look(mapping):
    mapping.madvise(mmap.MADV_NOHUGEPAGE)
    before = resident()
    assert sum(mapping[i] for i in range(0, LENGTH, mmap.PAGESIZE)) == 0
    return resident() - before


private = look(mmap.mmap(-1, LENGTH, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
shared = look(mmap.mmap(-1, LENGTH, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS))
file = os.memfd_create("table")
os.ftruncate(file, LENGTH)
while os.read(file, 1 << 20):
    pass
after_read = blocks(file)
mapped = look(mmap.mmap(file, LENGTH, prot=mmap.PROT_READ))
print(f"one byte a page read of {LENGTH >> 20} MiB: private {private} MiB, shared {shared} MiB")
print(f"memfd: {after_read} MiB after read(), {blocks(file)} MiB after looking through a mapping that cannot be written")
sys.exit(not (private < 4 and shared > 60 and after_read == 0 and mapped > 60 and blocks(file) > 60))
PYTHON
