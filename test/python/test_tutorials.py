"""The tutorials are true word by word: their files and commands, on made-up ratings of the same form."""
import os
import random
import re
import statistics
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

    def write_clicks(self):
        draw = random.Random(7)
        for day in "monday", "tuesday":
            rows = [(draw.randrange(24), draw.randrange(20), draw.randrange(70)) for _ in range(3000)]
            lines = (f"{day[0]}{i},{int(draw.random() < (.6 if ad % 7 == 0 else .1))},{hour},site{site},{ad}"
                     for i, (hour, site, ad) in enumerate(rows))
            (self.folder / f"{day}.csv").write_text("id,clicked,hour,site,ad_id\n" + "\n".join(lines) + "\n")

    def test_clicks(self):
        self.write_clicks()
        block = re.search(r"## 2\..*?\n\n((?:    .*\n)+)", (START / "tutorial-clicks.md").read_text())
        told = [self.says(command) for command in block[1].splitlines()]
        self.assertEqual(len(told), 7)
        self.assertIn("AUC", told[1])
        chances = [line.split("\t") for line in (self.folder / "answers.tsv").read_text().splitlines()]
        rows = [line.split(",") for line in (self.folder / "tuesday.csv").read_text().splitlines()[1:]]
        self.assertEqual([name for name, _ in chances], [row[0] for row in rows])
        often, seldom = (statistics.mean(float(chance) for (_, chance), row in zip(chances, rows)
                                         if (int(row[4]) % 7 == 0) == is_often) for is_often in (True, False))
        self.assertGreater(often, 2 * seldom)

    def test_export(self):
        """What the guide does by NumPy is what locus predict says."""
        (self.folder / "graph").mkdir()
        facts = "".join(f"{a}\tis {k}\t{b}\n" for k in range(3) for a, b in zip(range(9), range(k, 9)))
        for part in "train", "valid", "test":
            (self.folder / "graph" / f"{part}.txt").write_text("dog.n.01\thypernym\tcanine.n.02\n" + facts)
        self.write_clicks()
        self.says("locus-kge --data graph --dim 6 --epochs 3 --out model && locus export model model.npz && "
                  "cp model.npz graph.npz && locus prepare mf ratings.csv r.tsv && locus prepare ctr monday.csv monday.ffm && "
                  "locus-mf --data r.tsv --bias --rank 4 --epochs 3 --out factors && locus export factors factors.npz")
        movie = (self.folder / "r.tsv").read_text().split("\t")[1]
        told = []
        for block in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "guides" / "export.md").read_text(), re.S):
            block += "assert len(names) == len(model['entities'])\n" * ("entity_names" in block)
            (self.folder / "block.py").write_text(block.replace('movies.index("7")', f'movies.index("{movie}")'))
            told.append(self.says("python3 block.py").strip())
        self.assertEqual(len(told), 4)
        nearest = self.says("echo dog.n.01 | locus predict --best 4 model").split()[1::2]
        self.assertEqual(re.findall(r"'([^']+)'", told[0]), ["dog.n.01", *nearest])
        for answer, question in (told[1], f"42\\t{movie}\\n' | locus predict factors"), (
                told[2], "dog.n.01\\thypernym\\tcanine.n.02\\n' | locus predict model"):
            self.assertAlmostEqual(float(answer), float(self.says(f"printf '{question}").split()[-1]), places=5)
        first = (self.folder / "monday.ffm").read_text().split()[1].split(":")
        self.assertEqual(first[:2], ["0", "0"])  # the first field's, and what the block prints
        self.assertEqual(told[3], f"hour={(self.folder / 'monday.csv').read_text().splitlines()[1].split(',')[2]}")

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
