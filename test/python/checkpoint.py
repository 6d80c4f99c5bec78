"""Reads a checkpoint with Python and numpy, as docs/guides/checkpoints.md describes it: checkpoint.py CHECKPOINT TABLE OUT. Checks all that
is promised of the files, and writes the table's rows, dense, to OUT."""
import hashlib
import json
import pathlib
import sys

import numpy

import tensors

TAIL = 83


def check(condition, what):
    if not condition:
        sys.exit("checkpoint.py: " + what)


def digest(data):
    return hashlib.blake2b(data, digest_size=32).hexdigest()


def manifest_of(folder):
    text = (folder / "manifest.json").read_bytes()
    manifest = json.loads(text.decode("utf-8"))
    check(text[-TAIL:].decode() == ',\n "blake2b": "' + manifest["blake2b"] + '"\n}\n', "another end of the manifest")
    check(digest(text[:-TAIL]) == manifest["blake2b"], "the manifest has another digest")
    check(manifest["format"] == "locus checkpoint" and manifest["version"] == 1, "another format")
    return manifest


def main():
    folder, name = pathlib.Path(sys.argv[1]), sys.argv[2]
    manifest = manifest_of(folder)
    number, table = next((i, t) for i, t in enumerate(manifest["tables"]) if t["name"] == name)
    rows = numpy.zeros((table["rows"], table["length"]), "<f4")
    seen = numpy.zeros(table["rows"], "u1")
    for file in manifest["files"]:
        data = numpy.fromfile(folder / file["name"], "u1")
        check(len(data) == file["bytes"], "another length of a file")
        check(digest(data[: file["data_at"]]) == file["header_blake2b"], "another digest of a header")
        check(digest(data[file["data_at"] :]) == file["data_blake2b"], "another digest of data")
        _, found = tensors.parse(data)
        check(8 + int.from_bytes(data[:8], "little") == file["data_at"], "another length of the header")
        for part, (at, _) in found.items():
            check(part.startswith("padding.") or at % 64 == 0, f"{part} is not aligned")
        for section in file["sections"]:
            if section["table"] != number:
                continue
            keys = found[name + ".keys"][1]
            check(len(keys) == section["rows"], "another number of rows")
            check(section["rows_at"] % 64 == 0 and section["keys_at"] % 64 == 0, "a section that is not aligned")
            check((data[section["keys_at"] :][: 8 * len(keys)].view("<i8") == keys).all(), "keys lie elsewhere")
            rows[keys] = found[name + ".rows"][1]
            numpy.add.at(seen, keys, 1)
    check(seen.max(initial=0) <= 1, "a row is there twice")
    print(f"{name} {table['rows']} x {table['length']}, {int(seen.sum())} written")
    rows.tofile(sys.argv[3])


main()
