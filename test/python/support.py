"""What the tests share: programs in processes of their own, alone or as a cluster."""
import contextlib
import os
import random
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / "build" / "gcc" / "bin"
LIMIT_S = 400

# Python 3.12 warns of every fork beside threads.
FORKS = ("-W", "ignore:This process:DeprecationWarning")


def free_port():
    """A port of loopback that nobody has: between those of the other tests and those that systems deal out."""
    for port in random.sample(range(32000, 32768), 768):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass
    raise RuntimeError("all ports are taken")


def environment(**more):
    path = os.pathsep.join([str(ROOT / "python"), str(ROOT / "test" / "python")])
    # Two cores for several processes: torch's threads would only wait for each other.
    return dict(os.environ, PYTHONPATH=path, OMP_NUM_THREADS="1", **more)


def script(text, folder):
    """Writes a program, `import locus` and numpy before it; returns its path."""
    file, path = tempfile.mkstemp(".py", dir=folder)
    with os.fdopen(file, "w") as out:
        out.write("import sys, os, time, threading, signal\nimport numpy as np\nimport locus\n" + textwrap.dedent(text))
    return path


def run(text, *options, **more):
    """Runs a program; returns what ended: returncode, stdout with stderr."""
    with tempfile.TemporaryDirectory() as folder:
        return finish([sys.executable, *options, script(text, folder)], **more)


def run_nodes(count, text, *options, **more):
    """The same, as a cluster of `count` nodes; options are those of `locus run`."""
    if not (BIN / "locus").exists():
        raise unittest.SkipTest("the command is not built: make")
    with tempfile.TemporaryDirectory() as folder:
        return finish([str(BIN / "locus"), "run", "-n", str(count), *options, "--", sys.executable, script(text, folder)], **more)


def finish(command, **more):
    return subprocess.run(command, env=environment(**more), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=LIMIT_S, stdin=subprocess.DEVNULL)


def passes(test, ended):
    test.assertEqual(ended.returncode, 0, ended.stdout)
    return ended.stdout


def interrupted_at(number, use):
    """`use`, with Ctrl-C within the so-manieth call below it: Python raises KeyboardInterrupt where a function begins, or
    one of C has returned; not where a thread starts, whose locks, Python's own, do not bear it, or where it would be
    ignored. False: there are not so many."""
    seen, is_over = 0, False

    def look(frame, event, _):
        nonlocal seen, is_over
        seen += event in ("call", "c_return")
        if seen >= number and not any(
                each is threading.Thread.start.__code__ or "weakref" in each.co_filename for each in codes(frame)):
            sys.setprofile(None)
            is_over = True
            raise KeyboardInterrupt

    def codes(frame):
        while frame:
            yield frame.f_code
            frame = frame.f_back

    with contextlib.suppress(KeyboardInterrupt):
        sys.setprofile(look)
        try:
            use()
        finally:
            sys.setprofile(None)
    return is_over


def used():
    """Threads, but those that the kernel keeps a while for a ring; descriptors; mappings; resident KiB."""
    threads = 0
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{task}/comm") as name:
            threads += not name.read().startswith("iou-")
    with open("/proc/self/status") as status, open("/proc/self/maps") as maps:
        resident = int(status.read().split("VmRSS:")[1].split()[0])
        return threads, len(os.listdir("/proc/self/fd")), len(list(maps)), resident


def leaks_nothing(cycle, first, more):
    """`more` times the same, after the `first` times: not one thread or descriptor stays, and hardly any memory."""
    for _ in range(first):
        cycle()
    looks = [(time.sleep(.01), used())[1] for _ in range(10)]  # nng closes sockets a while after it was told to
    before = tuple(map(min, zip(*looks)))
    for _ in range(more):
        cycle()
    deadline, after = time.monotonic() + 30, used()
    while (after[0] > before[0] or after[1] > before[1]) and time.monotonic() < deadline:
        time.sleep(.01)
        after = used()
    what = f"threads, descriptors, mappings, KiB: {before} before, {after} after\n"
    assert after[0] <= before[0] and after[1] <= before[1], what
    assert after[2] < before[2] + max(20, more // 4) and after[3] < before[3] + 4000, what
    return what
