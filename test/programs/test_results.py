"""What training programs tell of their results, and what they make of data that are special."""
import math
from pathlib import Path

from support import made
from trainers import Trainers


class Results(Trainers):
    def test_kge_shows_people_what_happens(self):
        self.write_data()
        ended = self.train("kge", "--data graph --dim 32 --batch 16 --negatives 20 --epochs 2")
        self.assertRegex(ended.out, r"(?s)60 entities, 6 relations.*epoch   2   loss.*valid       MRR [01]\..*test        MRR [01]\.")
        self.assertNotIn("\r", ended.err)
        # On a terminal there is a bar, for as long as a step takes.
        bar = self.start("exec locus-kge --data graph --dim 256 --batch 1 --negatives 2000 --epochs 1000 --seconds 1",
                         terminal=True)
        self.assertEqual(bar.wait(), 0)
        self.contains(bar.out.replace("\r\n", "\n"), "\r", "facts/s", "test        MRR")

    def test_page_tells_how_good_a_model_is(self):
        self.write_data()
        words = (self.here / "text").read_text().split()[:4]
        self.write("questions", [": all", " ".join(words)])
        self.write("pairs", (f"{words[0]}\t{word}\t{rating}" for rating, word in enumerate(words)))
        for program, options, curves in (
                ("kge", "--data graph --dim 8", ["MRR, valid", "MRR, test"]),
                ("wv", "--data text --dim 4 --min-count 1 --analogies questions --similarity pairs",
                 ["Analogies, share right", "Similarity, Spearman"]),
                ("mf", "--data ratings --rank 2", ["RMSE of the test cells"]),
                ("ctr", "--data clicks --dim 2 --hidden 4", ["AUC, valid", "AUC, test"]),
                ("gnn", f"{made('gnn', '100x4x2')} --dim 4 --hidden 4", ["Accuracy, valid", "Accuracy, test"]),
                ("lda", f"{made('lda', '10x10x5x2')} --topics 2", ["Perplexity"])):
            with self.subTest(program=program):
                self.train(program, f"{options} --epochs 1 --report page.html")
                self.contains((self.here / "page.html").read_text(), *(f">{curve}, last<" for curve in curves))

    def test_mf_foretells_the_mean_of_what_nothing_is_known_about(self):
        """Nothing is learned of a row, or a column, that the test alone has."""
        self.write("train", ["a\tx\t1", "a\ty\t2", "b\tx\t3", "b\ty\t4"])
        self.write("test", ["a\ty\t2", "c\tz\t5"])
        self.train("mf", "--data train --test test --rank 4 --init 9 --out model")
        told = self.sh("printf 'c\tx\na\tz\nc\tz\n' | locus-predict model").out
        self.assertEqual(told, "c\tx\t2.5\na\tz\t2.5\nc\tz\t2.5\n")

    def test_mf_learns_the_same_whatever_ratings_are_measured_in(self):
        """The defaults follow the ratings' deviation: errors of ratings that are 64 times as large are as many times as
        large."""
        data = made("mf", "300x100x8000", rank=3)
        cells = [cell.rsplit("\t", 1) for cell in Path(data.split()[1]).read_text().splitlines()]
        self.write("64", (f"{place}\t{64 * float(value):.9g}" for place, value in cells))
        one, other = (self.train("mf", f"{each} --rank 6 --epochs 5").number("test        RMSE")
                      for each in (data, "--data 64"))
        self.assertLess(one, 0.8)
        self.assertAlmostEqual(other / one, 64, delta=0.02)

    def test_mf_tells_what_comes_next_from_pairs_without_ratings(self):
        """40 users like seven of the ten items of their kind each. What is held back of one is an item of four, among 14
        in all: by chance a precision of 0.07, of 0.25 at most."""
        self.write("pairs", (f"u{u}\ti{i + u % 2 * 10}\t1" for u in range(40) for i in range(10) if (7 * u + 3 * i) % 10 < 7))
        ended = self.train("mf", "--data pairs --implicit 3 --best 4 --rank 4 --epochs 40 --out model")
        self.assertGreater(ended.number("test        precision"), 0.2)
        self.sh("cat pairs pairs pairs > thrice")
        thrice = self.train("mf", "--data thrice --implicit 3 --rank 4 --epochs 2 --eval-every 1")
        self.assertEqual(thrice.err.count("cells to test with are trained with, too: precision and NDCG leave "), 1)
        self.assertNotIn("trained with, too", ended.err)
        row, *best = self.sh("echo u0 | locus-predict --best 20 --known pairs model").out.split("\t")
        self.assertEqual((len(best), sorted(best[:6:2])), (26, ["i3", "i6", "i9"]))

    def test_ctr_has_no_auc_where_all_examples_to_test_with_are_alike(self):
        self.write("train", (f"{click} {i}:1" for i in range(1, 5) for click in (1, 0)))
        for label in 1, 0:
            self.write("test", [f"{label} 2:1"])
            json, text = (self.train("ctr", f"--data train --test test --epochs 1 {more}") for more in ("--json", ""))
            self.assertIsNone(json.last("auc"))
            self.assertIn("   AUC -   ", text.out)
            self.assertNotRegex(json.out + text.out, "nan|inf")
            if label == 0:
                self.assertIsNone(json.last("calibration"))
                self.assertIn("   calibration -   ", text.out)

    def test_lda_patience_keeps_the_model_that_foretells_best(self):
        """It is the one that a training of so many sweeps gives, and it is judged again."""
        lda = f"{made('lda', '60x90x40x5')} --topics 30 --hold-back 0.3 --json"
        for more, others in (("", ""), ("--baseline", "--baseline"), ("--checkpoint points", "")):
            with self.subTest(options=more):
                best = self.train("lda", f"{lda} {more} --patience 2 --out best")
                self.assertEqual(best.named("epoch", epoch=200), [])
                again = self.train("lda", f"{lda} {others} --epochs {best.last('epoch', event='best')} --out other")
                self.sh("cmp best other")
                told = [each["perplexity"] for each in best.named("eval")]
                self.assertEqual((min(told), again.last("perplexity")), (told[-1], told[-1]))
        resumed = self.train("lda", f"{lda} --checkpoint points --patience 2 --workers 2 --resume --out again")
        self.assertEqual(resumed.named("epoch", epoch=200), [])
        self.sh("cmp best again")
        self.assertTrue(self.train("lda", f"{lda} --patience 2 --workers 2", 2).named("best"))

    def test_what_nothing_learned_would_reach_is_told(self):
        """The mean, 3, of errors 1 and 2; a rate of a quarter, where half of them come; the class of two of three."""
        self.write("ratings", ["a\tx\t2", "b\ty\t4", "a\ty\t3"])
        self.write("few", ["a\tx\t4", "b\ty\t1"])
        ended = self.train("mf", "--data ratings --test few --rank 2 --epochs 1 --json")
        self.assertAlmostEqual(ended.last("rmse_of_mean"), (5 / 2) ** .5, delta=1e-6)
        self.write("clicks", ["1 1:1", "0 2:1", "0 3:1", "0 1:1"])
        self.write("asked", ["1 1:1", "0 2:1"])
        ended = self.train("ctr", "--data clicks --test asked --validate 0 --epochs 1 --json")
        self.assertAlmostEqual(ended.last("log_loss_of_rate"), -(math.log(.25) + math.log(.75)) / 2, delta=1e-5)
        self.write("edges", (f"{i}\t{i + 1}" for i in range(5)))
        self.write("classes", ["0\tx", "1\ty", "2\ty", "3\ty", "4\tx"])
        self.write("split", ["0\ttrain", "1\ttrain", "2\ttrain", "3\ttest", "4\ttest"])
        ended = self.train("gnn", "--data edges --labels classes --split split --epochs 1 --json")
        self.assertEqual(ended.last("accuracy_of_most_frequent"), .5)
