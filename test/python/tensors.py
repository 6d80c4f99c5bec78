"""Reads a safetensors file with nothing but Python: tensors.py PATH. Prints each tensor's name, type, shape and a digest;
names of rows must be as many as the rows."""
import json
import math
import struct
import sys

BYTES = {"F32": 4, "F64": 8, "I64": 8, "U8": 1}
LETTERS = {"F32": "f", "F64": "d", "I64": "q"}


def check(condition, what):
    if not condition:
        sys.exit("tensors.py: " + what)


def read(path):
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


def main():
    notes, tensors = read(sys.argv[1])
    print(" ".join(f"{key}={value}" for key, value in sorted(notes.items()) if key != "data"))
    for name, (kind, shape, values) in tensors.items():
        if kind == "F32":
            check(all(math.isfinite(value) for value in values), f"{name} has a value that is no number")
            check(len(set(values)) > len(values) / 2, f"{name} repeats itself")
            print(name, kind, shape)
        else:
            names = values.decode("utf-8").split("\n")
            check(names.pop() == "", f"{name} does not end with a line")
            check(len(set(names)) == len(names), f"{name} has a name twice")
            print(name, kind, len(names), names[0])


if __name__ == "__main__":
    main()
