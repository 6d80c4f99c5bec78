"""What programs refuse, each with a status and a sentence. Wrong uses are refused with status 2, wrong files with 1."""
import os
import socket

from support import IS_SANITIZED, made
from trainers import Trainers

MF, CTR, GNN = made("mf", "10x10x10"), made("ctr", "4x100x50"), made("gnn", "100x4x2")
LDA, LASSO = made("lda", "10x10x5x2"), made("lasso", "10x10x3")
USES = {
    "kge": [
        ("--json", "--data is missing: the graph to learn from"),
        ("--dims 3", 'there is no option "--dims"'),
        ("--data x --dim 3", "--dim 3 is odd"),
        ("--data x --model rescal --dim 1000", "--dim 1000 is more than 512"),
        ("--data x --negatives 1000000 --batch 100 --own-negatives", "make 200000000 of a batch"),
        ("--loss hinge", '--loss takes one of logistic, softmax, not "hinge"'),
    ],
    "wv": [
        ("--json", "--data is missing"),
        ("--data x --optimizer adam", '--optimizer takes one of sgd, adagrad, not "adam"'),
        ("--data x --batch 10000 --negatives 1000", "make up to 100000000 negatives in a step"),
    ],
    "mf": [
        ("--json", "--data is missing"),
        ("--data x --implicit 4 --best 0", "--best must be 1 or more"),
        (f"{MF} --hold-back 0 --eval-every 1", "has nothing to evaluate by"),
        (f"{MF} --hold-back 0 --best 3", "--best has no cells to test with"),
        (f"{MF} --method cd --batch 32", "--method cd has no --batch: leave it out"),
        (f"{MF} --method cd --technique essp", "--method cd bounds no staleness"),
    ],
    "ctr": [
        ("--json", "--data is missing"),
        (f"{CTR} --hidden 4,,2", "--hidden takes 1 to 7 numbers"),
    ],
    "gnn": [
        ("--json", "--data is missing"),
        ("--data edges", "--labels is missing"),
        (f"{GNN} --train 0.9", "are more than all nodes"),
    ],
    "lda": [
        ("--json", "--data is missing"),
        (f"{LDA} --topics 1", "--topics"),
        (f"{LDA} --staleness 1 --baseline", "--staleness is for rows that locus manages"),
    ],
    "lasso": [
        ("--json", "--data is missing"),
        ("--data x --technique full", "--technique takes one of adaptive"),
        ("--data x --lambda 2", "--lambda"),
        ("--data x --workers 1024", "the scheduler is one"),
        ("--data x --staleness 1 --baseline", "leave --baseline out"),
    ],
}

# What --data has, further options, and the sentence.
TEXTS = {
    "mf": [("a b 1\na b x\n", "", 'bad:2: "x" is no rating')],
    "ctr": [
        ("", "", "has no examples"),
        ("hello\n", "", ":1: has 1 field, with blanks between; must have at least 2"),
        ("1 2:1\n2 2:1\n", "", ':2: "2" is no label: must be 1 for a click'),
        ("1 2:1\n0 2:1 x:1\n", "", ':2: "x" is no feature'),
        ("1 2:1\n0 qid:1 2:1\n", "", ':2: "qid" is no feature'),
        ("1 2:1\n? 2:1\n", "", ':2: "?" is no label: must be a number'),
        ("label features\n1 2:1\n", "", ":2: is LIBSVM, and lines before it are not"),
        ("1 2:1\n0 2:1 x:1\n", "--format libsvm", ':2: "x" is no feature'),
        ("1 2:1\n0 2:y\n", "--format libsvm", ':2: "y" is no value: must be a number'),
        ("1 2:1\n0 1:2:1\n", "", ":2: feature 2: either all features have a field"),
        ("1\t2\t3\n", "--format criteo", ":1: has 3 fields; must be 40"),
        ("a,b,1\na,1\n", "", ":2: has 2 fields; the first row has 3"),
        ("a,b,0\na,c,0\n", "", 'no example has the label "1": --positive'),
        ("a,b\nx,1\n", "--label z", 'no column has the name "z"'),
    ],
    "gnn": [
        ("0 1\n1 2\n", "--labels bad", 'bad:1: has 1 field with tabs between, not 2. A line must be "node TAB node"; '
                                       '"locus prepare gnn" converts other forms'),
        ("0\t1\n1\t2\n", "--labels bad --split bad", 'bad:1: "1" is no purpose: must be train, val or test'),
    ],
    "lda": [
        ("", "", "has no words"),
        ("the cat\n", "", 'bad:1: "the" is no number of words: must be a whole number from 0 to 1073741823. A line must be '
                          '"count word:count ..."; "locus prepare lda" converts other forms'),
        ("2 0:1 1:1\n2 0:1 x:1\n", "", ':2: "x" is no word: must be a whole number'),
        ("1\n2\n1\n1 3 1\n", "", ':4: "3" is no word: must be a whole number from 1 to 2'),
    ],
    "lasso": [
        ("1 1:2\n2 2:x\n", "", ':2: "x" is no value: must be a number. A line must be "response index:value ..., '
                               'indices from 1"; "locus prepare lasso" converts other forms'),
        ("1 1:2\n1 1:2\n", "", "nothing to learn"),
        ("1 1:2\n0 2:2\n", "--test - < /dev/null", "- has no rows"),
    ],
}

FILES = [
    ("gnn", f"{GNN} --train 0", "no node with a class to train with"),
    ("gnn", "--data /dev/null --labels x", "is not a regular file"),
    ("wv", "--data text --analogies text", "text:1: "),
    ("kge", "--data graph --out no/model --epochs 1", "no: No such file or directory"),
] + [(program, "--data /no/such" + (" --labels x" if program == "gnn" else ""), "/no/such: No such file")
     for program in USES]


class Refusals(Trainers):
    def test_wrong_uses_are_refused_with_a_sentence(self):
        for program, rows in USES.items():
            for options, part in rows:
                with self.subTest(program=program, options=options):
                    self.program_refuses(program, 2, options, part)

    def test_wrong_texts_are_refused_with_a_sentence(self):
        for program, rows in TEXTS.items():
            for text, more, part in rows:
                with self.subTest(program=program, text=text, options=more):
                    (self.here / "bad").write_text(text)
                    self.program_refuses(program, 1, f"--data bad {more}", part)

    def test_wrong_files_are_refused_with_a_sentence(self):
        self.write_data()
        for program, options, part in FILES:
            with self.subTest(program=program, options=options):
                self.program_refuses(program, 1, options, part)
        with open(self.here / "graph/valid.txt", "a+", encoding="utf-8") as valid:
            valid.write("entity 1\tnext_1\n")
            valid.seek(0)
            lines = len(valid.readlines())
        self.program_refuses("kge", 1, "--data graph", f"/valid.txt:{lines}: has 2 fields, with tabs")

    def test_nodes_that_differ_in_their_options_are_refused(self):
        self.write_data()
        ended = self.sh("locus run -n 2 -- sh -c 'exec locus-kge --data graph --technique static --seed $LOCUS_RANK'", 1)
        self.assertIn("rank 1 has data and options of fingerprint", ended.err)


class Irregular(Trainers):
    """A pipe without a writer would be waited for without end, a device may have none: all readers say at once that there
    is no regular file."""

    def make_socket(self, path):
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(str(path))

    def test_files_are_refused_by_the_command(self):
        makers = {"pipe": os.mkfifo, "socket": self.make_socket, "device": lambda path: path.symlink_to("/dev/zero"),
                  "folder": os.mkdir}
        (self.here / "model").mkdir()
        (self.here / "file.0.report.jsonl").symlink_to("file")
        (self.here / "model/manifest.json").symlink_to("../file")
        limit = "unlimited" if IS_SANITIZED else "4000000"  # a sanitizer wants more addresses than there are
        for kind, make in makers.items():
            make(self.here / "file")
            for line, part in (("trace file", "cannot read file: it is "),
                               ("report file", "file.0.report.jsonl cannot be read: it is "),
                               ("checkpoint verify model", "manifest.json: it is no regular file")):
                with self.subTest(kind=kind, line=line):
                    ended = self.sh(f"ulimit -v {limit} && timeout 60 locus {line}", None)
                    self.assertTrue(ended.status in (1, 2) and part in ended.err + ended.out, ended)
            self.sh("rm -rf file")
