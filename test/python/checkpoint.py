"""Reads a checkpoint with Python and numpy, as docs/guides/checkpoints.md describes it: checkpoint.py CHECKPOINT TABLE OUT. Checks all that
is promised of the files, and writes the table's rows, dense, to OUT."""
import hashlib
import json
import pathlib
import sys

import numpy

TAIL = 83
BYTES = {"F32": 4, "I64": 8, "U8": 1}


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


def tensors_of(data, file):
    """name -> array, of a safetensors file, which has no holes."""
    length = int.from_bytes(data[:8], "little")
    check(8 + length == file["data_at"], "another length of the header")
    header = json.loads(bytes(data[8 : 8 + length]).decode("utf-8"))
    header.pop("__metadata__")
    body, tensors, end = data[8 + length :], {}, 0
    for name, about in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        first, last = about["data_offsets"]
        check(first == end, f"{name} begins at {first}, not at {end}")
        check(name.startswith("padding.") or (8 + length + first) % 64 == 0, f"{name} is not aligned")
        check(last - first == BYTES[about["dtype"]] * numpy.prod(about["shape"]), f"{name} has another size than its shape")
        kind = {"F32": "<f4", "I64": "<i8", "U8": "u1"}[about["dtype"]]
        tensors[name] = body[first:last].view(kind).reshape(about["shape"])
        end = last
    check(end == len(body), "bytes are left over")
    return tensors


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
        tensors = tensors_of(data, file)
        for section in file["sections"]:
            if section["table"] != number:
                continue
            keys = tensors[name + ".keys"]
            check(len(keys) == section["rows"], "another number of rows")
            check(section["rows_at"] % 64 == 0 and section["keys_at"] % 64 == 0, "a section that is not aligned")
            check((data[section["keys_at"] :][: 8 * len(keys)].view("<i8") == keys).all(), "keys lie elsewhere")
            rows[keys] = tensors[name + ".rows"]
            numpy.add.at(seen, keys, 1)
    check(seen.max(initial=0) <= 1, "a row is there twice")
    print(f"{name} {table['rows']} x {table['length']}, {int(seen.sum())} written")
    rows.tofile(sys.argv[3])


main()
