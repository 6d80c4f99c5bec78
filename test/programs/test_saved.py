"""What a training program saves is what it reports: models.py computes the same figure from the file."""
import math
import random

import models
import tensors
from tensors import numpy as np
from support import made
from trainers import Trainers, command

GNN = ("--data edges --labels classes --split split --dim 8 --hidden 8 --neighbours 0 --epochs 12 "
       "--eval-every 1 --batch 8")


class Saved(Trainers):
    def setUp(self):
        super().setUp()
        self.write_data()

    def computed(self, function, *data):
        return function(*tensors.read(self.here / "model"), *(self.here / name for name in data))

    def saves(self, nodes, program, options, field, function, *data):
        """What it reports last is in the file. Returns what ended."""
        ended = self.train(program, f"{options} --json --out model", nodes)
        self.is_near(self.computed(function, *data), ended.last(field))
        return ended

    def is_near(self, one, other):
        self.assertAlmostEqual(one, other, delta=1e-4 * abs(other))

    # ---- what is reported ----

    def test_ctr_tests_and_saves_the_epoch_that_was_validated_best(self):
        self.write_noise()
        for nodes, more in (0, ""), (2, ""), (0, "--validate 0"):
            ended = self.saves(nodes, "ctr", "--data train --test test --epochs 6 --dim 4 --hidden 8 --lr 0.3 --reg 0 "
                                             f"--batch 16 {more}", "log_loss", models.log_loss_of_ctr, "test")
            self.assertEqual(len(ended.named("best")), more == "")  # else the last is saved
            self.assertTrue(nodes or more or ended.last("epoch", event="best") < 6, ended)

    def test_ctr_tests_the_model_of_the_epoch_that_it_names(self):
        """It is the model of a run that ends there."""
        ctr = f"{made('ctr', '8x400x600')} --dim 4 --hidden 8 --lr 0.5 --reg 0 --schedule constant --validate 0.5 --json"
        chosen = self.train("ctr", f"{ctr} --epochs 6")
        best = chosen.last("epoch", event="best")
        self.assertLess(best, 6)
        last = self.train("ctr", f"{ctr} --epochs {best} --eval-every 0")
        self.is_near(chosen.last("log_loss"), last.last("log_loss", split="test"))

    def test_kge_saves_what_it_reports(self):
        kge = f"{made('kge', '400x8x4000')} --dim 16 --batch 16 --negatives 20 --epochs 4 --lr 0.2 --reg 0.001"
        folder = kge.split()[1]
        for nodes, model in (0, "rescal"), (2, "complex"), (0, "distmult"), (2, "transe"), (0, "transe"), (2, "rotate"):
            for more in "", " --reciprocal":
                with self.subTest(model=model, more=more):
                    ended = self.saves(nodes, "kge", f"{kge} --model {model}{more}", "mrr", models.mrr_of_kge, folder)
                    self.assertAlmostEqual(self.computed(models.mrr_of_kge, folder), ended.last("mrr"), delta=1e-6)

    def test_gnn_saves_what_it_reports(self):
        self.write_circles()
        for nodes in 0, 2:
            ended = self.saves(nodes, "gnn", GNN, "accuracy", models.accuracy_of_gnn, "edges", "classes", "split")
            self.assertTrue(nodes or ended.last("epoch", event="best") < 12, ended)

    def test_mf_saves_what_it_reports(self):
        cells = [f"u{line}" for line in (self.here / "ratings").read_text().splitlines()]
        self.write("train", cells)
        self.write("test", cells[4::5])
        for more in "", "--bias", "--method cd":
            self.saves(2, "mf", f"--data train --test test --rank 4 --epochs 5 {more}", "rmse", models.rmse_of_mf, "test")

    def test_lda_saves_the_topics_that_it_shows(self):
        self.write_documents(200)
        ended = self.train("lda", "--data documents --vocabulary words --topics 5 --alpha 0.1 --epochs 40 --top 3 --out model "
                                  "--json", 2)
        # a topic may have no three words that any document has under it
        shown = [[each[f"word{i}"] for i in (1, 2, 3) if f"word{i}" in each] for each in ended.named("topic")]
        self.assertEqual(shown, models.topics_of_lda(*tensors.read(self.here / "model"), 3))
        self.assertEqual(len(shown), 5)

    def test_wv_writes_the_same_in_three_formats(self):
        self.train("wv", "--data text --dim 16 --min-count 1 --text words --out model", 2)
        self.sh("locus-export model bytes.bin")
        self.assertEqual(self.computed(models.words_as_in, "words", "bytes.bin"), (50, 50))

    def write_times(self):
        """Times of one hour in milliseconds, beside a column of small numbers and a sparse one of large ones: what has to
        be taken off again is a thousand million times what is left. `new` are other rows, with one column more."""
        draw, rows = random.Random(9), []
        for _ in range(200):
            time, x = 1.7e12 + draw.randrange(4000000), draw.random()
            s = 1e9 + draw.randrange(1000000) if draw.random() < 0.2 else 0
            pairs = f"1:{time:.0f} 2:{x:.9f}" + (f" 3:{s:.0f}" if s else "")
            rows.append((5 + 1e-6 * (time - 1.7e12) + 2 * x + 1e-9 * s, pairs))
        self.write("times", (f"{y:.9f} {pairs}" for y, pairs in rows))
        self.write("new", (f"{y + i % 3:.9f} {pairs} 9:5" for i, (y, pairs) in enumerate(rows) if i % 4 == 0))

    def test_lasso_saves_what_it_reports(self):
        self.write_times()
        for nodes, more in ((0, ""), (0, "--baseline"), (2, "--workers 2")):
            ended = self.saves(nodes, "lasso", f"--data times --test new --lambda 0.001 --tolerance 1e-7 {more}", "objective",
                               lambda *model: models.sums_of_lasso(*model)[0], "times")
            squares = self.computed(models.sums_of_lasso, "new")[1]
            self.is_near(ended.last("rmse"), math.sqrt(squares / 50))

    # ---- the files ----

    def test_model_has_its_notes_tensors_and_names(self):
        """A model of a cluster is that of rank 0, and whole."""
        kge, nothing = "--data graph --dim 32 --batch 16 --epochs 2", "--epochs 1 --dim 2 --hidden 4"
        self.write_circles()
        self.write_documents(60)
        for nodes, program, options, notes, shapes in (
                (0, "kge", f"{kge} --reciprocal", {"dim": "32", "model": "complex", "reciprocal": "true"},
                 {"entities": (60, 32), "relations": (12, 32), "entity_names": 60, "relation_names": 6}),
                (2, "kge", f"{kge} --technique static --model rescal --dim 8", {"model": "rescal"},
                 {"entities": (60, 8), "relations": (6, 64)}),
                (0, "mf", "--data ratings --rank 6 --epochs 1", {"rank": "6"}, {"rows": (40, 6), "columns": (40, 6)}),
                (0, "ctr", f"--data clicks {nothing}", {}, {"wide": (35,), "vectors": (35, 2), "layer1.bias": (1,)}),
                (0, "gnn", f"--data edges --labels classes {nothing}", {},
                 {"layer1.weight": (2, 4), "layer2.bias": (2,), "nodes": 120, "classes": 2}),
                (0, "lda", "--data documents --vocabulary words --topics 2 --epochs 1", {},
                 {"word_topics": (15, 2), "words": 15})):
            with self.subTest(program=program, options=options):
                self.train(program, f"{options} --out model", nodes)
                noted, model = tensors.read(self.here / "model")
                self.assertEqual(noted, {**noted, **notes})
                for name, shape in shapes.items():
                    values = model[name]
                    if isinstance(shape, tuple):
                        self.assertEqual((values.dtype, values.shape), ("<f4", shape), name)
                        self.assertTrue(np.isfinite(values).all())
                        self.assertGreater(len(np.unique(values)), values.size / 2 if program == "kge" else 0)
                    else:
                        names = bytes(values).decode().split("\n")
                        self.assertEqual((len(set(names)), len(names), names[-1]), (shape + 1, shape + 1, ""), name)

    # ---- what begins with a file ----

    def test_training_begins_with_what_another_one_saved(self):
        """No epoch, and the first values are those of the model: byte for byte the same model again."""
        self.write_noise()
        self.write_circles()
        for program, options in (("kge", "--data graph --dim 8 --batch 16 --negatives 4 --reciprocal"),
                                 ("mf", "--data ratings --rank 4 --bias"),
                                 ("ctr", "--data train --test test --dim 4 --hidden 8,4"),
                                 ("gnn", "--data edges --labels classes --dim 8 --hidden 4")):
            with self.subTest(program=program):
                self.train(program, f"{options} --epochs 2 --out model")
                self.train(program, f"{options} --epochs 0 --from model --out again", 2)
                self.sh("cmp model again")

    def test_ctr_begins_with_the_model_of_other_features(self):
        """Few and large numbers have names: what it says of those that both have stays as it was."""
        draw = random.Random(3)
        for name, first in ("old", 1), ("new", 3):
            self.write(name, (f"{i % 2} 0:{10**8 * draw.randrange(first, first + 5)}:1 1:{7 * 10**7 + i % 3}:1"
                              for i in range(90)))
        self.train("ctr", "--data old --dim 4 --hidden 4 --epochs 2 --out model")
        self.train("ctr", "--data new --dim 4 --hidden 4 --epochs 0 --workers 2 --from model --out again")
        old, new = (dict(zip(models.names_of(each["features"]), each["wide"]))
                    for _, each in (tensors.read(self.here / model) for model in ("model", "again")))
        both = old.keys() & new.keys()
        self.assertEqual((len(old), len(new), len(both)), (8, 8, 6))
        self.assertEqual({name: old[name] for name in both}, {name: new[name] for name in both})

    def test_kge_evaluates_a_saved_model(self):
        """The same digits, but for the time that it took."""
        kge = "--data graph --dim 32 --batch 16 --negatives 20 --lr 0.2"
        self.sh("told='sed -n s/(.*//;/^test/p'; "
                f"{command(0, 'kge', kge)} --epochs 2 --out model | $told > trained && "
                f"{command(0, 'kge', kge)} --epochs 0 --from model | $told > saved && test -s saved && cmp trained saved")
        self.program_refuses("kge", 1, f"{kge} --model transe --epochs 0 --from model",
                             "model: is a model of --model complex, not transe (--from)")

    def test_lda_goes_on_with_the_priors_of_its_model(self):
        lda = f"{made('lda', '20x30x10x3')} --topics 3 --epochs 1"
        for more, part in (("--alpha 0.3 --beta 0.05 --out model", "alpha 0.3, beta 0.05\n"),
                           ("--from model", "alpha 0.3, beta 0.05\n"),
                           ("--from model --beta 0.07", "alpha 0.3, beta 0.07\n")):
            self.assertIn(f"\n3 topics, {part}", self.train("lda", f"{lda} {more}").out)
