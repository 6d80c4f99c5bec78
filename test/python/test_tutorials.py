"""The tutorials are true word by word: their files and commands, on made-up ratings of the same form."""
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import BIN, LIMIT_S, ROOT, environment

START = ROOT / "docs" / "start"


def made_up(path):
    """As MovieLens has it: users and movies differ in how they rate, by one factor. Little more than what is held back."""
    random.seed(7)
    users = {u: random.gauss(0, 1) for u in range(1, 101)}
    movies = {m: random.gauss(0, 1) for m in random.sample(range(1, 5000), 150)}
    pairs = random.sample([(u, m) for u in users for m in movies], 12000)
    lines = (f"{u},{m},{max(0.5, min(5, round(2 * (3.5 + users[u] * movies[m] + random.gauss(0, 0.3))) / 2))},964982703"
             for u, m in pairs)
    path.write_text("userId,movieId,rating,timestamp\n" + "\n".join(lines) + "\n")


class Tutorials(unittest.TestCase):
    def setUp(self):
        if not (BIN / "locus-mf").exists():
            self.skipTest("the programs are not built: make")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        made_up(self.folder / "ratings.csv")

    def files(self, page):
        """Writes the page's files, each named before its text."""
        text = (START / page).read_text()
        for name, body in re.findall(r"into\s+`(\w+\.py)`[^`]*(?:`[^`]*`[^`]*)??\n```python\n(.*?)```", text, re.S):
            (self.folder / name).write_text(body)
        return text

    def says(self, command):
        ended = subprocess.run(command, shell=True, cwd=self.folder, stdin=subprocess.DEVNULL, text=True, timeout=LIMIT_S,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               env=environment(PATH=os.pathsep.join([str(BIN), str(Path(sys.executable).parent),
                                                                          os.environ["PATH"]])))
        self.assertEqual(ended.returncode, 0, f"{command}\n{ended.stdout}")
        return ended.stdout

    def commands(self, text, word):
        found = re.findall(rf"^    ({word}.*?)(?:  +#.*)?$", text, re.M)
        self.assertTrue(found, word)
        return found

    def test_program(self):
        text = self.files("tutorial-program.md")
        for command in self.commands(text, "locus prepare mf"):
            self.says(command)
        for command in self.commands(text, "locus-mf") + self.commands(text, "locus run"):
            error = re.search(r"^test +RMSE +([\d.]+)", self.says(command), re.M)
            self.assertLess(float(error[1]), 0.6, command)  # 1.1 with nothing learnt; 0.35 is noise
        self.assertRegex(self.says("python3 recommend.py"), r"^user 42 should see \['\d+'(, '\d+'){4}\]\n$")

    def test_python(self):
        try:
            import torch  # noqa: F401
        except ImportError:
            self.skipTest("there is no torch here (python3-torch)")
        self.files("tutorial-program.md")
        text = self.files("tutorial-python.md")
        for command in self.commands(text, "python3 train.py") + self.commands(text, "locus run"):
            errors = re.findall(r"epoch 5: test RMSE ([\d.]+)", self.says(command))
            self.assertEqual(len(errors), 2 if "-n 2" in command else 1)
        self.assertRegex(self.says("python3 recommend.py"), r"^user 42 should see \[\d+(, \d+){4}\]\n$")
        without = re.search(r"## 4\. Without PyTorch\n\n```python\n(.*?)```", text, re.S)
        (self.folder / "plain.py").write_text(without[1])
        self.says("python3 plain.py")
