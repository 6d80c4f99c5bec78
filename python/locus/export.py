# SPDX-License-Identifier: Apache-2.0
"""locus export: a model that a program saved, as other tools read it."""
import json
import os
import re
import sys
import zipfile
from typing import Any, List, Optional

from ._command import Problem, keep_others, parser, run

# How each begins; .npz with notes, by which others' archives differ.
FORMS = {".npz": rb"PK\x03\x04.{26}notes\.json", ".tsv": rb"[^\t\n]*(\t-?(\d[-+.\de]*|nan|inf))+\n", ".txt": rb"\d+ \d+\n",
         ".bin": rb"\d+ \d+\n"}
HELP = """The end of OUT's name says what it becomes:
  .npz   all tensors, as numpy.load() reads them; names of rows are bytes, a name a line; notes.json has the metadata
  .tsv   a row a line, its name before its numbers
  .txt   word2vec's text, .bin its binary format: blanks in names become _, and a name that comes again is numbered

examples:
  locus export factors.safetensors factors.npz
  locus export --tensor columns factors.safetensors movies.tsv
  locus export vectors.safetensors vectors.txt
"""


def write_rows(saved: Any, tensor: Optional[str], out: Any, kind: str) -> None:
    _, rows, names = saved.table(tensor)
    rows, taken = rows.reshape(len(rows), -1), set()
    mark = "\t" if kind == ".tsv" else " "
    form = (mark + mark.join(["%.17g" if rows.dtype.itemsize > 4 else "%.9g"] * rows.shape[1]) + "\n").encode()
    if kind != ".tsv":
        out.write(b"%d %d\n" % rows.shape)
    for i, row in enumerate(rows):
        name = names[i % len(names)]
        if kind != ".tsv":
            name = first = re.sub(rb"[ \t-\r]", b"_", name)
            number = 2
            while name in taken:
                name, number = b"%s_%d" % (first, number), number + 1
            taken.add(name)
        out.write(name + (b" " + row.astype("<f4").tobytes() + b"\n" if kind == ".bin" else form % tuple(row.tolist())))


def export(told: Any) -> None:
    import numpy as np

    from ._saved import Saved
    saved, kind, part = Saved(told.model), os.path.splitext(told.out)[1], f"{told.out}.{os.getpid()}.part"
    if kind not in FORMS:
        raise Problem(f"{told.out}: its name must end with .npz, .tsv, .txt or .bin")
    if told.tensor and kind == ".npz":
        raise Problem("--tensor has no effect with .npz, which has all")
    keep_others(told.out, FORMS[kind], "locus export")
    try:
        with open(part, "w+b") as out:
            if kind == ".npz":
                with zipfile.ZipFile(out, "w") as archive:
                    archive.writestr("notes.json", json.dumps(saved.notes))
                    for name, tensor in saved.tensors.items():
                        with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                            np.lib.format.write_array(file, np.asanyarray(tensor), allow_pickle=False)  # type: ignore[no-untyped-call]
            else:
                write_rows(saved, told.tensor, out, kind)
        os.replace(part, told.out)
    finally:
        if os.path.exists(part):
            os.unlink(part)


def main(words: Optional[List[str]] = None) -> int:
    of = parser("export", "Writes a model that a program saved (--out) as other tools read it.", HELP)
    of.add_argument("model", metavar="MODEL", help="a safetensors file")
    of.add_argument("out", metavar="OUT", help="the file to write: it appears when it is complete")
    of.add_argument("--tensor", metavar="NAME", help="the rows to write; without, the first that have names")
    return run("export", export, of.parse_args(words))


if __name__ == "__main__":
    sys.exit(main())
