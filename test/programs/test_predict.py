"""locus predict says the same as a program's own evaluation."""
import math
import random

import models
import tensors
from tensors import numpy as np
from trainers import Trainers

NEAR = 1e-6


class Predicted(Trainers):
    def setUp(self):
        super().setUp()
        self.write_data()

    def predicted(self, lines, options=""):
        """Of each line its fields behind those that were asked."""
        self.write("questions", lines)
        answers = self.sh(f"locus-predict {options} model questions").out.splitlines()
        self.assertEqual(len(answers), len(lines))
        return [line.split("\t") for line in answers]

    def is_near(self, one, other):
        self.assertAlmostEqual(one, other, delta=NEAR * max(1, abs(other)))

    def test_mf(self):
        cells = [f"u{line}" for line in (self.here / "ratings").read_text().splitlines()]
        self.write("train", cells)
        self.write("test", cells[4::5])
        for more in "", "--bias", "--method cd":
            with self.subTest(options=more):
                ended = self.train("mf", f"--data train --test test --rank 4 --epochs 5 --json --out model {more}", 2)
                told = [float(field[2]) for field in self.predicted(cells[4::5])]
                errors = np.array(told) - [float(cell.split("\t")[2]) for cell in cells[4::5]]
                self.is_near(math.sqrt(np.mean(errors ** 2)), ended.last("rmse"))
                self.is_near(np.mean(np.abs(errors)), ended.last("mae"))

    def test_ctr(self):
        """As LIBSVM, and as LIBFFM with several features in a field; with the labels and without."""
        self.write_noise()
        svm = [(self.here / name).read_text().splitlines() for name in ("train", "test")]
        ffm = [[" ".join([label, *(f"{i // 2}:{pair}" for i, pair in enumerate(pairs))])
                for label, *pairs in map(str.split, lines)] for lines in svm]
        for train, test in svm, ffm:
            self.write("train", train)
            self.write("test", test)
            ended = self.train("ctr", "--data train --test test --epochs 3 --dim 4 --hidden 8,4 --lr 0.3 --json "
                                      "--out model")
            told = np.array(self.predicted(test), float)[:, 0]
            clicks = np.array([line[0] == "1" for line in test])
            self.is_near(-np.mean(np.log(np.where(clicks, told, 1 - told))), ended.last("log_loss"))
            over = told[clicks][:, None] - told[~clicks]
            self.is_near(np.mean((over > 0) + (over == 0) / 2), ended.last("auc"))
            bare = self.predicted([line.split(" ", 1)[1] for line in test])
            self.assertEqual(np.array(bare, float)[:, 0].tolist(), told.tolist())

    def test_what_people_bring(self):
        """Questions as pandas writes them, and columns of clicks, as the training data were: by way of locus prepare."""
        self.write("ratings.csv", ["user,item,rating", 'Ann,"Heat, ""95""",4', "Bob,#9,3", 'Bob,"Heat, ""95""",2', "Ann,#9,1"])
        self.write("pairs.csv", ["item,user", '"Heat, ""95""",Ann', "#9,Eve"])
        told = self.sh("locus-prepare mf ratings.csv - | locus-mf --data - --hold-back 0 --bias --rank 2 --out model > x && "
                       "locus-prepare mf pairs.csv - --comments none --columns user,item | locus-predict model")
        self.assertRegex(told.out, r'^Ann\tHeat, "95"\t[-0-9.e]+\nEve\t#9\t[-0-9.e]+\n$')
        self.assertIn('1 line with names that the model does not know: 1 in all, the first is "Eve" in line 2\n', told.err)
        self.write("clicks.csv", ["click,page,hour"] + 10 * ["1,a,3", "0,b,5", "1,a,9", "0,b,9"])
        self.write("today.csv", ["hour,page", "3,a", "5,b"])
        self.sh("locus-prepare ctr clicks.csv c.ffm --label click && locus-prepare ctr today.csv today.ffm --like c.ffm && "
                "locus-ctr --data c.ffm --validate 0 --epochs 30 --batch 4 --dim 2 --hidden 4 --out model")
        click, none = map(float, self.sh("locus-predict model today.ffm").out.split())
        self.assertGreater(click, 0.8)
        self.assertLess(none, 0.2)
        self.write("v.vec", ["2 2", "east 1 0", '"n,e" 3 4'])
        self.sh("locus-prepare vectors v.vec model")
        self.assertEqual(self.predicted(['east "n,e"'])[0][:2], ["east", '"n,e"'])

    def test_kge(self):
        """Ranks among all entities but other right answers, for both sides of each fact."""
        parts = [[line.split("\t") for line in (self.here / "graph" / f"{part}.txt").read_text().splitlines()]
                 for part in ("train", "valid", "test")]
        right = {}
        for s, r, o in sum(parts, []):
            right.setdefault(("?", r, o), set()).add(s)
            right.setdefault((s, r, "?"), set()).add(o)
        asked = [each for s, r, o in parts[2] for each in ((("?", r, o), s), ((s, r, "?"), o))]
        for more in ("", "--reciprocal", "--model rescal --dim 8", "--model distmult", "--model transe", "--model rotate",
                     "--model rotate --reciprocal --loss logistic"):
            with self.subTest(options=more):
                ended = self.train("kge", "--data graph --dim 32 --batch 16 --negatives 20 --epochs 6 --lr 0.2 --json "
                                          f"--out model {more}")
                ranks = []
                told = self.predicted(["\t".join(question) for question, _ in asked], "--best 60")
                for (question, answer), fields in zip(asked, told):
                    scores = dict(zip(fields[3::2], map(float, fields[4::2])))
                    self.assertEqual(len(scores), 60)
                    others = [x for entity, x in scores.items() if entity not in right[question]]
                    ranks.append(1 + sum(x > scores[answer] for x in others))
                self.is_near(np.mean([1 / rank for rank in ranks]), ended.last("mrr"))

    def test_gnn(self):
        self.write_circles()
        classes = [line.split("\t") for line in (self.here / "classes").read_text().splitlines()]
        ended = self.train("gnn", "--data edges --labels classes --split split --dim 8 --hidden 8 --neighbours 0 "
                                  "--epochs 12 --batch 8 --json --out model")
        answers = self.sh("locus-predict model edges").out.splitlines()
        told = {node: of for node, of, _ in (line.split("\t") for line in answers)}
        self.is_near(np.mean([told[node] == of for node, of in classes[2::3]]), ended.last("accuracy"))

    def test_lasso(self):
        draw = random.Random(9)
        rows = [[draw.gauss(0, 1) for _ in range(8)] for _ in range(200)]
        lines = [f"{1 + 2 * x[0] - x[3] + draw.gauss(0, 1)} " + " ".join(f"{j}:{v}" for j, v in enumerate(x, 1))
                 for x in rows]
        self.write("train", lines[:150])
        self.write("test", lines[150:])
        ended = self.train("lasso", "--data train --test test --lambda 0.01 --json --out model")
        responses = [float(line.split()[0]) for line in lines[150:]]
        told = np.array(self.predicted(lines[150:]), float)[:, 0]
        self.is_near(math.sqrt(np.mean((told - responses) ** 2)), ended.last("rmse"))

    def test_lda(self):
        """A document's words are of one of five topics, three words each: it has the most of that topic."""
        self.write_documents(200)
        self.train("lda", "--data documents --vocabulary words --topics 5 --alpha 0.1 --epochs 40 --out model")
        topics = models.topics_of_lda(*tensors.read(self.here / "model"), 3)
        documents = (self.here / "documents").read_text().splitlines()
        for document, (topic, share) in zip(documents, self.predicted(documents, "--best 1")):
            words, counts = zip(*(pair.split(":") for pair in document.split()[1:]))
            self.assertEqual({f"w{word}" for word in words}, set(topics[int(topic)]))
            tokens = sum(map(int, counts))  # all are of it
            self.assertAlmostEqual(float(share), (tokens + 0.1) / (tokens + 0.5), delta=1e-5)
