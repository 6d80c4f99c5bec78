"""Training programs with --checkpoint: one that goes on where another stopped ends as if nothing had happened."""
import re
import signal

from support import IS_SANITIZED, free_port, made, wait_until
from trainers import Trainers

TRAININGS = [
    ("kge", "--data graph --dim 16 --batch 16 --negatives 20 --lr 0.2"),
    ("kge", "--data graph --dim 16 --batch 1 --negatives 5 --sampling bounded --reciprocal --element bf16"),
    ("kge", "--data graph --dim 16 --batch 16 --negatives 20 --lr 0.2 --model rotate"),
    ("wv", "--data text --dim 12 --min-count 1 --batch 8"),
    ("wv", "--data text --dim 12 --min-count 1 --optimizer adagrad --sampling long-term --element bf16"),
    ("mf", "--data ratings --rank 6 --batch 16 --element bf16"),
    ("mf", "--data ratings --rank 6 --visit blocks --technique relocate"),
    ("mf", "--data ratings --rank 6 --method cd"),
    ("ctr", f"{made('ctr', '6x200x3000')} --dim 4 --hidden 8,4"),
    ("ctr", "--data clicks --dim 4 --hidden 8 --batch 16"),
    ("gnn", f"{made('gnn', '300x8x3')} --dim 8 --hidden 8 --neighbours 4 --dropout 0.5 --element bf16"),
    ("lda", f"{made('lda', '60x90x40x5')} --topics 6"),
    ("lda", f"{made('lda', '60x90x40x5')} --topics 50 --hold-back 0"),
]

# lasso's schedule begins anew at each checkpoint, so that another run without is another one.
REGRESSIONS = [
    f"{made('lasso', '200x300x9')} --lambda 0.01 --order round-robin --tolerance 1e-4",
    f"{made('lasso', '100x120x5')} --lambda 0.01 --order round-robin --staleness 1 --passes 60",
]

# Trained with the first options; what judges or ends a training may then be another one, and what is trained may not.
CHANGES = [
    ("kge --dim 4 --negatives 2 --epochs 1", "--data graph", "--data fewer-tests --patience 1", "--data fewer-facts"),
    ("wv --data text --dim 4 --epochs 1", "", "--analogies questions --similarity pairs", "--window 3"),
    ("mf --data ratings --rank 2 --epochs 1", "--test few", "--test some --patience 1", "--test few --reg 1"),
    ("mf --data ratings --rank 2 --epochs 1", "--schedule linear", "--schedule linear --seconds 9", "--schedule cosine"),
    ("mf --data ratings --rank 2 --epochs 1", "--from old", "--from old --seconds 9", ""),
    ("ctr --data clicks --dim 2 --hidden 4 --epochs 1", "", "--eval-every 0", "--reg 0.5"),
    ("gnn --data edges --labels classes --dim 4 --hidden 4 --epochs 1", "--split parts",
     "--split fewer --eval-every 1", "--split parts --neighbours 3"),
    ("gnn --data edges --labels classes --dim 4 --hidden 4 --epochs 1", "--split parts",
     "--split parts --seconds 9", "--split others"),
    ("lda --data docs --topics 4 --epochs 1", "", "--top 2 --patience 1", "--alpha 0.1"),
    (f"lasso {made('lasso', '100x120x5')} --lambda 0.1", "--tolerance 1e-2", "--tolerance 1e-4", "--correlation 0.2"),
]


def judged(ended, start):
    """What is printed of the model behind that, without the time that it took."""
    found = re.search(rf"^{start}[^(]*", ended.out, re.M)
    assert found, ended
    return found[0]


class Resume(Trainers):
    def setUp(self):
        super().setUp()
        self.write_data()

    def keep(self, number, of="all", to="one"):
        self.sh(f"rm -rf {to} && mkdir {to} && cp -r {of}/checkpoint-{number:06d} {to}")

    # ---- one worker: the same bits in every run, stopped or not ----

    def test_training_that_stops_and_goes_on_gives_the_bits_of_one_that_does_not(self):
        """With checkpoints and without, and from the first of them on."""
        for program, options in TRAININGS[::2 if IS_SANITIZED else 1]:
            with self.subTest(program=program, options=options):
                self.sh("rm -rf all")
                self.train(program, f"{options} --epochs 4 --out plain")
                self.train(program, f"{options} --epochs 4 --out whole --checkpoint all --checkpoint-every 3")
                self.keep(1)
                resumed = self.train(program, f"{options} --epochs 4 --out resumed --checkpoint one --resume")
                self.assertIn("goes on after epoch 3 (", resumed.out)
                self.sh("cmp plain whole && cmp plain resumed")

    def test_who_ends_a_training_is_told_what_is_kept(self):
        for more, number, part in (("", signal.SIGINT, "nothing is written; --checkpoint DIR keeps what is trained"),
                                   ("--baseline", signal.SIGTERM, "nothing is written"),
                                   ("--checkpoint model", signal.SIGTERM, "--checkpoint model --resume goes on after epoch ")):
            job = self.start(f"exec locus-mf --data ratings --rank 4 --epochs 1000000 {more}")
            job.await_text("checkpoint after epoch 2 " if "model" in more else "epoch   2")
            job.send(number)
            self.assertEqual(job.wait(), 128 + number, job)
            self.assertRegex(job.err, f"(^|\n)locus-mf: {part}[0-9]*\n$")

    def test_who_loses_a_node_is_told_what_is_kept(self):
        """By one node, whichever was lost."""
        for lost in 0, 2:
            at = {"LOCUS_SIZE": "3", "LOCUS_RENDEZVOUS": f"127.0.0.1:{free_port()}"}
            jobs = [self.start(f"exec locus-mf --data ratings --rank 4 --epochs 1000000 --checkpoint without-{lost}",
                               env=dict(at, LOCUS_RANK=str(rank))) for rank in range(3)]
            jobs[0].await_text("checkpoint after epoch 2 ")
            jobs[lost].send(signal.SIGKILL)
            self.assertEqual([job.wait() for job in jobs].count(1), 2, jobs)
            told = "".join(job.err for job in jobs)
            self.assertEqual(len(re.findall(rf"(?:^|\n)locus-mf: --checkpoint without-{lost} --resume goes on after epoch \d+\n", told)),
                             1, told)

    def test_training_goes_on_within_an_epoch(self):
        """By time there are checkpoints within an epoch, here behind each of its parts."""
        kge = "--data graph --dim 16 --batch 24 --negatives 20 --lr 0.2 --epochs 2"
        self.sh(f"locus-kge {kge} --checkpoint all --checkpoint-every 0.000001s --out whole", LOCUS_CHECKPOINTS="100")
        for number, place in ((1, "0 and 1/12 of"), (7, "0 and 7/12 of"), (12, "1 ("), (17, "1 and 5/12 of"), (24, "2 (")):
            with self.subTest(checkpoint=number):
                self.keep(number)
                resumed = self.train("kge", f"{kge} --checkpoint one --checkpoint-every 1000s --resume --out resumed")
                self.assertIn(f"after epoch {place}", resumed.out)
                self.sh("cmp whole resumed")

    def test_lasso_that_is_killed_and_goes_on_gives_the_bits_of_one_that_does_not(self):
        """Killed as soon as the second checkpoint is there, wherever it is then."""
        for options in REGRESSIONS:
            with self.subTest(options=options):
                self.sh("rm -rf all one")
                line = f"locus-lasso {options} --checkpoint-every 7"
                self.sh(f"{line} --out whole --checkpoint all", LOCUS_CHECKPOINTS="100")
                killed = self.start(f"exec {line} --checkpoint one", env={"LOCUS_CHECKPOINTS": "100"})
                wait_until((self.here / "one/checkpoint-000002").exists, "there is no second checkpoint")
                killed.send(signal.SIGKILL)
                killed.wait()
                self.assertIn("goes on after epoch ", self.sh(f"{line} --out resumed --checkpoint one --resume").out)
                self.sh("cmp whole resumed")

    def test_lasso_that_was_over_says_its_result_and_goes_on_with_more_passes(self):
        def run(more, converges):
            ended = self.train("lasso", f"{made('lasso', '200x300x9')} --lambda 0.01 "
                                        f"--order round-robin --correlation 0.3 --checkpoint model {more}")
            self.assertEqual("not converged" not in ended.out, converges, ended)
            return re.findall(r"(lambda .*objective +(\S+) .*)updates", ended.out)[-1]

        first = run("--passes 20 --out first", False)
        self.assertEqual(run("--passes 20 --out again --resume", False), first)
        self.sh("cmp first again")
        better = run("--resume", True)
        self.assertLess(float(better[1]), float(first[1]))
        self.assertEqual(run("--passes 100000 --resume", True), better)
        best = run("--tolerance 1e-6 --resume", True)  # what rested goes on
        self.assertNotEqual(best, better)
        self.assertLessEqual(float(best[1]), float(better[1]))

    def test_lda_goes_on_and_shows_its_topics(self):
        """What is printed of a model is no part of it."""
        lda = f"{made('lda', '60x90x40x5')} --topics 6 --epochs 3 --checkpoint model"
        self.train("lda", lda)
        self.contains(self.train("lda", f"{lda} --top 2 --resume").out, "goes on after epoch 3 (", "topic    0")

    # ---- several nodes ----

    def test_any_number_of_nodes_goes_on_with_a_lasso(self):
        """Workers' order differs, and with it the passes, a hundred or two: the oldest checkpoint that is kept."""
        size, least = ("100x120x5", 0.02) if IS_SANITIZED else ("200x300x9", 0.01)  # thousands of rounds
        lasso = f"locus-lasso {made('lasso', size)} --lambda {least} --workers 2"
        whole = self.sh(f"locus run -n 2 -- {lasso} --checkpoint model --checkpoint-every 2", LOCUS_CHECKPOINTS="100")
        kept = sorted(int(path.name[-6:]) for path in (self.here / "model").glob("checkpoint-*"))
        self.assertLess(kept[0], kept[-1])  # so much is left to train
        for nodes in 1, 3:
            self.keep(kept[0], "model")
            again = self.sh(f"locus run -n {nodes} -- {lasso} --checkpoint one --resume")
            self.assertIn("goes on after epoch ", again.out)
            self.assertAlmostEqual(again.number("objective ") / whole.number("objective "), 1, delta=1e-4)

    def test_any_number_of_nodes_goes_on_with_the_same_quality(self):
        epochs = 5 if IS_SANITIZED else 15
        kge = "--data graph --dim 32 --batch 16 --negatives 20 --lr 0.2 --reg 0.001 --checkpoint model"
        before = judged(self.train("kge", f"{kge} --epochs {epochs}", 2), "test ")
        # Nothing is left to train: evaluated only.
        self.assertEqual(judged(self.train("kge", f"{kge} --epochs {epochs} --resume", 4), "test "), before)
        more = self.train("kge", f"{kge} --technique static --workers 2 --epochs {2 * epochs} --resume", 3)
        self.assertGreater(more.number("test        MRR"), 0.1 if IS_SANITIZED else 0.5)
        self.contains(more.out, f"goes on after epoch {epochs} (", f"\nepoch {epochs + 1:3d} ")
        self.assertNotIn(f"\nepoch {epochs:3d} ", more.out)

    def test_any_number_of_nodes_takes_over_what_a_program_keeps_besides(self):
        """What has been written by two nodes is the same model for others, however many workers they have."""
        for number, (program, options, start) in enumerate((
                ("ctr", f"{made('ctr', '6x200x3000')} --dim 4 --hidden 8,4 --eval-every 0", "test "),
                ("gnn", f"{made('gnn', '300x8x3')} --dim 8 --hidden 8 --neighbours 4 --dropout 0.5", "accuracy "),
                ("lda", f"{made('lda', '60x90x41x5')} --topics 6 --patience 3", "log p"),
                ("lda", f"{made('lda', '9x90x3x5')} --topics 60", "log p"))):
            options += f" --epochs 3 --checkpoint model{number}"
            before = judged(self.train(program, options, 2), start)
            for nodes in (1,) if IS_SANITIZED else (1, 4, 3):
                with self.subTest(program=program, options=options, nodes=nodes):
                    resumed = self.train(program, f"{options} --workers 2 --resume", nodes)
                    self.assertIn("goes on after epoch 3 (", resumed.out)
                    self.assertEqual(judged(resumed, start), before)

    # ---- what is refused ----

    def test_folder_that_cannot_be_had_is_refused_before_the_training(self):
        """By all nodes that would write."""
        for program, options in dict([*reversed(TRAININGS), ("lasso", made("lasso", "200x300x9"))]).items():
            for nodes in 0, 2:
                with self.subTest(program=program, nodes=nodes):
                    ended = self.train(program, f"{options} --checkpoint no/such", nodes, None)
                    self.assertNotEqual(ended.status, 0)
                    self.assertIn("no/such: the folder no: No such file or directory", ended.err)
                    self.assertNotRegex(ended.out, "epoch|node" if nodes else ".")
        self.sh("ls -d model no", 2)
        ended = self.sh("ulimit -f 1 && locus-kge --data graph --dim 16 --checkpoint full", 1)
        self.assertIn("File too large", ended.err)

    def test_only_what_was_trained_must_be_the_same(self):
        self.sh("cp -r graph fewer-tests && sed -i 1d fewer-tests/test.txt && cp -r graph fewer-facts && "
                "sed -i 1d fewer-facts/train.txt && head -n 20 ratings > few && head -n 30 ratings > some && "
                "locus-mf --data ratings --rank 2 --out old")
        parts = [f"{i}\t{('train', 'val', 'test')[i % 3]}" for i in range(40)]
        for name, lines in (("questions", [": a", "w1 w2 w3 w4"]), ("pairs", ["w1\tw2\t5", "w3\tw4\t2"]),
                            ("edges", (f"{i}\t{(i + k) % 40}" for i in range(40) for k in (1, 7))),
                            ("classes", (f"{i}\t{i % 2}" for i in range(40))),
                            ("docs", (f"2 {i % 7}:1 {7 + i % 3}:2" for i in range(60))), ("parts", parts),
                            ("fewer", parts[:2] + parts[3:]), ("others", parts[1:])):
            self.write(name, lines)
        for line, first, other, wrong in CHANGES:
            with self.subTest(line=line, wrong=wrong):
                line = f"locus-{line} --checkpoint model"
                self.sh(f"rm -rf model && {line} {first}")
                said = self.sh(f"{line} {wrong} --resume", 2).err
                option = [] if re.search("fewer-|others|^$", wrong) else wrong.split()[-2:]
                self.assertRegex(said, f"is of {option[0]} .*, not {option[1]}: give the same" if option else
                                 "is of other data, or of other options than these: only what ends")
                self.assertIn("goes on after", self.sh(f"{line} {first} --resume && rm model/options").out)
                self.assertIn("is of other data, or of other options", self.sh(f"{line} {wrong} --resume", 2).err)
                self.assertIn("goes on after epoch ", self.sh(f"{line} {other} --resume").out)

    def test_what_holds_back_is_named(self):
        """So it is of each of the two ways that it can be told."""
        self.sh("head -n 30 ratings > some && head -n 60 clicks > few")
        for line, first, wrong, said in (
                ("mf --data ratings --rank 2", "", "--hold-back 0.2", "--hold-back 0.1, not --hold-back 0.2"),
                ("mf --data ratings --rank 2", "--hold-back 0.2", "--test some", "--hold-back 0.2, not --test some"),
                ("mf --data ratings --rank 2", "--test some", "", "--test some, not --hold-back 0.1"),
                ("ctr --data clicks --dim 2 --hidden 4", "", "--test few", "--hold-back 0.1, not --test few"),
                ("ctr --data clicks --dim 2 --hidden 4", "--test few", "", "--test few, not --hold-back 0.1")):
            with self.subTest(line=line, first=first, wrong=wrong):
                line = f"locus-{line} --epochs 1 --checkpoint model"
                self.sh(f"rm -rf model && {line} {first}")
                self.assertIn(f"the checkpoint in model is of {said}: give the same", self.sh(f"{line} {wrong} --resume", 2).err)
                self.assertIn("goes on after", self.sh(f"{line} {first} --resume").out)

    def test_what_would_be_another_training_is_refused(self):
        for options, status, part in (
                ("--resume", 2, "--resume needs --checkpoint DIR"),
                ("--checkpoint-every 3", 2, "--checkpoint-every needs --checkpoint DIR"),
                ("--checkpoint new --out ./new", 1, "./new is read as well as written"),
                ("--checkpoint new/ --out new", 1, "new is read as well as written"),
                ("--report new --out ./new", 1, "is to be written twice"),
                ("--checkpoint model --baseline", 2, "--baseline writes no checkpoints"),
                ("--checkpoint model --checkpoint-every 0", 2, "takes a number of epochs"),
                ("--checkpoint model --checkpoint-every 2m", 2, 'not "2m"'),
                ("--checkpoint model --checkpoint-every 1.5", 2, 'not "1.5"'),
                ("--checkpoint model --checkpoint-every -1s", 2, 'not "-1s"'),
                ("--checkpoint model --resume", 0, "no checkpoint in model yet: from the beginning"),
                ("--checkpoint model", 2, "there are checkpoints in model already"),
                ("--checkpoint model --resume --lr 0.3", 2, "the checkpoint in model is of --lr 0.1, not 0.3: give the same, or another folder"),
                ("--checkpoint model --resume --seed 2", 2, "is of --seed 1, not 2"),
                ("--checkpoint model --resume --dim 32", 2, "is of --dim 16, not 32"),
                ("--checkpoint model --resume --technique static --epochs 2", 0, "goes on after epoch ")):
            with self.subTest(options=options):
                ended = self.train("kge", f"--data graph --dim 16 --epochs 1 {options}", status=status)
                self.assertIn(part, ended.err if status else ended.out)
        ended = self.sh("locus-kge --data graph --dim 16 --epochs 1 --checkpoint model", LOCUS_RESTART="1")
        self.assertIn("goes on after epoch ", ended.out)
