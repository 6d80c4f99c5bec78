"""The examples of python/examples train, are short, and the two recommenders differ by ten lines at most."""
import difflib
import re
import sys
import unittest

from support import BIN, ROOT, finish, passes

try:
    import torch  # noqa: F401
except ImportError:
    raise unittest.SkipTest("there is no torch here (python3-torch)")

EXAMPLES = ROOT / "python" / "examples"
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--redirects", "1", "--tee", "1",
            "--nproc_per_node", "2"]


class Examples(unittest.TestCase):
    def figures(self, name, *before, epochs=1):
        """The last word of each line that an example prints."""
        said = passes(self, finish([*before, *([] if "torch.distributed.run" in before else [sys.executable]),
                                    str(EXAMPLES / name), str(epochs)]))
        figures = [float(figure) for figure in re.findall(r"epoch \d+ .* ([0-9.]+)$", said, re.M)]
        self.assertTrue(figures, said)
        return figures

    def test_recommenders_agree(self):
        alone = self.figures("recommender_torch.py")[-1]
        self.assertLess(alone, 0.4)  # 0.5 with nothing learnt
        self.assertAlmostEqual(self.figures("recommender.py")[-1], alone, delta=0.05)  # each shuffles and begins anew

    def test_recommender_on_two_nodes(self):
        if not (BIN / "locus").exists():
            self.skipTest("the command is not built: make")
        self.assertLess(self.figures("recommender.py", str(BIN / "locus"), "run", "-n", "2", "--")[-1], 0.4)

    def test_wide_and_deep_under_torchrun(self):
        self.assertGreater(self.figures("wide_and_deep.py", *TORCHRUN)[-1], 0.75)

    def test_word2vec(self):
        self.assertGreater(self.figures("word2vec.py")[-1], 0.9)  # 0.05 by chance

    def test_lengths(self):
        sources = {path.name: path.read_text().splitlines() for path in EXAMPLES.glob("*.py")}
        self.assertGreaterEqual(len(sources), 4)
        for name, lines in sources.items():
            self.assertLessEqual(len(lines), 80, name)
        code = [sources[name][sources[name].index("import sys"):] for name in ("recommender_torch.py", "recommender.py")]
        changed = [line for line in difflib.unified_diff(*code, n=0) if re.match(r"\+(?!\+\+)", line)]
        self.assertLessEqual(len(changed), 10, changed)
