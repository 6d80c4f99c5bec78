"""Runs tests in Python: run.py [--folder FOLDER] [--at-once N] [text...]

The folder is this one unless told; a text is part of a test's name, module.class.test. With N above 1 that many classes
of tests run at once, each in a process of its own, and its output comes in one piece. Prints a line a test and, last,
"N passed, M failed, K skipped". That no test has passed is a failure."""
import argparse
import concurrent.futures
import faulthandler
import itertools
import os
import re
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

# Two cores for several processes: threads of torch would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
HERE = Path(__file__).resolve().parent
LIMIT_S = 1200  # of a test, unless its class has another `limit_s`
SUM = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped\n?\Z", re.MULTILINE)


class TimeLimit(Exception):
    pass


def on_alarm(*_):
    raise TimeLimit("the test's time is over")


class Result(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.passed = 0
        self.started = 0.0

    def startTest(self, test):
        super().startTest(test)
        self.started = time.monotonic()
        limit = getattr(test, "limit_s", LIMIT_S)
        signal.alarm(limit)  # what the test has started is ended by its cleanups,
        faulthandler.dump_traceback_later(limit + 60, exit=True)  # which may not end, either

    def stopTest(self, test):
        signal.alarm(0)
        faulthandler.cancel_dump_traceback_later()
        super().stopTest(test)

    def say(self, word, test, more=""):
        print(f"{word:7} {test.id()}{more}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1
        self.say("ok", test, f" ({time.monotonic() - self.started:.1f} s)")

    def say_failed(self, test, faults):
        print(faults[-1][1])
        self.say("failed:", test)

    def addFailure(self, test, fault):
        super().addFailure(test, fault)
        self.say_failed(test, self.failures)

    def addError(self, test, fault):
        super().addError(test, fault)
        self.say_failed(test, self.errors)

    def addSubTest(self, test, subtest, fault):
        super().addSubTest(test, subtest, fault)
        if fault:
            self.say_failed(subtest, self.failures if issubclass(fault[0], test.failureException) else self.errors)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.say("skipped:", test, f": {reason}")


def flat(suite):
    for test in suite:
        yield from flat(test) if isinstance(test, unittest.TestSuite) else [test]


def load(module):
    """Its tests, or one that is skipped where the module misses something."""
    try:
        return unittest.defaultTestLoader.loadTestsFromName(module)
    except unittest.SkipTest as reason:
        class Module(unittest.TestCase):
            @unittest.skip(str(reason))
            def test(self):
                pass
        Module.__module__, Module.__qualname__ = module, "Module"
        return unittest.TestSuite([Module("test")])


def chosen(folder, texts):
    """The tests whose names have one of the texts; only modules that are named are loaded, where all texts name one."""
    modules = sorted(path.stem for path in folder.glob("test_*.py"))
    named = {text.split(".")[0] for text in texts}
    tests = list(flat(map(load, sorted(named) if texts and named <= set(modules) else modules)))
    for text in texts:
        if not any(has(test, text) for test in tests):
            print(f"failed: no test is called {text}\n0 passed, 1 failed, 0 skipped")
            sys.exit(1)
    return [test for test in tests if not texts or any(has(test, text) for text in texts)]


def has(test, text):
    return text in test.id() + "." or "_FailedTest" in test.id()  # a module that cannot be loaded


def run_here(tests):
    # Who starts the tests may ignore these, and what they start inherits it.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGALRM, on_alarm)
    result = Result()
    unittest.TestSuite(tests).run(result)
    return result.passed, len(result.failures) + len(result.errors), len(result.skipped)


def run_apart(folder, tests):
    """The tests of a class. One that ends without its sum has failed once more than it says."""
    command = [sys.executable, __file__, "--folder", str(folder), *(test.id() + "." for test in tests)]
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                           text=True, errors="replace")
    closing = SUM.search(ended.stdout)
    if closing:
        print(ended.stdout[:closing.start()], end="", flush=True)
        return tuple(map(int, closing.groups()))
    print(f"{ended.stdout}\nfailed: {type(tests[0]).__qualname__} ended with status {ended.returncode}", flush=True)
    count = [len(re.findall(f"^{word}", ended.stdout, re.MULTILINE)) for word in ("ok  ", "failed:", "skipped:")]
    return count[0], count[1] + 1, count[2]


def run_beside(folder, tests, at_once):
    """The largest classes begin."""
    classes = [list(group) for _, group in itertools.groupby(tests, type)]
    if len(classes) == 1 or any("_FailedTest" in test.id() for test in tests):
        return run_here(tests)
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        sums = list(pool.map(lambda some: run_apart(folder, some), sorted(classes, key=len, reverse=True)))
    return tuple(map(sum, zip(*sums)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=HERE)
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("text", nargs="*")
    told = parser.parse_args()
    folder = told.folder.resolve()
    sys.path[:0] = [str(folder), str(HERE.parents[1] / "python")]
    tests = chosen(folder, told.text)
    passed, failed, skipped = run_beside(folder, tests, told.at_once) if told.at_once > 1 and tests else run_here(tests)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
