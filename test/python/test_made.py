"""lab/made.py: data as large as asked for, the same for a seed, in the one form that a program reads."""
import re
import sys
import tempfile
import unittest
from pathlib import Path

from support import ROOT

sys.path.append(str(ROOT / "lab"))
import made  # noqa: E402

NAME, NUMBER = "[^\\t\\n]+", r"-?\d+(\.\d+)?(e-?\d+)?"
# Sizes, each file with its lines and their form, and options that make others.
CASES = {
    "kge": [("400x8x4000", {"train.txt": 3758, "valid.txt": 121, "test.txt": 121}),
            ("100x3x3000", {"train.txt": 2820, "valid.txt": 90, "test.txt": 90})],  # most draws are in vain
    "mf": [("300x100x8000", {"": 8000}), ("20x10x100", {"": 100})],
    "ctr": [("6x100x3000", {"": 3000})],
    "gnn": [("400x12x4", {"edges.txt": 2400, "labels.txt": 400})],
    "lda": [("30x36x60x12", {"": 30})],
    "lasso": [("20x30x9", {"": 20})],
}
FORMS = {
    "kge": r"t\d+\.g[0-3]\.e\d+\tr\d+\tt\d+\.g[0-3]\.e\d+", "mf": rf"\d+\t\d+\t{NUMBER}", "ctr": r"[01]( \d+:\d+:1){6}",
    "gnn": r"\d+\t\d+", "lda": r"\d+( \d+:\d+)+", "lasso": rf"{NUMBER}( [1-9]\d*:{NUMBER})*",
}


class Made(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def make(self, program, sizes, name, seed=1):
        path = self.folder / name
        made.make(program, sizes, path, seed)
        return {part: (path / part).read_text() for part in CASES[program][0][1]}

    def test_is_as_large_as_asked_for_and_of_the_seed(self):
        for program, cases in CASES.items():
            for sizes, files in cases:
                with self.subTest(program=program, sizes=sizes):
                    texts = self.make(program, sizes, f"{program}-{sizes}")
                    for part, count in files.items():
                        lines = texts[part].splitlines()
                        self.assertEqual(len(lines), count, part)
                        for line in lines:
                            self.assertRegex(line, rf"\A{FORMS[program]}\Z")
                    self.assertEqual(texts, self.make(program, sizes, f"{program}-{sizes}-again"))
                    self.assertNotEqual(texts, self.make(program, sizes, f"{program}-{sizes}-other", 2))

    def test_cells_and_facts_are_different(self):
        for program, columns in ("kge", 3), ("mf", 2):
            for sizes, _ in CASES[program]:
                texts = self.make(program, sizes, f"{program}-{sizes}")
                lines = [tuple(line.split("\t")[:columns]) for text in texts.values() for line in text.splitlines()]
                self.assertEqual(len(set(lines)), len(lines), program)

    def test_tokens_values_and_fields_are_as_many(self):
        for line in self.make("lda", "30x36x60x12", "lda")[""].splitlines():
            self.assertEqual(sum(int(pair.split(":")[1]) for pair in line.split()[1:]), 60)
        values = [pair.split(":")[0] for line in self.make("lasso", "20x30x9", "lasso")[""].splitlines()
                  for pair in line.split()[1:]]
        self.assertEqual({values.count(str(column)) for column in range(1, 31)}, {9})
        fields = {}
        for pair in re.findall(r" (\d+):(\d+):", self.make("ctr", "6x100x3000", "ctr")[""]):
            fields.setdefault(pair[1], set()).add(pair[0])
        self.assertTrue(all(len(of) == 1 for of in fields.values()))  # a feature is of one field

    def test_what_cannot_be_made_is_refused(self):
        (self.folder / "there").write_text("mine")
        for program, sizes, part in (("mf", "10x10", "takes 3 sizes"), ("mf", "-10x10x10", "takes 3 sizes"),
                                     ("mf", "10x10x51", "51 must be from 1 to 50"), ("kge", "79x5x1000", "from 80 to"),
                                     ("kge", "100x5x5001", "from 100 to 5000"), ("gnn", "10x2x2", "from 2 to 1")):
            with self.assertRaises(SystemExit) as refused:
                made.make(program, sizes, self.folder / "no")
            self.assertIn(part, str(refused.exception))
        with self.assertRaises(SystemExit):
            made.make("mf", "10x10x10", self.folder / "there")
        self.assertEqual((self.folder / "there").read_text(), "mine")
