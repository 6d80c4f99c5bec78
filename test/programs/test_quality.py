"""Training programs reach the quality that their data allow: alone and on clusters, with whatever technique. Tables
have, for a number of nodes (0: without the launcher), what is run on so many."""
import math

from support import made
from trainers import Trainers


class Quality(Trainers):
    def learns(self, program, base, rows, judge):
        """Trains with each; judge(what ended, options) checks it. Returns all that ended."""
        all_of_them = []
        for nodes, more in ((nodes, more) for nodes in rows for more in rows[nodes]):
            with self.subTest(program=program, nodes=nodes, options=more):
                ended = self.train(program, f"{base} {more} --json", nodes)
                self.assertEqual(len(ended.named("stats")), "--baseline" not in more, ended)
                judge(ended, more)
                all_of_them.append(ended)
        return all_of_them

    def is_within(self, low, value, high, ended):
        self.assertTrue(low < value <= high, f"{value} is not from {low} to {high}:\n{ended}")

    # ---- what all count ----

    def test_accesses_are_those_of_the_training(self):
        """However often the model is evaluated and written; the whole has those, too."""
        self.write_data()
        for program, options in (("kge", "--data graph --dim 8 --eval-every 1"), ("wv", "--data text --dim 8"),
                                 ("mf", "--data ratings --rank 4 --eval-every 1"),
                                 ("mf", "--data ratings --rank 4 --method cd --eval-every 1"),
                                 ("ctr", "--data clicks --dim 4 --hidden 4 --eval-every 1"),
                                 ("gnn", f"{made('gnn', '200x8x3')} --dim 4 --hidden 4 --eval-every 1"),
                                 ("lda", f"{made('lda', '40x90x20x5')} --topics 6 --eval-every 1")):
            with self.subTest(program=program, options=options):
                line = f"{options} --epochs 3 --json"
                few, many = (self.train(program, more).named("stats")[0]
                             for more in (line.replace("-every 1", "-every 0"), f"{line} --checkpoint {program}"))
                self.sh(f"rm -r {program}")
                for name in "pulled_local", "pushed_local":
                    self.assertEqual(few[name], many[name])
                    self.assertLessEqual(few[name], few[f"whole_{name}"])
                self.assertLess(few["pushed_local"], few["whole_pushed_local"])  # first values
        ended = self.train("ctr", "--data clicks --dim 4 --hidden 4 --epochs 1", 2)
        self.assertIn("\naccesses in training: ", ended.out)

    # ---- kge: who knows nothing has an MRR of 0.1, with 400 entities of 0.02 ----

    KGE = "--dim 32 --batch 16 --negatives 20 --lr 0.2 --reg 0.001"

    def check_kge(self, ended, epochs, minimum, data="graph"):
        """All events are such as the page of formats has them."""
        self.assertEqual([each["epoch"] for each in ended.named("epoch")], list(range(1, epochs + 1)), ended)
        for each in ended.events:
            if each["event"] == "epoch":
                self.assertTrue(all(math.isfinite(each[name]) and each[name] > 0
                                    for name in ("seconds", "examples_per_second", "loss")), each)
            elif each["event"] == "eval":
                self.assertTrue(0 <= each["hits@1"] <= each["hits@10"] <= 1 and each["mrr"] <= 1, each)
                self.assertLessEqual(each["hits@1"], each["mrr"] + 1e-9)
            elif each["event"] == "run":
                self.assertEqual((each["program"], each["data"], each["--epochs"]), ("locus-kge", data, str(epochs)))
            else:
                self.assertEqual(each["event"], "stats")
                self.assertTrue(all(value >= 0 and (isinstance(value, int) or name.endswith("_s"))
                                    for name, value in each.items() if name != "event"), each)
                self.assertGreater(each["pulled_local"] + each["pulled_replica"] + each["pulled_remote"], 0)
        self.assertEqual([each["event"] for each in ended.events].count("run"), 1)
        self.assertEqual([each.get("split") for each in ended.events if each["event"] != "stats"][-2:], ["valid", "test"])
        self.is_within(minimum, ended.last("mrr", split="test"), 1, ended)

    def test_kge_learns_a_circle(self):
        self.write_data()
        for minimum, rows in (
                (0.5, {0: ["", "--eval-every 10", "--reciprocal --workers 2", "--baseline"]}),
                (0.3, {0: ["--loss logistic --batch 1 --negatives 5"]}),
                (0.2, {0: ["--model rescal --dim 16"]}),
                (0.4, {0: ["--model distmult"]}),  # which cannot tell next from previous
                (0.9, {0: ["--model rotate", "--model rotate --batch 1 --loss logistic", "--model rotate --negatives 0"],
                       2: ["--model rotate --element bf16"]}),
                (0.4, {3: ["--technique adaptive"],
                       2: ["--technique static", "--technique nups", "--technique ssp --staleness 1",
                           "--technique essp --staleness 0"]})):
            self.learns("kge", f"--data graph {self.KGE} --epochs 30", rows,
                        lambda ended, _, least=minimum: self.check_kge(ended, 30, least))

    def test_kge_learns_a_planted_graph(self):
        data = made("kge", "400x8x4000")
        transe = ["--model transe" + more for more in ("", " --reciprocal --loss logistic", " --batch 1", " --negatives 0",
                                                       " --technique static --workers 2")]
        self.learns("kge", f"{data} {self.KGE} --epochs 12", {2: ["", *transe]},
                    lambda ended, _: self.check_kge(ended, 12, 0.3, data.split()[1]))
        self.assertIn("8 relations; 3758 facts", self.train("kge", f"{data} {self.KGE} --epochs 1").out)

    # ---- wv: words of one place are alike ----

    def write_places(self):
        lines = ((i % 12, i // 12) for i in range(3000))
        self.write("text", (f"near{p}-{x % 3} near{p}-{x // 3 % 3} middle{p} near{p}-{x // 9 % 3}" for p, x in lines))
        self.write("pairs", (f"near{i}-0\tnear{j}-1\t{r}" for i in range(12) for j, r in ((i, 9), ((i + 1) % 12, 1))))
        self.write("questions", [": places", "near0-0 near0-1 near1-0 near1-1", "near2-0 near2-1 near3-0 nowhere"])

    def test_wv_tells_places_apart(self):
        def check(ended, _):
            self.assertEqual(len(ended.named("epoch")), 5)
            analogies = ended.named("eval", task="analogies")[-1]
            self.assertEqual((analogies["answerable"], analogies["questions"], "accuracy" in analogies), (1, 2, True))
            self.assertGreater(ended.last("spearman"), 0.7, ended)
            self.assertTrue(0 < ended.last("loss", epoch=5) < ended.last("loss", epoch=1), ended)

        self.write_places()
        self.learns("wv", "--data text --similarity pairs --analogies questions --dim 16 --min-count 2 --subsample 0 "
                          "--epochs 5 --lr 0.1", {
            0: ["", "--baseline", "--optimizer adagrad --workers 2", "--sampling bounded"],
            2: ["--technique adaptive", "--technique static", "--technique relocate",
                "--technique essp --staleness 1 --workers 2", "--technique ssp --staleness 0",
                "--sampling long-term", "--sampling non-conform",
                "--sampling non-conform --technique static"]}, check)

    def test_wv_ends_where_the_loss_is_no_number(self):
        """Who gives up waits for nobody, not even for a loader that has ended: ThreadSanitizer would call that a leak."""
        self.write_places()
        ended = self.sh('TSAN_OPTIONS="$TSAN_OPTIONS report_thread_leaks=0" '
                        "locus-wv --data text --json --dim 16 --min-count 2 --lr 100", 1)
        self.assertIn("wv: the loss is no number any more in epoch 1: choose a smaller --lr", ended.err)
        self.assertEqual([each["event"] for each in ended.events], ["run"])

    # ---- mf: an RMSE of 1 is that of knowing nothing, the noise is 0.1 ----

    MATRIX = made("mf", "300x100x8000", rank=3) + " --rank 6 --epochs 15"
    MF = MATRIX + " --lr 0.1 --reg 0.01 --batch 32"

    def check_mf(self, ended, more):
        self.assertEqual(len(ended.named("epoch")), 15)
        self.is_within(0, ended.last("rmse", split="test"), 0.5, ended)
        self.assertTrue("--technique ssp --staleness 1" not in more or ended.last("replicas_created") > 0, ended)

    def test_mf_learns_a_matrix(self):
        """Workers have more to do, or less, than others; or nobody waits for them."""
        self.learns("mf", self.MF, {
            0: ["", "--baseline", "--bias --workers 2", "--visit blocks --workers 3", "--technique essp --workers 3",
                "--technique ssp --baseline"],
            2: ["--technique adaptive", "--technique static", "--technique full",
                "--visit blocks --seconds 100 --eval-every 5"],
            3: ["--technique ssp --staleness 1", "--technique essp --staleness 2",
                "--visit blocks --technique essp --staleness 1"]}, self.check_mf)

    def test_mf_keeps_step_with_copies_that_lack_nothing(self):
        """A block has one writer at a time: copies in which nothing is missing train as what is moved."""
        ended = self.learns("mf", self.MF + " --visit blocks --workers 2", {
            2: ["--technique relocate", "--technique essp --staleness 0", "--technique ssp --staleness 0"]}, self.check_mf)
        moved, *copied = (each.last("rmse", split="test") for each in ended)
        for rmse in copied:
            self.assertAlmostEqual(rmse, moved, delta=1e-4)

    def test_mf_coordinate_descent_is_the_same_whoever_does_it(self):
        """Each sweep's objective, which never rises."""
        objectives = []

        def check(ended, _):
            mine = [each["objective"] for each in ended.named("epoch")]
            self.assertEqual(len(mine), 15)
            self.assertTrue(all(b <= a * (1 + 1e-6) for a, b in zip(mine, mine[1:])), mine)
            objectives.append(mine)
            for here, first in zip(mine, objectives[0]):
                self.assertAlmostEqual(here / first, 1, delta=1e-5)
            self.is_within(0, ended.last("rmse", split="test"), 0.3, ended)

        self.learns("mf", self.MATRIX + " --method cd --reg 1", {
            0: ["", "--baseline", "--workers 3"],
            2: ["--technique adaptive", "--technique static --workers 2", "--technique full"]}, check)

    # ---- ctr: the planted model has an AUC of 0.77 ----

    CTR = made("ctr", "6x100x3000") + " --dim 4 --hidden 8,4 --epochs 3 --lr 0.1 --batch 32 --hold-back 0.25 --eval-every 0"

    def test_ctr_foretells_clicks(self):
        def check(ended, more):
            validates = "--eval-every 1" in more
            self.assertEqual(len(ended.named("epoch")), 3)
            self.is_within(0.7, ended.last("auc", split="test"), 0.79, ended)
            self.assertEqual(len(ended.named("best")), validates)
            self.assertEqual(len(ended.named("eval", split="valid", epoch=2)), validates)

        self.learns("ctr", self.CTR, {
            0: ["", "--workers 2 --eval-every 1", "--baseline"],
            2: ["--technique adaptive", "--technique static", "--technique full", "--technique nups --hot 4"],
            3: ["--workers 2 --eval-every 1 --reg 1e-6"]}, check)

    # ---- gnn: who knows nothing finds a quarter ----

    GNN = made("gnn", "400x12x4", same=.8) + " --dim 8 --hidden 16 --neighbours 6 --epochs 4"

    def test_gnn_finds_planted_classes(self):
        def check(ended, more):
            self.assertEqual(len(ended.named("epoch")), 4)
            for name in "accuracy", "validation_accuracy":
                self.is_within(0.8, ended.last(name), 1, ended)
            self.assertTrue(ended.named("best") or "--eval-every 2" not in more, ended)
            self.assertTrue("nups" not in more or ended.last("edges_between") < 0.4, ended)

        self.learns("gnn", self.GNN, {
            0: ["", "--baseline", "--workers 2 --eval-every 2 --dropout 0.2 --neighbours 0"],
            2: ["--technique adaptive", "--technique static", "--technique nups --hot 20"],
            3: ["--workers 2"]}, check)

    def test_gnn_reports_and_saves_the_epoch_that_validated_best(self):
        """It is the model of a run that ends there."""
        for more in "", "--baseline":
            line = f"{self.GNN} --lr 0.3 {more} --json --epochs %d --eval-every %d --out %s"
            best = self.train("gnn", line % (12, 1, "best"))
            epoch = best.last("epoch", event="best")
            self.is_within(0, epoch, 12, best)
            last = self.train("gnn", line % (epoch, 0, "last"))
            for name in "accuracy", "validation_accuracy":
                self.assertEqual(best.last(name), last.last(name), more)
            self.sh("cmp best last")

    # ---- lda: 12 planted topics of 30 words ----

    LDA = made("lda", "300x360x60x12") + " --topics 12 --alpha 0.1 --beta 0.05 --epochs 40"

    def test_lda_finds_planted_topics(self):
        """Who finds them foretells a word as one of 90; who knows only how frequent words are, as one of nearly 300."""
        def check(ended, more):
            self.assertEqual(len(ended.named("epoch")), 40)
            self.is_within(10, ended.last("perplexity"), 100, ended)
            self.assertLess(ended.last("log_likelihood"), 0)
            self.assertEqual(len(ended.named("topic")), 12 if "--top" in more else 0)
            if more in ("", "--workers 2 --top 3"):  # one worker's counts are right
                self.assertEqual(any(each["s_error"] > 0 for each in ended.named("epoch")), more != "", ended)

        self.learns("lda", self.LDA, {
            0: ["", "--baseline --workers 3", "--workers 2 --top 3",
                "--workers 3 --staleness 2 --technique relocate"],
            2: ["--technique adaptive", "--technique static", "--technique full"],
            3: ["--workers 2 --eval-every 20", "--workers 2 --staleness 1 --eval-every 10"]}, check)

    def test_what_is_not_trained_is_not_good_enough_for_these_tests(self):
        ended = self.train("ctr", self.CTR + " --json --epochs 0")
        self.is_within(0.4, ended.last("auc", split="test"), 0.6, ended)
        self.assertEqual(ended.named("epoch"), [])
        self.assertLess(self.train("gnn", self.GNN + " --json --epochs 0").last("accuracy"), 0.6)
        self.assertGreater(self.train("lda", self.LDA + " --json --epochs 1").last("perplexity"), 130)
