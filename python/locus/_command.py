# SPDX-License-Identifier: Apache-2.0
"""What commands have in common: whatever ends one ends it with a sentence."""
import argparse
import os
import re
import sys
from typing import Any, Callable, Optional


class Problem(Exception):
    """A sentence for who called."""


class Once(argparse.Action):
    """Of an option that has one value nobody could know which of two counts."""
    is_given = False

    def __call__(self, of: argparse.ArgumentParser, told: argparse.Namespace, value: Any, name: Optional[str] = None) -> None:
        if name and self.is_given:
            of.error(f"{name} is given twice, and has one value: leave one out")
        self.is_given = True
        setattr(told, self.dest, value)


def parser(name: str, about: str, more: str, usage: Optional[str] = None,
           form: Any = argparse.RawDescriptionHelpFormatter) -> argparse.ArgumentParser:
    of = argparse.ArgumentParser(f"locus {name}", usage=usage, description=about, epilog=more, formatter_class=form)
    of.register("action", None, Once)
    return of


def count(text: str) -> int:
    number = int(text) if text.isdigit() else 0
    if not 1 <= number <= 1000000:
        raise argparse.ArgumentTypeError(f"{text} is no number from 1 to 1000000")
    return number


def keep_others(path: str, form: bytes, who: str, hint: str = "") -> None:
    """Nothing is lost that `who` has not written: a file that is there must begin in that form."""
    if os.path.isfile(path) and os.path.getsize(path):
        with open(path, "rb") as file:
            if not re.match(form, file.read(1 << 16), re.S):
                raise Problem(f"{path} is there, and {who} has not written it: {hint}name another, or remove this one")


def run(name: str, command: Callable[[Any], None], told: argparse.Namespace) -> int:
    """Returns the exit status."""
    try:
        command(told)
        sys.stdout.flush()
        return 0
    except ImportError as fault:
        if fault.name != "numpy":
            raise
        sentence = "NumPy is missing: apt install python3-numpy, or pip install numpy"
    except BrokenPipeError:  # who reads has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141
    except KeyboardInterrupt:
        return 130
    except OSError as fault:
        sentence = f"{fault.filename or 'stdout'}: {fault.strerror}" if fault.errno else str(fault)
    except Problem as fault:
        sentence = str(fault)
    print(f"locus {name}: {sentence}", file=sys.stderr)
    return 1
