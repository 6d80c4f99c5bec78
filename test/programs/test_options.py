"""Every option of every training program does something: with another value the model, what is said of it, or which files
there are is different. An option that --help has and these tables have not fails."""
import re
from functools import partialmethod
from hashlib import sha256

from support import made
from trainers import Trainers, command, steady

KGE = "--data ../graph --dim 8 --batch 16 --negatives 4 --epochs 2"
WV = "--data ../text --dim 8 --min-count 1 --batch 8 --epochs 2"
MF = "--data ../ratings --rank 4 --epochs 2"
CTR = "--data ../clicks --dim 4 --hidden 8 --batch 16 --epochs 3"
GNN = f"{made('gnn', '300x8x3')} --dim 8 --hidden 8 --neighbours 4 --epochs 2"
GNN_FILES = "--data ../edges --labels ../classes --dim 8 --hidden 8 --batch 4 --epochs 2"
LDA = f"{made('lda', '60x90x40x5')} --topics 6 --epochs 4"
LASSO = f"{made('lasso', '60x80x9')} --order round-robin"
LASSO_SHORT = f"{made('lasso', '60x80x9')} --lambda 0.01 --passes 3"


def ends(option, base=None):
    """A row that need not differ: it is enough that the run ends."""
    return option, base, True


# Of each program what its options are compared with, and a row an option: with its value, what it needs besides, and
# where it is compared with something else, that.
PROGRAMS = {
    "kge": (KGE, [
        "--model rescal",
        "--model transe",
        ("--model rotate", KGE + " --model transe"),
        "--dim 16",
        "--reciprocal",
        "--negatives 5",
        "--negatives 0",
        "--sampling long-term",
        "--batch 8",
        "--lr 0.3",
        "--schedule cosine",
        "--element bf16",
        "--loss logistic",
        "--reg 1",
        "--init 0.5",
        "--epochs 3",
        "--eval-every 0.05k",
        "--patience 1",
        ends("--seconds 1 --epochs 1000000"),
        ("--checkpoint-every 2 --checkpoint f", KGE + " --checkpoint f"),
    ]),
    "wv": (WV, [
        "--dim 9",
        "--window 3",
        "--min-count 97",
        "--subsample 1e-2",
        "--negatives 3",
        "--sampling long-term",
        "--optimizer adagrad",
        "--lr 0.3",
        "--schedule constant",
        "--element bf16",
        "--batch 9",
        "--epochs 3",
        "--analogies ../analogies",
        "--similarity ../similarity",
        ("--eval-every 0.5k", WV + " --similarity ../similarity"),
        ends("--seconds 1 --epochs 1000000"),
        "--text vectors",
        ("--checkpoint-every 2 --checkpoint f", WV + " --checkpoint f"),
    ]),
    "mf": (MF, [
        "--test ../ratings",
        "--hold-back 0.3",
        "--write cells",
        "--rank 5",
        "--bias",
        "--method cd",
        ("--visit blocks --workers 2", MF + " --workers 2"),
        "--batch 9",
        "--lr 0.3",
        "--schedule linear",
        "--element bf16",
        "--adagrad coordinate",
        "--best 3",
        "--implicit 2",
        "--reg 1",
        "--init 0.5",
        "--eval-every 0.05k",
        "--patience 1",
        ends("--seconds 1 --epochs 1000000"),
        "--epochs 3",
        ("--checkpoint-every 2 --checkpoint f", MF + " --checkpoint f"),
    ]),
    "ctr": (CTR, [
        "--test ../clicks",
        "--hold-back 0.3",
        "--validate 0.3",
        "--weights ../weights",
        "--write split",
        "--dim 5",
        "--hidden 9",
        "--batch 9",
        "--lr 0.3",
        "--schedule cosine",
        "--element bf16",
        "--reg 1",
        "--init 0.5",
        "--eval-every 0.05k",
        ("--patience 1", CTR + " --lr 1 --epochs 20"),
        ends("--seconds 1 --epochs 1000000 --eval-every 0"),
        "--epochs 2",
        ("--checkpoint-every 2 --checkpoint f", CTR + " --checkpoint f"),
    ]),
    "gnn": (GNN, [
        ("--labels ../others", GNN_FILES),
        ("--features ../features", GNN_FILES),
        ("--split ../split", GNN_FILES),
        "--train 0.4",
        "--validate 0.3",
        "--dim 9",
        "--hidden 9",
        "--batch 9",
        "--neighbours 3",
        "--lr 0.3",
        "--schedule linear",
        "--element bf16",
        "--decay 0.1",
        "--dropout 0.5",
        "--init 0.5",
        "--eval-every 0.05k",
        "--patience 1",
        ends("--seconds 1 --epochs 1000000"),
        "--epochs 3",
        ("--checkpoint-every 2 --checkpoint f", GNN + " --checkpoint f"),
    ]),
    "lda": (LDA, [
        ("--vocabulary ../words", "--data ../ldac --topics 3 --epochs 4 --top 2"),
        "--hold-back 0.3",
        "--topics 7",
        "--alpha 0.1",
        "--beta 0.5",
        "--top 3",
        ("--staleness 1 --workers 3", LDA + " --workers 3"),
        "--eval-every 0.05k",
        "--patience 1",
        ends("--seconds 1 --epochs 1000000"),
        "--epochs 5",
        ("--checkpoint-every 2 --checkpoint f", LDA + " --checkpoint f"),
    ]),
    "lasso": (LASSO, [
        "--test ../clicks",
        "--lambda 0.2",
        ("--order round-robin", LASSO_SHORT),
        ("--seed 7", LASSO_SHORT),
        ("--workers 2", LASSO + " --lambda 0.001 --tolerance 1e-9 --passes 3000"),
        "--correlation 0.5",
        "--staleness 1",
        "--tolerance 1e-2",
        "--passes 2",
        ("--checkpoint-every 3 --checkpoint f", LASSO + " --passes 9 --checkpoint f"),
    ]),
}

# Of all programs.
COMMON = ["--seed 7", "--workers 2", "--out other", "--report page.html", "--json", "--baseline", "--checkpoint folder"]

# Of several nodes: what is managed where is measured elsewhere (test_quality, techniques, staleness, test_resume; what a
# training begins with, by test_saved, test_lasso and test/unit/apps); without one of the next nothing runs.
ELSEWHERE = {"--technique", "--hot", "--staleness", "--resume", "--help", "--from", "--data"}


def name_of(row):
    return (row if isinstance(row, str) else row[0]).split()[0]


class Options(Trainers):
    under_sanitizers = False  # each program is run fifty times

    def setUp(self):
        super().setUp()
        self.seen = {}

    def write_all(self):
        self.write_data()
        self.write("analogies", [": all", "w1 w2 w3 w4", "w2 w3 w4 w5"])
        self.write("similarity", ["w1\tw2\t7", "w3\tw9\t2", "w4\tw7\t5", "w20\tw8\t1"])
        self.write("weights", (i % 3 for i in range(400)))
        self.write("edges", (f"{i}\t{(i + k) % 40}" for i in range(40) for k in (1, 7)))
        self.write("classes", (f"{i}\t{'x' if i < 20 else 'y'}" for i in range(40)))
        self.write("others", (f"{i}\t{'x' if i % 2 else 'y'}" for i in range(40)))
        self.write("features", (f"{i}\t{1 + (i < 20)}:1" for i in range(40)))
        self.write("split", (f"{i}\t{'train' if i % 3 else 'val' if i % 2 else 'test'}" for i in range(40)))
        self.write("ldac", ["3 0:2 1:1 2:1", "2 0:1 3:3"])
        self.write("words", "abcd")

    def observe(self, program, base, option, json="--json"):
        """What there is to see, but for what is never the same."""
        self.sh("rm -rf run && mkdir run")
        said = self.sh(f"cd run && {command(0, program, f'{base} --out model {option}')} {json}").out
        run = self.here / "run"
        files = sorted(str(path.relative_to(run)) for path in run.rglob("*") if path.is_file())
        digests = [sha256((run / name).read_bytes()).digest() for name in ("model", "other") if name in files]
        return steady(said), [name for name in files if "checkpoint-" not in name], digests

    def does_something(self, program, base, option, own_base=None, is_alone=False):
        base = base if own_base is None else own_base
        # lasso's sums are exact: people alone are told how many workers there are.
        json = "" if option in ("--json", "--workers 2") else "--json"
        after = self.observe(program, base, option, json)
        if not is_alone:
            if (base, json) not in self.seen:
                self.seen[base, json] = self.observe(program, base, "", json)
            self.assertNotEqual(after, self.seen[base, json], f"{option} changes nothing")

    def check(self, program):
        base, rows = PROGRAMS[program]
        options = re.findall(r"^  (--[a-z-]+)", self.train(program, "--help").out, re.M)
        self.assertGreater(len(options), 15)
        self.assertEqual(set(options) - set(map(name_of, rows + COMMON)) - ELSEWHERE, set(), "nobody knows what they do")
        usage = self.train(program, "", status=2)
        self.assertRegex(usage.err, rf"(?s)^usage: locus-{program} --data [A-Z]+ \[options\]\n\n.*\n  --data [A-Z]+   .*"
                                    rf"\nfor example:\n  locus-{program} --data .*"
                                    rf"\n\nlocus-{program} --help lists all options.\n$")
        self.assertEqual(usage.out, "")
        self.write_all()
        self.seen[base, "--json"] = self.observe(program, base, "")
        self.assertEqual(self.observe(program, base, ""), self.seen[base, "--json"], "or any option would do something")
        own = set(map(name_of, rows))
        for row in [row for row in COMMON if name_of(row) not in own] + rows:
            row = (row,) if isinstance(row, str) else row
            with self.subTest(option=row[0]):
                self.does_something(program, base, *row)


for each in PROGRAMS:
    setattr(Options, f"test_{each}_options_do_something", partialmethod(Options.check, each))
