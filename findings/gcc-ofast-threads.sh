#!/usr/bin/env bash
# A shared library compiled with -Ofast is loaded into a program. None of its functions is called.
#
# Packages  gcc 4:12.2.0-3, python3-numpy 1:1.24.2-1+deb12u1 (Debian 12, amd64)
# Guess     -Ofast changes the arithmetic of the code that was compiled with it. Code of others, NumPy's here, is as before.
# In truth  Loading it sets the processor to take numbers below 1.2e-38 (denormal float32) for zero: in the thread that loads it
#           and in threads started from there later. Threads that ran before keep the old arithmetic: the same product of
#           NumPy is 0 in one thread and 1e-40 in another of the same process.
# Matters   where an operator or a plug-in is loaded into a trainer: small gradients and second moments vanish, and of a pool of
#           threads only some lose them, so results depend on which thread gets which row.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
dpkg-query -W gcc libc6-dev python3-numpy 2> /dev/null ||
    apt-get install -qq -y --no-install-recommends gcc libc6-dev python3-numpy > /dev/null
[ "$(uname -m)" = x86_64 ] || { echo "this is of x86-64 processors"; exit 2; }
gcc --version | head -n 1
echo 'int nothing(void) { return 0; }' > nothing.c
gcc -shared -fPIC -Ofast nothing.c -o nothing.so

/usr/bin/python3 - << 'PYTHON'
import ctypes, queue, sys, threading
import numpy
x, y = numpy.full(4, 1e-30, "float32"), numpy.full(4, 1e-10, "float32")
questions, answers = queue.Queue(), queue.Queue()


def worker():
    while questions.get():
        answers.put((x * y)[0] != 0)


def new_thread():
    seen = []
    thread = threading.Thread(target=lambda: seen.append((x * y)[0] != 0))
    thread.start()
    thread.join()
    return seen[0]


def kept():
    questions.put(True)
    return [bool(there) for there in ((x * y)[0] != 0, answers.get(), new_thread())]


threading.Thread(target=worker, daemon=True).start()
print("1e-30 * 1e-10 is above 0 in [this thread, one that runs, a new one]:")
before = kept()
ctypes.CDLL("./nothing.so")
after = kept()
print("before loading", before, "after", after)
sys.exit(not (before == [True, True, True] and after == [False, True, False]))
PYTHON
