"""Reads a safetensors file, or NumPy's archive, with nothing but Python: its notes, and of each tensor by its name the type,
shape, and values."""
import ast
import json
import math
import struct
import zipfile

BYTES = {"F32": 4, "F64": 8, "I64": 8, "U8": 1, "BF16": 2}
LETTERS = {"F32": "f", "F64": "d", "I64": "q", "BF16": "h"}


def check(condition, what):
    assert condition, what


def read_npz(path):
    kinds = {"<f4": "F32", "<f8": "F64", "<i8": "I64", "|u1": "U8"}
    tensors = {}
    with zipfile.ZipFile(path) as archive:
        check(archive.testzip() is None, "a sum is wrong")
        for entry in archive.namelist():
            data = archive.read(entry)
            if entry == "notes.json":
                notes = json.loads(data)
                continue
            check(data[:8] == b"\x93NUMPY\x01\x00" and entry.endswith(".npy"), f"{entry} is no array")
            end = 10 + int.from_bytes(data[8:10], "little")
            about = ast.literal_eval(data[10:end].decode("ascii"))
            check(end % 64 == 0 and data[end - 1 : end] == b"\n" and not about["fortran_order"], f"{entry}'s header")
            kind, raw = kinds[about["descr"]], data[end:]
            check(len(raw) == BYTES[kind] * math.prod(about["shape"]), f"{entry} has another size than its shape")
            letter = LETTERS.get(kind)
            values = struct.unpack(f"<{len(raw) // BYTES[kind]}{letter}", raw) if letter else raw
            tensors[entry[:-4]] = (kind, list(about["shape"]), values)
    return notes, tensors


def read(path):
    if zipfile.is_zipfile(path):
        return read_npz(path)
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length].decode("utf-8"))
    notes = header.pop("__metadata__", {})
    check(all(isinstance(k, str) and isinstance(v, str) for k, v in notes.items()), "a note is no text")
    body, tensors, end = data[8 + length :], {}, 0
    for name, about in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        first, last = about["data_offsets"]
        check(first == end, f"{name} begins at {first}, not at {end}")
        check(last - first == BYTES[about["dtype"]] * math.prod(about["shape"]), f"{name} has another size than its shape")
        raw, end = body[first:last], last
        letter = LETTERS.get(about["dtype"])
        values = struct.unpack(f"<{len(raw) // BYTES[about['dtype']]}{letter}", raw) if letter else raw
        tensors[name] = (about["dtype"], about["shape"], values)
    check(end == len(body), f"{len(body) - end} bytes are left over")
    return notes, tensors
