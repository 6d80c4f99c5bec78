"""Commands as a user would type them, with files for what they print or on a terminal of their own: what tests share.

    class Run(support.TestCase):
        def test_ends_on_a_signal(self):
            job = self.start(f"exec {LOCUS} run -n 2 -- sleep 60")
            job.send(signal.SIGTERM)
            self.assertEqual(job.wait(), 128 + signal.SIGTERM)
            self.assertEqual(job.left(), 0)

Each command has a mark in its environment, which whatever it starts inherits: so what it leaves is found, and killed
when the test ends. Whatever a test waits for comes within HANG_S, or the test fails."""
import contextlib
import ctypes
import fcntl
import itertools
import os
import pty
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "lab"))
from made import options as made  # noqa: E402: data that is made up, once, and the options that name it

BUILD = ROOT / os.environ.get("LOCUS_BUILD", "build/gcc")
LOCUS = str(BUILD / "bin" / "locus")
IS_SANITIZED = "-" in BUILD.name  # everything takes longer
PYTHON = "/usr/bin/python3"
HANG_S = 150

os.environ.setdefault("ASAN_OPTIONS", "detect_stack_use_after_return=1 strict_string_checks=1")
os.environ.setdefault("TSAN_OPTIONS", "halt_on_error=1 second_deadlock_stack=1 "
                      f"suppressions={ROOT}/test/tsan/suppressions")
_marks = itertools.count()


def program(name):
    """A training program of this build."""
    return str(BUILD / "bin" / f"locus-{name}")


# A node for a launcher: it joins, trains for a moment, and leaves, or stays. Rank 0 prints what is joined().
MEMBER = f"{program('mf')} {made('mf', '20x10x100')} --rank 4 --epochs 1"
ENDLESS = f"{MEMBER}000000"


def joined(nodes):
    return f"{nodes} node{'s' * (nodes > 1)} of "


# ---- commands ----

def surroundings(mark, more):
    """Nobody else's cluster: what was told to nodes around the test is not meant for its commands."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("LOCUS_") or k.startswith("LOCUS_TEST_")}
    return dict(kept, LOCUS_TEST_MARK=mark, **more)


class Started:
    """A command: a text for sh, or a list. On a terminal all that it prints is in `out`. When it has ended `status` is
    what a shell shows, 128 + the signal that ended it."""

    def __init__(self, command, terminal=False, stdin=subprocess.DEVNULL, env=None):
        self.command, self.status, self.terminal, self.printed = command, None, None, b""
        self.mark = f"{os.getpid()}-{next(_marks)}-{time.time_ns()}"
        self.files = [tempfile.TemporaryFile("ab+"), tempfile.TemporaryFile("ab+")]
        env, streams, setup = surroundings(self.mark, env or {}), (stdin, *self.files), end_with_parent
        if terminal:
            self.terminal, end = pty.openpty()
            fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
            os.set_blocking(self.terminal, False)
            env["TERM"] = "xterm"
            streams, setup = (end, end, end), take_terminal
        self.process = subprocess.Popen(command, shell=isinstance(command, str), env=env, preexec_fn=setup,
                                        stdin=streams[0], stdout=streams[1], stderr=streams[2])
        self.pid = self.process.pid
        if terminal:
            os.close(end)

    def __repr__(self):
        return f"{self.command}: status {self.status}\n--- stdout\n{self.out}\n--- stderr\n{self.err}\n---"

    @property
    def out(self):
        if self.terminal is not None:
            with contextlib.suppress(OSError):
                while text := os.read(self.terminal, 65536):
                    self.printed += text
        return (self.printed or self.read(0)).decode(errors="replace")

    @property
    def err(self):
        return self.read(1).decode(errors="replace")

    def read(self, which):
        return os.pread(self.files[which].fileno(), 1 << 24, 0)

    def await_text(self, text, times=1, stream="out"):
        """Until it has printed that text, so many times."""
        def printed():
            return getattr(self, stream).count(text) >= times
        wait_until(lambda: printed() or self.process.poll() is not None, self)
        assert printed(), f"{text!r} was not printed {times} times: {self}"

    def send(self, number):
        self.process.send_signal(number)

    def type(self, text):
        os.write(self.terminal, text.encode())

    def hang_up(self):
        """Closes its terminal."""
        os.close(self.terminal)
        self.terminal = None

    def wait(self):
        """Its status; all that was printed is there then."""
        # A terminal takes no more than somebody reads.
        wait_until(lambda: self.out is not None and self.process.poll() is not None,
                   lambda: f"the command does not end: {self}")
        code = self.process.returncode
        self.status = code if code >= 0 else 128 - code
        return self.status

    def marked(self):
        """Those who have its mark: their pids. Of one that has ended the environment is empty."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
                if f"LOCUS_TEST_MARK={self.mark}".encode() in file.read():
                    found.append(int(pid))
        return found

    def left(self, seconds=0.0):
        """How many of them are alive, after a moment to end, if need be."""
        deadline = time.monotonic() + seconds
        while (count := len(self.marked())) and time.monotonic() < deadline:
            time.sleep(.02)
        return count

    def close(self):
        """Kills all that is left of it."""
        while self.process.poll() is None or self.marked():
            for pid in self.marked() + [self.pid] * (self.process.returncode is None):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(.002)
        for file in filter(None, (*self.files, self.process.stdin)):
            with contextlib.suppress(OSError):
                file.close()
        if self.terminal is not None:
            self.hang_up()


_libc = ctypes.CDLL(None)


def end_with_parent():
    _libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def take_terminal():
    end_with_parent()
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def wait_until(holds, message, pause=.005):
    deadline = time.monotonic() + HANG_S
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(message() if callable(message) else message)
        time.sleep(pause)


class TestCase(unittest.TestCase):
    limit_s = 240
    maxDiff = None
    under_sanitizers = True

    @classmethod
    def setUpClass(cls):
        if IS_SANITIZED and not cls.under_sanitizers:
            raise unittest.SkipTest("one thread, and mostly time-outs")

    def start(self, command, **more):
        started = Started(command, **more)
        self.addCleanup(started.close)
        return started

    def run_command(self, command, status=None, **more):
        """Runs it to its end, with that status if it is told."""
        ended = self.start(command, **more)
        ended.wait()
        if status is not None:
            self.assertEqual(ended.status, status, ended)
        return ended

    def must(self, command, **more):
        """What it prints on stdout; its status is 0."""
        return self.run_command(command, 0, **more).out

    def can(self, command, **more):
        return self.run_command(command, **more).status == 0

    def refuses(self, command, status, part, **more):
        """Nothing on stdout, and a sentence with `part`."""
        ended = self.run_command(command, status, **more)
        self.assertIn(part, ended.err, command)
        self.assertEqual(ended.out, "", command)

    def refuses_all(self, begin, cases):
        """Each (arguments, status, part), behind the words that all begin with."""
        for arguments, status, part in cases:
            with self.subTest(arguments=arguments):
                self.refuses(f"{begin} {arguments}", status, part)

    def contains(self, text, *parts):
        for part in parts:
            self.assertIn(part, text)

    def folder(self, disk=False):
        """A new one, in memory if there is room: a busy disk takes seconds to sync each checkpoint."""
        has_room = os.access("/dev/shm", os.W_OK) and shutil.disk_usage("/dev/shm").free >> 20 >= 256
        temporary = tempfile.TemporaryDirectory(prefix="locus-test-", dir="/dev/shm" if has_room and not disk else None)
        self.addCleanup(temporary.cleanup)
        return temporary.name


# ---- ports ----

_kept_ports = []


def reserve(port):
    """By a name that one process has at a time, as test/common/port.c does; and by nobody else than tests."""
    name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    probe = socket.socket()
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        name.bind(f"\0locus-test-port-{port}")
        probe.bind(("127.0.0.1", port))
        _kept_ports.append(name)
        return True
    except OSError:
        name.close()
        return False
    finally:
        probe.close()


def free_port(count=1):
    """The first of so many in a row of loopback that nobody has, below those that the kernel deals out."""
    while True:
        first = random.randrange(10000, 32000 - count)
        if all(reserve(port) for port in range(first, first + count)):
            return first


# ---- clusters ----

def with_library():
    """The variables of a Python program that loads the library of this build."""
    env = {"PYTHONPATH": str(ROOT / "python"), "LOCUS_LIBRARY": str(BUILD / "lib" / "liblocus.so")}
    for kind, name in (("address", "asan"), ("thread", "tsan")):
        if BUILD.name.endswith(kind):
            found = subprocess.check_output(["gcc", f"-print-file-name=lib{name}.so"], text=True)
            env.update(LD_PRELOAD=found.strip(), ASAN_OPTIONS="detect_leaks=0")
    return env


# ---- data of the training programs ----

def write_data(folder):
    """`graph` (for kge: "next_k" leads from each of 60 entities of a circle to the k-th behind it; a sixth of the facts
    is held back, and follows from the others), `text` (wv), `ratings` (mf) and `clicks` (ctr, LIBSVM)."""
    folder = Path(folder)
    (folder / "graph").mkdir()
    parts = {"train.txt": [], "valid.txt": [], "test.txt": []}
    for e in range(60):
        for k in range(1, 7):
            part = {0: "valid.txt", 6: "test.txt"}.get((e * 7 + k * 5) % 12, "train.txt")
            parts[part].append(f"entity {e}\tnext_{k}\tentity {(e + k) % 60}\n")
    for name, lines in parts.items():
        (folder / "graph" / name).write_text("".join(lines))
    (folder / "text").write_text("".join(
        " ".join(f"w{(i * 7 + j * (1 + i % 3)) % 50}" for j in range(12)) + " \n" for i in range(400)))
    (folder / "ratings").write_text("".join(
        f"{i + 1}\t{j + 1}\t{1 + i * j % 5}\n" for i in range(40) for j in range(i % 3, 40, 3)))
    (folder / "clicks").write_text("".join(
        f"{int(i % 7 % 3 == 0)} {1 + i % 7}:1 {10 + i % 11}:1 {30 + i % 5}:0.5\n" for i in range(400)))
