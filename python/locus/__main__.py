# SPDX-License-Identifier: Apache-2.0
"""The command locus: `python -m locus run -n 2 script.py`, and the trainers by their own names: `locus-mf`. A wheel of
`make wheel` carries them; else the command is looked for."""
import os
import pathlib
import shutil
import sys
from typing import List


def _program(name: str) -> str:
    carried = pathlib.Path(__file__).resolve().parent / "bin" / name
    found = str(carried) if carried.exists() else shutil.which(name)
    if not found:
        sys.exit("locus: the command is not in this package and not in PATH: install a wheel of `make wheel`, or put the "
                 "bin of `make install` into PATH")
    return found


def _with_interpreter(arguments: List[str]) -> List[str]:
    """A script of Python is run by this Python, unless told by which."""
    for at, each in enumerate(arguments):
        if each.endswith(".py"):
            told = at > 0 and os.path.basename(arguments[at - 1]).startswith("python")
            return arguments if told else arguments[:at] + [sys.executable] + arguments[at:]
        if each == "--" and at + 1 < len(arguments) and not arguments[at + 1].endswith(".py"):
            break
    return arguments


def main() -> None:
    at, name = os.path.split(os.path.abspath(sys.argv[0]))
    name, arguments = name if name.startswith("locus") else "locus", sys.argv[1:]
    # Commands in Python lie beside this one, or beside the interpreter: `locus prepare` finds them there.
    os.environ["PATH"] = os.pathsep.join((os.environ.get("PATH", os.defpath), at, os.path.dirname(sys.executable)))
    os.execv(_program(name), [name] + (_with_interpreter(arguments) if arguments[:1] == ["run"] else arguments))


if __name__ == "__main__":
    main()
