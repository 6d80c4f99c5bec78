#!/usr/bin/env bash
# nproc, which scripts ask how many workers to start, where variables of OpenMP are set.
#
# Package   coreutils 9.1-1 (Debian 12)
# Guess     nproc asks the kernel: it tells the processors that this process may use, as taskset leaves them.
# In truth  It obeys OMP_NUM_THREADS, in both directions: with 64 it says 64 on a machine of two, and under taskset on one
#           processor; with 1 it says 1; of "3,2" it takes the 3. OMP_THREAD_LIMIT bounds it. With --all no variable counts.
# Matters   to launchers: `export OMP_NUM_THREADS=1` is the usual line before training with one process a processor, and
#           `-np $(nproc)` below it starts one; a container image that sets it for its library has make and tests run with it.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
dpkg-query -W coreutils util-linux
unset OMP_NUM_THREADS OMP_THREAD_LIMIT
pinned() { taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" "$@"; }

one=$(pinned nproc)
many=$(OMP_NUM_THREADS=64 pinned nproc)
list=$(OMP_NUM_THREADS=3,2 nproc)
few=$(OMP_NUM_THREADS=1 nproc)
limit=$(OMP_NUM_THREADS=64 OMP_THREAD_LIMIT=5 nproc)
all=$(OMP_NUM_THREADS=64 nproc --all)
echo "pinned to one processor: $one, with OMP_NUM_THREADS=64: $many; with 3,2: $list; with 1: $few"
echo "with OMP_NUM_THREADS=64 OMP_THREAD_LIMIT=5: $limit; nproc --all with 64: $all, without: $(nproc --all)"
[ "$one $many $list $few $limit" = '1 64 3 1 5' ] && [ "$all" = "$(nproc --all)" ]
