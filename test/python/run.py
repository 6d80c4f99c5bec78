"""Runs the tests of the Python package: run.py [test module or module.class.test...]

Prints a line a test and, last, "N passed, M failed, K skipped"."""
import os
import sys
import time
import unittest
from pathlib import Path

# Two cores for several processes: threads of torch would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "python")]


class Result(unittest.TextTestResult):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.passed = 0
        self.started = 0.0

    def startTest(self, test):
        super().startTest(test)
        self.started = time.monotonic()

    def say(self, word, test, reason=""):
        name = test.id() if hasattr(test, "id") else str(test)
        print(f"{word} {name}{reason} ({time.monotonic() - self.started:.1f} s)" if word == "ok     "
              else f"{word} {name}{reason}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1
        self.say("ok     ", test)

    def addFailure(self, test, fault):
        super().addFailure(test, fault)
        print(self.failures[-1][1])
        self.say("failed:", test)

    def addError(self, test, fault):
        super().addError(test, fault)
        print(self.errors[-1][1])
        self.say("failed:", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.say("skipped:", test, f": {reason}")


def main():
    loader = unittest.defaultTestLoader
    names = sys.argv[1:]
    suite = loader.loadTestsFromNames(names) if names else loader.discover(str(HERE), "test_*.py")
    result = unittest.TextTestRunner(resultclass=Result, verbosity=0, stream=sys.stdout).run(suite)
    failed = len(result.failures) + len(result.errors)
    print(f"{result.passed} passed, {failed} failed, {len(result.skipped)} skipped")
    return 1 if failed or result.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
