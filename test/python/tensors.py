"""Reads a safetensors file: its notes, and by its name the array of each tensor (of bf16 its bits)."""
import json
import math
import unittest

try:
    import numpy
except ImportError:
    raise unittest.SkipTest("there is no numpy here (python3-numpy)")

KINDS = {"F32": "<f4", "F64": "<f8", "I64": "<i8", "U8": "u1", "BF16": "<i2"}


def parse(data):
    """Of the bytes of a safetensors file: its notes, and of each tensor, by its name, where it begins and its array."""
    begin = 8 + int.from_bytes(data[:8], "little")
    header, found, end = json.loads(bytes(data[8:begin]).decode("utf-8")), {}, begin
    notes = header.pop("__metadata__", {})
    assert all(isinstance(k, str) and isinstance(v, str) for k, v in notes.items()), "a note is no text"
    for name, about in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        first, last = (begin + offset for offset in about["data_offsets"])
        kind, count = numpy.dtype(KINDS[about["dtype"]]), math.prod(about["shape"])
        assert first == end, f"{name} begins at {first}, not at {end}"
        assert last - first == kind.itemsize * count, f"{name} has another size than its shape"
        found[name], end = (first, numpy.frombuffer(data, kind, count, first).reshape(about["shape"])), last
    assert end == len(data), f"{len(data) - end} bytes are left over"
    return notes, found


def read(path):
    with open(path, "rb") as file:
        notes, found = parse(file.read())
    return notes, {name: array for name, (_, array) in found.items()}
