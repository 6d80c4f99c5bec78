#!/usr/bin/env bash
# The largest memory of a child, as wait4() and getrusage() tell it (ru_maxrss).
#
# Tool      Linux (seen with 6.18), python3, coreutils' true
# Guess     It is the child's own: `true` takes 2 MB, whoever started it.
# In truth  A process keeps through exec the largest memory that it had before, and before it was a copy of its parent: `true`
#           started by a program of 300 MB is said to have had 300 MB, by fork and by posix_spawn. VmHWM in the child's
#           /proc/self/status begins anew at exec, so the two figures of the kernel for one process disagree.
# Matters   to launchers and trainers that report the memory of their workers, or take a limit from the last run's figure: they
#           report their own size.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
uname -sr | cut -d . -f 1,2
dpkg-query -W python3 coreutils 2> /dev/null || apt-get install -qq -y --no-install-recommends python3 > /dev/null

/usr/bin/python3 - << 'PYTHON'
import os, subprocess, sys


def spawned(*command):
    return os.wait4(os.posix_spawn(command[0], command, {}), 0)[2].ru_maxrss >> 10


def forked(*command):
    child = os.fork()
    if child == 0:
        os.execv(command[0], command)
    return os.wait4(child, 0)[2].ru_maxrss >> 10


small = spawned("/bin/true")
large = bytearray(b"1") * (300 << 20)
status = subprocess.run(["grep", "VmHWM", "/proc/self/status"], capture_output=True, text=True, check=True).stdout
own = int(status.split()[1]) >> 10
of_spawn, of_fork = spawned("/bin/true"), forked("/bin/true")
print(f"true, MiB: from a small program {small}, from a large one {of_spawn} (posix_spawn), {of_fork} (fork)")
print(f"VmHWM of a child of the large one, MiB: {own}")
sys.exit(not (small < 50 and of_spawn >= 300 and of_fork >= 300 and own < 50))
PYTHON
