"""The structs and calls of the binding are those of locus.h."""
import ctypes
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from locus import _c
from support import ROOT

HEADER = (ROOT / "include" / "locus.h").read_text()


def probe_of(structs):
    """A C program that prints the size of each struct, and of each field its offset and size."""
    lines = []
    for name, fields in structs.items():
        lines.append(f'printf("{name} %zu\\n", sizeof(struct {name}));')
        for field in fields:
            lines.append(f'printf("{name}.{field} %zu %zu\\n", offsetof(struct {name}, {field}), '
                         f'sizeof(((struct {name} *)0)->{field}));')
    return "#include <locus.h>\n#include <stdio.h>\nint main(void) {\n" + "\n".join(lines) + "\nreturn 0; }\n"


def run_probe(structs):
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "probe.c", Path(folder) / "probe"
        source.write_text(probe_of(structs))
        subprocess.run(["gcc", "-I", str(ROOT / "include"), str(source), "-o", str(program)], check=True)
        return subprocess.run([str(program)], check=True, stdout=subprocess.PIPE, text=True).stdout.split("\n")


class Structs(unittest.TestCase):
    def test_layouts_are_those_of_the_compiler(self):
        said = run_probe({name: [field for field, _ in made._fields_] for name, made in _c.STRUCTS.items()})
        ours = []
        for name, made in _c.STRUCTS.items():
            ours.append(f"{name} {ctypes.sizeof(made)}")
            for field, _ in made._fields_:
                place = getattr(made, field)
                ours.append(f"{name}.{field} {place.offset} {place.size}")
        self.assertEqual(ours, [line for line in said if line])

    def test_every_call_of_the_header_is_bound_or_named(self):
        declared = set(re.findall(r"^LOCUS_API .*?\b(locus_[a-z_]+)\(", HEADER, re.M))
        self.assertGreater(len(declared), 40)
        self.assertEqual(declared, _c.BOUND | _c.NOT_BOUND)

    def test_enums_are_in_the_order_of_the_header(self):
        for kind, names in (("technique", _c.TECHNIQUES), ("conformity", _c.CONFORMITIES),
                            ("histogram_kind", _c.HISTOGRAMS)):
            body = re.search(r"enum locus_" + kind + r" \{(.*?)\n\}", HEADER, re.S).group(1)
            body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
            listed = [name.lower() for name in re.findall(r"LOCUS_([A-Z_]+)", body)]
            self.assertEqual(listed, list(names))

    def test_limits_are_those_of_the_header(self):
        self.assertIn(f"LOCUS_HISTOGRAM_BUCKETS = {_c.HISTOGRAM_BUCKETS} ", HEADER)
        self.assertIn("LOCUS_LENGTH_MAX (UINT32_C(1) << 20)", HEADER)
        private = (ROOT / "src" / "operation.h").read_text()
        self.assertIn(f"OPERATIONS_MAX = {_c.OPERATIONS_MAX},", private)


class Types(unittest.TestCase):
    def test_mypy_finds_nothing(self):
        if not Path("/usr/bin/mypy").exists():
            self.skipTest("there is no mypy here")
        with tempfile.TemporaryDirectory() as cache:
            said = subprocess.run(["/usr/bin/mypy", "--strict", "--cache-dir", cache, "locus"], cwd=ROOT / "python",
                                  stdout=subprocess.PIPE, text=True)
        self.assertEqual(said.returncode, 0, said.stdout)
