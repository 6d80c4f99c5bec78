"""The examples of python/examples train, and are short."""
import re
import sys
import unittest

from support import BIN, ROOT, finish, free_port, passes

try:
    import torch  # noqa: F401
except ImportError:
    raise unittest.SkipTest("there is no torch here (python3-torch)")

EXAMPLES = ROOT / "python" / "examples"
# As the example itself has it, on a free port.
OPTIONS = re.search(r"^    torchrun (.*) wide_and_deep.py ", (EXAMPLES / "wide_and_deep.py").read_text(), re.M)
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--rdzv_backend", "c10d", *OPTIONS.group(1).split()]


class Examples(unittest.TestCase):
    def figures(self, name, *before, epochs=1):
        """The figures that an example prints; those of two nodes may share a line."""
        said = passes(self, finish([*before, *([] if "torch.distributed.run" in before else [sys.executable]),
                                    str(EXAMPLES / name), str(epochs)]))
        figures = [float(figure) for figure in re.findall(r"epoch \d+ [a-z ]+(\d+\.\d{4})", said)]
        self.assertTrue(figures, said)
        return figures

    # Seeded, so that what one process prints is always the same; of several, the order of their steps differs.
    def test_recommender(self):
        self.assertAlmostEqual(self.figures("recommender.py")[-1], 0.3263, delta=0.01)  # 0.3181 of torch's; 0.5 with nothing learnt

    def test_recommender_on_two_nodes(self):
        if not (BIN / "locus").exists():
            self.skipTest("the command is not built: make")
        each = self.figures("recommender.py", str(BIN / "locus"), "run", "-n", "2", "--")
        self.assertEqual(len(each), 2)
        self.assertAlmostEqual(each[0], each[1], delta=0.0002)  # they see the same rows
        self.assertAlmostEqual(each[0], 0.32, delta=0.05)  # 0.43 with half of each update, 0.5 with nothing learnt

    def test_wide_and_deep_under_torchrun(self):
        self.assertGreater(self.figures("wide_and_deep.py", *TORCHRUN, "--rdzv_endpoint", f"localhost:{free_port()}")[-1], 0.77)  # 0.82 of one; 0.76 by weights alone

    def test_word2vec(self):
        self.assertGreater(self.figures("word2vec.py")[-1], 0.93)  # 0.9775; 0.05 by chance

    def test_a_memory_of_ngrams_halves_the_loss(self):
        without, remembering = self.figures("ngram_gpt.py")
        self.assertLess(remembering, 0.6 * without)  # 1.70 and 3.64; with all that is planted known: 1.26

    def test_examples_are_short(self):
        sources = {path.name: path.read_text().splitlines() for path in EXAMPLES.glob("*.py")}
        self.assertGreaterEqual(len(sources), 4)
        for name, lines in sources.items():
            self.assertLessEqual(len(lines), 80, name)
