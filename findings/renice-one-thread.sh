#!/usr/bin/env bash
# renice and taskset on a program that is running with several threads.
#
# Tools     util-linux 2.38.1-5+deb12u3 (Debian 12), Linux (seen with 6.18)
# Guess     A process has one niceness (POSIX says so) and one set of processors: `renice -p` and `taskset -p` change them for all
#           of its threads, as prlimit --pid does with its limits.
# In truth  Both change one thread, the first, and say that they have changed the process. Those that do the work go on as
#           before. Only taskset has an option for all (-a); for renice each thread has to be named.
# Matters   when a trainer is to make room for another: it is "at nice 19, on processor 0", and its workers still take all
#           processors at full weight. Threads started later by the first one differ from those that were there.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
uname -sr | cut -d . -f 1,2
dpkg-query -W python3 util-linux bsdutils 2> /dev/null || apt-get install -qq -y --no-install-recommends python3 > /dev/null

/usr/bin/python3 - << 'PYTHON'
import os, subprocess, sys, threading
stop = threading.Event()
threads = [threading.Thread(target=stop.wait) for _ in range(3)]
for thread in threads:
    thread.start()
process, others = str(os.getpid()), [thread.native_id for thread in threads]
before = os.getpriority(os.PRIO_PROCESS, 0)
print(subprocess.check_output(["renice", "-n", "19", "-p", process], text=True).strip())
nice = [os.getpriority(os.PRIO_PROCESS, thread) for thread in [0] + others]
allowed = os.sched_getaffinity(0)
print(subprocess.check_output(["taskset", "-cp", str(min(allowed)), process], text=True).strip().splitlines()[-1])
processors = [len(os.sched_getaffinity(thread)) for thread in [0] + others]
stop.set()
print("niceness of the threads", nice, "- processors of the threads", processors)
sys.exit(nice != [19] + 3 * [before] or processors != [1] + 3 * [len(allowed)])
PYTHON
