"""The structs and calls of the binding are those of locus.h."""
import ast
import ctypes
import importlib.util
import re
import subprocess
import tempfile
import unittest
import warnings
from pathlib import Path

from locus import _c, node
from support import ROOT

HEADER = (ROOT / "include" / "locus.h").read_text()
STRUCTS = {"locus_rule": _c.CRule, "locus_table": _c.CTable, "locus_stats": _c.CStats, "locus_losses": _c.CLosses, "locus_histogram": _c.CHistogram,
           "locus_config": node.CConfig}
# Rows in place: pointers that end with a section, and a function that is called while others wait for the row, are
# nothing for Python; and prefetching a row pays only for those. A node knows what it was opened with.
NOT_BOUND = {"locus_" + name for name in (
    "read_begin", "read_end", "view", "change_local", "step_local", "prefetch", "technique_of", "table_first",
    "checkpoint", "restore", "distribution_seed_worker", "read_rows", "feed_open", "feed_next", "feed_close")}


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
        said = run_probe({name: [field for field, _ in made._fields_] for name, made in STRUCTS.items()})
        ours = []
        for name, made in STRUCTS.items():
            ours.append(f"{name} {ctypes.sizeof(made)}")
            for field, _ in made._fields_:
                place = getattr(made, field)
                ours.append(f"{name}.{field} {place.offset} {place.size}")
        self.assertEqual(ours, [line for line in said if line])

    def test_every_call_of_the_header_is_bound_or_named(self):
        declared = set(re.findall(r"^LOCUS_API .*?\b(locus_[a-z_]+)\(", HEADER, re.M))
        self.assertGreater(len(declared), 40)
        self.assertEqual(declared, {*_c._BLOCKING, *_c._QUICK, *NOT_BOUND})

    def test_calls_are_declared_in_the_library_they_are_made_of(self):
        for path in (ROOT / "python" / "locus").rglob("*.py"):
            for library, call in re.findall(r"_(lib|quick)\.(locus_\w+)", path.read_text()):
                self.assertIn(call, _c._BLOCKING if library == "lib" else _c._QUICK, path)

    def test_enums_are_in_the_order_of_the_header(self):
        for kind, names in (("technique", _c.TECHNIQUES), ("conformity", _c.CONFORMITIES), ("histogram_kind", _c.HISTOGRAMS),
                            ("optimizer", ("no_optimizer",) + _c.OPTIMIZERS[1:]), ("element", _c.ELEMENTS)):
            body = re.search(r"enum locus_" + kind + r" \{(.*?)\n\}", HEADER, re.S).group(1)
            body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
            listed = [name.lower() for name in re.findall(r"LOCUS_([A-Z0-9_]+)", body)]
            self.assertEqual(listed, list(names))

    def test_limits_are_those_of_the_header(self):
        self.assertIn(f"LOCUS_HISTOGRAM_BUCKETS = {_c.HISTOGRAM_BUCKETS} ", HEADER)
        self.assertIn("LOCUS_LENGTH_MAX (UINT32_C(1) << 20)", HEADER)
        private = (ROOT / "src" / "worker" / "operation.h").read_text()
        self.assertIn(f"OPERATIONS_MAX = {_c.OPERATIONS_MAX},", private)


# What locus.torch uses of torch; the whole of it takes mypy most of a minute.
MYPY = """[mypy]
strict = True
[mypy-torch.*]
follow_imports = skip
[mypy-torch,torch._C,torch._C._VariableFunctions,torch._tensor,torch.functional,torch.nn,torch.nn.functional]
follow_imports = silent
[mypy-torch.nn.modules,torch.nn.modules.module,torch.types,torch.autograd,torch.autograd.grad_mode,torch.autograd.function,torch.random,torch.cuda,torch.cuda.streams]
follow_imports = silent
"""


class Types(unittest.TestCase):
    def setUp(self):
        if not Path("/usr/bin/mypy").exists():
            self.skipTest("there is no mypy here")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "mypy.ini").write_text(MYPY)

    def mypy(self, *what):
        return subprocess.run(["/usr/bin/mypy", "--config-file", str(self.folder / "mypy.ini"), "--cache-dir",
                               str(self.folder / "cache"), *what], cwd=ROOT / "python", stdout=subprocess.PIPE, text=True)

    def test_mypy_finds_nothing(self):
        said = self.mypy("locus")
        self.assertEqual(said.returncode, 0, said.stdout)
        if not importlib.util.find_spec("torch"):
            return
        wrong = self.folder / "wrong.py"
        wrong.write_text("import torch\nimport locus.torch\n\n\ndef f(a: torch.Tensor) -> int:\n"
                         "    locus.torch.Adam(3, lr='a')\n    a.no_such_call()\n    return torch.nn.Module()\n")
        self.assertIn("Found 3 errors", self.mypy("locus", str(wrong)).stdout)


def sources():
    return [path for folder in ("python", "test/python", "test/programs", "lab/python")
            for path in sorted((ROOT / folder).rglob("*.py"))]


class Syntax(unittest.TestCase):
    def test_sources_are_of_python_3_9(self):
        self.assertGreater(len(sources()), 20)
        for path in sources():
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # an escape that is none, a comparison by `is` with a number
                compile(path.read_text(), str(path), "exec", dont_inherit=True)
            ast.parse(path.read_text(), str(path), feature_version=(3, 9))
            self.assertEqual(newer_than_3_9(path.read_text()), [], path)
        self.assertRaises(SyntaxError, ast.parse, "match x:\n    case 1: pass\n", feature_version=(3, 9))
        self.assertCountEqual(newer_than_3_9("def f(a: int | None, b: 'X | Y'):\n    zip(a, strict=True)\nimport tomllib"),
                              ["int | None", "X | Y", "zip(strict=)", "tomllib"])


def newer_than_3_9(source):
    """What parses and yet needs a later Python: unions of types by |, and what the standard library has since."""
    found = []
    for node in ast.walk(ast.parse(source)):
        for hint in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(hint, ast.Constant) and isinstance(hint.value, str):
                hint = ast.parse(hint.value, mode="eval").body
            if hint is not None:
                found += [ast.unparse(part) for part in ast.walk(hint)
                          if isinstance(part, ast.BinOp) and isinstance(part.op, ast.BitOr)]
        if isinstance(node, ast.Call):
            name, options = getattr(node.func, "id", ""), {option.arg for option in node.keywords}
            found += [f"{name}({option}=)" for where, option in (("zip", "strict"), ("dataclass", "slots"))
                      if where == name and option in options]
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names]
            found += [name for name in names if name in ("tomllib",)]
    return found
